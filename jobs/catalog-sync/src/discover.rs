//! What lies below folders.

use std::io;
use std::path::{Path, PathBuf};

use common::formats::folded::set::shard_index;
use common::process::failure::InFile;
use common::process::{Failure, stop};

/// Files of one folder tree, in order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// `<prefix>.set.json` files.
    pub(crate) sets: Vec<PathBuf>,
    /// Files named like shards.
    pub(crate) shards: Vec<PathBuf>,
    /// What cannot be looked at or recorded, and why.
    pub(crate) left_out: Vec<(PathBuf, Failure)>,
}

/// Looks through a folder. Links to folders are not followed, so that no circle is.
pub(crate) fn discover(folder: &Path) -> Result<Found, Failure> {
    let (mut found, mut waiting) = (Found::default(), vec![folder.to_path_buf()]);
    while let Some(folder) = waiting.pop() {
        stop::check()?;
        let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = match entries.in_file(&folder) {
            Ok(entries) => entries,
            Err(failure) => {
                found.left_out.push((folder, failure));
                continue;
            }
        };
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_shard = prefix_of(&path).is_some();
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else if (name.ends_with(".set.json") || is_shard) && path.to_str().is_none() {
                let failure = Failure::usage("the catalog records paths in UTF-8 only").in_file(&path);
                found.left_out.push((path, failure));
            } else if path.exists() && !path.is_file() {
                // a pipe or a device is nobody's dataset
            } else if name.ends_with(".set.json") {
                found.sets.push(path);
            } else if is_shard {
                found.shards.push(path);
            }
        }
    }
    found.sets.sort();
    found.shards.sort();
    Ok(found)
}

/// The prefix of a file that is named like a shard.
fn prefix_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
    let prefix = path.with_file_name(name.rsplit_once('-')?.0);
    shard_index(&prefix, path).map(|_| prefix)
}
