//! Reads a stream through a memory map.
#![expect(unsafe_code, reason = "a memory map is only as safe as the file under it, see `Mapped::new`")]

use std::fs::File;

use memmap2::Mmap;

use super::error::Error;
use super::header::{HEADER_LEN, Header};
use super::record::{Place, Records};

/// A stream that lies in memory as a whole. For a file that this process holds the exclusive lock of: a map of
/// a file that somebody cuts is a fault, not an error. Everything else reads through [`Reader`](super::Reader).
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    header: Header,
}

impl Mapped {
    /// Maps a locked file and reads its header.
    ///
    /// # Safety
    /// Nobody may cut or overwrite the file while the value lives; hold its lock, which all writers here take.
    pub unsafe fn new(locked: &File) -> Result<Self, Error> {
        // SAFETY: the caller holds the lock under which the file is changed.
        let map = unsafe { Mmap::map(locked)? };
        let header = Header::decode(&map)?;
        Ok(Self { map, header })
    }

    /// The stream's conventions.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All records from the first; a torn tail is the last item.
    pub fn records(&self) -> Records<'_> {
        let first = Place { record: 0, offset: HEADER_LEN as u64 };
        Records::new(&self.map[HEADER_LEN..], usize::from(self.header.packed_len), first)
    }
}
