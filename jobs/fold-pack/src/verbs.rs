//! One module a verb.

pub(crate) mod card;
pub(crate) mod fold;
pub(crate) mod inspect;
pub(crate) mod pack;
pub(crate) mod partition;
pub(crate) mod stats;
pub(crate) mod verify;

mod buckets;
mod parts;
mod plan;
mod sets;
mod shard_files;
mod summary;
