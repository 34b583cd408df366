//! Column chunks back to values, PLAIN or behind a dictionary: v1 pages, zstd, CRCs held where they are written.

use std::cell::RefCell;

use parquet_format_safe::thrift::protocol::TCompactInputProtocol;
use parquet_format_safe::{CompressionCodec, Encoding, PageHeader};
use parquet2::metadata::ColumnChunkMetaData;
use parquet2::schema::Repetition;

use super::encode::MAX_PAGE;
use super::error::Error;
use super::footer::{Footer, ReadAt};
use super::guard::guard;
use super::hybrid::{Checked, Run, runs, unpack};
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

/// A chunk without nulls, whose rows have one value or one list of `len` values each.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// Number of the row group.
    pub group: usize,
    /// Number of the leaf.
    pub column: usize,
    /// Length of the lists; `None` where there are none.
    pub len: Option<usize>,
}

/// What a page holds behind its levels.
#[derive(Debug)]
pub enum Body<'a> {
    /// PLAIN values that the pages behind it refer to.
    Dictionary {
        /// The values.
        plain: &'a [u8],
        /// How many they are.
        len: usize,
    },
    /// PLAIN values.
    Plain {
        /// The values.
        plain: &'a [u8],
        /// How many they are.
        len: usize,
    },
    /// Numbers of values in the dictionary.
    Indices(Indices<'a>),
}

/// Numbers of values, in runs.
#[derive(Debug)]
pub struct Indices<'a> {
    bits: usize,
    block: &'a [u8],
    len: usize,
}

/// Packed indices that are handed over at once.
const AT_ONCE: usize = 512;

impl Indices<'_> {
    /// Hands `repeat` an index that stands `n` times, and `each` up to 512 indices; `sink` goes to either.
    pub fn for_each<S: ?Sized>(
        &self,
        sink: &mut S,
        repeat: &mut impl FnMut(&mut S, u32, usize) -> Checked<()>,
        each: &mut impl FnMut(&mut S, &[u32]) -> Checked<()>,
    ) -> Checked<()> {
        let mut buffer = [0; AT_ONCE];
        runs(self.block, self.bits, self.len, |run, n| {
            let packed = match run {
                Run::Repeat(index) => return repeat(sink, index, n),
                Run::Packed(packed) => packed,
            };
            for from in (0..n).step_by(AT_ONCE) {
                let n = (n - from).min(AT_ONCE);
                let eights = buffer.as_chunks_mut().0.iter_mut().take(n.div_ceil(8));
                eights.zip(from / 8..).for_each(|(eight, at)| *eight = unpack(packed, self.bits, at));
                each(sink, &buffer[..n])?;
            }
            Ok(())
        })
    }

    /// Hands `take` each index, and how often it stands there.
    pub fn each_index(&self, take: &mut impl FnMut(u32, usize) -> Checked<()>) -> Checked<()> {
        self.for_each(take, &mut |take, index, n| take(index, n), &mut |take, indices| {
            indices.iter().try_for_each(|&index| take(index, 1))
        })
    }
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
        let (meta, rows) = self.chunk_of(group, column)?;
        let bad = |what| Error::Column { group, column: name_of(meta), what };
        let shape = Shape::of(meta, nullable);
        let total = meta.num_values() as usize;
        if total < rows || (!shape.nested && total > rows) {
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

    /// Hands what the pages of a chunk hold to `take`, dictionary first; `take` says what is wrong with it.
    pub fn read_fixed(
        &mut self,
        fixed: Fixed,
        take: &mut dyn FnMut(Body<'_>) -> Checked<()>,
    ) -> Result<(), Error> {
        guard(|| self.read_fixed_pages(fixed, take))
    }

    fn read_fixed_pages(
        &mut self,
        Fixed { group, column, len }: Fixed,
        take: &mut dyn FnMut(Body<'_>) -> Checked<()>,
    ) -> Result<(), Error> {
        let (meta, rows) = self.chunk_of(group, column)?;
        let bad = |what| Error::Column { group, column: name_of(meta), what };
        let total = meta.num_values() as usize;
        let leaf = &meta.descriptor().descriptor;
        let max = leaf.max_def_level as u32;
        if leaf.max_rep_level != i16::from(len.is_some()) || rows.checked_mul(len.unwrap_or(1)) != Some(total)
        {
            return Err(bad("it has not as many values as its rows ask for"));
        }
        self.load(meta).map_err(|what| what.unwrap_or_else(|| bad("it lies outside of the file")))?;
        let (mut input, mut seen) = (&self.chunk[..], 0);
        while seen < total {
            let (header, data) = take_page(&mut input).map_err(&bad)?;
            inflate(data, header.uncompressed_page_size, &mut self.page).map_err(&bad)?;
            if let (0, Some(head)) = (seen, &header.dictionary_page_header) {
                let n = usize::try_from(head.num_values).map_err(|_| bad("its dictionary is impossible"))?;
                take(Body::Dictionary { plain: &self.page, len: n }).map_err(&bad)?;
                continue;
            }
            let (n, encoding) = data_of(&header, total - seen).map_err(&bad)?;
            let mut rest = &self.page[..];
            fixed_levels(&mut rest, n, seen, len, max).map_err(&bad)?;
            take(body_of(encoding, rest, n).map_err(&bad)?).map_err(&bad)?;
            seen += n;
        }
        Ok(())
    }

    /// A chunk of the file, and the rows of its group.
    fn chunk_of(&self, group: usize, column: usize) -> Result<(&'f ColumnChunkMetaData, usize), Error> {
        let bad = |meta: Option<&ColumnChunkMetaData>, what| Error::Column {
            group,
            column: meta.map_or(column.to_string(), name_of),
            what,
        };
        let groups = &self.footer.meta.row_groups;
        let row_group = groups.get(group).ok_or_else(|| bad(None, "no such group"))?;
        let meta = row_group.columns().get(column).ok_or_else(|| bad(None, "no such column"))?;
        if meta.metadata().codec != CompressionCodec::ZSTD {
            return Err(bad(Some(meta), "it is not compressed with zstd"));
        }
        if row_group.num_rows() > MAX_ROWS {
            return Err(bad(Some(meta), "its count of values is impossible"));
        }
        Ok((meta, row_group.num_rows()))
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

fn name_of(meta: &ColumnChunkMetaData) -> String {
    meta.descriptor().path_in_schema.join(".")
}

/// Takes the levels of `n` values off a page, the first of which is value `seen` of the chunk.
fn fixed_levels(page: &mut &[u8], n: usize, seen: usize, len: Option<usize>, max: u32) -> Checked<()> {
    if let Some(len) = len {
        levels::fixed_lists(levels::take(page)?, n, len, seen)?;
    }
    if max > 0 && levels::presence(levels::take(page)?, n, max, None, &mut vec![])? != n {
        return Err("it has a null");
    }
    Ok(())
}

fn body_of(encoding: Encoding, rest: &[u8], len: usize) -> Checked<Body<'_>> {
    match encoding {
        Encoding::PLAIN => Ok(Body::Plain { plain: rest, len }),
        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
            let (&bits, block) = rest.split_first().ok_or("its values are cut off")?;
            match usize::from(bits) {
                bits @ 0..=32 => Ok(Body::Indices(Indices { bits, block, len })),
                _ => Err("its indices are wider than 32 bits"),
            }
        }
        _ => Err("its values are neither PLAIN nor in a dictionary"),
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
    match data_of(header, most)? {
        (n, Encoding::PLAIN) => Ok(n),
        _ => Err("its values are not PLAIN"),
    }
}

/// Values of a data page, and how they are encoded.
fn data_of(header: &PageHeader, most: usize) -> Checked<(usize, Encoding)> {
    let data =
        header.data_page_header.as_ref().ok_or("its page is no v1 data page (a dictionary is not read)")?;
    match usize::try_from(data.num_values) {
        Ok(n) if (1..=most).contains(&n) => Ok((n, data.encoding)),
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
