//! Ranges of one set that are folded apart: each leaves a record of its shards beside them, under a hidden name, and
//! whoever finds all of them makes the set. Two that end at once make the same file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::formats::folded::set::{set_path, shard_index, to_json};
use common::formats::folded::{Conventions, Set, SetShard};
use common::formats::parquet::Footer;
use common::process::Failure;
use common::process::failure::InFile;
use common::state::digest::Digest;
use common::state::lock::LockError;
use common::state::output::{folder_of, remove_if_there, write_whole};
use serde::{Deserialize, Serialize};

use crate::fold::range::Range;

/// What one range wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Digests of the partitions, ascending: ranges of other inputs are no parts of this set.
    inputs: Vec<Digest>,
    pub(super) conventions: Conventions,
    /// Shards of the whole set.
    of_shards: u32,
    pub(super) shards: Vec<SetShard>,
}

impl Part {
    /// A part that has no shards yet.
    pub(super) fn new(mut inputs: Vec<Digest>, conventions: Conventions, of_shards: u32) -> Self {
        inputs.sort();
        Self { inputs, conventions, of_shards, shards: vec![] }
    }

    /// The part with what it wrote.
    pub(super) fn with(self, set: Set) -> Self {
        Self { shards: set.shards, ..self }
    }

    /// Records this part.
    pub(super) fn write(&self, prefix: &Path, range: Range) -> Result<(), Failure> {
        let path = part_path(prefix, range);
        write_whole(&path, to_json(self).as_bytes()).in_file(&path)
    }

    /// The whole set, written where all other parts are recorded.
    pub(super) fn complete(&self, prefix: &Path, range: Range) -> Result<Option<Set>, Failure> {
        let mut shards = vec![];
        for index in 0..range.of {
            match read(&part_path(prefix, Range { index, ..range })) {
                Some(part) if part.belongs_with(self) => shards.extend(part.shards),
                _ => return Ok(None),
            }
        }
        let set = Set::new(self.conventions, shards);
        let set_path = set_path(prefix);
        // another range that ends at the same time writes the same bytes
        while std::fs::read(&set_path).ok().is_none_or(|there| there != to_json(&set).as_bytes()) {
            match write_whole(&set_path, to_json(&set).as_bytes()) {
                Err(LockError::Held) => std::thread::sleep(Duration::from_millis(5)),
                written => written.in_file(&set_path)?,
            }
        }
        Ok(Some(set))
    }

    fn belongs_with(&self, other: &Self) -> bool {
        (&self.inputs, &self.conventions, self.of_shards)
            == (&other.inputs, &other.conventions, other.of_shards)
    }
}

/// Before shards of a prefix are replaced: its set is none any more, nor are the parts of other folds than this one
/// (`kin`), nor the part that is to be made anew (`own`).
pub(super) fn begin(prefix: &Path, kin: Option<&Part>, own: Range) -> Result<(), Failure> {
    let remove = |path: &Path| remove_if_there(path).in_file(path);
    let Some(name) = prefix.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    let (own, folder) = (part_path(prefix, own), folder_of(prefix));
    std::fs::create_dir_all(folder).in_file(folder)?;
    for entry in std::fs::read_dir(folder).in_file(folder)? {
        let path = entry.in_file(folder)?.path();
        if shard_index(prefix, &path).is_some() && !is_shard(&path) {
            return Err(Failure::usage("a file that is no folded shard has the name of one of this set")
                .in_file(&path)
                .hint("choose another prefix: shards replace files of their names"));
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let is_part = file.strip_prefix(&format!(".{name}.part-")).is_some_and(is_part_number);
        let is_kin = || kin.is_some_and(|kin| read(&path).is_some_and(|part| part.belongs_with(kin)));
        if is_part && (path.file_name() == own.file_name() || !is_kin()) {
            remove(&path)?;
        }
    }
    remove(&set_path(prefix))
}

/// `I-of-N.json`.
fn is_part_number(text: &str) -> bool {
    let numbers = text.strip_suffix(".json").and_then(|text| text.split_once("-of-"));
    numbers.is_some_and(|(index, of)| index.parse::<u32>().is_ok() && of.parse::<u32>().is_ok())
}

/// Whether a file is one that a fold may replace: a link, or a shard of ours, also where its rows are damaged.
fn is_shard(path: &Path) -> bool {
    if path.is_symlink() {
        return true;
    }
    let footer = File::open(path).map_err(Into::into).and_then(|file| Footer::read(&file));
    footer.is_ok_and(|footer| footer.pairs().any(|(key, _)| key == "shuffle_seed"))
}

pub(super) fn part_path(prefix: &Path, range: Range) -> PathBuf {
    let name = prefix.file_name().unwrap_or_default().to_string_lossy();
    folder_of(prefix).join(format!(".{name}.part-{}-of-{}.json", range.index, range.of))
}

fn read(path: &Path) -> Option<Part> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
