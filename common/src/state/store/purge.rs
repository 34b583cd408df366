//! What is in a store, and bounds on it by size and age.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::lease::{self, Leases};
use super::record::{Keep, Record, Source};
use super::{Layout, StoreError, memo, try_lock};
use crate::state::digest::Digest;
use crate::state::output::remove_if_there;

/// How much of a store may stay.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Bytes of all blobs.
    pub max_bytes: Option<u64>,
    /// Time since an action was last of use.
    pub max_age: Option<Duration>,
}

/// An action in a store.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Its key.
    pub key: Digest,
    /// Job and verb.
    pub job: String,
    /// How long it is kept.
    pub keep: Keep,
    /// Bytes of its results.
    pub bytes: u64,
    /// Number of its results.
    pub outputs: usize,
    /// Seconds since it was made, or found again.
    pub age_s: u64,
    /// Seconds that it took to compute.
    pub wall_s: f64,
}

/// Why an action stays though a limit asks for its place.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Kept {
    /// Bytes of raw data.
    pub pinned: u64,
    /// Bytes that running processes hold.
    pub held: u64,
    /// Bytes of datasets whose sources are gone or changed.
    pub irreplaceable: u64,
}

/// What a purge did, or would do.
#[derive(Debug, Default, Serialize)]
pub struct Purged {
    /// Actions that went, in the order they went in.
    pub removed: Vec<Entry>,
    /// Records that went because their results were gone or they could not be read.
    pub broken: usize,
    /// Bytes of blobs that no record named.
    pub orphaned: u64,
    /// Bytes that went in all.
    pub freed: u64,
    /// Bytes of the blobs that are left.
    pub left: u64,
    /// Of those, what limits do not reach.
    pub kept: Kept,
}

/// What is in a store, behind its closed gate.
struct Inventory {
    layout: Layout,
    memo: memo::Memo,
    leases: Leases,
    actions: Vec<(Record, Entry)>,
    /// Files that are no record of results that are there.
    broken: Vec<PathBuf>,
    blobs: BTreeMap<Digest, u64>,
    /// Records that name a blob.
    uses: BTreeMap<Digest, usize>,
    dry_run: bool,
}

/// Lists the actions of a store, the least lately used first.
pub fn list(root: &Path) -> Result<Vec<Entry>, StoreError> {
    let inventory = Inventory::read(enter(root)?, true)?;
    Ok(inventory.actions.into_iter().map(|(_, entry)| entry).collect())
}

/// Purges a store: what dead processes left, what is broken, then actions until the limits hold; scratch before
/// datasets, and the least lately used first. Neither raw data goes, nor what a running process holds, nor a dataset
/// whose sources are not there as they were. `pause` says between two actions whether to stop.
pub fn purge(
    root: &Path,
    limits: Limits,
    dry_run: bool,
    pause: &mut dyn FnMut() -> bool,
) -> Result<Purged, StoreError> {
    let layout = enter(root)?;
    let _gate = lease::close(&layout)?;
    Inventory::read(layout, dry_run)?.purge(limits, pause)
}

/// A store that is there.
fn enter(root: &Path) -> Result<Layout, StoreError> {
    let layout = Layout(fs_err::canonicalize(root)?);
    if layout.is_marked()? { Ok(layout) } else { Err(StoreError::NoStore) }
}

impl Inventory {
    fn read(layout: Layout, dry_run: bool) -> Result<Self, StoreError> {
        let mut blobs = BTreeMap::new();
        for path in files(&layout.folder("blobs/sha256"))? {
            if let Some(sha256) = layout.named(&path) {
                blobs.insert(sha256, fs_err::metadata(&path)?.len());
            }
        }
        let (mut actions, mut broken, mut uses) = (vec![], vec![], BTreeMap::new());
        let now = SystemTime::now();
        for path in files(&layout.folder("actions"))? {
            let key = path.file_stem().and_then(|stem| Digest::try_from(stem.to_str()?.to_owned()).ok());
            let record = key.and_then(|key| layout.record(&key)).filter(|record| {
                record.outputs.iter().all(|blob| blobs.get(&blob.sha256) == Some(&blob.bytes))
            });
            let Some(record) = record else {
                broken.push(path);
                continue;
            };
            for sha256 in record.outputs.iter().map(|blob| &blob.sha256).collect::<BTreeSet<_>>() {
                *uses.entry(sha256.clone()).or_default() += 1;
            }
            let used = fs_err::metadata(&path)?.modified()?;
            let age_s = now.duration_since(used).map_or(0, |age| age.as_secs());
            let entry = Entry {
                key: record.key.clone(),
                job: record.job.clone(),
                keep: record.keep,
                bytes: record.bytes(),
                outputs: record.outputs.len(),
                age_s,
                wall_s: record.cost.wall_s,
            };
            actions.push((used, (record, entry)));
        }
        actions.sort_by(|(a, (_, x)), (b, (_, y))| (a, &x.key).cmp(&(b, &y.key)));
        let actions = actions.into_iter().map(|(_, action)| action).collect();
        let (memo, leases) = (memo::Memo::new(layout.folder("memo")), lease::leases(&layout)?);
        Ok(Self { layout, memo, leases, actions, broken, blobs, uses, dry_run })
    }

    fn purge(mut self, limits: Limits, pause: &mut dyn FnMut() -> bool) -> Result<Purged, StoreError> {
        let mut purged = Purged { broken: self.broken.len(), ..Purged::default() };
        self.sweep()?;
        let named = |sha256: &&Digest| !self.uses.contains_key(*sha256);
        for sha256 in self.blobs.keys().filter(named).cloned().collect::<Vec<_>>() {
            if !self.leases.held.contains(&sha256) {
                purged.orphaned += self.remove_blob(&sha256)?;
            }
        }
        let mut actions = std::mem::take(&mut self.actions);
        actions.sort_by_key(|(_, entry)| entry.keep);
        for (record, entry) in actions {
            if pause() {
                break;
            }
            let old = limits.max_age.is_some_and(|age| entry.age_s > age.as_secs());
            let large = limits.max_bytes.is_some_and(|bytes| self.bytes() > bytes);
            if !(old || large) {
                continue;
            }
            if let Some(kept) = self.reason_to_keep(&record, &mut purged.kept) {
                *kept += entry.bytes;
                continue;
            }
            self.remove(&self.layout.action(&record.key))?;
            for blob in &record.outputs {
                let uses = self.uses.get_mut(&blob.sha256).map_or(0, |uses| {
                    *uses = uses.saturating_sub(1);
                    *uses
                });
                if uses == 0 {
                    purged.freed += self.remove_blob(&blob.sha256)?;
                }
            }
            purged.removed.push(entry);
        }
        purged.freed += purged.orphaned;
        purged.left = self.bytes();
        Ok(purged)
    }

    /// Removes what dead processes left, and what says nothing any more.
    fn sweep(&self) -> Result<(), StoreError> {
        for path in self.broken.iter().chain(&self.leases.dead) {
            self.remove(path)?;
        }
        if self.dry_run {
            return Ok(());
        }
        for folder in ["tmp", "locks"] {
            for entry in fs_err::read_dir(self.layout.folder(folder))? {
                let key = Digest::try_from(entry?.file_name().to_string_lossy().into_owned());
                // who has the lock of a key makes its results; who waits for it looks whether it is still there
                if let Ok(key) = key
                    && let Some(_lock) = try_lock(&self.layout, &key)?
                {
                    let _ = std::fs::remove_dir_all(self.layout.scratch(&key));
                    remove_if_there(&self.layout.lock(&key))?;
                }
            }
        }
        for path in files(&self.layout.folder("memo"))? {
            if !memo::read(&path).is_some_and(|entry| entry.is_current()) {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// Where the bytes of an action that has to stay are counted.
    fn reason_to_keep<'k>(&self, record: &Record, kept: &'k mut Kept) -> Option<&'k mut u64> {
        if record.keep.is_pinned() {
            return Some(&mut kept.pinned);
        }
        if record.outputs.iter().any(|blob| self.leases.held.contains(&blob.sha256)) {
            return Some(&mut kept.held);
        }
        let replaceable =
            record.keep == Keep::Scratch || record.sources.iter().all(|source| self.is_there(source));
        (!replaceable).then_some(&mut kept.irreplaceable)
    }

    fn is_there(&self, source: &Source) -> bool {
        let blob = self.layout.blob(&source.sha256);
        [blob.as_path(), Path::new(&source.path)]
            .into_iter()
            .any(|path| self.memo.digest(path).is_ok_and(|(sha256, _)| sha256 == source.sha256))
    }

    /// Bytes of all blobs.
    fn bytes(&self) -> u64 {
        self.blobs.values().sum()
    }

    fn remove_blob(&mut self, sha256: &Digest) -> Result<u64, StoreError> {
        let Some(bytes) = self.blobs.remove(sha256) else { return Ok(0) };
        self.remove(&self.layout.blob(sha256))?;
        self.remove(&self.layout.origin(sha256))?;
        Ok(bytes)
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        if self.dry_run { Ok(()) } else { Ok(remove_if_there(path)?) }
    }
}

/// All files in the folders of a folder, in order; none where there is no such folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    let Ok(fans) = std::fs::read_dir(folder) else { return Ok(files) };
    for fan in fans {
        for file in fs_err::read_dir(fan?.path())? {
            files.push(file?.path());
        }
    }
    files.sort();
    Ok(files)
}
