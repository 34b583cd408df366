//! A fold whose records are spooled: from key ranges to the shards of a set, or of a part of one.

use std::path::Path;

use common::formats::folded::{Conventions, Set, SetShard};
use common::process::{Common, Failure, Progress};
use rayon::ThreadPool;

use super::gather::Gather;
use super::group::Policy;
use super::range::Range;
use super::shards::{SetWriter, remove_strays, write_shards};
use super::tasks::{Budget, cut};
use crate::order::part_start;
use crate::spool::Spool;

/// Records of a shard at most, where the number of shards is not given.
const SHARD_RECORDS: u64 = 1_000_000;

/// A fold whose records are spooled.
pub(crate) struct FoldJob {
    pub(crate) spools: Vec<Spool>,
    pub(crate) conventions: Conventions,
    pub(crate) policy: Policy,
    /// `None`: the least number with [`SHARD_RECORDS`] at most.
    pub(crate) shards: Option<u32>,
    pub(crate) range: Range,
    pub(crate) budget: Budget,
}

impl FoldJob {
    /// Number of shards of the whole set.
    pub(crate) fn shards(&self) -> u32 {
        self.shards.unwrap_or_else(|| {
            let wanted = self.records().div_ceil(SHARD_RECORDS).max(1).next_power_of_two();
            u32::try_from(wanted).unwrap_or(1 << 16)
        })
    }

    /// Records of all spools.
    pub(crate) fn records(&self) -> u64 {
        self.spools.iter().flat_map(|spool| spool.buckets()).map(|bucket| bucket.records).sum()
    }

    /// Writes the shards of the range under a prefix; what stood there is cleared away before.
    pub(crate) fn run(&self, common: &Common, pool: &ThreadPool, prefix: &Path) -> Result<Set, Failure> {
        let shards = self.shards();
        let own = self.range.shards(shards);
        let start = |shard: u32| part_start(shard.into(), shards.into());
        let writer = SetWriter { prefix, conventions: self.conventions };
        let limit = usize::try_from(self.budget.task).unwrap_or(usize::MAX);
        let gather = Gather { spools: &self.spools, shards, policy: &self.policy, limit };
        let mut progress = self.progress(common);
        let ranges = cut(&self.spools, start(own.start)..start(own.end), &self.budget);
        let written = write_shards(pool, &gather, ranges, &self.budget, &writer, &mut progress)?;
        self.remove_strays(prefix, &written)?;
        Ok(Set::new(self.conventions, written))
    }

    /// Removes shards of the range that a former run left under a prefix.
    pub(crate) fn remove_strays(&self, prefix: &Path, written: &[SetShard]) -> Result<(), Failure> {
        let shards = self.shards();
        let own = self.range.shards(shards);
        let last = if own.end == shards { usize::MAX } else { own.end as usize };
        remove_strays(prefix, written, own.start as usize..last)
    }

    fn progress(&self, common: &Common) -> Progress {
        let total = self.records() / u64::from(self.range.of);
        common.progress("fold", "records", Some(total))
    }
}
