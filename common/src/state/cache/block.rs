//! A row group that can be read.

use super::columns::{Columns, View};
use super::spill::Spilled;

/// Where its columns lie.
#[derive(Debug)]
pub(super) enum Block {
    /// In memory of our own.
    Decoded(Columns),
    /// In a mapped file.
    Mapped(Spilled),
}

impl Block {
    pub(super) fn views(&self) -> Vec<View<'_>> {
        match self {
            Self::Decoded(columns) => columns.views(),
            Self::Mapped(spilled) => spilled.views(),
        }
    }

    /// Bytes that its columns take. A mapped group counts like a decoded one: what is resident is what can be read without
    /// decoding.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Decoded(columns) => columns.bytes(),
            Self::Mapped(spilled) => spilled.bytes(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Decoded(columns) => columns.rows,
            Self::Mapped(spilled) => spilled.rows(),
        }
    }

    /// Whether what was read of it does not count. To be asked after reading.
    pub(super) fn is_torn(&self) -> bool {
        matches!(self, Self::Mapped(spilled) if spilled.is_torn())
    }
}
