//! What the jobs of Foldline share, in layers; a module uses the layers above it only.
//!
//! - [`formats`]: bytes on disk. MPK1 streams, folded shards, and Parquet on pages beneath them.
//! - [`state`]: files that appear whole or not at all, and the digests they are known by.
//! - [`process`]: what every job does alike. Arguments, exit codes, errors, progress, signals, threads.

pub mod formats;
pub mod process;
pub mod state;
