//! Folded shards: one row a position, rows independent and shuffled, in Parquet. Specification: "Parquet";
//! column table: `docs/formats/folded-shard.md`.

pub mod check;
pub mod conventions;
mod read;
mod rows;
mod schema;
pub mod set;
mod write;

pub use check::{ShardFault, check_shard};
pub use conventions::Conventions;
pub use read::Shard;
pub use rows::Rows;
pub use schema::{GROUP_ROWS, schema};
pub use set::{Set, SetShard};
pub use write::{ShardWriter, encode};
