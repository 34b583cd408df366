//! The row-group cache: rows of decision days and folded shards at the speed of memory, within a bound of memory.
//!
//! A group is held as it is decoded, without padding, which is a fifth of its dense size or less. Groups that leave memory
//! go to a spill file that is mapped when they are asked for again. What stays and what goes is decided by
//! [`policy`](Policy), under one lock; bytes move outside of it. Source: "Hierarchical KV Cache".

mod ahead;
mod block;
mod columns;
mod content;
mod counters;
mod error;
mod flight;
mod gather;
mod key;
mod map;
mod memory;
mod policy;
mod run;
mod shared;
mod source;
mod spill;
mod warm;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use shared::{Inner, Purpose, State};

pub use ahead::ReadAhead;
pub use columns::{Column, Columns, Gather, Kind, Number, Run, View};
pub use content::Content;
pub use counters::Counters;
pub use error::CacheError;
pub use gather::Row;
pub use key::Key;
pub use memory::{Host, Probe, Usage};
pub use policy::{Arrival, Evicted, Fate, Found, Limits, Policy};
pub use run::{Found as FoundRun, Lease, SpillFolder, SpillRun, list, purge};
pub use source::{ColumnSet, Days, Shards, Slot, Source};
pub use spill::Header;
pub use warm::Decoded;

/// How a cache is set up. The shares are those of the specification.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes that groups may take in memory.
    pub capacity: u64,
    /// Share of the capacity that hot groups may take.
    pub hot_share: f64,
    /// Hits in the transient tier that make a group hot.
    pub promotion_hits: u32,
    /// Share of the memory beyond which every access makes one group go.
    pub high_watermark: f64,
    /// Bytes that spill files may take.
    pub spill: u64,
}

impl Options {
    /// Those of the specification, for a capacity.
    pub fn new(capacity: u64) -> Self {
        Self { capacity, hot_share: 0.6, promotion_hits: 2, high_watermark: 0.85, spill: u64::MAX }
    }

    /// Those of the specification, for a memory of which the rest of a run takes `reserve` bytes: what is left below the
    /// high watermark.
    pub fn within(limit: u64, reserve: u64) -> Self {
        let options = Self::new(0);
        let below = (limit as f64 * options.high_watermark) as u64;
        Self { capacity: below.saturating_sub(reserve), ..options }
    }
}

/// A cache of row groups. It may be used by many threads; a clone is the same cache.
pub struct Cache<S>(Arc<Inner<S>>);

impl<S> Clone for Cache<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Source> Cache<S> {
    /// A cache without a disk. It brings the row group with the most rows at once, so that a capacity which is too small is an
    /// error now, and not in the middle of a run.
    pub fn new(source: S, options: Options, probe: impl Probe + 'static) -> Result<Self, CacheError> {
        Self::build(source, options, Box::new(probe), None, None)
    }

    /// A cache that spills into a folder, and looks for groups in a warm set.
    pub fn with_disk(
        source: S,
        options: Options,
        probe: impl Probe + 'static,
        spill: Option<SpillFolder>,
        warm: Option<PathBuf>,
    ) -> Result<Self, CacheError> {
        Self::build(source, options, Box::new(probe), spill, warm)
    }

    fn build(
        source: S,
        options: Options,
        probe: Box<dyn Probe>,
        spill: Option<SpillFolder>,
        warm: Option<PathBuf>,
    ) -> Result<Self, CacheError> {
        let Options { capacity, hot_share, promotion_hits, high_watermark, .. } = options;
        for (share, what) in [(hot_share, "a hot share"), (high_watermark, "a high watermark")] {
            if !(0.0..=1.0).contains(&share) {
                return Err(CacheError::Options(what));
            }
        }
        if promotion_hits == 0 {
            return Err(CacheError::Options("a promotion without a hit"));
        }
        let rows = |slot: &Slot| source.groups(slot.dataset).get(slot.group as usize).copied();
        let largest = source.slots().into_iter().max_by_key(|slot| (rows(slot), std::cmp::Reverse(*slot)));
        let limits = Limits {
            capacity,
            hot: (capacity as f64 * hot_share) as u64,
            promotion_hits,
            spill: if spill.is_some() { options.spill } else { 0 },
        };
        let state = State::new(Policy::new(limits));
        let changed = Condvar::new();
        let inner = Inner { source, high_watermark, probe, spill, warm, state: Mutex::new(state), changed };
        let cache = Self(Arc::new(inner));
        if let Some(slot) = largest {
            let needed = cache.0.load(slot, Purpose::Access)?.bytes();
            if needed > capacity {
                return Err(CacheError::TooSmall { needed, capacity });
            }
        }
        Ok(cache)
    }

    /// What it decodes from.
    pub fn source(&self) -> &S {
        &self.0.source
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.0.lock().counters()
    }

    /// Suspends eviction until the value is dropped: for a forward pass, a backward pass and an update. It may be held
    /// several times over.
    pub fn in_opt_step(&self) -> OptStep<'_, S> {
        self.0.lock().policy.enter();
        OptStep(&self.0)
    }
}

impl<S> fmt::Debug for Cache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("spill", &self.0.spill)
            .field("warm", &self.0.warm)
            .finish_non_exhaustive()
    }
}

/// While this is held, nothing is evicted. What came in beyond the capacity goes when the last one is dropped.
#[must_use = "it suspends eviction only as long as it is held"]
pub struct OptStep<'a, S: Source>(&'a Inner<S>);

impl<S: Source> Drop for OptStep<'_, S> {
    fn drop(&mut self) {
        let (mut evicted, mut state) = (vec![], self.0.lock());
        state.policy.leave(&mut evicted);
        let leaving = state.take(evicted, None);
        drop(state);
        self.0.write(leaving);
    }
}

impl<S: Source> fmt::Debug for OptStep<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OptStep")
    }
}
