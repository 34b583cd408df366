//! Column chunks as bytes: one data page each, PLAIN or behind a dictionary, zstd, with CRCs. Where they will stand in a
//! file is not their business, so that row groups can be encoded on any thread.

use std::cell::RefCell;

use parquet_format_safe::thrift::protocol::TCompactOutputProtocol;
use parquet_format_safe::{
    ColumnChunk, ColumnMetaData, CompressionCodec, DataPageHeader, DictionaryPageHeader, Encoding,
    PageHeader, PageType, Statistics, Type,
};

use super::error::Error;

/// Largest page, uncompressed: what a reader is ready to hold.
pub(super) const MAX_PAGE: usize = 256 << 20;
/// zstd's lowest regular level.
const ZSTD_LEVEL: i32 = 1;

/// A leaf column: where its values lie in the schema, and how a value is stored.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    /// Path from the root.
    pub path: &'a [&'a str],
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

/// The smallest and the largest value of a chunk, PLAIN.
pub type Ends = Option<(Vec<u8>, Vec<u8>)>;

/// Makes the chunk of `values` entries, of which `nulls` are absent, from a page body: levels, then PLAIN values.
pub fn encode_chunk(
    leaf: &Leaf<'_>,
    body: &[u8],
    values: usize,
    nulls: usize,
    ends: Ends,
) -> Result<EncodedChunk, Error> {
    let mut pages = Pages::default();
    pages.data(body, values, Encoding::PLAIN)?;
    Ok(pages.chunk(leaf, vec![Encoding::PLAIN, Encoding::RLE], values, nulls, ends))
}

/// PLAIN values that a chunk refers to by number.
#[derive(Debug)]
pub struct Dictionary<'a> {
    /// The values.
    pub plain: &'a [u8],
    /// How many they are.
    pub len: usize,
}

/// Makes the chunk of `values` entries, none absent, from a dictionary and a page body: levels, the width of an index,
/// then indices in runs.
pub fn encode_indexed(
    leaf: &Leaf<'_>,
    dictionary: &Dictionary<'_>,
    body: &[u8],
    values: usize,
    ends: Ends,
) -> Result<EncodedChunk, Error> {
    let mut pages = Pages::default();
    pages.dictionary(dictionary)?;
    pages.data(body, values, Encoding::RLE_DICTIONARY)?;
    let encodings = vec![Encoding::PLAIN, Encoding::RLE_DICTIONARY, Encoding::RLE];
    Ok(pages.chunk(leaf, encodings, values, 0, ends))
}

/// Pages of a chunk, one behind the other.
#[derive(Default)]
struct Pages {
    bytes: Vec<u8>,
    /// Bytes before compression, page headers included.
    raw: usize,
    /// Where the data page starts; 0 where there is no dictionary before it.
    data_at: usize,
}

impl Pages {
    fn dictionary(&mut self, dictionary: &Dictionary<'_>) -> Result<(), Error> {
        let n = dictionary.len.try_into().map_err(too_big)?;
        self.push(dictionary.plain, |raw, len, crc| {
            let head = DictionaryPageHeader::new(n, Encoding::PLAIN, None);
            PageHeader::new(PageType::DICTIONARY_PAGE, raw, len, crc, None, None, head, None)
        })?;
        self.data_at = self.bytes.len();
        Ok(())
    }

    fn data(&mut self, body: &[u8], values: usize, encoding: Encoding) -> Result<(), Error> {
        let n = values.try_into().map_err(too_big)?;
        self.push(body, |raw, len, crc| {
            let head = DataPageHeader::new(n, encoding, Encoding::RLE, Encoding::RLE, None);
            PageHeader::new(PageType::DATA_PAGE, raw, len, crc, head, None, None, None)
        })
    }

    fn push(&mut self, body: &[u8], header: impl FnOnce(i32, i32, i32) -> PageHeader) -> Result<(), Error> {
        if body.len() > MAX_PAGE {
            return Err(Error::Rows("a page would exceed 256 MiB"));
        }
        let compressed = compress(body)?;
        let crc = crc32fast::hash(&compressed).cast_signed();
        let (raw, len) =
            (body.len().try_into().map_err(too_big)?, compressed.len().try_into().map_err(too_big)?);
        let before = self.bytes.len();
        header(raw, len, crc).write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut self.bytes))?;
        self.raw += self.bytes.len() - before + body.len();
        self.bytes.extend_from_slice(&compressed);
        Ok(())
    }

    fn chunk(
        self,
        leaf: &Leaf<'_>,
        encodings: Vec<Encoding>,
        values: usize,
        nulls: usize,
        ends: Ends,
    ) -> EncodedChunk {
        let (min_value, max_value) = ends.unzip();
        let statistics = Statistics::new(None, None, nulls as i64, None, max_value, min_value);
        let meta = ColumnMetaData::new(
            leaf.kind,
            encodings,
            leaf.path.iter().map(|&name| name.to_owned()).collect(),
            CompressionCodec::ZSTD,
            values as i64,
            self.raw as i64,
            self.bytes.len() as i64,
            None,
            self.data_at as i64,
            None,
            (self.data_at > 0).then_some(0),
            statistics,
            None,
            None,
        );
        let chunk = ColumnChunk::new(None, 0, meta, None, None, None, None, None, None);
        EncodedChunk { bytes: self.bytes, chunk }
    }
}

fn too_big(_: std::num::TryFromIntError) -> Error {
    Error::Rows("a page has too many values")
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
