//! Second pass: key ranges of spools to shards.

pub mod exact;
pub mod gather;
pub mod group;
pub(crate) mod job;
pub mod range;
pub mod shards;
pub mod tasks;
