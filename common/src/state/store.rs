//! The store: results of jobs by what they were made from (actions), and their bytes by what they are (blobs).
//! Layout and rules: `docs/formats/store.md`.
//!
//! An action's record is published last, when its blobs are durable, so that a record means whole results. A record
//! whose blobs are gone or changed is none. One process at a time works on a key, and whoever waited for it finds the
//! record. What a running process holds, it says in its lease, which [`purge`] respects.

mod lease;
mod memo;
pub mod purge;
pub mod record;

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::lock::{LockError, open_locked};
use super::output::{Claim, folder_of, remove_if_there, sync_folder};
use super::stat::Stat;
use lease::Lease;
use memo::Memo;
use record::{Blob, Record, Source};
use rustix::fs::OFlags;

/// What the store's mark says it is.
const FORMAT: &str = "foldline store";
/// Revision of the layout.
const VERSION: u32 = 1;
/// The mark, which tells a store from any other folder.
const MARK: &str = "store.json";
/// Bytes may be looked at by everybody, and changed by nobody.
const SEALED: u32 = 0o444;

/// A store that is in use by this process.
#[derive(Debug)]
pub struct Store {
    layout: Layout,
    memo: Memo,
    lease: Lease,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder that is not empty and has no mark.
    #[error("the folder is no store, and not empty")]
    NoStore,
    /// A store of another revision.
    #[error("the store has layout {found}, and this program knows {VERSION}")]
    Other {
        /// Revision of the store.
        found: u32,
    },
    /// An input that lies in the store is not what its name says.
    #[error("a blob of the store is damaged")]
    Damaged,
    /// A file had other bytes at the end of its reading than at the start.
    #[error("the file changed while it was read")]
    Changed,
    /// Data of the work tree that is not in the store.
    #[error("a file of other content is already there")]
    Occupied,
    /// The file system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of the store is being written.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// The lock of a key; it ends with this value, also by kill -9.
#[derive(Debug)]
pub struct KeyLock {
    _file: File,
}

/// A file by its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Where it lies, links followed.
    pub path: PathBuf,
    /// Its digest.
    pub sha256: Digest,
    /// What it was known by when that was read.
    pub stat: Stat,
}

#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    format: String,
    version: u32,
}

/// Where things lie.
#[derive(Debug, Clone)]
struct Layout(PathBuf);

impl Layout {
    fn blob(&self, sha256: &Digest) -> PathBuf {
        self.0.join("blobs/sha256").join(fanned(sha256))
    }

    fn action(&self, key: &Digest) -> PathBuf {
        self.0.join("actions").join(fanned(key)).with_extension("json")
    }

    /// Names the action that made a blob.
    fn origin(&self, sha256: &Digest) -> PathBuf {
        self.0.join("origins").join(fanned(sha256))
    }

    fn scratch(&self, key: &Digest) -> PathBuf {
        self.0.join("tmp").join(key.as_str())
    }

    fn lock(&self, key: &Digest) -> PathBuf {
        self.0.join("locks").join(key.as_str())
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The digest that a blob's name states, for paths of blobs.
    fn named(&self, path: &Path) -> Option<Digest> {
        let rest = path.strip_prefix(self.0.join("blobs/sha256")).ok()?;
        Digest::try_from(rest.file_name()?.to_str()?.to_owned()).ok()
    }

    /// Whether the folder is a store; one of another revision is an error.
    fn is_marked(&self) -> Result<bool, StoreError> {
        let text = match std::fs::read(self.folder(MARK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            text => text?,
        };
        match serde_json::from_slice::<Mark>(&text) {
            Ok(Mark { format, version: VERSION }) if format == FORMAT => Ok(true),
            Ok(Mark { format, version }) if format == FORMAT => Err(StoreError::Other { found: version }),
            _ => Err(StoreError::NoStore),
        }
    }

    fn record(&self, key: &Digest) -> Option<Record> {
        let record: Record = serde_json::from_slice(&std::fs::read(self.action(key)).ok()?).ok()?;
        (record.is_known() && record.key == *key).then_some(record)
    }
}

/// `ab/abcd...`: no folder grows too long.
fn fanned(digest: &Digest) -> PathBuf {
    Path::new(&digest.as_str()[..2]).join(digest.as_str())
}

impl Store {
    /// Opens a store, and makes it where the folder is missing or empty.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        fs_err::create_dir_all(root)?;
        let layout = Layout(fs_err::canonicalize(root)?);
        if !layout.is_marked()? {
            make(&layout)?;
        }
        let lease = Lease::new(&layout)?;
        let memo = Memo::new(layout.folder("memo"));
        Ok(Self { layout, memo, lease })
    }

    /// The store's folder, links followed.
    pub fn root(&self) -> &Path {
        &self.layout.0
    }

    /// The digest of a file, read only where the memo does not know it. A file that lies in the store is held until
    /// this process ends, and is [`StoreError::Damaged`] where it is not what its name says.
    pub fn know(&self, path: &Path) -> Result<Known, StoreError> {
        let path = fs_err::canonicalize(path)?;
        let named = self.layout.named(&path);
        if let Some(sha256) = &named {
            self.lease.hold([sha256])?;
        }
        let (sha256, stat) = self.memo.digest(&path)?;
        match named {
            Some(named) if named != sha256 => Err(StoreError::Damaged),
            _ => Ok(Known { path, sha256, stat }),
        }
    }

    /// Says where known files can be made from: themselves, or what the blobs among them were made from.
    pub fn sources(&self, inputs: &[Known]) -> Vec<Source> {
        let mut sources = vec![];
        for input in inputs {
            let own = || vec![Source { sha256: input.sha256.clone(), path: record::path_text(&input.path) }];
            let origin = self.layout.named(&input.path).and_then(|sha256| self.origin(&sha256));
            sources.extend(origin.filter(|origin| !origin.keep.is_pinned()).map_or_else(own, |o| o.sources));
        }
        sources.sort();
        sources.dedup();
        sources
    }

    fn origin(&self, sha256: &Digest) -> Option<Record> {
        let key = std::fs::read_to_string(self.layout.origin(sha256)).ok()?;
        self.layout.record(&Digest::try_from(key).ok()?)
    }

    /// Locks a key for this process alone; `None` while another works on it.
    pub fn try_lock(&self, key: &Digest) -> Result<Option<KeyLock>, StoreError> {
        try_lock(&self.layout, key)
    }

    /// The record of an action whose results are all there, and as they were. They are held until this process ends.
    /// A blob that is damaged is removed, so that it is made anew.
    pub fn lookup(&self, key: &Digest) -> Result<Option<Record>, StoreError> {
        let Some(record) = self.layout.record(key) else { return Ok(None) };
        self.lease.hold(record.outputs.iter().map(|blob| &blob.sha256))?;
        for blob in &record.outputs {
            if !self.is_whole(blob)? {
                return Ok(None);
            }
        }
        // when it was last of use; a purge goes by it
        File::open(self.layout.action(key))?.set_modified(std::time::SystemTime::now())?;
        Ok(Some(record))
    }

    /// Whether a blob is there, and is what its name says.
    fn is_whole(&self, blob: &Blob) -> Result<bool, StoreError> {
        let path = self.layout.blob(&blob.sha256);
        let sized = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && m.len() == blob.bytes);
        if sized && self.memo.digest(&path)?.0 == blob.sha256 {
            return Ok(true);
        }
        remove_if_there(&path)?;
        Ok(false)
    }

    /// A folder for results in the making, of whoever has the key's lock. What a process that was stopped left in it is still
    /// there, until a purge takes it.
    pub fn scratch(&self, key: &Digest) -> Result<PathBuf, StoreError> {
        let folder = self.layout.scratch(key);
        fs_err::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Removes what is left in the scratch folder of a key.
    pub fn discard(&self, key: &Digest) {
        let _ = std::fs::remove_dir_all(self.layout.scratch(key));
    }

    /// Takes files into the store and publishes their record: `outputs` are their names and where they lie, below
    /// [`scratch`](Self::scratch). The record states what the action was; its outputs are filled in here.
    pub fn publish(&self, mut record: Record, outputs: &[(String, PathBuf)]) -> Result<Record, StoreError> {
        for (name, path) in outputs {
            let mut file = File::open(path)?;
            let sha256 = Digest::of_file(&mut file)?;
            let blob = Blob { name: name.clone(), bytes: file.metadata()?.len(), sha256 };
            self.lease.hold([&blob.sha256])?;
            if self.is_whole(&blob)? {
                remove_if_there(path)?;
            } else {
                self.take(path, &file, &blob)?;
            }
            replace(&self.layout.origin(&blob.sha256), record.key.as_str().as_bytes())?;
            record.outputs.push(blob);
        }
        let target = self.layout.action(&record.key);
        replace(&target, record.to_json().as_bytes())?;
        sync_folder(folder_of(&target))?;
        Ok(record)
    }

    /// Makes a file a blob: durable, sealed, and only then under its name.
    fn take(&self, path: &Path, file: &File, blob: &Blob) -> Result<(), StoreError> {
        let target = self.layout.blob(&blob.sha256);
        let folder = folder_of(&target);
        fs_err::create_dir_all(folder)?;
        file.set_permissions(Permissions::from_mode(SEALED))?;
        file.sync_all()?;
        fs_err::rename(path, &target)?;
        sync_folder(folder)?;
        self.memo.remember(&target, &Stat::of(&target)?, &blob.sha256);
        Ok(())
    }

    /// Makes results appear in the work tree, by links, the last one last: it is what makes the others whole. A link
    /// that stands there is replaced, and so is a file where `force` says so; a file with the same bytes is left.
    pub fn place(&self, results: &[(&Blob, PathBuf)], force: bool) -> Result<(), PlaceError> {
        let Some((last, others)) = results.split_last() else { return Ok(()) };
        let _claim = Claim::new(&last.1).map_err(|error| at(&last.1, error))?;
        if self.are_placed(others, force)? {
            return self.place_one(last, force);
        }
        if self.is_wanted(last.0, &last.1, force).is_ok() {
            remove_if_there(&last.1).map_err(|error| at(&last.1, error))?;
        }
        others.iter().chain([last]).try_for_each(|result| self.place_one(result, force))
    }

    /// Whether all results are in place; an error where one cannot be.
    pub fn are_placed(&self, results: &[(&Blob, PathBuf)], force: bool) -> Result<bool, PlaceError> {
        let mut placed = true;
        for (blob, target) in results {
            placed &= !self.is_wanted(blob, target, force).map_err(|error| at(target, error))?;
        }
        Ok(placed)
    }

    fn place_one(&self, (blob, target): &(&Blob, PathBuf), force: bool) -> Result<(), PlaceError> {
        let wanted = self.is_wanted(blob, target, force);
        let placed = wanted.and_then(|wanted| if wanted { self.link(blob, target) } else { Ok(()) });
        placed.map_err(|error| at(target, error))
    }

    /// Whether a link is to be made.
    fn is_wanted(&self, blob: &Blob, target: &Path, force: bool) -> Result<bool, StoreError> {
        let there = match std::fs::symlink_metadata(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            there => there?,
        };
        if there.is_symlink() {
            let linked = fs_err::read_link(target)?;
            let replaceable = force || is_blob(&linked) || !target.exists();
            return if replaceable {
                Ok(linked != self.layout.blob(&blob.sha256))
            } else {
                Err(StoreError::Occupied)
            };
        }
        if there.is_file() && there.len() == blob.bytes && self.memo.digest(target)?.0 == blob.sha256 {
            return Ok(false);
        }
        if there.is_file() && force { Ok(true) } else { Err(StoreError::Occupied) }
    }

    fn link(&self, blob: &Blob, target: &Path) -> Result<(), StoreError> {
        let folder = folder_of(target);
        fs_err::create_dir_all(folder)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let linking = folder.join(format!(".{name}.link"));
        remove_if_there(&linking)?;
        fs_err::os::unix::fs::symlink(self.layout.blob(&blob.sha256), &linking)?;
        fs_err::rename(&linking, target).inspect_err(|_| drop(std::fs::remove_file(&linking)))?;
        Ok(sync_folder(folder)?)
    }
}

/// Where in the work tree results cannot be placed, and why.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct PlaceError {
    /// Where.
    pub target: PathBuf,
    /// Why.
    pub error: StoreError,
}

fn at(target: &Path, error: impl Into<StoreError>) -> PlaceError {
    PlaceError { target: target.into(), error: error.into() }
}

fn try_lock(layout: &Layout, key: &Digest) -> Result<Option<KeyLock>, StoreError> {
    match open_locked(&layout.lock(key), OFlags::NOFOLLOW) {
        Ok(file) => Ok(Some(KeyLock { _file: file })),
        Err(LockError::Held) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes an empty folder a store. The mark comes first: what has none is never taken for a store, nor purged.
fn make(layout: &Layout) -> Result<(), StoreError> {
    let mark = layout.folder(MARK);
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    for entry in fs_err::read_dir(&layout.0)? {
        // another process may be making it
        let name = entry?.file_name();
        if !hidden(&name) && name != MARK {
            return if mark.exists() { Ok(()) } else { Err(StoreError::NoStore) };
        }
    }
    let text = serde_json::to_string(&Mark { format: FORMAT.into(), version: VERSION }).unwrap_or_default();
    Ok(replace(&mark, text.as_bytes())?)
}

/// Writes a small file of the store, whole or not at all. Two that do it at once write the same.
fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(target);
    fs_err::create_dir_all(folder)?;
    let mut file = named(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(target)?;
    Ok(())
}

/// A file of a new name, open to others as far as the process's mask says.
fn named(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}

/// Whether a path is one of a blob, of whatever store.
fn is_blob(path: &Path) -> bool {
    let mut names = path.iter().rev();
    let digest = names.next().and_then(|name| Digest::try_from(name.to_str()?.to_owned()).ok());
    digest.is_some() && names.nth(1).is_some_and(|name| name == "sha256")
}
