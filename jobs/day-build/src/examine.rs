//! One member of an archive, from its bytes to its rows, on any thread.

use std::time::{Duration, Instant};

use common::formats::decisions::Group;
use common::formats::decisions::manifest::Counts;

use crate::archive::{Archive, Entry, MemberFault};
use crate::encode::Encoder;
use crate::game::{Facts, Opened, Reason};

/// What a member turned out to be. Whether it is a duplicate only those before it can tell.
pub(crate) struct Examined {
    pub(crate) facts: Facts,
    pub(crate) outcome: Result<Rows, Reason>,
    pub(crate) spent: Spent,
}

/// Rows of an episode.
pub(crate) struct Rows {
    pub(crate) group: Group,
    pub(crate) of_side: [u64; 2],
    pub(crate) counts: Counts,
}

/// Time spent on the stages of a build, of all threads together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Inflating and passing over blobs.
    pub(crate) read: Duration,
    /// JSON.
    pub(crate) parse: Duration,
    /// Rows.
    pub(crate) encode: Duration,
}

impl Spent {
    pub(crate) fn add(&mut self, other: Self) {
        self.read += other.read;
        self.parse += other.parse;
        self.encode += other.encode;
    }
}

/// Text of a member, or why it has none.
pub(crate) fn text(archive: &Archive, entry: &Entry, deadline: Option<Instant>) -> Result<Vec<u8>, Reason> {
    archive.text(entry, deadline).map_err(|fault| match fault {
        MemberFault::Late => Reason::Timeout,
        MemberFault::Stopped => Reason::Stopped,
        other => Reason::Malformed(other.to_string()),
    })
}

/// Examines a member and makes its rows.
pub(crate) fn examine(
    archive: &Archive,
    entry: &Entry,
    encoder: &Encoder<'_>,
    keep_draws: bool,
    timeout: Duration,
) -> Examined {
    let (start, mut spent) = (Instant::now(), Spent::default());
    let deadline = start.checked_add(timeout);
    let mut facts = Facts::default();
    let outcome = (|| {
        let text = text(archive, entry, deadline)?;
        spent.read = start.elapsed();
        let opened = Opened::open(entry.stem(), &text, keep_draws, &mut facts)?;
        let decisions = opened.decisions(&facts, deadline);
        spent.parse = start.elapsed() - spent.read;
        let mut group = Group::whole();
        // the one place where results of a look-ahead come in
        let mut look_ahead = |_: &_| vec![];
        let (of_side, counts) =
            encoder.episode(&facts, &decisions?, &mut look_ahead, deadline, &mut group)?;
        spent.encode = start.elapsed() - spent.read - spent.parse;
        Ok(Rows { group, of_side, counts })
    })();
    Examined { facts, outcome, spent }
}
