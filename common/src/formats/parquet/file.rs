//! A Parquet file from encoded row groups.

use std::io::Write;

use arrow2::io::parquet::write::{
    CompressionOptions, FileWriter as ArrowWriter, KeyValue, Version, WriteOptions,
};
use parquet_format_safe::thrift::protocol::TCompactOutputProtocol;
use parquet_format_safe::{ColumnOrder, FileMetaData, RowGroup, TypeDefinedOrder};

use super::encode::EncodedGroup;
use super::error::Error;
use super::{DataType, Field, Schema};

const MAGIC: &[u8; 4] = b"PAR1";
/// States the order of the statistics, without which readers leave them aside.
const CREATED_BY: &str = concat!("foldline version ", env!("CARGO_PKG_VERSION"));

/// Writes a file from its first byte to its last; the output need not seek.
#[derive(Debug)]
pub struct FileWriter<W> {
    out: W,
    at: u64,
    footer: FileMetaData,
}

impl<W: Write> FileWriter<W> {
    /// Starts a file of `schema` with key-value `pairs` in its footer, beside ARROW:schema.
    pub fn new(mut out: W, schema: &Schema, pairs: &[(String, String)]) -> Result<Self, Error> {
        out.write_all(MAGIC)?;
        let mut footer = empty_footer(schema, pairs)?;
        footer.created_by = Some(CREATED_BY.into());
        let leaves = schema.fields.iter().map(leaves).sum();
        footer.column_orders = Some(vec![ColumnOrder::TYPEORDER(TypeDefinedOrder {}); leaves]);
        Ok(Self { out, at: MAGIC.len() as u64, footer })
    }

    /// Appends a row group.
    pub fn append(&mut self, group: EncodedGroup) -> Result<(), Error> {
        let (start, mut raw) = (self.at, 0);
        let mut columns = Vec::with_capacity(group.chunks.len());
        for mut encoded in group.chunks {
            self.out.write_all(&encoded.bytes)?;
            if let Some(meta) = &mut encoded.chunk.meta_data {
                meta.data_page_offset = self.at as i64;
                raw += meta.total_uncompressed_size;
            }
            self.at += encoded.bytes.len() as u64;
            columns.push(encoded.chunk);
        }
        let size = (self.at - start) as i64;
        let ordinal = i16::try_from(self.footer.row_groups.len()).ok();
        let rows = group.rows as i64;
        self.footer.row_groups.push(RowGroup::new(columns, raw, rows, None, start as i64, size, ordinal));
        self.footer.num_rows += rows;
        Ok(())
    }

    /// Writes the footer and gives the output back.
    pub fn finish(mut self) -> Result<W, Error> {
        let mut tail = vec![];
        self.footer.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut tail))?;
        tail.extend_from_slice(&(tail.len() as u32).to_le_bytes());
        tail.extend_from_slice(MAGIC);
        self.out.write_all(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Leaf columns beneath a field.
fn leaves(field: &Field) -> usize {
    match &field.data_type {
        DataType::Struct(fields) => fields.iter().map(leaves).sum(),
        DataType::List(inner) | DataType::FixedSizeList(inner, _) => leaves(inner),
        _ => 1,
    }
}

/// The footer that arrow2 gives a file without rows: Parquet schema, ARROW:schema (whose helper is private), pairs.
fn empty_footer(schema: &Schema, pairs: &[(String, String)]) -> Result<FileMetaData, Error> {
    let options = WriteOptions {
        write_statistics: false,
        compression: CompressionOptions::Uncompressed,
        version: Version::V1,
        data_pagesize_limit: None,
    };
    let mut file = ArrowWriter::try_new(vec![], schema.clone(), options)?;
    file.end(Some(pairs.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect()))?;
    Ok(file.into_inner_and_metadata().1)
}
