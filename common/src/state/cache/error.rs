//! Why a cache cannot give rows.

use std::path::PathBuf;

use super::gather::{MOST, Row};
use super::source::Slot;
use crate::formats::parquet;

/// Why a cache cannot give rows.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A dataset cannot be read.
    #[error("{error}")]
    Dataset {
        /// Where it lies.
        path: PathBuf,
        /// Why.
        error: parquet::Error,
    },
    /// A dataset was written to while it was in use.
    #[error("the dataset changed while it was read")]
    Changed {
        /// Where it lies.
        path: PathBuf,
    },
    /// A row that no dataset has.
    #[error("dataset {} has no row {}", .0.dataset, .0.row)]
    NoRow(Row),
    /// A row group that no dataset has.
    #[error("dataset {} has no row group {}", .0.dataset, .0.group)]
    NoGroup(Slot),
    /// More rows than one request may name.
    #[error("a request of {0} rows, where {most} is the most", most = MOST)]
    TooManyRows(usize),
    /// Not even one group fits.
    #[error("the cache is smaller than one row group")]
    TooSmall {
        /// Bytes of the group.
        needed: u64,
        /// Bytes of the cache.
        capacity: u64,
    },
    /// A share that is none, or a promotion that comes before the first hit.
    #[error("{0} makes no sense for a cache")]
    Options(&'static str),
    /// A group that does not come out the same twice.
    #[error("row group {} of dataset {} is torn again and again", .0.group, .0.dataset)]
    Torn(Slot),
}
