//! A batch of rows or games that became records.

use std::path::Path;

use common::process::parallel::{ahead, ordered, pool};
use common::process::{Common, Failure, Progress, stop};
use serde::{Deserialize, Serialize};

use crate::refusal::{Refusal, Refusals};

/// Records of a batch, and what of it was refused.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Records, encoded.
    pub(crate) bytes: Vec<u8>,
    /// Records in `bytes`.
    pub(crate) records: u64,
    /// Candidates in `bytes`.
    pub(crate) candidates: u64,
    /// Rows or games that were looked at.
    pub(crate) read: u64,
    /// Games without a result.
    pub(crate) unfinished: u64,
    /// Number and reason of each refusal.
    pub(crate) refused: Vec<(u64, Refusal)>,
}

/// What all batches came to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) records: u64,
    pub(crate) candidates: u64,
    pub(crate) read: u64,
    pub(crate) unfinished: u64,
    pub(crate) refusals: Refusals,
}

impl Totals {
    /// Counts a batch, and reports its refusals as of a `unit`.
    pub(crate) fn add(&mut self, batch: &Batch, unit: &str) {
        self.records += batch.records;
        self.candidates += batch.candidates;
        self.read += batch.read;
        self.unfinished += batch.unfinished;
        batch.refused.iter().for_each(|(number, refusal)| self.refusals.add(unit, *number, refusal));
    }
}

/// How a source is named in messages.
pub(crate) struct Naming<'a> {
    pub(crate) path: &'a Path,
    /// `row` or `line`.
    pub(crate) unit: &'static str,
    pub(crate) skip_bad: bool,
}

/// Turns pieces of a source into records on all threads and hands them to `write` in order. Every piece is looked at,
/// so that all refusals are reported at once, before they end the run.
pub(crate) fn convert<I: Send>(
    common: &Common,
    naming: &Naming<'_>,
    mut progress: Progress,
    mut source: impl FnMut() -> Result<Option<I>, Failure>,
    work: impl Fn(I) -> Batch + Sync,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    let threads = common.threads();
    let mut ended = Ok(());
    pool(threads)?.in_place_scope(|scope| {
        let pieces = std::iter::from_fn(|| {
            let next = stop::check().and_then(|()| source());
            next.unwrap_or_else(|failure| {
                ended = Err(failure);
                None
            })
        });
        for batch in ordered(scope, pieces, ahead(threads, u64::MAX), &work) {
            totals.add(&batch, naming.unit);
            progress.add(batch.read);
            write(&batch.bytes)?;
        }
        Ok::<_, Failure>(())
    })?;
    ended?;
    stop::check()?;
    totals.refusals.verdict(naming.path, naming.unit, naming.skip_bad)?;
    Ok(totals)
}
