//! A file that appears whole or not at all: temporary name, fsync, rename, fsync of the folder.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::lock::{LockError, lock_existing, open_locked};

/// A file in the making. Dropped before [`publish`](Self::publish), it leaves nothing behind; killed, it leaves
/// `.NAME.partial`, which the next writer of the same name takes over.
#[derive(Debug)]
pub struct Output {
    file: Option<BufWriter<File>>,
    partial: PathBuf,
    target: PathBuf,
    /// The file that stands there, locked against those who append to it.
    old: Option<File>,
    /// What is written stays when it is not published, for the next writer to go on with.
    keep: bool,
}

impl Output {
    /// Starts a file that will stand at `target`, or at the file that `target` links to. Its folder is made where it
    /// is missing. Only a regular file is ever replaced. A link to nothing, or to a file that nobody may write, such as
    /// one of a store, is replaced itself.
    pub fn create(target: &Path) -> Result<Self, LockError> {
        let mut output = Self::open(target)?;
        output.cut(0)?;
        Ok(output)
    }

    /// As [`create`](Self::create), but goes on with what a stopped writer of the same name left, and leaves it to the
    /// next one when it is stopped itself. [`cut`](Self::cut) says where to go on.
    pub fn resume(target: &Path) -> Result<Self, LockError> {
        let mut output = Self::open(target)?;
        output.keep = true;
        Ok(output)
    }

    fn open(target: &Path) -> Result<Self, LockError> {
        let refuse = |what: &str| {
            let text = format!("{} {what}", target.display());
            Err(LockError::Io(io::Error::new(io::ErrorKind::InvalidInput, text)))
        };
        let mut old = None;
        if target.file_name().is_none() {
            return refuse("names no file");
        }
        if let Ok(there) = target.metadata() {
            if !there.is_file() {
                return refuse("is there, and no regular file");
            }
            let is_link = target.is_symlink();
            if is_link && !there.permissions().readonly() {
                return Self::open(&target.canonicalize()?);
            }
            if !is_link {
                old = lock_existing(target)?;
            }
        }
        let (file, partial) = claim(target)?;
        let file = Some(BufWriter::with_capacity(1 << 17, file));
        Ok(Self { file, partial, target: target.into(), old, keep: false })
    }

    /// Drops what is written behind the first `len` bytes, and goes on there.
    pub fn cut(&mut self, len: u64) -> io::Result<()> {
        let writer = self.writer()?;
        writer.flush()?;
        writer.get_ref().set_len(len)?;
        writer.get_mut().seek(SeekFrom::Start(len)).map(|_| ())
    }

    /// Makes what is written durable, under its temporary name.
    pub fn sync(&mut self) -> io::Result<()> {
        let writer = self.writer()?;
        writer.flush()?;
        writer.get_ref().sync_data()
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
    pub fn publish(mut self) -> Result<(), LockError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let published = (|| {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            if self.old.is_none() && !self.target.is_symlink() {
                // one that appeared meanwhile may be somebody's who still writes it
                self.old = lock_existing(&self.target)?;
            }
            fs_err::rename(&self.partial, &self.target)?;
            Ok(sync_folder(folder_of(&self.target))?)
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
            if !self.keep {
                let _ = std::fs::remove_file(&self.partial);
            }
        }
    }
}

/// Locks the hidden name that a file is written under. Its folder is made where it is missing.
fn claim(target: &Path) -> Result<(File, PathBuf), LockError> {
    let folder = folder_of(target);
    fs_err::create_dir_all(folder)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(target.file_name().unwrap_or_default());
    hidden.push(".partial");
    let partial = folder.join(hidden);
    Ok((open_locked(&partial, OFlags::NOFOLLOW)?, partial))
}

/// A name that nobody else writes to while this is held.
#[derive(Debug)]
pub(super) struct Claim {
    _file: File,
    partial: PathBuf,
}

impl Claim {
    pub(super) fn new(target: &Path) -> Result<Self, LockError> {
        claim(target).map(|(file, partial)| Self { _file: file, partial })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}

/// Writes a small file as a whole.
pub fn write_whole(target: &Path, bytes: &[u8]) -> Result<(), LockError> {
    let mut output = Output::create(target)?;
    output.write_all(bytes)?;
    output.publish()
}

/// Whether two paths lead to one file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    identity(a).is_some_and(|a| Some(a) == identity(b))
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
    fn a_stopped_writer_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let mut first = Output::resume(&target).unwrap();
        first.write_all(b"sure and unsure").unwrap();
        first.sync().unwrap();
        drop(first);
        let mut second = Output::resume(&target).unwrap();
        second.cut(4).unwrap();
        second.write_all(b", and more").unwrap();
        second.publish().unwrap();
        assert_eq!(fs_err::read(&target).unwrap(), b"sure, and more");
    }

    #[test]
    fn only_regular_files_are_replaced_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(Output::create(Path::new("/dev/null")).is_err());
        assert!(Output::create(folder.path()).is_err());
        fs_err::write(at("real"), "old").unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        write_whole(&at("link"), b"new").unwrap();
        assert_eq!(fs_err::read(at("real")).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
        let mut sealed = fs_err::metadata(at("real")).unwrap().permissions();
        sealed.set_readonly(true);
        fs_err::set_permissions(at("real"), sealed).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("dangling")).unwrap();
        for name in ["link", "dangling"] {
            write_whole(&at(name), b"newer").unwrap();
            assert!(std::fs::symlink_metadata(at(name)).unwrap().is_file());
        }
        std::os::unix::fs::symlink(at("real"), at(".out.partial")).unwrap();
        assert!(Output::create(&at("out")).is_err());
        assert_eq!(fs_err::read(at("real")).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_grows_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let output = Output::create(&target).unwrap();
        let appender = open_locked(&target, OFlags::empty()).unwrap();
        assert!(matches!(output.publish(), Err(LockError::Held)));
        assert!(matches!(Output::create(&target), Err(LockError::Held)));
        drop(appender);
        write_whole(&target, b"x").unwrap();
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
