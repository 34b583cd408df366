//! A key range of spools to rows, within a bound of memory.

use std::collections::BTreeMap;
use std::ops::Range;

use common::formats::folded::Rows;
use common::formats::mpk1::{PACKED_LEN, Record};
use common::process::Failure;

use super::group::{Group, Policy, RowMaker};
use crate::order::{KEY_LEN, part_of, upper};
use crate::spool::Spool;

/// Where the position lies behind the key and the fixed part of a record.
const PACKED_AT: usize = KEY_LEN + 12;

/// Rows that lie in one shard, in order.
#[derive(Debug, Default)]
pub struct Segment {
    /// Number of the shard.
    pub shard: u32,
    /// The rows.
    pub rows: Rows,
}

/// Folds key ranges.
#[derive(Debug)]
pub struct Gather<'a> {
    /// Where the records are.
    pub spools: &'a [Spool],
    /// Parts that the key space is cut into.
    pub shards: u32,
    /// How policies are made.
    pub policy: &'a Policy,
    /// Bytes of records that are held; beyond, they are folded and forgotten.
    pub limit: usize,
}

/// A position behind its key; ordered as rows are.
type Keyed = ([u8; KEY_LEN], [u8; PACKED_LEN]);

impl Gather<'_> {
    /// Bytes of a spooled record, in the mean.
    pub fn record_len(&self) -> u64 {
        let buckets = || self.spools.iter().flat_map(Spool::buckets);
        let records: u64 = buckets().map(|bucket| bucket.records).sum();
        buckets().map(|bucket| bucket.bytes).sum::<u64>().checked_div(records).unwrap_or(0)
    }

    /// Folds all records whose key lies in `range` (upper halves). Where more records come than may be held, they are
    /// folded into groups, whose size does not depend on how often a position came.
    pub fn fold(&self, range: &Range<u128>) -> Result<Vec<Segment>, Failure> {
        let mut held = Held { raw: vec![], groups: BTreeMap::new() };
        for spool in self.spools {
            for bucket in spool.buckets_of(range) {
                let keys = spool.key_range(bucket);
                let whole = range.start <= keys.start && keys.end <= range.end;
                let Held { raw, groups } = &mut held;
                spool
                    .read(bucket, raw, |raw, start| {
                        if !whole {
                            keep_within(raw, start, range)?;
                        }
                        if raw.len() > self.limit { compact(raw, groups) } else { Ok(()) }
                    })
                    .map_err(|failure: Failure| {
                        failure.in_file(spool.name()).hint("partition the stream again")
                    })?;
            }
        }
        self.rows(held)
    }

    fn rows(&self, mut held: Held) -> Result<Vec<Segment>, Failure> {
        let mut out = Segments { shards: self.shards, maker: RowMaker::new(self.policy), segments: vec![] };
        if held.groups.is_empty() {
            each_group(&held.raw, |(key, packed), group| out.push(key, packed, group))?;
        } else {
            compact(&mut held.raw, &mut held.groups)?;
            held.groups.iter().try_for_each(|((key, packed), group)| out.push(key, packed, group))?;
        }
        Ok(out.segments)
    }
}

/// Records of a range that have come so far.
struct Held {
    raw: Vec<u8>,
    groups: BTreeMap<Keyed, Group>,
}

/// Of the records from `start` on, keeps those whose key lies in a range.
fn keep_within(raw: &mut Vec<u8>, start: usize, range: &Range<u128>) -> Result<(), Failure> {
    let payload = raw.split_off(start);
    for_each_record(&payload, |key, bytes| {
        if range.contains(&u128::from(upper(key))) {
            raw.extend_from_slice(bytes);
        }
    })
}

/// Folds the records held into the groups.
fn compact(raw: &mut Vec<u8>, groups: &mut BTreeMap<Keyed, Group>) -> Result<(), Failure> {
    each_group(raw, |(key, packed), group| {
        groups.entry((*key, *packed)).or_default().merge(group).map_err(Failure::bad_data)
    })?;
    raw.clear();
    Ok(())
}

struct Segments<'a> {
    shards: u32,
    maker: RowMaker<'a>,
    segments: Vec<Segment>,
}

impl Segments<'_> {
    fn push(&mut self, key: &[u8; KEY_LEN], packed: &[u8; PACKED_LEN], group: &Group) -> Result<(), Failure> {
        let shard = part_of(upper(key), self.shards);
        if self.segments.last().is_none_or(|last| last.shard != shard) {
            self.segments.push(Segment { shard, ..Segment::default() });
        }
        let Some(last) = self.segments.last_mut() else { return Ok(()) };
        self.maker.push(group, packed, &mut last.rows).map_err(Failure::bad_data)
    }
}

/// Sorts keyed records and hands over a group a position, in order.
fn each_group(
    raw: &[u8],
    mut take: impl FnMut((&[u8; KEY_LEN], &[u8; PACKED_LEN]), &Group) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut entries: Vec<(u64, usize)> = vec![];
    let mut at = 0;
    for_each_record(raw, |key, bytes| {
        entries.push((upper(key), at));
        at += bytes.len();
    })?;
    let keyed = |at: usize| -> Option<(&[u8; KEY_LEN], &[u8; PACKED_LEN])> {
        let bytes = &raw[at..];
        Some((bytes.first_chunk()?, bytes.get(PACKED_AT..)?.first_chunk()?))
    };
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| keyed(a.1).cmp(&keyed(b.1))));
    let mut group = Group::default();
    for run in entries.chunk_by(|a, b| a.0 == b.0 && keyed(a.1) == keyed(b.1)) {
        group.clear();
        for &(_, at) in run {
            let record = Record::split(&raw[at + KEY_LEN..], PACKED_LEN).map_err(|_| broken())?.0;
            group.add(&record).map_err(Failure::bad_data)?;
        }
        take(keyed(run[0].1).ok_or_else(broken)?, &group)?;
    }
    Ok(())
}

/// Walks keyed records: the key, and all bytes with it.
fn for_each_record<'a>(
    mut payload: &'a [u8],
    mut take: impl FnMut(&'a [u8; KEY_LEN], &'a [u8]),
) -> Result<(), Failure> {
    while let Some((key, behind)) = payload.split_first_chunk() {
        let (record, rest) = Record::split(behind, PACKED_LEN).map_err(|_| broken())?;
        take(key, &payload[..KEY_LEN + record.bytes().len()]);
        payload = rest;
    }
    if payload.is_empty() { Ok(()) } else { Err(broken()) }
}

fn broken() -> Failure {
    Failure::bad_data("a block of the spool does not end with a record")
}
