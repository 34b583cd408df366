//! State on disk: files that appear whole or not at all, the digests they are known by, the store of results, the
//! catalog of what is there, and the cache of row groups.

pub mod cache;
pub mod catalog;
pub mod digest;
pub mod lock;
pub mod output;
pub mod stat;
pub mod store;
