//! Zip archives, read where they lie: the central directory, then members at any place, on any thread.
//!
//! Ours, and small, since the input comes from outside: nothing is extracted, names are never paths, a member's bytes go
//! by in pieces, and what it may inflate to is bounded. Deflated and stored members, zip64; no encryption.

mod directory;
mod strip;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use common::process::failure::InFile;
use common::process::{Failure, stop};

pub(crate) use directory::Entry;
use strip::Strip;

/// Bytes that a member may inflate to. Real ones have one to three million.
const MAX_INFLATED: u64 = 256 << 20;
/// Bytes of it that are kept, without the blobs that are passed over.
const MAX_TEXT: usize = 32 << 20;

/// An open archive.
#[derive(Debug)]
pub(crate) struct Archive {
    file: File,
    entries: Vec<Entry>,
}

/// What is wrong with one member.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MemberFault {
    #[error("its name leads out of the archive")]
    Outside,
    #[error("it is encrypted")]
    Encrypted,
    #[error("it is compressed with method {0}; deflated and stored members are read")]
    Method(u16),
    #[error("its data is cut off or damaged: {0}")]
    Damaged(String),
    #[error("it does not match its checksum")]
    Checksum,
    #[error("it inflates to more than {} MiB", MAX_INFLATED >> 20)]
    Bomb,
    #[error("it holds more than {} MiB of text", MAX_TEXT >> 20)]
    Long,
    #[error("it took longer than an episode may")]
    Late,
    #[error("stopped by a signal")]
    Stopped,
}

impl Archive {
    /// Reads the central directory.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).in_file(path)?;
        if file.metadata().in_file(path)?.is_dir() {
            return Err(Failure::usage("a folder where an archive is expected").in_file(path));
        }
        let entries = directory::read(&file).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Failure::bad_data(error)
                .in_file(path)
                .hint("the archive is damaged or was not fetched to its end; `unzip -t` shows more"),
            _ => Failure::from(error).in_file(path),
        })?;
        Ok(Self { file, entries })
    }

    /// All members, in the archive's order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Text of a member, without the blobs that nobody reads.
    pub(crate) fn text(&self, entry: &Entry, deadline: Option<Instant>) -> Result<Vec<u8>, MemberFault> {
        entry.check()?;
        let damaged = |error: io::Error| MemberFault::Damaged(error.to_string());
        let data = directory::data_of(&self.file, entry).map_err(damaged)?;
        let packed = BufReader::with_capacity(1 << 16, data);
        match entry.method {
            directory::STORED => keep(packed, entry, deadline),
            _ => keep(flate2::bufread::DeflateDecoder::new(packed), entry, deadline),
        }
    }
}

fn keep(mut input: impl Read, entry: &Entry, deadline: Option<Instant>) -> Result<Vec<u8>, MemberFault> {
    let (mut piece, mut len, mut crc) = (vec![0; 1 << 16], 0, crc32fast::Hasher::new());
    let mut text = Strip::new();
    loop {
        let n = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(MemberFault::Damaged(error.to_string())),
        };
        len += n as u64;
        crc.update(&piece[..n]);
        text.push(&piece[..n]);
        if len > MAX_INFLATED {
            return Err(MemberFault::Bomb);
        }
        if text.len() > MAX_TEXT {
            return Err(MemberFault::Long);
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(MemberFault::Late);
        }
        stop::check().map_err(|_| MemberFault::Stopped)?;
    }
    if (len, crc.finalize()) != (entry.size, entry.crc) {
        return Err(MemberFault::Checksum);
    }
    Ok(text.finish())
}

/// Part of a file, read at its place.
struct Slice<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Slice<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(out.len());
        let n = self.file.read_at(&mut out[..most], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
