//! Bytes on disk: one module a format, each with its page in `docs/formats/`.

pub mod decisions;
pub mod events;
pub mod folded;
pub mod mpk1;
pub mod parquet;
pub mod safetensors;
