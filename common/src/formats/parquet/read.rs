//! Column chunks back to PLAIN values: v1 pages, zstd, CRCs held where they are written.

use std::cell::RefCell;

use parquet_format_safe::thrift::protocol::TCompactInputProtocol;
use parquet_format_safe::{CompressionCodec, Encoding, PageHeader};
use parquet2::metadata::ColumnChunkMetaData;
use parquet2::schema::Repetition;

use super::encode::MAX_PAGE;
use super::error::Error;
use super::footer::{Footer, ReadAt};
use super::guard::guard;
use super::levels;

// what a damaged file can make us allocate
const MAX_HEADER: usize = 1 << 16;
const MAX_CHUNK: u64 = 1 << 30;
const MAX_ROWS: usize = 1 << 20;

thread_local! {
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Bounds of lists and the runs of present values in a column within lists.
#[derive(Debug, Default)]
pub struct Lists {
    /// List `i` holds the entries `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<u32>,
    /// Runs of entries that have a value (`true`) or are null.
    pub runs: Vec<(bool, usize)>,
}

/// Which chunk, and what its values are like.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Number of the row group.
    pub group: usize,
    /// Number of the leaf.
    pub column: usize,
    /// Bytes of a value.
    pub width: usize,
    /// Whether an optional leaf may hold nulls.
    pub nullable: bool,
}

/// One page: PLAIN bytes of the values that are there.
#[derive(Debug)]
pub struct Page<'a> {
    /// Values, one after the other.
    pub values: &'a [u8],
}

/// Reads chunks of a file, with buffers that live from one to the next.
#[derive(Debug)]
pub struct ChunkReader<'f, F> {
    file: &'f F,
    footer: &'f Footer,
    chunk: Vec<u8>,
    page: Vec<u8>,
}

impl<'f, F: ReadAt> ChunkReader<'f, F> {
    /// A reader of the file that the footer was read from.
    pub fn new(file: &'f F, footer: &'f Footer) -> Self {
        Self { file, footer, chunk: vec![], page: vec![] }
    }

    /// Hands the pages of a chunk to `take`, which says whether the values are in range. `lists` are filled where the
    /// leaf lies in a list.
    pub fn read(
        &mut self,
        wanted: Wanted,
        lists: &mut Lists,
        take: &mut dyn FnMut(Page<'_>) -> bool,
    ) -> Result<(), Error> {
        guard(|| self.read_pages(wanted, lists, take))
    }

    fn read_pages(
        &mut self,
        Wanted { group, column, width, nullable }: Wanted,
        lists: &mut Lists,
        take: &mut dyn FnMut(Page<'_>) -> bool,
    ) -> Result<(), Error> {
        let name = |meta: Option<&ColumnChunkMetaData>| {
            meta.map_or(column.to_string(), |meta| meta.descriptor().path_in_schema.join("."))
        };
        let groups = &self.footer.meta.row_groups;
        let row_group =
            groups.get(group).ok_or(Error::Column { group, column: name(None), what: "no such group" })?;
        let meta = row_group.columns().get(column);
        let bad = |what| Error::Column { group, column: name(meta), what };
        let meta = meta.ok_or_else(|| bad("no such column"))?;
        let shape = Shape::of(meta, nullable);
        let (rows, total) = (row_group.num_rows(), meta.num_values() as usize);
        if meta.metadata().codec != CompressionCodec::ZSTD {
            return Err(bad("it is not compressed with zstd"));
        }
        if rows > MAX_ROWS || total < rows || (!shape.nested && total > rows) {
            return Err(bad("its count of values is impossible"));
        }
        self.load(meta).map_err(|what| what.unwrap_or_else(|| bad("it lies outside of the file")))?;
        lists.offsets.clear();
        lists.runs.clear();
        let (mut input, mut seen) = (&self.chunk[..], 0);
        while seen < total {
            let (header, data) = take_page(&mut input).map_err(&bad)?;
            let n = values_of(&header, total - seen).map_err(&bad)?;
            inflate(data, header.uncompressed_page_size, &mut self.page).map_err(&bad)?;
            let mut values = &self.page[..];
            let present = shape.levels(&mut values, n, seen as u32, lists).map_err(&bad)?;
            let values = values.get(..present * width).ok_or_else(|| bad("its values are cut off"))?;
            if !take(Page { values }) {
                return Err(bad("it has a value out of range"));
            }
            seen += n;
        }
        if shape.nested {
            lists.offsets.push(total as u32);
            if lists.offsets[0] != 0 || lists.offsets.len() != rows + 1 {
                return Err(bad("its lists are not as many as the rows"));
            }
        }
        Ok(())
    }

    fn load(&mut self, meta: &ColumnChunkMetaData) -> Result<(), Option<Error>> {
        let (start, len) = meta.byte_range();
        let size = self.file.size().map_err(|error| Some(error.into()))?;
        if len > MAX_CHUNK || start.checked_add(len).is_none_or(|end| end > size) {
            return Err(None);
        }
        self.chunk.resize(len as usize, 0);
        self.file.read_exact_at(&mut self.chunk, start).map_err(|error| Some(error.into()))
    }
}

/// What the levels of a leaf look like.
struct Shape {
    nested: bool,
    max: u32,
    null: Option<u32>,
}

impl Shape {
    fn of(meta: &ColumnChunkMetaData, nullable: bool) -> Self {
        let leaf = &meta.descriptor().descriptor;
        let max = leaf.max_def_level as u32;
        let optional = leaf.primitive_type.field_info.repetition == Repetition::Optional;
        Self { nested: leaf.max_rep_level > 0, max, null: (nullable && optional).then(|| max - 1) }
    }

    /// Takes the levels off a page and counts the values behind them.
    fn levels(
        &self,
        page: &mut &[u8],
        n: usize,
        seen: u32,
        lists: &mut Lists,
    ) -> Result<usize, &'static str> {
        if self.nested {
            levels::list_starts(levels::take(page)?, n, seen, &mut lists.offsets)?;
        }
        match self.max {
            0 => Ok(n),
            max => levels::presence(levels::take(page)?, n, max, self.null, &mut lists.runs),
        }
    }
}

fn take_page<'a>(input: &mut &'a [u8]) -> Result<(PageHeader, &'a [u8]), &'static str> {
    let header = PageHeader::read_from_in_protocol(&mut TCompactInputProtocol::new(&mut *input, MAX_HEADER));
    let header = header.map_err(|_| "its page header is damaged")?;
    let len = usize::try_from(header.compressed_page_size).map_err(|_| "its page size is impossible")?;
    let (data, rest) = input.split_at_checked(len).ok_or("its page is cut off")?;
    *input = rest;
    match header.crc {
        Some(crc) if crc.cast_unsigned() != crc32fast::hash(data) => {
            Err("its page does not match its checksum")
        }
        _ => Ok((header, data)),
    }
}

fn values_of(header: &PageHeader, most: usize) -> Result<usize, &'static str> {
    let data =
        header.data_page_header.as_ref().ok_or("its page is no v1 data page (a dictionary is not read)")?;
    if data.encoding != Encoding::PLAIN {
        return Err("its values are not PLAIN");
    }
    match usize::try_from(data.num_values) {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err("its count of values is impossible"),
    }
}

fn inflate(data: &[u8], raw_len: i32, page: &mut Vec<u8>) -> Result<(), &'static str> {
    let raw_len = usize::try_from(raw_len).ok().filter(|&len| len <= MAX_PAGE);
    let raw_len = raw_len.ok_or("its page size is impossible")?;
    page.clear();
    page.try_reserve(raw_len).map_err(|_| "its page does not fit into memory")?;
    let zstd = |kept: &mut Option<zstd::bulk::Decompressor<'static>>| {
        let zstd = match kept {
            Some(zstd) => zstd,
            None => kept.insert(zstd::bulk::Decompressor::new()?),
        };
        zstd.decompress_to_buffer(data, page)
    };
    match ZSTD.with_borrow_mut(zstd) {
        Ok(len) if len == raw_len => Ok(()),
        _ => Err("its page does not decompress"),
    }
}
