//! Shards as they are named on a command line: themselves, or through their set.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use common::formats::folded::{Conventions, Rows, Set, Shard};
use common::process::failure::InFile;
use common::process::{Failure, stop};
use common::state::output::folder_of;

/// An open shard.
pub(super) struct ShardFile {
    pub(super) path: PathBuf,
    pub(super) shard: Shard<File>,
}

impl ShardFile {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let shard = Shard::open(File::open(path).in_file(path)?).in_file(path)?;
        Ok(Self { path: path.into(), shard })
    }

    /// What its footer states; `assumed` fills gaps.
    pub(super) fn conventions(&self, assumed: &BTreeMap<String, String>) -> Result<Conventions, Failure> {
        Conventions::from_pairs(self.shard.footer().pairs(), assumed).in_file(&self.path)
    }

    /// Hands every row group to `take`.
    pub(super) fn each_group(
        &self,
        mut take: impl FnMut(&Rows) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut rows = Rows::default();
        for group in 0..self.shard.footer().groups() {
            stop::check()?;
            self.shard.read(group, &mut rows).in_file(&self.path)?;
            take(&rows).map_err(|failure| failure.in_file(&self.path))?;
        }
        Ok(())
    }
}

/// Whether a path is named like the record of a set.
pub(super) fn is_set(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Opens shards, and the shards of sets.
pub(super) fn open_all(files: &[PathBuf]) -> Result<Vec<ShardFile>, Failure> {
    let mut shards = vec![];
    for path in files {
        if is_set(path) {
            let set = Set::read(path).in_file(path)?;
            let beside = |shard: &common::formats::folded::SetShard| folder_of(path).join(&shard.file);
            shards.extend(
                set.shards
                    .iter()
                    .map(|shard| ShardFile::open(&beside(shard)))
                    .collect::<Result<Vec<_>, _>>()?,
            );
        } else {
            shards.push(ShardFile::open(path)?);
        }
    }
    Ok(shards)
}
