//! Spill folders: what a run evicts, below a root that many runs may share. A run holds the lock of its lease, so that
//! whoever cleans up knows the living from the dead. Source: "SSD spill tier".
//!
//! ```text
//! ROOT/run-k3x9/lease.json     locked by the run while it lives
//! ROOT/run-k3x9/train/*.spill  what a cache of that run evicted
//! ROOT/run-k3x9/val/*.spill
//! ```

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::columns::View;
use super::key::{Key, is_spill_name};
use super::spill::{self, Spilled};
use crate::state::lock::{LockError, lock_existing, open_locked};
use crate::state::output::{Output, free_bytes, remove_if_there};

const FORMAT: &str = "foldline spill";
const VERSION: u32 = 1;
const LEASE: &str = "lease.json";
/// In front of the names of runs' folders.
const PREFIX: &str = "run-";
/// In front of the name of a folder that is becoming a run's.
const HIDDEN: &str = ".run-";

/// What a lease says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    format: String,
    version: u32,
    /// What the run is, in its own words.
    pub run: String,
    /// Its process.
    pub pid: u32,
    /// When it began, in seconds since 1970.
    pub started_at: u64,
}

/// The spill folder of a run that lives. When this is dropped, the folder is removed.
#[derive(Debug)]
pub struct SpillRun {
    folder: PathBuf,
    _lease: File,
}

/// Where one cache of a run spills to.
#[derive(Debug, Clone)]
pub struct SpillFolder {
    folder: PathBuf,
    /// Bytes of the disk that are left free.
    floor: u64,
    _run: Arc<SpillRun>,
}

impl SpillRun {
    /// Makes a folder for a run below `root`. It appears with a lease that is locked already.
    pub fn start(root: &Path, run: &str) -> io::Result<Arc<Self>> {
        fs_err::create_dir_all(root)?;
        let hidden = tempfile::Builder::new().prefix(HIDDEN).tempdir_in(root)?;
        let mut lease = open_locked(&hidden.path().join(LEASE), OFlags::NOFOLLOW).map_err(into_io)?;
        let started_at =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let says = Lease {
            format: FORMAT.into(),
            version: VERSION,
            run: run.into(),
            pid: std::process::id(),
            started_at,
        };
        lease.write_all(&serde_json::to_vec(&says)?)?;
        fs_err::set_permissions(hidden.path(), Permissions::from_mode(0o755))?;
        let name = hidden.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = root.join(&name[1..]);
        fs_err::rename(hidden.keep(), &folder)?;
        Ok(Arc::new(Self { folder, _lease: lease }))
    }

    /// A folder for one cache, such as `train`. Spilling leaves `floor` bytes of the disk free.
    pub fn folder(self: &Arc<Self>, name: &str, floor: u64) -> io::Result<SpillFolder> {
        let folder = self.folder.join(name);
        fs_err::create_dir(&folder)?;
        Ok(SpillFolder { folder, floor, _run: Arc::clone(self) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for SpillRun {
    fn drop(&mut self) {
        if let Err(error) = Contents::of(&self.folder).and_then(|contents| contents.remove()) {
            tracing::warn!("{} was not removed: {error}", self.folder.display());
        }
    }
}

impl SpillFolder {
    /// Writes a group, whole or not at all.
    pub(super) fn write(&self, key: &Key, kind: u32, rows: usize, views: &[View<'_>]) -> io::Result<()> {
        if free_bytes(&self.folder)?.saturating_sub(spill::file_len(views)) < self.floor {
            return Err(io::ErrorKind::StorageFull.into());
        }
        write_file(&self.path(key), key, kind, rows, views).map_err(into_io)
    }

    /// Maps a group; `None` where its file is not what it should be, and is then removed.
    pub(super) fn open(&self, key: &Key, kind: u32, deep: bool) -> io::Result<Option<Spilled>> {
        let spilled = Spilled::open(&self.path(key), key, kind, deep);
        if !matches!(spilled, Ok(Some(_))) {
            self.remove(key);
        }
        spilled
    }

    /// Removes the file of a group.
    pub(super) fn remove(&self, key: &Key) {
        let _ = remove_if_there(&self.path(key));
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.file_name())
    }
}

/// Writes a spill file, whole or not at all, and seals it. It is durable before it has its name: pages that are not
/// written yet would be no room won under pressure, and a full disk is met here instead of never.
pub(super) fn write_file(
    path: &Path,
    key: &Key,
    kind: u32,
    rows: usize,
    views: &[View<'_>],
) -> Result<(), LockError> {
    let mut output = Output::create(path)?;
    spill::write(&mut output, key, kind, rows, views)?;
    output.flush()?;
    fs_err::set_permissions(output.partial(), Permissions::from_mode(0o444))?;
    output.publish()
}

fn into_io(error: LockError) -> io::Error {
    match error {
        LockError::Io(error) => error,
        LockError::Held => io::Error::new(io::ErrorKind::ResourceBusy, LockError::Held),
    }
}

/// A run's folder, as one finds it.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Where it lies.
    #[serde(serialize_with = "path_text")]
    pub folder: PathBuf,
    /// What its lease says.
    #[serde(flatten)]
    pub lease: Lease,
    /// Whether the run lives.
    pub live: bool,
    /// Spill files.
    pub files: usize,
    /// Bytes of the spill files.
    pub bytes: u64,
    /// Files that are not ours.
    pub foreign: usize,
}

fn path_text<S: serde::Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// What lies in a run's folder.
#[derive(Debug, Default)]
struct Contents {
    folder: PathBuf,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    bytes: u64,
    foreign: usize,
}

impl Contents {
    /// Looks through a run's folder, one level deep; links are never followed.
    fn of(folder: &Path) -> io::Result<Self> {
        let mut contents = Self { folder: folder.into(), ..Self::default() };
        for entry in fs_err::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                for inner in fs_err::read_dir(entry.path())? {
                    contents.add(&inner?)?;
                }
                contents.folders.push(entry.path());
            } else if entry.file_name() != LEASE {
                contents.foreign += 1;
            }
        }
        Ok(contents)
    }

    fn add(&mut self, entry: &fs_err::DirEntry) -> io::Result<()> {
        let meta = entry.metadata()?;
        if meta.is_file() && entry.file_name().to_str().is_some_and(is_spill_name) {
            self.files.push(entry.path());
            self.bytes += meta.len();
        } else {
            self.foreign += 1;
        }
        Ok(())
    }

    /// Removes what is ours; the lease last, and folders where nothing else is in them.
    fn remove(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| remove_if_there(file))?;
        self.folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        if self.foreign == 0 {
            remove_if_there(&self.folder.join(LEASE))?;
            let _ = std::fs::remove_dir(&self.folder);
        }
        Ok(())
    }
}

/// Looks at a run's folder; `None` where it is none. The lock, where nobody else has it, keeps a second purge away.
fn look(folder: &Path) -> io::Result<Option<(Found, Contents, Option<File>)>> {
    let path = folder.join(LEASE);
    let regular = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    let lease = if regular { std::fs::read(&path).ok() } else { None };
    let lease = lease.and_then(|text| serde_json::from_slice::<Lease>(&text).ok());
    let Some(lease) = lease.filter(|lease| lease.format == FORMAT && lease.version == VERSION) else {
        return Ok(None);
    };
    let lock = match lock_existing(&path) {
        Ok(None) => return Ok(None),
        Ok(lock) => lock,
        Err(LockError::Held) => None,
        Err(LockError::Io(error)) => return Err(error),
    };
    let contents = Contents::of(folder)?;
    let Contents { files, bytes, foreign, .. } = &contents;
    let (files, bytes, foreign) = (files.len(), *bytes, *foreign);
    let found = Found { folder: folder.into(), lease, live: lock.is_none(), files, bytes, foreign };
    Ok(Some((found, contents, lock)))
}

/// Folders of runs below a root, in order.
fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![];
    for entry in fs_err::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let named = name.to_str().is_some_and(|name| name.starts_with(PREFIX) || name.starts_with(HIDDEN));
        if named && entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// Runs that have a spill folder below a root.
pub fn list(root: &Path) -> io::Result<Vec<Found>> {
    let found = folders(root)?.into_iter().map(|folder| Ok(look(&folder)?.map(|(found, ..)| found)));
    found.filter_map(io::Result::transpose).collect()
}

/// Removes what dead runs left below a root: of those that began longer ago than `age`, where that is given. Files that no
/// run of ours wrote stay, and so do the folders they are in. Gives the dead runs, and the number of those that live.
pub fn purge(root: &Path, age: Option<Duration>, dry_run: bool) -> io::Result<(Vec<Found>, usize)> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (mut dead, mut live) = (vec![], 0);
    for folder in folders(root)? {
        let Some((found, contents, lock)) = look(&folder)? else { continue };
        let young =
            age.is_some_and(|age| now.saturating_sub(Duration::from_secs(found.lease.started_at)) < age);
        if found.live {
            live += 1;
        } else if !young {
            if !dry_run {
                contents.remove()?;
            }
            dead.push(found);
        }
        drop(lock);
    }
    Ok((dead, live))
}
