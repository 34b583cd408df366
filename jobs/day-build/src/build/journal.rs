//! What a build has done so far, a line a row group, in a hidden file beside the Parquet file. A line is written when its
//! row group is durable, so that a build that was stopped at any time goes on behind the last whole line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use common::formats::decisions::manifest::Member;
use common::process::Failure;
use common::process::failure::InFile;
use common::state::digest::Digest;
use common::state::output::{folder_of, remove_if_there};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::examine::Tally;

/// A row group that is durable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// Bytes of the file up to its end.
    pub(super) end: u64,
    /// CRC-32 of its bytes.
    pub(super) crc: u32,
    pub(super) rows: u64,
    /// Its entry in the footer.
    pub(super) footer: Vec<u8>,
    /// Members up to its end, from the end of the row group before.
    pub(super) members: Vec<Member>,
    /// Cards of their decks, ascending, by hash.
    pub(super) decks: BTreeMap<String, Vec<i32>>,
    pub(super) tally: Tally,
}

#[derive(Serialize, Deserialize)]
struct Start {
    fingerprint: Digest,
}

/// The journal of a day.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal of the day that will stand at `day`, and gives what it holds of the same fingerprint, as far as
    /// the bytes in `partial` are those it speaks of. The day's lock guards it.
    pub(super) fn open(
        day: &Path,
        partial: &Path,
        fingerprint: &Digest,
    ) -> Result<(Self, Vec<Done>), Failure> {
        let name = day.file_name().unwrap_or_default().to_string_lossy();
        let path = folder_of(day).join(format!(".{name}.journal"));
        let mut options = fs_err::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path).in_file(&path)?;
        let mut journal = Self { path, file: file.into_parts().0 };
        let (done, end) = journal.read(partial, fingerprint).in_file(&journal.path)?;
        journal.file.set_len(end).in_file(&journal.path)?;
        journal.file.seek(SeekFrom::Start(end)).in_file(&journal.path)?;
        if end == 0 {
            journal.write(&Start { fingerprint: fingerprint.clone() })?;
        }
        Ok((journal, done))
    }

    /// Whole lines, and where they end.
    fn read(&self, partial: &Path, fingerprint: &Digest) -> io::Result<(Vec<Done>, u64)> {
        let mut lines = BufReader::new(&self.file);
        let start: Option<(Start, u64)> = line(&mut lines)?;
        let Some((_, mut end)) = start.filter(|(start, _)| start.fingerprint == *fingerprint) else {
            return Ok((vec![], 0));
        };
        let mut done: Vec<Done> = vec![];
        let mut bytes = File::open(partial)?;
        while let Some((next, len)) = line::<Done>(&mut lines)? {
            let from = done.last().map_or(0, |last| last.end);
            if !next.is_held_by(&mut bytes, from)? {
                break;
            }
            done.push(next);
            end += len;
        }
        Ok((done, end))
    }

    /// Says that a row group is durable.
    pub(super) fn append(&mut self, done: &Done) -> Result<(), Failure> {
        self.write(done)
    }

    fn write(&mut self, entry: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(entry).map_err(io::Error::from).in_file(&self.path)?;
        let line = format!("{} {text}\n", Digest::of(text.as_bytes()));
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).in_file(&self.path)
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        remove_if_there(&self.path).in_file(&self.path)
    }
}

impl Done {
    /// Whether the file holds the row group that starts at `from`.
    fn is_held_by(&self, file: &mut File, from: u64) -> io::Result<bool> {
        let Some(len) = self.end.checked_sub(from) else { return Ok(false) };
        file.seek(SeekFrom::Start(from))?;
        let (mut crc, mut piece, mut left) = (crc32fast::Hasher::new(), vec![0; 1 << 18], len);
        while left > 0 {
            let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let n = file.read(&mut piece[..most])?;
            if n == 0 {
                return Ok(false);
            }
            crc.update(&piece[..n]);
            left -= n as u64;
        }
        Ok(crc.finalize() == self.crc)
    }
}

/// The next line, where it is whole: a digest, and what it is of.
fn line<T: DeserializeOwned>(lines: &mut impl BufRead) -> io::Result<Option<(T, u64)>> {
    let mut line = vec![];
    lines.read_until(b'\n', &mut line)?;
    let whole = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
    let Some((digest, text)) = whole.and_then(|line| line.split_once(' ')) else { return Ok(None) };
    if Digest::of(text.as_bytes()).to_string() != digest {
        return Ok(None);
    }
    Ok(serde_json::from_str(text).ok().map(|entry| (entry, line.len() as u64)))
}
