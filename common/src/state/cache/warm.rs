//! Warm sets: spill files that are made once, before training, and shared by all runs, which map them and never write.

use std::path::Path;

use super::CacheError;
use super::block::Block;
use super::content::Content;
use super::key::Key;
use super::run::write_file;
use super::source::{Slot, Source};
use super::spill::file_len;
use crate::state::lock::LockError;

/// A row group that is in memory, to be written to a warm set.
#[derive(Debug)]
pub struct Decoded {
    key: Key,
    kind: u32,
    block: Block,
}

impl Decoded {
    /// Decodes a row group.
    pub fn new<S: Source>(source: &S, slot: Slot) -> Result<Self, CacheError> {
        let key = source.key(slot).ok_or(CacheError::NoGroup(slot))?;
        let block = Block::Decoded(source.decode(slot)?.into_columns());
        Ok(Self { key, kind: S::Rows::KIND, block })
    }

    /// Bytes that a cache counts for it.
    pub fn bytes(&self) -> u64 {
        self.block.bytes()
    }

    /// Bytes of its file.
    pub fn file_bytes(&self) -> u64 {
        file_len(&self.block.views())
    }

    /// Writes its file, whole or not at all, unless another process does.
    pub fn write(&self, to: &Path) -> Result<(), LockError> {
        write_file(to, &self.key, self.kind, self.block.rows(), &self.block.views())
    }
}
