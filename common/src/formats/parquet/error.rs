//! Why a Parquet file cannot be read or written.

use std::io;

/// What is wrong with a file; it is named by whoever opened it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Too short, or without the magic at its end.
    #[error("not a Parquet file, or its end is cut off: {0}")]
    NotParquet(&'static str),
    /// Another schema than the format's.
    #[error("its schema is not this format's: {0}")]
    Schema(String),
    /// A page or chunk that is damaged, or written in a way that this reader does not take.
    #[error("row group {group}, column {column}: {what}")]
    Column {
        /// Number of the row group, from 0.
        group: usize,
        /// Dotted path of the column.
        column: String,
        /// What is wrong.
        what: &'static str,
    },
    /// Rows that the format cannot hold.
    #[error("rows refused: {0}")]
    Rows(&'static str),
    /// The footer is damaged.
    #[error("its footer is damaged: {0}")]
    Footer(String),
    /// The Parquet library panicked, which damaged files can make it do.
    #[error("its footer is damaged: the Parquet library gave up ({0})")]
    Panic(String),
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<parquet2::error::Error> for Error {
    fn from(error: parquet2::error::Error) -> Self {
        Self::Footer(error.to_string())
    }
}

impl From<parquet_format_safe::thrift::Error> for Error {
    fn from(error: parquet_format_safe::thrift::Error) -> Self {
        Self::Footer(error.to_string())
    }
}

impl From<arrow2::error::Error> for Error {
    fn from(error: arrow2::error::Error) -> Self {
        Self::Footer(error.to_string())
    }
}
