//! Digests that were read before: by path, and valid while size, times and inode are the same.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{StoreError, fanned, replace};
use crate::state::digest::Digest;
use crate::state::stat::Stat;

/// A file that was changed later than this before it was read may change again under the same times, since those are as
/// coarse as the kernel's clock.
const SETTLED: Duration = Duration::from_millis(100);

/// One file a path: `memo/ab/abcd....json`, named by the digest of the path.
#[derive(Debug)]
pub(super) struct Memo(PathBuf);

/// What is remembered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The path; another one of the same digest is not mistaken for it.
    pub(super) path: String,
    pub(super) stat: Stat,
    pub(super) sha256: Digest,
}

impl Memo {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The digest of a file, from the memo or by reading it, and the state of the file it belongs to.
    pub(super) fn digest(&self, path: &Path) -> Result<(Digest, Stat), StoreError> {
        let stat = Stat::of(path)?;
        let remembered = read(&self.entry(path)).filter(|entry| entry.is_of(path) && entry.stat == stat);
        if let Some(entry) = remembered {
            return Ok((entry.sha256, stat));
        }
        let now = SystemTime::now();
        let sha256 = Digest::of_file(&mut File::open(path)?)?;
        if Stat::of(path)? != stat {
            return Err(StoreError::Changed);
        }
        let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(stat.ctime_ns.max(0).cast_unsigned());
        if now.duration_since(changed).is_ok_and(|age| age >= SETTLED) {
            self.remember(path, &stat, &sha256);
        }
        Ok((sha256, stat))
    }

    /// Notes a digest. A memo that cannot be written costs a reading, no more.
    pub(super) fn remember(&self, path: &Path, stat: &Stat, sha256: &Digest) {
        let Some(text) = path.to_str() else { return };
        let entry = Entry { path: text.to_owned(), stat: *stat, sha256: sha256.clone() };
        let written = serde_json::to_vec(&entry)
            .map_err(io::Error::other)
            .and_then(|bytes| replace(&self.entry(path), &bytes));
        if let Err(error) = written {
            tracing::debug!("the store's memo was not written: {error}");
        }
    }

    fn entry(&self, path: &Path) -> PathBuf {
        self.0.join(fanned(&Digest::of(path.as_os_str().as_encoded_bytes()))).with_extension("json")
    }
}

impl Entry {
    /// Whether the file is there and as it was.
    pub(super) fn is_current(&self) -> bool {
        Stat::of(Path::new(&self.path)).is_ok_and(|stat| stat == self.stat)
    }

    fn is_of(&self, path: &Path) -> bool {
        path.to_str() == Some(&self.path)
    }
}

/// Reads an entry; what is none is nothing.
pub(super) fn read(path: &Path) -> Option<Entry> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
