//! A record: one position of one game, as one search saw it.
//! `ply u16 | value_z f32 | value_q f32 | n_cand u16 | packed | n_cand × candidate`.

use std::fmt;

use super::candidate::{CANDIDATE_LEN, Candidate};
use super::error::Error;
use super::header::Header;
use super::packed::{PACKED_LEN, Packed};
use super::validate::validate;

/// Bytes before the position.
pub const FIXED_LEN: usize = 12;
/// Most candidates that a record can count.
pub const MAX_CANDIDATES: usize = u16::MAX as usize;

/// Where a record starts in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the record, from 0.
    pub record: u64,
    /// Byte offset in the file.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} at byte {}", self.record, self.offset)
    }
}

/// A whole record as it lies in a stream; fields are decoded when asked for.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    bytes: &'a [u8],
    packed_len: usize,
}

impl<'a> Record<'a> {
    /// Splits the record off that `bytes` start with. `Err` is how many bytes it takes where they are too few.
    #[inline]
    pub fn split(bytes: &'a [u8], packed_len: usize) -> Result<(Self, &'a [u8]), usize> {
        let fixed = FIXED_LEN + packed_len;
        let &[n0, n1] = bytes.get(10..12).and_then(|n| n.first_chunk()).ok_or(fixed)?;
        let len = fixed + CANDIDATE_LEN * usize::from(u16::from_le_bytes([n0, n1]));
        let (bytes, rest) = bytes.split_at_checked(len).ok_or(len)?;
        Ok((Self { bytes, packed_len }, rest))
    }

    /// Move number, 0-based, not necessarily consecutive.
    pub fn ply(&self) -> u16 {
        u16::from_le_bytes([self.bytes[0], self.bytes[1]])
    }

    /// The game's outcome for the side to move.
    pub fn value_z(&self) -> f32 {
        self.f32_at(2)
    }

    /// The search's root value, from the header's point of view.
    pub fn value_q(&self) -> f32 {
        self.f32_at(6)
    }

    /// The position.
    pub fn packed(&self) -> &'a [u8] {
        &self.bytes[FIXED_LEN..FIXED_LEN + self.packed_len]
    }

    /// The position where it is one of 96 bytes.
    pub fn board(&self) -> Option<&'a [u8; PACKED_LEN]> {
        self.packed().try_into().ok()
    }

    /// Candidates in the order of the producer.
    pub fn candidates(&self) -> impl ExactSizeIterator<Item = Candidate> + Clone + 'a {
        self.bytes[FIXED_LEN + self.packed_len..].as_chunks().0.iter().map(Candidate::decode)
    }

    /// The record's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn f32_at(&self, at: usize) -> f32 {
        f32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]])
    }
}

/// A record that a producer fills.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordBuf {
    /// Move number, 0-based.
    pub ply: u16,
    /// The game's outcome for the side to move: −1, 0 or 1.
    pub value_z: f32,
    /// The search's root value, in [−1, 1].
    pub value_q: f32,
    /// The position.
    pub packed: Packed,
    /// Candidates; at most [`MAX_CANDIDATES`].
    pub candidates: Vec<Candidate>,
}

impl RecordBuf {
    /// Appends the record's bytes. The candidate count must fit, which [`Header::append`](super::Header::append) checks.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut fixed = [0; FIXED_LEN + PACKED_LEN];
        fixed[0..2].copy_from_slice(&self.ply.to_le_bytes());
        fixed[2..6].copy_from_slice(&self.value_z.to_le_bytes());
        fixed[6..10].copy_from_slice(&self.value_q.to_le_bytes());
        fixed[10..12].copy_from_slice(&(self.candidates.len() as u16).to_le_bytes());
        fixed[FIXED_LEN..].copy_from_slice(self.packed.bytes());
        out.reserve(fixed.len() + CANDIDATE_LEN * self.candidates.len());
        out.extend_from_slice(&fixed);
        self.candidates.iter().for_each(|candidate| out.extend_from_slice(&candidate.encode()));
    }
}

/// Walks the records of a piece of a stream that starts on a record.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    packed_len: usize,
    next: Place,
}

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8], packed_len: usize, first: Place) -> Self {
        Self { bytes, packed_len, next: first }
    }

    /// The records, each held to the rules of a stream with this header.
    pub fn validated(self, header: &Header) -> impl Iterator<Item = Result<(Place, Record<'a>), Error>> {
        self.map(move |item| {
            let (place, record) = item?;
            validate(header, &record).map_err(|defect| Error::Record { place, defect })?;
            Ok((place, record))
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(Place, Record<'a>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let (place, found) = (self.next, self.bytes.len());
        match Record::split(self.bytes, self.packed_len) {
            Ok((record, rest)) => {
                self.bytes = rest;
                self.next =
                    Place { record: place.record + 1, offset: place.offset + record.bytes.len() as u64 };
                Some(Ok((place, record)))
            }
            Err(expected) => {
                self.bytes = &[];
                Some(Err(Error::Torn { place, found, expected }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::packed::sfen::START;
    use super::super::{Move16, Reader};
    use super::*;

    /// A record, byte by byte: 12 + 96 + 2 · 8.
    #[test]
    fn bytes_are_the_specification() {
        let candidates = vec![
            Candidate { mv: Move16::step(20, 19, false), visits: NonZeroU32::new(799), cp: None },
            Candidate { mv: Move16::drop(0, 40), visits: NonZeroU32::new(1), cp: None },
        ];
        let packed: Packed = START.parse().unwrap();
        let mut bytes = vec![];
        RecordBuf { ply: 258, value_z: -1.0, value_q: 0.5, packed, candidates }.encode(&mut bytes);
        assert_eq!(bytes.len(), 124);
        assert_eq!(bytes[0..2], [0x02, 0x01], "ply");
        assert_eq!(bytes[2..6], [0x00, 0x00, 0x80, 0xbf], "value_z");
        assert_eq!(bytes[6..10], [0x00, 0x00, 0x00, 0x3f], "value_q");
        assert_eq!(bytes[10..12], [2, 0], "n_cand");
        // file 9: lance, empty, pawn, three empty, pawn, empty, lance
        assert_eq!(bytes[12..21], [0x16, 0xff, 0x17, 0xff, 0xff, 0xff, 0x07, 0xff, 0x06], "packed");
        assert_eq!(bytes[12 + 81..108], [0; 15], "hands and side");
        assert_eq!(
            bytes[108..116],
            [0x13, 0x0a, 0x1f, 0x03, 0, 0, 0x00, 0x80],
            "square 20 to 19, 799 visits"
        );
        assert_eq!(bytes[116..124], [0xa8, 0x28, 0x01, 0x00, 0, 0, 0x00, 0x80], "P*5e, 1 visit");
    }

    fn record() -> impl Strategy<Value = RecordBuf> {
        let candidate = (0u8..81, 0u8..81, any::<bool>(), any::<u32>());
        (any::<u16>(), -1i8..=1, -1f32..=1.0, vec(candidate, 1..40)).prop_map(
            |(ply, z, value_q, candidates)| {
                let candidate = |(from, to, promote, visits): (u8, u8, bool, u32)| Candidate {
                    mv: Move16::step(from, to, promote),
                    visits: NonZeroU32::new(visits.max(1)),
                    cp: None,
                };
                let packed = START.parse().unwrap();
                let candidates = candidates.into_iter().map(candidate).collect();
                RecordBuf { ply, value_z: f32::from(z), value_q, packed, candidates }
            },
        )
    }

    proptest! {
        #[test]
        fn a_stream_comes_back_record_by_record(records in vec(record(), 0..20)) {
            let header = super::super::Header::visits();
            let mut bytes = header.encode().unwrap().to_vec();
            for record in &records {
                header.append(record, &mut bytes).unwrap();
            }
            let mut reader = Reader::new(&bytes[..]).unwrap();
            let mut found = vec![];
            while let Some(chunk) = reader.next_chunk().unwrap() {
                for record in chunk.records() {
                    let (_, record) = record.unwrap();
                    found.push(RecordBuf {
                        ply: record.ply(),
                        value_z: record.value_z(),
                        value_q: record.value_q(),
                        packed: Packed::new(*record.board().unwrap()).unwrap(),
                        candidates: record.candidates().collect(),
                    });
                }
            }
            prop_assert_eq!(found, records);
        }
    }
}
