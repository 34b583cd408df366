//! Where rows come from. A trainer asks for the rows of its next micro-batch in the order it wants them; behind it is the
//! row-group cache.

use std::sync::Arc;

use common::formats::decisions::Group;
use common::process::Failure;
use common::state::cache::{self, Cache, ColumnSet, Counters, Host, Options, Probe};
use common::state::store::Known;

use super::Days;

/// Memory that a run takes beside its row groups.
const RESERVE: u64 = 4 << 30;
/// Memory for row groups where the machine's is not known.
const UNKNOWN: u64 = 2 << 30;

/// A row of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the day.
    pub(crate) dataset: u32,
    /// Number of the row in it.
    pub(crate) row: u64,
}

/// Where a row is: in these rows, at this place.
pub(crate) type Located = (Arc<Group>, usize);

/// Rows of days.
pub(crate) trait Rows: Send {
    /// Brings rows, in the order in which they are asked for.
    fn gather(&mut self, rows: &[Row]) -> Result<Vec<Located>, Failure>;
}

/// Days behind the row-group cache. A clone is the same cache.
#[derive(Clone)]
pub(crate) struct Cached(Cache<cache::Days>);

impl Cached {
    /// A cache of its own over some days; `capacity` bytes of row groups stay in memory.
    pub(crate) fn open(days: &Days, columns: ColumnSet, capacity: u64) -> Result<Self, Failure> {
        let mut source = cache::Days::new(columns);
        for day in &days.days {
            let path = &day.used.path;
            let known = Known { path: path.clone(), stat: day.stat, sha256: day.used.sha256.clone() };
            source.add(path, Some(&known))?;
        }
        Ok(Self(Cache::new(source, Options::new(capacity), Host::new())?))
    }

    /// What the cache counted so far.
    pub(crate) fn counters(&self) -> Counters {
        self.0.counters()
    }
}

/// Memory for row groups on this machine: what is below the cache's high watermark, but for what the rest of a run takes.
pub(crate) fn capacity() -> u64 {
    let limit = Host::new().usage().map(|usage| usage.limit);
    limit.map_or(UNKNOWN, |limit| Options::within(limit, RESERVE).capacity.max(limit / 4))
}

impl Rows for Cached {
    fn gather(&mut self, rows: &[Row]) -> Result<Vec<Located>, Failure> {
        let wanted: Vec<cache::Row> =
            rows.iter().map(|&Row { dataset, row }| cache::Row { dataset, row }).collect();
        let group = Arc::new(self.0.gather(&wanted)?);
        Ok((0..wanted.len()).map(|row| (Arc::clone(&group), row)).collect())
    }
}

impl std::fmt::Debug for Cached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cached").field(&self.counters()).finish()
    }
}
