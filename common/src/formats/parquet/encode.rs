//! Column chunks as bytes: one PLAIN page each, zstd, with a CRC. Where they will stand in a file is not their
//! business, so that row groups can be encoded on any thread.

use std::cell::RefCell;

use parquet_format_safe::thrift::protocol::TCompactOutputProtocol;
use parquet_format_safe::{
    ColumnChunk, ColumnMetaData, CompressionCodec, DataPageHeader, Encoding, PageHeader, PageType,
    Statistics, Type,
};

use super::error::Error;

/// Largest page, uncompressed: what a reader is ready to hold.
pub(super) const MAX_PAGE: usize = 256 << 20;
/// zstd's lowest regular level.
const ZSTD_LEVEL: i32 = 1;

/// A leaf column: where its values lie in the schema, and how a value is stored.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    /// Path from the root.
    pub path: &'static [&'static str],
    /// Physical type.
    pub kind: Type,
}

/// A column chunk that has not got a place in a file yet.
#[derive(Debug)]
pub struct EncodedChunk {
    pub(super) bytes: Vec<u8>,
    pub(super) chunk: ColumnChunk,
}

/// Column chunks of one row group, in schema order.
#[derive(Debug)]
pub struct EncodedGroup {
    /// Rows of the group.
    pub rows: usize,
    /// A chunk a leaf.
    pub chunks: Vec<EncodedChunk>,
}

thread_local! {
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Makes the chunk of `values` entries, of which `nulls` are absent, from a page body: levels, then PLAIN values.
/// `ends` are the smallest and the largest value, PLAIN.
pub fn encode_chunk(
    leaf: &Leaf,
    body: &[u8],
    values: usize,
    nulls: usize,
    ends: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<EncodedChunk, Error> {
    if body.len() > MAX_PAGE {
        return Err(Error::Rows("a page would exceed 256 MiB"));
    }
    let too_big = |_| Error::Rows("a page has too many values");
    let compressed = compress(body)?;
    let (n, raw_len) = (values.try_into().map_err(too_big)?, body.len().try_into().map_err(too_big)?);
    let len = compressed.len().try_into().map_err(too_big)?;
    let data = DataPageHeader::new(n, Encoding::PLAIN, Encoding::RLE, Encoding::RLE, None);
    let crc = crc32fast::hash(&compressed).cast_signed();
    let header = PageHeader::new(PageType::DATA_PAGE, raw_len, len, crc, data, None, None, None);
    let mut bytes = vec![];
    header.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes))?;
    let raw_size = (bytes.len() + body.len()) as i64;
    bytes.extend_from_slice(&compressed);
    let (min_value, max_value) = ends.unzip();
    let statistics = Statistics::new(None, None, nulls as i64, None, max_value, min_value);
    let meta = ColumnMetaData::new(
        leaf.kind,
        vec![Encoding::PLAIN, Encoding::RLE],
        leaf.path.iter().map(|&name| name.to_owned()).collect(),
        CompressionCodec::ZSTD,
        values as i64,
        raw_size,
        bytes.len() as i64,
        None,
        0,
        None,
        None,
        statistics,
        None,
        None,
    );
    Ok(EncodedChunk { bytes, chunk: ColumnChunk::new(None, 0, meta, None, None, None, None, None, None) })
}

fn compress(body: &[u8]) -> Result<Vec<u8>, Error> {
    ZSTD.with_borrow_mut(|kept| {
        let zstd = match kept {
            Some(zstd) => zstd,
            None => kept.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
        };
        let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(body.len()));
        zstd.compress_to_buffer(body, &mut out)?;
        Ok(out)
    })
}

/// Smallest and largest of `values` as PLAIN bytes, for the statistics. A NaN has no order, so a column with one
/// has none; of the zeros the smallest is the negative and the largest the positive one, as the format asks.
pub fn ends<T: Copy + PartialOrd>(
    values: &[T],
    zeros: Option<(T, T)>,
    plain: impl Fn(T) -> Vec<u8>,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let first = *values.first()?;
    if values.iter().any(|value| value.partial_cmp(value).is_none()) {
        return None;
    }
    let low = values.iter().fold(first, |a, &b| if b < a { b } else { a });
    let high = values.iter().fold(first, |a, &b| if b > a { b } else { a });
    let low = zeros.map(|(negative, _)| negative).filter(|&zero| low == zero).unwrap_or(low);
    let high = zeros.map(|(_, positive)| positive).filter(|&zero| high == zero).unwrap_or(high);
    Some((plain(low), plain(high)))
}
