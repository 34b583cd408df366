//! State on disk: files that appear whole or not at all, and the digests they are known by.

pub mod digest;
pub mod lock;
pub mod output;
