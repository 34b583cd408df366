//! Ranges of one set that are folded apart: each leaves a record of its shards beside them, and whoever finds all
//! of them makes the set. Two that end at once make the same file.

use std::path::{Path, PathBuf};

use common::formats::folded::set::{set_path, to_json, with_suffix};
use common::formats::folded::{Conventions, Set, SetShard};
use common::process::Failure;
use common::process::failure::InFile;
use common::state::digest::Digest;
use common::state::output::write_whole;
use serde::{Deserialize, Serialize};

use crate::fold::range::Range;

/// What one range wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Digests of the partitions, ascending: ranges of other inputs are no parts of this set.
    inputs: Vec<Digest>,
    conventions: Conventions,
    /// Shards of the whole set.
    of_shards: u32,
    shards: Vec<SetShard>,
}

impl Part {
    pub(super) fn new(mut inputs: Vec<Digest>, of_shards: u32, set: Set) -> Self {
        inputs.sort();
        Self { inputs, conventions: set.conventions, of_shards, shards: set.shards }
    }

    /// Records this part; the whole set where all others are there.
    pub(super) fn publish(self, prefix: &Path, range: Range) -> Result<(Self, Option<Set>), Failure> {
        let path = part_path(prefix, range);
        write_whole(&path, to_json(&self).as_bytes()).in_file(&path)?;
        let mut shards = vec![];
        for index in 0..range.of {
            match read(&part_path(prefix, Range { index, ..range })) {
                Some(part) if part.belongs_with(&self) => shards.extend(part.shards),
                _ => return Ok((self, None)),
            }
        }
        let set = Set::new(self.conventions, shards);
        let set_path = set_path(prefix);
        write_whole(&set_path, to_json(&set).as_bytes()).in_file(&set_path)?;
        for index in 0..range.of {
            // another range that ended at the same time may have removed it
            let _ = std::fs::remove_file(part_path(prefix, Range { index, ..range }));
        }
        Ok((self, Some(set)))
    }

    /// What this part wrote.
    pub(super) fn into_shards(self) -> (Conventions, Vec<SetShard>) {
        (self.conventions, self.shards)
    }

    fn belongs_with(&self, other: &Self) -> bool {
        (&self.inputs, &self.conventions, self.of_shards) == (&other.inputs, &other.conventions, other.of_shards)
    }
}

fn part_path(prefix: &Path, range: Range) -> PathBuf {
    with_suffix(prefix, &format!(".part-{}-of-{}.json", range.index, range.of))
}

fn read(path: &Path) -> Option<Part> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
