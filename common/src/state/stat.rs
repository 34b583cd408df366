//! What tells without reading that a file is the one that was read before.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Size, times and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Last change of content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of anything, which nobody can set.
    pub ctime_ns: i64,
    /// Number of the file.
    pub inode: u64,
}

impl Stat {
    /// Of the file at a path, links followed.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs_err::metadata(path)?))
    }
}

impl From<&Metadata> for Stat {
    fn from(meta: &Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Self {
            size: meta.len(),
            mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}
