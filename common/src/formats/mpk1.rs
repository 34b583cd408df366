//! MPK1, the raw stream of training positions: a 24-byte header, then records of 12 + packed_len + 8·n_cand
//! bytes, little-endian throughout. Specification: "MPK1, the raw stream"; byte table: `docs/formats/mpk1.md`.
//!
//! A stream stores what adds (visit counts or centipawns, one game's outcome), never a quotient. It has no
//! checksum, record length or end mark: a reader walks from record to record and must land on the end.

pub mod candidate;
pub mod error;
pub mod header;
pub mod map;
pub mod move16;
pub mod packed;
pub mod reader;
pub mod record;
pub mod validate;
pub mod writer;

pub use candidate::Candidate;
pub use error::Error;
pub use header::{Header, PolicySource, Pov};
pub use map::Mapped;
pub use move16::Move16;
pub use packed::{PACKED_LEN, Packed};
pub use reader::{Chunk, Reader};
pub use record::{Place, Record, RecordBuf};
pub use validate::{Defect, validate};
pub use writer::Writer;
