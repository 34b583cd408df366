//! The central directory of a zip archive, and where a member's data lies. APPNOTE.TXT, 4.3 and 4.5.3.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{MemberFault, Slice};

const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";

const END_LEN: usize = 22;
const LOCATOR_LEN: u64 = 20;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: u64 = 30;
const MAX_COMMENT: usize = 0xffff;
/// What a damaged length can make us allocate.
const MAX_DIRECTORY: u64 = 256 << 20;

/// Compression methods.
pub(super) const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;

/// A member, as the central directory states it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(super) method: u16,
    flags: u16,
    pub(super) crc: u32,
    packed: u64,
    pub(super) size: u64,
    local_at: u64,
}

impl Entry {
    /// Name without folders.
    pub(crate) fn stem(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Whether it is an episode: other members are no failure.
    pub(crate) fn is_episode(&self) -> bool {
        self.stem().ends_with(".json")
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    /// What keeps it from being read at all.
    pub(super) fn check(&self) -> Result<(), MemberFault> {
        let outside = self.name.starts_with('/')
            || self.name.contains('\\')
            || self.name.split('/').any(|part| part == "..");
        match self.method {
            _ if outside => Err(MemberFault::Outside),
            _ if self.flags & ENCRYPTED != 0 => Err(MemberFault::Encrypted),
            STORED | DEFLATED => Ok(()),
            other => Err(MemberFault::Method(other)),
        }
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Little-endian fields, one behind the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(n).ok_or_else(|| bad("not a zip archive: its directory is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> io::Result<u64> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn u16(&mut self) -> io::Result<u16> {
        Ok(self.number(2)? as u16)
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(self.number(4)? as u32)
    }
}

/// Reads the directory; members come in its order.
pub(super) fn read(file: &File) -> io::Result<Vec<Entry>> {
    let size = file.metadata()?.len();
    let (end_at, end) = find_end(file, size)?;
    let mut fields = Fields(&end[4..]);
    let (disk, start_disk) = (fields.u16()?, fields.u16()?);
    let (_, mut count) = (fields.u16()?, u64::from(fields.u16()?));
    let (mut len, mut start) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let mut directory_end = end_at;
    let is_64 = count == 0xffff || len == 0xffff_ffff || start == 0xffff_ffff;
    if is_64 && let Some(at) = find_end_64(file, end_at)? {
        let mut record = [0; 56];
        file.read_exact_at(&mut record, at)?;
        let mut fields = Fields(&record[32..]);
        (count, len, start) = (fields.number(8)?, fields.number(8)?, fields.number(8)?);
        directory_end = at;
    } else if disk != 0 || start_disk != 0 {
        return Err(bad("the archive is split over several files"));
    }
    // bytes before the archive shift all its offsets
    let shift = directory_end.checked_sub(len).and_then(|at| at.checked_sub(start));
    let shift = shift.ok_or_else(|| bad("not a zip archive: its directory would lie outside of it"))?;
    if len > MAX_DIRECTORY || count > len / CENTRAL_LEN as u64 {
        return Err(bad("its directory is damaged: a count is impossible"));
    }
    let mut directory = vec![0; len as usize];
    file.read_exact_at(&mut directory, start + shift)?;
    let mut fields = Fields(&directory);
    (0..count).map(|_| entry(&mut fields, shift)).collect()
}

/// The record that ends an archive, behind which only a comment stands.
fn find_end(file: &File, size: u64) -> io::Result<(u64, [u8; END_LEN])> {
    let len = size.min((END_LEN + MAX_COMMENT) as u64);
    let mut tail = vec![0; len as usize];
    file.read_exact_at(&mut tail, size - len)?;
    for at in (0..=tail.len().saturating_sub(END_LEN)).rev() {
        if let Some(end) = tail.get(at..).and_then(|rest| rest.first_chunk::<END_LEN>())
            && end.starts_with(&END)
        {
            return Ok((size - len + at as u64, *end));
        }
    }
    Err(bad("not a zip archive, or its end is cut off"))
}

fn find_end_64(file: &File, end_at: u64) -> io::Result<Option<u64>> {
    let Some(at) = end_at.checked_sub(LOCATOR_LEN) else { return Ok(None) };
    let mut locator = [0; LOCATOR_LEN as usize];
    file.read_exact_at(&mut locator, at)?;
    if !locator.starts_with(&LOCATOR_64) {
        return Ok(None);
    }
    let at = Fields(&locator[8..]).number(8)?;
    let mut signature = [0; 4];
    file.read_exact_at(&mut signature, at)?;
    if signature == END_64 { Ok(Some(at)) } else { Err(bad("its zip64 directory is damaged")) }
}

fn entry(fields: &mut Fields<'_>, shift: u64) -> io::Result<Entry> {
    let damaged = || bad("its directory is damaged: an entry is none");
    if fields.take(4)? != CENTRAL {
        return Err(damaged());
    }
    fields.take(4)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let crc = fields.u32()?;
    let (mut packed, mut size) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let (name_len, extra_len, comment_len) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.take(8)?;
    let mut local_at = u64::from(fields.u32()?);
    let name = String::from_utf8_lossy(fields.take(name_len.into())?).into_owned();
    let mut extra = Fields(fields.take(extra_len.into())?);
    fields.take(comment_len.into())?;
    while extra.0.len() >= 4 {
        let (id, len) = (extra.u16()?, extra.u16()?);
        let mut wide = Fields(extra.take(usize::from(len).min(extra.0.len()))?);
        if id == 1 {
            // zip64: only fields that do not fit above, in this order
            for field in [&mut size, &mut packed, &mut local_at] {
                if *field == 0xffff_ffff {
                    *field = wide.number(8).map_err(|_| damaged())?;
                }
            }
        }
    }
    let local_at = local_at.checked_add(shift).ok_or_else(damaged)?;
    Ok(Entry { name, method, flags, crc, packed, size, local_at })
}

/// Compressed data of a member.
pub(super) fn data_of<'a>(file: &'a File, entry: &Entry) -> io::Result<Slice<'a>> {
    let mut local = [0; LOCAL_LEN as usize];
    file.read_exact_at(&mut local, entry.local_at)?;
    if !local.starts_with(&LOCAL) {
        return Err(bad("no member starts where the directory says"));
    }
    let mut lengths = Fields(&local[26..]);
    let at = entry.local_at + LOCAL_LEN + u64::from(lengths.u16()?) + u64::from(lengths.u16()?);
    let end = at.checked_add(entry.packed).filter(|&end| file.metadata().is_ok_and(|meta| end <= meta.len()));
    let end = end.ok_or_else(|| bad("it would reach past the end of the archive"))?;
    Ok(Slice { file, at, end })
}
