//! A Parquet file from encoded row groups.

use std::io::Write;

use arrow2::io::parquet::write::{
    CompressionOptions, FileWriter as ArrowWriter, KeyValue, Version, WriteOptions,
};
use parquet_format_safe::thrift::protocol::{TCompactInputProtocol, TCompactOutputProtocol};
use parquet_format_safe::{ColumnOrder, FileMetaData, RowGroup, TypeDefinedOrder};

use super::encode::{EncodedChunk, EncodedGroup};
use super::error::Error;
use super::guard::guard;
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

    /// Goes on with a file of `at` bytes, whose row groups are those that [`last_group`](Self::last_group) gave.
    pub fn resume(
        out: W,
        at: u64,
        schema: &Schema,
        pairs: &[(String, String)],
        groups: &[Vec<u8>],
    ) -> Result<Self, Error> {
        let mut file = FileWriter::new(std::io::sink(), schema, pairs)?;
        for group in groups {
            let mut input = TCompactInputProtocol::new(&group[..], group.len() * 2 + 1024);
            let group = guard(|| Ok(RowGroup::read_from_in_protocol(&mut input)?))?;
            file.footer.num_rows += group.num_rows;
            file.footer.row_groups.push(group);
        }
        Ok(Self { out, at, footer: file.footer })
    }

    /// The last row group as it will stand in the footer; empty where there is none.
    pub fn last_group(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![];
        if let Some(group) = self.footer.row_groups.last() {
            group.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes))?;
        }
        Ok(bytes)
    }

    /// Where bytes go.
    pub fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.at
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Appends a row group.
    pub fn append(&mut self, group: EncodedGroup) -> Result<(), Error> {
        self.append_chunks(group.rows, group.chunks.into_iter().map(Ok))
    }

    /// Appends a row group of `rows` rows, whose chunks need not be there all at once.
    pub fn append_chunks(
        &mut self,
        rows: usize,
        chunks: impl Iterator<Item = Result<EncodedChunk, Error>>,
    ) -> Result<(), Error> {
        let (start, mut raw, mut columns) = (self.at, 0, vec![]);
        for encoded in chunks {
            let mut encoded = encoded?;
            self.out.write_all(&encoded.bytes)?;
            if let Some(meta) = &mut encoded.chunk.meta_data {
                // until here they count from the start of the chunk
                meta.data_page_offset += self.at as i64;
                meta.dictionary_page_offset = meta.dictionary_page_offset.map(|at| at + self.at as i64);
                raw += meta.total_uncompressed_size;
            }
            self.at += encoded.bytes.len() as u64;
            columns.push(encoded.chunk);
        }
        let size = (self.at - start) as i64;
        let ordinal = i16::try_from(self.footer.row_groups.len()).ok();
        let rows = rows as i64;
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
