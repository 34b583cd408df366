//! Writes a stream.

use std::io::{self, Write};

use super::error::Error;
use super::header::Header;
use super::record::{MAX_CANDIDATES, Record, RecordBuf};
use super::validate::{Defect, validate};

impl Header {
    /// Appends a record's bytes to `out` where it holds to the rules of [`validate`].
    pub fn append(&self, record: &RecordBuf, out: &mut Vec<u8>) -> Result<(), Defect> {
        if record.candidates.len() > MAX_CANDIDATES {
            return Err(Defect::TooManyCandidates(record.candidates.len()));
        }
        let start = out.len();
        record.encode(out);
        let verdict = match Record::split(&out[start..], usize::from(self.packed_len)) {
            Ok((record, _)) => validate(self, &record),
            Err(_) => unreachable!("a record is as long as its candidate count says"),
        };
        if verdict.is_err() {
            out.truncate(start);
        }
        verdict
    }
}

/// A header, then whatever [`Header::append`] made.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut out: W, header: &Header) -> Result<Self, Error> {
        out.write_all(&header.encode()?)?;
        Ok(Self { out })
    }

    /// Writes encoded records.
    pub fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.out.write_all(records)
    }

    /// Gives the output back.
    pub fn into_inner(self) -> W {
        self.out
    }
}
