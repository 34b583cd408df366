//! Why a stream cannot be read.

use std::io;

use super::record::Place;
use super::validate::Defect;

/// What is wrong with a stream; the file is named by whoever opened it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Fewer bytes than a header has.
    #[error("the header is cut off: {found} bytes where 24 are expected")]
    ShortHeader {
        /// Bytes in the file.
        found: usize,
    },
    /// Another kind of file.
    #[error("not an MPK1 stream: it starts with {0:02x?}")]
    Magic([u8; 4]),
    /// A revision of the format that this reader does not know.
    #[error("MPK1 version {0} where version 1 is expected")]
    Version(u16),
    /// A header field with a value that the format does not have.
    #[error("header field {field} is {found} where {expected} is expected")]
    Field {
        /// Name in the byte table.
        field: &'static str,
        /// The value in the file.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// The last record is incomplete: a torn tail, or a cut file.
    #[error("{place} is cut off: {found} bytes where {expected} are expected")]
    Torn {
        /// Where the incomplete record starts.
        place: Place,
        /// Bytes left in the file from there.
        found: usize,
        /// Bytes that the record (or its fixed part) takes.
        expected: usize,
    },
    /// A complete record that no writer may write.
    #[error("{place}: {defect}")]
    Record {
        /// Where the record starts.
        place: Place,
        /// What is wrong with it.
        defect: Defect,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
