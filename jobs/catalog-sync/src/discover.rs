//! What lies below folders.

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
}

/// Looks through a folder. Links to folders are not followed, so that no circle is.
pub(crate) fn discover(folder: &Path) -> Result<Found, Failure> {
    let (mut found, mut waiting) = (Found::default(), vec![folder.to_path_buf()]);
    while let Some(folder) = waiting.pop() {
        stop::check()?;
        for entry in std::fs::read_dir(&folder).in_file(&folder)? {
            let entry = entry.in_file(&folder)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type().in_file(&path)?.is_dir() {
                waiting.push(path);
            } else if name.ends_with(".set.json") {
                found.sets.push(path);
            } else if prefix_of(&path).is_some() {
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
