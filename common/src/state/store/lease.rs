//! Leases: what a running process holds of the store. A lease is a locked file that lists digests, so that it ends with
//! its process, however that ends.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Layout, named};
use crate::state::digest::Digest;
use crate::state::output::remove_if_there;

/// The lease of this process, or of this use of the store.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
    path: PathBuf,
    gate: PathBuf,
}

impl Lease {
    pub(super) fn new(layout: &Layout) -> io::Result<Self> {
        for name in ["leases", "locks", "tmp"] {
            fs_err::create_dir_all(layout.folder(name))?;
        }
        let gate = layout.folder("gate.lock");
        let open = shared(&gate)?;
        let file = named(&layout.folder("leases"))?;
        file.as_file().lock()?;
        let (file, path) = file.keep()?;
        drop(open);
        Ok(Self { file, path, gate })
    }

    /// Notes that these are in use. From here on a purge leaves them, so look for them afterwards.
    pub(super) fn hold<'a>(&self, digests: impl IntoIterator<Item = &'a Digest>) -> io::Result<()> {
        let lines: String = digests.into_iter().map(|digest| format!("{digest}\n")).collect();
        let _open = shared(&self.gate)?;
        (&self.file).write_all(lines.as_bytes())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = remove_if_there(&self.path);
    }
}

/// Passes the gate together with others, once no purge is inside.
fn shared(gate: &Path) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(gate)?;
    file.lock_shared()?;
    Ok(file)
}

/// Closes the gate: nobody begins to hold anything while this is held.
pub(super) fn close(layout: &Layout) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(layout.folder("gate.lock"))?;
    file.lock()?;
    Ok(file)
}

/// What running processes hold.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// Digests of blobs.
    pub(super) held: BTreeSet<Digest>,
    /// Leases of processes that are gone.
    pub(super) dead: Vec<PathBuf>,
}

/// Reads all leases, behind the closed gate.
pub(super) fn leases(layout: &Layout) -> io::Result<Leases> {
    let mut leases = Leases::default();
    for entry in fs_err::read_dir(layout.folder("leases"))? {
        let entry = entry?;
        // one that cannot be read may hold anything
        let file = match fs_err::File::open(entry.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?.into_file(),
        };
        match file.try_lock() {
            Ok(()) => leases.dead.push(entry.path()),
            Err(TryLockError::WouldBlock) => {
                let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX)];
                file.read_exact_at(&mut bytes, 0)?;
                let lines = String::from_utf8_lossy(&bytes);
                let digests = lines.lines().filter_map(|line| Digest::try_from(line.to_owned()).ok());
                leases.held.extend(digests);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(leases)
}
