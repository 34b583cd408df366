//! Where a cache decodes from: decision days and folded shards, each known by its content.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::CacheError;
use super::content::Content;
use super::key::{Key, projection};
use crate::formats::decisions::{self, COLUMNS, Day, Group};
use crate::formats::folded::{Rows, Shard};
use crate::formats::parquet;
use crate::state::digest::Digest;
use crate::state::stat::Stat;
use crate::state::store::Known;

/// A row group of one of the datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// Number of the dataset.
    pub dataset: u32,
    /// Number of the row group.
    pub group: u32,
}

/// Datasets of one kind, in some of their columns.
pub trait Source: Send + Sync {
    /// What rows of them are.
    type Rows: Content;

    /// Rows of each row group of a dataset; nothing for a dataset that there is not.
    fn groups(&self, dataset: u32) -> &[usize];

    /// Number of datasets.
    fn datasets(&self) -> u32;

    /// What a row group is known by.
    fn key(&self, slot: Slot) -> Option<Key>;

    /// Decodes a row group.
    fn decode(&self, slot: Slot) -> Result<Self::Rows, CacheError>;

    /// No rows.
    fn empty(&self) -> Self::Rows;

    /// Bytes of a row with all its padding; `None` where rows have none.
    fn dense_row_bytes(&self) -> Option<u64>;

    /// All row groups, in order.
    fn slots(&self) -> Vec<Slot> {
        let groups =
            |dataset| (0..self.groups(dataset).len() as u32).map(move |group| Slot { dataset, group });
        (0..self.datasets()).flat_map(groups).collect()
    }
}

/// A file whose content is known, and that is held to it.
#[derive(Debug)]
struct Dataset<R> {
    path: PathBuf,
    file: File,
    stat: Stat,
    sha256: Digest,
    groups: Vec<usize>,
    reader: R,
}

impl<R> Dataset<R> {
    /// Opens a file, and reads all of it for its digest, unless that is known for the file as it is.
    fn open(
        path: &Path,
        known: Option<&Known>,
        open: impl FnOnce(File) -> Result<(R, Vec<usize>), parquet::Error>,
    ) -> Result<Self, CacheError> {
        let failed = |error: parquet::Error| CacheError::Dataset { path: path.into(), error };
        let io = |error: std::io::Error| failed(error.into());
        let mut file = File::open(path).map_err(io)?;
        let stat = Stat::from(&file.metadata().map_err(io)?);
        let sha256 = match known.filter(|known| known.stat == stat) {
            Some(known) => known.sha256.clone(),
            None => Digest::of_file(&mut file).map_err(io)?,
        };
        let (reader, groups) = open(file.try_clone().map_err(io)?).map_err(failed)?;
        let dataset = Self { path: path.into(), file, stat, sha256, groups, reader };
        dataset.read(|_| Ok(()))?;
        Ok(dataset)
    }

    /// Reads of the file, and makes sure that it is still the one that the digest belongs to.
    fn read<T>(&self, read: impl FnOnce(&R) -> Result<T, parquet::Error>) -> Result<T, CacheError> {
        let failed = |error| CacheError::Dataset { path: self.path.clone(), error };
        let value = read(&self.reader);
        let now = self.file.metadata().map_err(|error| failed(error.into()))?;
        // a file that was replaced is still the old one here, and only its links and change time differ
        let (now, was) = (Stat::from(&now), self.stat);
        if (now.size, now.mtime_ns) != (was.size, was.mtime_ns) {
            return Err(CacheError::Changed { path: self.path.clone() });
        }
        value.map_err(failed)
    }
}

/// Which columns of decision days are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSet {
    /// What a training step reads.
    Train,
    /// What a validation reads: also who plays whom, with what.
    Val,
    /// Every column.
    All,
}

/// What neither training nor validation reads.
const UNREAD: [&str; 3] = ["reward", "is_self", "day_id"];
/// What validation alone reads.
const MATCHUPS: [&str; 4] = ["player_name", "opponent_name", "player_deck_hash", "opponent_deck_hash"];

impl ColumnSet {
    /// Their names, in the order of the table.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let wanted = move |name: &&str| match self {
            Self::All => true,
            Self::Val => !UNREAD.contains(name),
            Self::Train => !UNREAD.contains(name) && !MATCHUPS.contains(name),
        };
        COLUMNS.iter().map(|column| column.name).filter(wanted)
    }

    /// Bytes of a row with all its padding, texts left aside: what it takes as arrays of fixed shapes.
    pub fn dense_row_bytes(self) -> u64 {
        let width = |name| {
            let column = &COLUMNS[decisions::columns::find(name)?];
            let value = match column.kind {
                decisions::Kind::I8 => 1,
                decisions::Kind::I32 | decisions::Kind::F32 => 4,
                decisions::Kind::I64 => 8,
                decisions::Kind::Text => 0,
            };
            Some(value * column.list.unwrap_or(1) as u64)
        };
        self.names().filter_map(width).sum()
    }
}

/// Decision days.
#[derive(Debug)]
pub struct Days {
    days: Vec<Dataset<(Day<File>, decisions::Projection)>>,
    columns: ColumnSet,
    projection: Digest,
}

impl Days {
    /// No days.
    pub fn new(columns: ColumnSet) -> Self {
        let projection = projection(Group::KIND, decisions::SCHEMA_VERSION, columns.names());
        Self { days: vec![], columns, projection }
    }

    /// Adds a day. Where its digest is known, it is not read again as long as the file is as it was.
    pub fn add(&mut self, path: &Path, known: Option<&Known>) -> Result<(), CacheError> {
        let day = Dataset::open(path, known, |file| {
            let day = Day::open(file)?;
            let projection = day.project(self.columns.names())?;
            let groups = (0..day.footer().groups()).map(|group| day.footer().group_rows(group)).collect();
            Ok(((day, projection), groups))
        })?;
        self.days.push(day);
        Ok(())
    }
}

impl Source for Days {
    type Rows = Group;

    fn groups(&self, dataset: u32) -> &[usize] {
        self.days.get(dataset as usize).map_or(&[], |day| &day.groups)
    }

    fn datasets(&self) -> u32 {
        self.days.len() as u32
    }

    fn key(&self, slot: Slot) -> Option<Key> {
        let dataset = self.days.get(slot.dataset as usize)?.sha256.clone();
        Some(Key { dataset, projection: self.projection.clone(), group: slot.group })
    }

    fn decode(&self, slot: Slot) -> Result<Group, CacheError> {
        let day = self.days.get(slot.dataset as usize).ok_or(CacheError::NoGroup(slot))?;
        day.read(|(day, projection)| day.read(slot.group as usize, projection))
    }

    fn dense_row_bytes(&self) -> Option<u64> {
        Some(self.columns.dense_row_bytes())
    }

    fn empty(&self) -> Group {
        Group::new(self.columns.names().filter_map(decisions::columns::find))
    }
}

/// Shards of folded sets.
#[derive(Debug)]
pub struct Shards {
    shards: Vec<Dataset<Shard<File>>>,
    projection: Digest,
}

impl Shards {
    /// No shards.
    pub fn new() -> Self {
        Self { shards: vec![], projection: projection(Rows::KIND, 1, []) }
    }

    /// Adds a shard. Where its digest is known, it is not read again as long as the file is as it was.
    pub fn add(&mut self, path: &Path, known: Option<&Known>) -> Result<(), CacheError> {
        let shard = Dataset::open(path, known, |file| {
            let shard = Shard::open(file)?;
            let groups = (0..shard.footer().groups()).map(|group| shard.footer().group_rows(group)).collect();
            Ok((shard, groups))
        })?;
        self.shards.push(shard);
        Ok(())
    }
}

impl Default for Shards {
    fn default() -> Self {
        Self::new()
    }
}

impl Source for Shards {
    type Rows = Rows;

    fn groups(&self, dataset: u32) -> &[usize] {
        self.shards.get(dataset as usize).map_or(&[], |shard| &shard.groups)
    }

    fn datasets(&self) -> u32 {
        self.shards.len() as u32
    }

    fn key(&self, slot: Slot) -> Option<Key> {
        let dataset = self.shards.get(slot.dataset as usize)?.sha256.clone();
        Some(Key { dataset, projection: self.projection.clone(), group: slot.group })
    }

    fn decode(&self, slot: Slot) -> Result<Rows, CacheError> {
        let shard = self.shards.get(slot.dataset as usize).ok_or(CacheError::NoGroup(slot))?;
        let mut rows = Rows::default();
        shard.read(|shard| shard.read(slot.group as usize, &mut rows))?;
        Ok(rows)
    }

    fn dense_row_bytes(&self) -> Option<u64> {
        None
    }

    fn empty(&self) -> Rows {
        Rows::default()
    }
}
