//! Columns of a folded shard. Everything is required but `cp`, which self-play has not got.

use crate::formats::mpk1::PACKED_LEN;
use crate::formats::parquet::{DataType, Field, Leaf, PhysicalType, Schema};

/// Rows of a row group: what a reader pulls in and decompresses at once.
pub const GROUP_ROWS: usize = 8192;

/// Leaf columns, in file order.
pub(super) const LEAVES: [Leaf<'static>; 8] = [
    Leaf { path: &["packed"], kind: PhysicalType::FIXED_LEN_BYTE_ARRAY },
    Leaf { path: &["ply"], kind: PhysicalType::INT32 },
    Leaf { path: &["value_z"], kind: PhysicalType::FLOAT },
    Leaf { path: &["value_q"], kind: PhysicalType::FLOAT },
    Leaf { path: &["weight"], kind: PhysicalType::INT32 },
    Leaf { path: &["candidates", "list", "element", "mv"], kind: PhysicalType::INT32 },
    Leaf { path: &["candidates", "list", "element", "prob"], kind: PhysicalType::FLOAT },
    Leaf { path: &["candidates", "list", "element", "cp"], kind: PhysicalType::INT32 },
];

/// The Arrow schema.
pub fn schema() -> Schema {
    let required = |name: &str, kind| Field::new(name, kind, false);
    let candidate = DataType::Struct(vec![
        required("mv", DataType::UInt16),
        required("prob", DataType::Float32),
        Field::new("cp", DataType::Int16, true),
    ]);
    Schema::from(vec![
        required("packed", DataType::FixedSizeBinary(PACKED_LEN)),
        required("ply", DataType::UInt16),
        required("value_z", DataType::Float32),
        required("value_q", DataType::Float32),
        required("weight", DataType::UInt32),
        required("candidates", DataType::List(Box::new(required("element", candidate)))),
    ])
}
