//! Advisory locks: who writes a file says so, and a second writer is turned away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another process is writing it")]
    Held,
    /// The file could not be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens a file for reading and writing, making it where it is missing, and locks it for this process alone.
/// The lock ends with the file handle, also by kill -9.
pub(super) fn open_locked(path: &Path, flags: OFlags) -> Result<File, LockError> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
        lock(&file)?;
        // whoever held the lock may have renamed or removed the file between our two calls
        if is_at(&file, path)? {
            return Ok(file);
        }
    }
}

/// Opens a file to append to it, following links, and locks it for this process alone. A file that nobody may write,
/// such as one of a store, is left alone by every user.
pub fn open_to_append(path: &Path) -> Result<File, LockError> {
    if path.metadata().is_ok_and(|there| there.permissions().readonly()) {
        let what = "the file is write-protected, as all files of a store are";
        return Err(LockError::Io(io::Error::new(io::ErrorKind::PermissionDenied, what)));
    }
    open_locked(path, OFlags::empty())
}

/// Locks the file at a path for this process alone; `None` where there is none.
pub(super) fn lock_existing(path: &Path) -> Result<Option<File>, LockError> {
    // network file systems lock only what is open for writing, and a sealed file can only be read
    let open = OpenOptions::new().read(true).write(true).open(path).or_else(|_| File::open(path));
    match open {
        Ok(file) => lock(&file).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn lock(file: &File) -> Result<(), LockError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LockError::Held),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_turned_away_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let first = open_locked(&path, OFlags::empty()).unwrap();
        assert!(matches!(open_locked(&path, OFlags::empty()), Err(LockError::Held)));
        drop(first);
        open_locked(&path, OFlags::empty()).unwrap();
    }
}
