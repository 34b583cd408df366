//! Where bytes come from: a file, or stdin for `-`. A signal is noticed while a pipe is quiet.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::failure::{Failure, InFile};
use super::stop;

/// How often a quiet pipe is asked whether a signal has come.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A file, or stdin.
#[derive(Debug)]
pub enum Input {
    /// A file, which may be a pipe with a name.
    File(File),
    /// What the job's caller pipes in.
    Stdin(io::Stdin),
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::Stdin(io::stdin()));
        }
        // opening a pipe with a name must not wait for its writer, where no signal is noticed
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).in_file(path)?;
        if file.metadata().in_file(path)?.is_dir() {
            return Err(Failure::usage("a folder where a file is expected").in_file(path));
        }
        Ok(Self::File(file))
    }

    /// Bytes of a regular file; `None` for a pipe.
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::File(file) => {
                file.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
            }
            Self::Stdin(_) => None,
        }
    }

    /// Whether this is a regular file without bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::File(file) => file.as_fd(),
            Self::Stdin(stdin) => stdin.as_fd(),
        }
    }

    /// Waits until there is something to read, or the end, or a signal.
    fn wait(&self) -> io::Result<()> {
        loop {
            stop::check_io()?;
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&PATIENCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            // not through `Stdin`, whose buffer may hold bytes that poll does not know of
            match rustix::io::read(self.fd(), &mut *out) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }
}
