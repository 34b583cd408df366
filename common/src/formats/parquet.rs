//! Parquet on pages: all that touches parquet2, arrow2 and the thrift types beneath them.
//!
//! Both crates are unmaintained, so they are pinned, and nothing of them is trusted with bytes from outside: every
//! read runs under [`guard`], which turns a panic into an error; levels are parsed by [`levels`]; page headers carry
//! CRCs, which parquet2 neither writes nor checks; the footer is read without the fields that newer writers
//! extend. One data page a column chunk, PLAIN or with a dictionary before it, zstd. `ARCHITECTURE.md` says when arrow-rs would take over.

mod encode;
mod error;
mod file;
mod footer;
mod guard;
mod hybrid;
mod indexed;
mod levels;
mod read;

pub use arrow2::datatypes::{DataType, Field, Schema};
pub use parquet_format_safe::Type as PhysicalType;

pub use encode::{Dictionary, EncodedChunk, EncodedGroup, Ends, Leaf, encode_chunk, encode_indexed, ends};
pub use error::Error;
pub use file::FileWriter;
pub use footer::{Footer, ReadAt};
pub use guard::guard;
pub use indexed::{IndexedPage, Words};
pub use levels::{push_flags, push_lists, push_repeated, push_two_bits};
pub use read::{Body, ChunkReader, Fixed, Indices, Lists, Page, Wanted};
