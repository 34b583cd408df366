//! Rows in order to the files of a set.

use std::ops::Range;
use std::path::{Path, PathBuf};

use common::formats::folded::set::{shard_index, shard_path};
use common::formats::folded::{Conventions, GROUP_ROWS, SetShard, ShardWriter, encode};
use common::formats::parquet::EncodedGroup;
use common::process::failure::InFile;
use common::process::parallel::ordered;
use common::process::{Failure, Progress, stop};
use common::state::digest::Digesting;
use common::state::output::{Output, folder_of};
use rayon::ThreadPool;

use super::gather::{Gather, Segment};
use super::tasks::Budget;

/// Folds key ranges, in order, and writes the shards that they lie in.
pub fn write_shards(
    pool: &ThreadPool,
    gather: &Gather<'_>,
    ranges: Vec<Range<u128>>,
    budget: &Budget,
    set: &SetWriter<'_>,
    progress: &mut Progress,
) -> Result<Vec<SetShard>, Failure> {
    let fold = |range: Range<u128>| gather.fold(&range);
    let encode = |piece: Result<Segment, Failure>| encode_piece(piece?);
    pool.in_place_scope(|scope| {
        let folded = ordered(scope, ranges.into_iter(), budget.tasks, &fold);
        let pieces = Pieces { folded, waiting: vec![].into_iter(), source: None, open: Segment::default() };
        let (mut shards, mut open) = (vec![], None::<OpenShard>);
        for group in ordered(scope, pieces, budget.groups(gather.record_len()), &encode) {
            stop::check()?;
            let group = group?;
            progress.add(group.records);
            if open.as_ref().is_some_and(|open| open.shard != group.shard) {
                shards.extend(open.take().map(OpenShard::finish).transpose()?);
            }
            let shard = match &mut open {
                Some(shard) => shard,
                None => open.insert(set.open(group.shard)?),
            };
            shard.append(group)?;
        }
        shards.extend(open.map(OpenShard::finish).transpose()?);
        Ok(shards)
    })
}

/// Rows of one row group, encoded.
struct Group {
    shard: u32,
    records: u64,
    encoded: EncodedGroup,
}

fn encode_piece(piece: Segment) -> Result<Group, Failure> {
    let records = piece.rows.weight.iter().map(|&weight| u64::from(weight)).sum();
    Ok(Group { shard: piece.shard, records, encoded: encode(&piece.rows)? })
}

/// Cuts folded segments into row groups: full ones, but for the last of a shard.
struct Pieces<I> {
    folded: I,
    waiting: std::vec::IntoIter<Segment>,
    /// The segment being cut, and its rows that are cut off already.
    source: Option<(Segment, usize)>,
    open: Segment,
}

impl<I: Iterator<Item = Result<Vec<Segment>, Failure>>> Iterator for Pieces<I> {
    type Item = Result<Segment, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((segment, at)) = &mut self.source else {
                if let Some(segment) = self.waiting.next() {
                    self.source = Some((segment, 0));
                    continue;
                }
                match self.folded.next() {
                    Some(Ok(segments)) => self.waiting = segments.into_iter(),
                    Some(Err(failure)) => return Some(Err(failure)),
                    None if self.open.rows.is_empty() => return None,
                    None => return Some(Ok(std::mem::take(&mut self.open))),
                }
                continue;
            };
            if self.open.rows.len() == GROUP_ROWS
                || (self.open.shard != segment.shard && !self.open.rows.is_empty())
            {
                return Some(Ok(std::mem::take(&mut self.open)));
            }
            let rows = *at..segment.rows.len().min(*at + GROUP_ROWS - self.open.rows.len());
            self.open.shard = segment.shard;
            self.open.rows.extend(&segment.rows, rows.clone());
            *at = rows.end;
            if *at == segment.rows.len() {
                self.source = None;
            }
        }
    }
}

/// Where shards go, and what they state.
#[derive(Debug)]
pub struct SetWriter<'a> {
    /// Path to which shard numbers are added.
    pub prefix: &'a Path,
    /// What every footer states.
    pub conventions: Conventions,
}

struct OpenShard {
    shard: u32,
    path: PathBuf,
    rows: u64,
    records: u64,
    file: ShardWriter<Digesting<Output>>,
}

impl SetWriter<'_> {
    fn open(&self, shard: u32) -> Result<OpenShard, Failure> {
        let path = shard_path(self.prefix, shard as usize);
        let output = Output::create(&path).in_file(&path)?;
        let file = ShardWriter::new(Digesting::new(output), &self.conventions).in_file(&path)?;
        Ok(OpenShard { shard, path, rows: 0, records: 0, file })
    }
}

/// Removes shards of a prefix that a former run left and this one did not write. `owned` are the numbers that this run
/// answers for.
pub fn remove_strays(prefix: &Path, written: &[SetShard], owned: Range<usize>) -> Result<(), Failure> {
    for entry in fs_err::read_dir(folder_of(prefix))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let kept = written.iter().any(|shard| *shard.file == *name);
        if !kept && shard_index(prefix, &path).is_some_and(|index| owned.contains(&index)) {
            fs_err::remove_file(&path)?;
        }
    }
    Ok(())
}

impl OpenShard {
    fn append(&mut self, group: Group) -> Result<(), Failure> {
        self.rows += group.encoded.rows as u64;
        self.records += group.records;
        self.file.append(group.encoded).in_file(&self.path)
    }

    fn finish(self) -> Result<SetShard, Failure> {
        let (output, sha256, bytes) = self.file.finish().in_file(&self.path)?.finish();
        output.publish().in_file(&self.path)?;
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(SetShard { file, rows: self.rows, records: self.records, bytes, sha256 })
    }
}
