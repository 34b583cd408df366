//! Cuts a key range into tasks that fit into memory.

use std::ops::Range;

use common::formats::folded::GROUP_ROWS;
use common::process::parallel::ahead;

use crate::spool::Spool;

/// Bytes of records that a task aims at: enough to be worth its start, few enough for the cache.
const TASK_LEN: u64 = 5 << 18;
/// What does not grow with the data: code, row groups under way, buffers.
const FIXED: u64 = 24 << 20;

/// How a fold stays within its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of records that one task may hold.
    pub task: u64,
    /// Tasks under way.
    pub tasks: usize,
    /// Memory for row groups under way.
    groups: u64,
    /// Threads that work.
    threads: usize,
}

impl Budget {
    /// Shares `memory` out among `threads`. A task holds its records, their order and its rows: three times its records at most.
    pub fn new(memory: u64, threads: usize) -> Self {
        let tasks = ahead(threads, u64::MAX);
        let task = (memory.saturating_sub(FIXED) / 2 / (3 * (threads as u64 + 1))).clamp(256 << 10, 1 << 30);
        Self { task, tasks, groups: memory / 4, threads }
    }

    /// Row groups under way, for records of this many bytes in the mean: a group is held as rows, as page bodies and
    /// compressed.
    pub fn groups(&self, record_len: u64) -> usize {
        let group = 3 * GROUP_ROWS as u64 * record_len.max(1);
        ahead(self.threads, self.groups / group)
    }
}

/// Key ranges (upper halves) that cover `keys`, in order, each with records for about one task. Since keys are
/// uniform, the distinct positions of all buckets are alike: what a bucket has beyond the others is duplicates, which
/// fold away. So the median of the buckets that hold any is the measure.
pub fn cut(spools: &[Spool], keys: Range<u128>, budget: &Budget) -> Vec<Range<u128>> {
    let Some(finest) = spools.iter().max_by_key(|spool| spool.buckets().len()) else { return vec![] };
    let buckets = finest.buckets().len();
    let mut bytes = vec![0u64; buckets];
    for spool in spools {
        // a coarser spool's bucket is spread over the finest ones
        let ratio = (buckets / spool.buckets().len()).max(1);
        for (i, bytes) in bytes.iter_mut().enumerate() {
            *bytes += spool.buckets()[i * spool.buckets().len() / buckets].bytes / ratio as u64;
        }
    }
    bytes.retain(|&bytes| bytes > 0);
    bytes.sort_unstable();
    let median = bytes.get(bytes.len() / 2).copied().unwrap_or(1);
    let pieces = median.div_ceil(budget.task.max(1));
    let together = (TASK_LEN.min(budget.task) / median).max(1) as usize;
    let mut cuts = vec![];
    for first in (0..buckets).step_by(together) {
        let (start, end) =
            (finest.key_range(first).start, finest.key_range((first + together).min(buckets) - 1).end);
        cuts.extend((0..u128::from(pieces)).map(|piece| start + (end - start) * piece / u128::from(pieces)));
    }
    cuts.retain(|cut| keys.start < *cut && *cut < keys.end);
    let starts = std::iter::once(keys.start).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([keys.end]);
    starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect()
}

/// Buckets for this many bytes of records: as many as make one bucket one task, within reason.
pub fn default_buckets(bytes: Option<u64>, budget: &Budget) -> u32 {
    let wanted = bytes.map_or(1024, |bytes| bytes.div_ceil(budget.task));
    wanted.next_power_of_two().clamp(256, 4096) as u32
}
