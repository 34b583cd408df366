//! Reads a stream from a file or a pipe, a chunk of whole records at a time.

use std::io::{self, Read};

use super::error::Error;
use super::header::{HEADER_LEN, Header};
use super::record::{Place, Record, Records};

/// Bytes that a chunk aims at; a longer record makes a longer chunk.
pub const CHUNK_LEN: usize = 1 << 19;

/// A reader that holds one chunk, whatever the length of the stream.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    carry: Vec<u8>,
    next: Place,
    ended: bool,
}

/// Whole records of a stream, and where they stood in it.
#[derive(Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    packed_len: usize,
    first: Place,
}

impl Chunk {
    /// The records, in order.
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.bytes, self.packed_len, self.first)
    }

    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no record; a reader never gives such a chunk.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(HEADER_LEN);
        input.by_ref().take(HEADER_LEN as u64).read_to_end(&mut head)?;
        let header = Header::decode(&head)?;
        let next = Place { record: 0, offset: HEADER_LEN as u64 };
        Ok(Self { input, header, carry: vec![], next, ended: false })
    }

    /// The stream's conventions.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the next chunk starts; the end once [`next_chunk`](Self::next_chunk) has given `None`.
    pub fn place(&self) -> Place {
        self.next
    }

    /// The next whole records; `None` at a clean end. A torn tail is [`Error::Torn`], after all whole records.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let packed_len = usize::from(self.header.packed_len);
        let mut bytes = std::mem::take(&mut self.carry);
        let mut wanted = CHUNK_LEN;
        loop {
            self.fill(&mut bytes, wanted)?;
            let (records, whole, lacking) = whole_records(&bytes, packed_len);
            if whole > 0 {
                self.carry.extend_from_slice(&bytes[whole..]);
                bytes.truncate(whole);
                let first = self.next;
                self.next = Place { record: first.record + records, offset: first.offset + whole as u64 };
                return Ok(Some(Chunk { bytes, packed_len, first }));
            }
            if self.ended {
                let (place, found) = (self.next, bytes.len());
                return match lacking {
                    Some(expected) => Err(Error::Torn { place, found, expected }),
                    None => Ok(None),
                };
            }
            wanted = lacking.unwrap_or(0).max(CHUNK_LEN);
        }
    }

    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        bytes.reserve_exact(wanted.saturating_sub(bytes.len()));
        if bytes.len() < wanted && !self.ended {
            let lacking = (wanted - bytes.len()) as u64;
            self.input.by_ref().take(lacking).read_to_end(bytes)?;
            self.ended = bytes.len() < wanted;
        }
        Ok(())
    }
}

/// Records and bytes that are whole, and the length of an incomplete record behind them.
fn whole_records(bytes: &[u8], packed_len: usize) -> (u64, usize, Option<usize>) {
    let (mut rest, mut records) = (bytes, 0);
    loop {
        if rest.is_empty() {
            return (records, bytes.len(), None);
        }
        match Record::split(rest, packed_len) {
            Ok((_, tail)) => (rest, records) = (tail, records + 1),
            Err(expected) => return (records, bytes.len() - rest.len(), Some(expected)),
        }
    }
}
