//! One member of an archive, from its bytes to its rows, on any thread.

use std::time::{Duration, Instant};

use common::formats::decisions::manifest::Counts;
use common::formats::decisions::{Group, look_ahead};
use serde::{Deserialize, Serialize};

use crate::archive::{Archive, Entry, MemberFault};
use crate::encode::{ATTACK, Encoder, Tracker};
use crate::engine::{self, LookAhead, LookAheads, Version};
use crate::game::{Decision, Facts, Opened, Reason};

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
    pub(crate) tally: Tally,
}

/// What was counted in episodes that have rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) look_ahead: look_ahead::Counts,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.look_ahead += &other.look_ahead;
    }
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
    ahead: &LookAheads,
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
        ahead.lend(|ahead| {
            let version = Version::of(opened.engine_version());
            let mut look =
                |decision: &Decision<'_>, tracker: &Tracker| look(ahead, &facts, version, decision, tracker);
            let encoded = encoder.episode(&facts, &decisions?, &mut look, deadline, &mut group);
            spent.encode = start.elapsed() - spent.read - spent.parse;
            let look_ahead = ahead.take_counts();
            let (of_side, counts) = encoded?;
            Ok(Rows { group, of_side, tally: Tally { counts, look_ahead } })
        })
    })();
    Examined { facts, outcome, spent }
}

/// What a look-ahead finds for each option of a decision.
fn look(
    ahead: &mut LookAhead,
    facts: &Facts,
    version: Option<Version>,
    decision: &Decision<'_>,
    tracker: &Tracker,
) -> Vec<Option<engine::Features>> {
    let options = &decision.select.option.first;
    let attacks: Vec<usize> = (0..options.len()).filter(|&option| options[option].kind == ATTACK).collect();
    let mut found = vec![None; options.len()];
    let (Some(episode), Some(decks)) = (facts.id, &facts.decks) else { return found };
    let features = ahead.look(&engine::Decision {
        episode,
        step: decision.step as u32,
        side: decision.side as u8,
        version,
        observation: decision.observation,
        attacks: &attacks,
        deck: &decks[decision.side].cards,
        revealed: tracker.revealed(),
    });
    for (option, features) in attacks.into_iter().zip(features) {
        found[option] = features;
    }
    found
}
