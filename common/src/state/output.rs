//! A file that appears whole or not at all: temporary name, fsync, rename, fsync of the folder.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::lock::{LockError, open_locked};

/// A file in the making. Dropped before [`publish`](Self::publish), it leaves nothing behind; killed, it leaves
/// `.NAME.partial`, which the next writer of the same name takes over.
#[derive(Debug)]
pub struct Output {
    file: Option<BufWriter<File>>,
    partial: PathBuf,
    target: PathBuf,
}

impl Output {
    /// Starts a file that will stand at `target`. Its folder is made where it is missing.
    pub fn create(target: &Path) -> Result<Self, LockError> {
        let name = target.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", target.display()))
        })?;
        let folder = folder_of(target);
        fs_err::create_dir_all(folder)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let partial = folder.join(hidden);
        let file = open_locked(&partial)?;
        file.set_len(0)?;
        Ok(Self { file: Some(BufWriter::with_capacity(1 << 17, file)), partial, target: target.into() })
    }

    /// Where the file will stand.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where the file is being written.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Makes the file durable and gives it its name.
    pub fn publish(mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let published = (|| {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            fs_err::rename(&self.partial, &self.target)?;
            sync_folder(folder_of(&self.target))
        })();
        if published.is_err() {
            let _ = std::fs::remove_file(&self.partial);
        }
        published
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is published"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // what is buffered is not wanted any more
            drop(file.into_parts());
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// Writes a small file as a whole.
pub fn write_whole(target: &Path, bytes: &[u8]) -> Result<(), LockError> {
    let mut output = Output::create(target)?;
    output.write_all(bytes)?;
    Ok(output.publish()?)
}

/// Removes a file that may be gone already.
pub fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Folder of a path; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Bytes that an unprivileged writer may still put on the file system of `folder`.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let stat = rustix::fs::statvfs(there)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("deep/out");
        let mut output = Output::create(&target).unwrap();
        output.write_all(b"half").unwrap();
        assert!(matches!(Output::create(&target), Err(LockError::Held)));
        assert!(!target.exists());
        drop(output);
        assert_eq!(fs_err::read_dir(target.parent().unwrap()).unwrap().count(), 0);
        write_whole(&target, b"whole").unwrap();
        assert_eq!(fs_err::read(&target).unwrap(), b"whole");
    }

    #[test]
    fn takes_over_what_a_killed_writer_left() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join(".out.partial"), "left over, and longer").unwrap();
        write_whole(&folder.path().join("out"), b"new").unwrap();
        assert_eq!(fs_err::read(folder.path().join("out")).unwrap(), b"new");
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
    }
}
