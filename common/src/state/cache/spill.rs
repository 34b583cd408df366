//! Spill files: a row group's columns as they lie in memory, behind a sealed header. Byte table: `docs/formats/spill.md`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::columns::{Kind, View};
use super::key::Key;
use super::map::Mapped;
use crate::state::digest::Digest;

const _: () = assert!(cfg!(target_endian = "little"), "spill files are mapped as they are: little-endian");

const MAGIC: &[u8; 8] = b"FLSPILL1";
/// Bytes in front of the first entry.
const HEAD: usize = 112;
/// Bytes of a column's entry.
const ENTRY: usize = 80;
/// Bytes of a column's name.
const NAME: usize = 40;
/// What columns and their offsets are aligned to.
const ALIGN: usize = 64;
/// Columns that a file has at most; decision days have fewer than 100.
const MOST: usize = 1024;

/// What a spill file states in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Whose rows these are.
    pub key: Key,
    /// Kind of dataset.
    pub kind: u32,
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub len: u64,
}

/// A spill file in memory.
#[derive(Debug)]
pub(super) struct Spilled {
    map: Mapped,
    rows: usize,
    columns: Vec<Place>,
}

/// Where a column lies in the file.
#[derive(Debug)]
struct Place {
    name: String,
    kind: Kind,
    offsets: Option<(usize, usize)>,
    values: (usize, usize),
}

impl Place {
    fn view<'a>(&'a self, file: &'a [u8]) -> Option<View<'a>> {
        let bytes = |(at, len): (usize, usize)| file.get(at..at + len);
        let offsets = match self.offsets {
            Some(offsets) => Some(bytemuck::try_cast_slice(bytes(offsets)?).ok()?),
            None => None,
        };
        Some(View { name: &self.name, kind: self.kind, offsets, bytes: bytes(self.values)? })
    }
}

/// Bytes that columns take in a file.
pub(super) fn file_len(views: &[View<'_>]) -> u64 {
    let (_, len) = layout(views);
    len as u64
}

/// Offsets and values of each column, and the length of the file.
fn layout(views: &[View<'_>]) -> (Vec<[usize; 2]>, usize) {
    let align = |at: usize| at.next_multiple_of(ALIGN);
    let mut at = align(HEAD + views.len() * ENTRY + 4);
    let places = views.iter().map(|view| {
        let offsets = view.offsets.map_or(0, |_| at);
        let values = view.offsets.map_or(at, |ends| align(at + size_of_val(ends)));
        at = align(values + view.bytes.len());
        [offsets, values]
    });
    (places.collect(), at)
}

/// Writes a row group. Nothing is copied: it may be in memory once and no more.
pub(super) fn write(
    out: &mut impl Write,
    key: &Key,
    kind: u32,
    rows: usize,
    views: &[View<'_>],
) -> io::Result<()> {
    let (places, len) = layout(views);
    let mut head = Vec::with_capacity(HEAD + views.len() * ENTRY + 4);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&((HEAD + views.len() * ENTRY + 4) as u32).to_le_bytes());
    head.extend_from_slice(&(views.len() as u32).to_le_bytes());
    head.extend_from_slice(&(len as u64).to_le_bytes());
    head.extend_from_slice(&(rows as u64).to_le_bytes());
    head.extend_from_slice(&kind.to_le_bytes());
    head.extend_from_slice(&key.group.to_le_bytes());
    head.extend_from_slice(&key.dataset.bytes());
    head.extend_from_slice(&key.projection.bytes());
    head.resize(HEAD, 0);
    for (view, [offsets, values]) in views.iter().zip(&places) {
        let mut name = [0; NAME];
        let stated = view.name.as_bytes();
        name.get_mut(..stated.len())
            .ok_or_else(|| invalid("a column's name is too long"))?
            .copy_from_slice(stated);
        head.extend_from_slice(&name);
        head.extend_from_slice(&(view.kind as u32).to_le_bytes());
        let ends = view.offsets.unwrap_or(&[]);
        head.extend_from_slice(
            &u32::try_from(ends.len()).map_err(|_| invalid("too many lists"))?.to_le_bytes(),
        );
        let count = view.bytes.len() / view.kind.width();
        for number in [*offsets, *values, count] {
            head.extend_from_slice(&(number as u64).to_le_bytes());
        }
        head.extend_from_slice(&sum(bytemuck::cast_slice(ends), view.bytes).to_le_bytes());
        head.extend_from_slice(&[0; 4]);
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    let mut put = |bytes: &[u8]| -> io::Result<()> {
        out.write_all(bytes)?;
        out.write_all(&[0; ALIGN][..bytes.len().next_multiple_of(ALIGN) - bytes.len()])
    };
    put(&head)?;
    for view in views {
        put(bytemuck::cast_slice(view.offsets.unwrap_or(&[])))?;
        put(view.bytes)?;
    }
    Ok(())
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn sum(offsets: &[u8], values: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(offsets);
    sum.update(values);
    sum.finalize()
}

impl Header {
    /// Reads what a file states; `None` where it is no whole spill file. `deep` also looks at every column's sum.
    pub fn read(path: &Path, deep: bool) -> io::Result<Option<Self>> {
        let map = Mapped::new(&File::open(path)?)?;
        let whole = |(header, entries)| places(&map, entries, deep).map(|_| header);
        let header = head(&map).and_then(whole);
        Ok(if map.is_torn() { None } else { header })
    }
}

impl Spilled {
    /// Maps a file; `None` where it is torn, foreign, damaged, or of another key. `deep` also looks at every column's sum.
    pub(super) fn open(path: &Path, key: &Key, kind: u32, deep: bool) -> io::Result<Option<Self>> {
        let map = Mapped::new(&File::open(path)?)?;
        let columns = head(&map).filter(|(header, _)| header.key == *key && header.kind == kind).and_then(
            |(header, entries)| Some((usize::try_from(header.rows).ok()?, places(&map, entries, deep)?)),
        );
        Ok(match columns {
            Some((rows, columns)) if !map.is_torn() => Some(Self { map, rows, columns }),
            _ => None,
        })
    }

    /// Its columns. What is read of them counts only if [`is_torn`](Self::is_torn) says no afterwards.
    pub(super) fn views(&self) -> Vec<View<'_>> {
        self.columns.iter().filter_map(|place| place.view(&self.map)).collect()
    }

    /// Whether the file was cut while it was read.
    pub(super) fn is_torn(&self) -> bool {
        self.map.is_torn()
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of its columns.
    pub(super) fn bytes(&self) -> u64 {
        self.columns
            .iter()
            .map(|place| (place.values.1 + place.offsets.map_or(0, |(_, len)| len)) as u64)
            .sum()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The header and the columns' entries, once magic, length and sum are what they must be.
fn head(file: &[u8]) -> Option<(Header, &[u8])> {
    let columns = u32_at(file, 12)? as usize;
    let sealed = file.get(..HEAD + columns.min(MOST) * ENTRY)?;
    let whole = sealed.starts_with(MAGIC)
        && columns <= MOST
        && u32_at(file, 8)? as usize == sealed.len() + 4
        && u64_at(file, 16)? == file.len() as u64
        && u32_at(file, sealed.len())? == crc32fast::hash(sealed);
    if !whole {
        return None;
    }
    let key = Key {
        dataset: Digest::of_raw(*sealed.get(40..)?.first_chunk()?),
        projection: Digest::of_raw(*sealed.get(72..)?.first_chunk()?),
        group: u32_at(sealed, 36)?,
    };
    let header = Header { key, kind: u32_at(sealed, 32)?, rows: u64_at(sealed, 24)?, len: file.len() as u64 };
    Some((header, sealed.get(HEAD..)?))
}

/// Where the columns lie, once all of it is within the file, aligned, and in order.
fn places(file: &[u8], entries: &[u8], deep: bool) -> Option<Vec<Place>> {
    let place = |entry: &[u8]| {
        let name = std::str::from_utf8(entry.get(..NAME)?).ok()?.trim_end_matches('\0').to_owned();
        let kind = Kind::of(u32_at(entry, 40)?)?;
        let ends = u32_at(entry, 44)? as usize;
        let [offsets_at, values_at, count] =
            [48, 56, 64].map(|at| u64_at(entry, at).and_then(|number| usize::try_from(number).ok()));
        let (offsets_at, values_at, count) = (offsets_at?, values_at?, count?);
        let (offsets, values) =
            ((offsets_at, ends.checked_mul(4)?), (values_at, count.checked_mul(kind.width())?));
        let slice = |(at, len): (usize, usize)| file.get(at..at.checked_add(len)?);
        let (ends_bytes, bytes) = (slice(offsets)?, slice(values)?);
        let aligned = offsets_at % ALIGN == 0 && values_at % ALIGN == 0;
        let bounds: &[u32] = bytemuck::try_cast_slice(ends_bytes).ok()?;
        let ordered = ends == 0 || bounds[0] == 0 && bounds[ends - 1] as usize == count && bounds.is_sorted();
        let summed = !deep || u32_at(entry, 72)? == sum(ends_bytes, bytes);
        let offsets = (ends > 0).then_some(offsets);
        (aligned && ordered && summed).then_some(Place { name, kind, offsets, values })
    };
    entries.chunks_exact(ENTRY).map(place).collect()
}
