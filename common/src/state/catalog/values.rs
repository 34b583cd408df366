//! Rust's values in SQLite's columns.

use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::de::DeserializeOwned;

use crate::state::digest::Digest;
use crate::state::stat::Stat;

/// SQLite's integers are signed; inodes and sizes come back the same.
pub(super) fn signed(value: u64) -> i64 {
    value.cast_signed()
}

pub(super) fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

/// A text, without a copy of it.
pub(super) fn text<'a>(row: &'a Row<'_>, at: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(at)?.as_str()?)
}

/// What a file was like, from columns whose names begin with `prefix`, and from the one that holds its size.
pub(super) fn stat(row: &Row<'_>, prefix: &str, size: &str) -> rusqlite::Result<Stat> {
    Ok(Stat {
        size: unsigned(row, size)?,
        mtime_ns: row.get(&*format!("{prefix}mtime_ns"))?,
        ctime_ns: row.get(&*format!("{prefix}ctime_ns"))?,
        inode: unsigned(row, &format!("{prefix}inode"))?,
    })
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(unreadable)
}

pub(super) fn digest(row: &Row<'_>, column: &str) -> rusqlite::Result<Digest> {
    row.get::<_, String>(column)?.try_into().map_err(unreadable)
}

/// A value that none of our programs wrote.
pub(super) fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
}
