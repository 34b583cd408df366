//! The Arrow schema, and where a column lies in the Parquet file. Nothing is nullable: nullable lists decode about three
//! times slower in pyarrow.

use super::columns::{COLUMNS, Column, Kind};
use crate::formats::parquet::{DataType, Field, PhysicalType, Schema};

/// Revision of the columns.
pub const SCHEMA_VERSION: u32 = 1;
/// Row groups close at this many rows, at the end of an episode.
pub const GROUP_ROWS: usize = 35_000;

/// The Arrow schema of all columns.
pub fn schema() -> Schema {
    schema_of(&COLUMNS)
}

pub(super) fn schema_of(columns: &[Column]) -> Schema {
    Schema::from(columns.iter().map(field).collect::<Vec<_>>())
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::I8 => DataType::Int8,
        Kind::I32 => DataType::Int32,
        Kind::I64 => DataType::Int64,
        Kind::F32 => DataType::Float32,
        Kind::Text => DataType::Utf8,
    };
    let kind = match column.list {
        Some(len) => DataType::FixedSizeList(Box::new(Field::new("element", kind, false)), len),
        None => kind,
    };
    Field::new(column.name, kind, false)
}

pub(super) fn leaf_path(column: &Column) -> Vec<&'static str> {
    match column.list {
        Some(_) => vec![column.name, "list", "element"],
        None => vec![column.name],
    }
}

pub(super) fn leaf_kind(column: &Column) -> PhysicalType {
    match column.kind {
        Kind::I8 | Kind::I32 => PhysicalType::INT32,
        Kind::I64 => PhysicalType::INT64,
        Kind::F32 => PhysicalType::FLOAT,
        Kind::Text => PhysicalType::BYTE_ARRAY,
    }
}
