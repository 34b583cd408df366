//! What lies below folders.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use common::formats::decisions::Date;
use common::formats::decisions::manifest::{manifest_path, parquet_path};
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
    /// Days that have a manifest, in order.
    pub(crate) days: BTreeSet<Place>,
    /// Days that have none.
    pub(crate) unnamed_days: BTreeSet<Place>,
    /// What cannot be looked at or recorded, and why.
    pub(crate) left_out: Vec<(PathBuf, Failure)>,
}

/// Where a day lies: days come first in the order, so that each is rated on top of those before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) date: Date,
    pub(crate) folder: PathBuf,
}

impl Place {
    /// Its Parquet file.
    pub(crate) fn parquet(&self) -> PathBuf {
        parquet_path(&self.folder, self.date)
    }

    /// Its manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        manifest_path(&self.folder, self.date)
    }
}

/// What a name says that a file is.
enum Kind {
    Set,
    Shard,
    Manifest(Date),
    Day(Date),
}

impl Kind {
    fn of(path: &Path, name: &str) -> Option<Self> {
        let date = |suffix: &str| name.strip_suffix(suffix)?.parse().ok();
        if name.ends_with(".set.json") {
            return Some(Self::Set);
        }
        let day = date(".manifest.json").map(Self::Manifest).or_else(|| date(".parquet").map(Self::Day));
        day.or_else(|| prefix_of(path).map(|_| Self::Shard))
    }
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
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
                continue;
            }
            let Some(kind) = Kind::of(&path, &name) else { continue };
            if path.to_str().is_none() {
                let failure = Failure::usage("the catalog records paths in UTF-8 only").in_file(&path);
                found.left_out.push((path, failure));
            } else if path.exists() && !path.is_file() {
                // a pipe or a device is nobody's dataset
            } else {
                found.add(kind, path, &folder);
            }
        }
    }
    let Found { days, unnamed_days, .. } = &mut found;
    unnamed_days.retain(|place| !days.contains(place));
    found.sets.sort();
    found.shards.sort();
    Ok(found)
}

impl Found {
    fn add(&mut self, kind: Kind, path: PathBuf, folder: &Path) {
        let place = |date| Place { date, folder: folder.into() };
        match kind {
            Kind::Set => self.sets.push(path),
            Kind::Shard => self.shards.push(path),
            Kind::Manifest(date) => drop(self.days.insert(place(date))),
            Kind::Day(date) => drop(self.unnamed_days.insert(place(date))),
        }
    }
}

/// The prefix of a file that is named like a shard.
fn prefix_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
    let prefix = path.with_file_name(name.rsplit_once('-')?.0);
    shard_index(&prefix, path).map(|_| prefix)
}
