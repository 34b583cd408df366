//! Holds a shard to what its set records, without looking at its rows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use super::conventions::{Conventions, PairError};
use super::read::Shard;
use super::rows::Rows;
use super::schema::GROUP_ROWS;
use super::set::SetShard;
use crate::formats::parquet;
use crate::state::digest::Digest;

/// Why a shard is not what its set records.
#[derive(Debug, thiserror::Error)]
pub enum ShardFault {
    /// It cannot be read.
    #[error(transparent)]
    Parquet(#[from] parquet::Error),
    /// Its footer states no conventions.
    #[error(transparent)]
    Pairs(#[from] PairError),
    /// Its row groups are not those of the format.
    #[error("row group {0} is not full, and not the last")]
    Group(usize),
    /// It can be read, and is another file than the one that was recorded.
    #[error("{what} is not what the set records")]
    Unlike {
        /// What differs.
        what: &'static str,
        /// What the file has.
        found: String,
        /// What the set records.
        expected: String,
    },
}

impl From<io::Error> for ShardFault {
    fn from(error: io::Error) -> Self {
        Self::Parquet(error.into())
    }
}

/// Opens a shard and holds its digest, footer, rows and row groups to the record. A shard that cannot be read is
/// damaged, whatever the record says.
pub fn check_shard(
    path: &Path,
    record: &SetShard,
    conventions: &Conventions,
) -> Result<Shard<File>, ShardFault> {
    let unlike = |what, found: &dyn ToString, expected: &dyn ToString| {
        Err(ShardFault::Unlike { what, found: found.to_string(), expected: expected.to_string() })
    };
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let digest = Digest::of_file(&mut file)?;
    let shard = Shard::open(File::open(path)?)?;
    if digest != record.sha256 {
        let mut rows = Rows::default();
        (0..shard.footer().groups()).try_for_each(|group| shard.read(group, &mut rows))?;
        return unlike("the SHA-256", &digest, &record.sha256);
    }
    if bytes != record.bytes {
        return unlike("the size", &bytes, &record.bytes);
    }
    let stated = Conventions::from_pairs(shard.footer().pairs(), &BTreeMap::new())?;
    if stated != *conventions {
        return unlike("the footer", &stated, conventions);
    }
    if shard.rows() != record.rows {
        return unlike("the number of rows", &shard.rows(), &record.rows);
    }
    let last = shard.footer().groups().saturating_sub(1);
    match (0..last).find(|&group| shard.footer().group_rows(group) != GROUP_ROWS) {
        Some(group) => Err(ShardFault::Group(group)),
        None => Ok(shard),
    }
}
