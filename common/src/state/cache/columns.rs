//! A row group as columns of numbers, however it lies in memory: decoded, or mapped from a spill file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytemuck::Pod;

/// Type of a column's numbers, as spill files state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `u8`, and bytes of texts.
    U8 = 1,
    /// `i8`.
    I8 = 2,
    /// `u16`.
    U16 = 3,
    /// `i16`.
    I16 = 4,
    /// `u32`.
    U32 = 5,
    /// `i32`.
    I32 = 6,
    /// `i64`.
    I64 = 7,
    /// `f32`.
    F32 = 8,
}

impl Kind {
    const ALL: [Self; 8] =
        [Self::U8, Self::I8, Self::U16, Self::I16, Self::U32, Self::I32, Self::I64, Self::F32];

    /// The kind that a file means by a number.
    pub(super) fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u32 == number)
    }

    /// Bytes of a number.
    pub(super) fn width(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }
}

/// A number that columns are made of. All bits are a value.
pub trait Number: Pod {
    /// Its type.
    const KIND: Kind;
}

macro_rules! numbers {
    ($($number:ty => $kind:ident),*) => { $(impl Number for $number { const KIND: Kind = Kind::$kind; })* };
}

numbers!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, i64 => I64, f32 => F32);

/// Numbers of any type, as their bytes.
trait Bytes: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl<T: Number + Send + Sync> Bytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A column in memory.
pub struct Column {
    name: Cow<'static, str>,
    kind: Kind,
    offsets: Option<Vec<u32>>,
    values: Box<dyn Bytes>,
}

impl Column {
    /// A number a row.
    pub fn flat<T: Number + Send + Sync>(name: impl Into<Cow<'static, str>>, values: Vec<T>) -> Self {
        Self { name: name.into(), kind: T::KIND, offsets: None, values: Box::new(values) }
    }

    /// Lists: that of row `i` is `values[offsets[i]..offsets[i + 1]]`.
    pub fn lists<T: Number + Send + Sync>(
        name: impl Into<Cow<'static, str>>,
        offsets: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        Self { name: name.into(), kind: T::KIND, offsets: Some(offsets), values: Box::new(values) }
    }

    fn view(&self) -> View<'_> {
        View {
            name: &self.name,
            kind: self.kind,
            offsets: self.offsets.as_deref(),
            bytes: self.values.bytes(),
        }
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

/// The columns of a row group.
#[derive(Debug)]
pub struct Columns {
    /// Rows.
    pub rows: usize,
    /// The columns, in an order that depends on the projection alone.
    pub columns: Vec<Column>,
}

impl Columns {
    /// The columns as they lie in memory.
    pub fn views(&self) -> Vec<View<'_>> {
        self.columns.iter().map(Column::view).collect()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.view().size()).sum()
    }
}

/// A column, wherever it lies.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Its name.
    pub name: &'a str,
    /// Type of its numbers.
    pub kind: Kind,
    /// Bounds of its lists, from 0; `None` where a row has one number, or as many as the format says.
    pub offsets: Option<&'a [u32]>,
    /// Its numbers.
    pub bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// Its numbers; `None` where they are of another type.
    pub fn values<T: Number>(&self) -> Option<&'a [T]> {
        if self.kind == T::KIND { bytemuck::try_cast_slice(self.bytes).ok() } else { None }
    }

    /// Bytes that it takes.
    pub fn size(&self) -> u64 {
        (self.bytes.len() + size_of_val(self.offsets.unwrap_or(&[]))) as u64
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}, {} bytes)", self.name, self.kind, self.bytes.len())
    }
}

/// Rows that lie one behind the other in a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Number of the group among those of a request.
    pub group: usize,
    /// The rows.
    pub rows: Range<usize>,
}

/// Reads the columns of several groups of one layout side by side, each by its name.
#[derive(Debug)]
pub struct Gather<'a> {
    groups: &'a [Vec<View<'a>>],
    runs: &'a [Run],
    at: usize,
}

impl<'a> Gather<'a> {
    pub(super) fn new(groups: &'a [Vec<View<'a>>], runs: &'a [Run]) -> Self {
        Self { groups, runs, at: 0 }
    }

    /// Rows of all runs.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows.len()).sum()
    }

    /// The next column of each group; `None` where one has another.
    fn next<T: Number>(&mut self, name: &str, suffix: &str) -> Option<Vec<Lists<'a, T>>> {
        let at = self.at;
        self.at += 1;
        let lists = |group: &'a Vec<View<'a>>| {
            let view = group.get(at)?;
            let named = view.name.strip_prefix(name) == Some(suffix);
            let lists = Lists { offsets: view.offsets.unwrap_or(&[]), values: view.values()? };
            named.then_some(lists)
        };
        self.groups.iter().map(lists).collect()
    }

    /// Rows of a column that has `width` numbers a row.
    pub(super) fn flat<T: Number>(&mut self, name: &str, suffix: &str, width: usize) -> Option<Vec<T>> {
        let groups = self.next::<T>(name, suffix)?;
        let mut out = Vec::with_capacity(width * self.rows());
        for Run { group, rows } in self.runs {
            out.extend_from_slice(groups[*group].values.get(rows.start * width..rows.end * width)?);
        }
        Some(out)
    }

    /// Lists of a column: their bounds and their numbers.
    pub(super) fn lists<T: Number>(&mut self, name: &str) -> Option<(Vec<u32>, Vec<T>)> {
        let groups = self.next::<T>(name, "")?;
        let mut offsets = Vec::with_capacity(self.rows() + 1);
        offsets.push(0);
        let mut out = vec![];
        for Run { group, rows } in self.runs {
            let Lists { offsets: ends, values } = groups[*group];
            let (&first, ends) = ends.get(rows.start..=rows.end)?.split_first()?;
            let base = u32::try_from(out.len()).ok()?.wrapping_sub(first);
            let last = *ends.last().unwrap_or(&first);
            out.extend_from_slice(values.get(first as usize..last as usize)?);
            offsets.extend(ends.iter().map(|end| end.wrapping_add(base)));
        }
        Some((offsets, out))
    }

    /// Numbers of lists whose bounds another column states: as [`lists`](Self::lists) gave them for it.
    pub(super) fn beside<T: Number>(&mut self, name: &str, bounds: &[Range<usize>]) -> Option<Vec<T>> {
        let groups = self.next::<T>(name, "")?;
        let mut out = vec![];
        for (Run { group, .. }, bounds) in self.runs.iter().zip(bounds) {
            out.extend_from_slice(groups[*group].values.get(bounds.clone())?);
        }
        Some(out)
    }

    /// Where in its group's numbers the lists of each run lie, of the next column.
    pub(super) fn bounds(&self) -> Option<Vec<Range<usize>>> {
        let bounds = |Run { group, rows }: &Run| {
            let offsets = self.groups[*group].get(self.at)?.offsets?;
            Some(*offsets.get(rows.start)? as usize..*offsets.get(rows.end)? as usize)
        };
        self.runs.iter().map(bounds).collect()
    }

    /// Texts: the number of each row's text, and the distinct texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<(Vec<u32>, Vec<String>)> {
        let rows = self.next::<u32>(name, "")?;
        let texts = self.next::<u8>(name, TEXTS)?;
        let (mut out, mut distinct) = (Vec::with_capacity(self.rows()), Vec::<String>::new());
        // what a text of a group is called here, once it is met
        let mut numbers: Vec<Vec<Option<u32>>> =
            texts.iter().map(|texts| vec![None; texts.offsets.len().saturating_sub(1)]).collect();
        for Run { group, rows: range } in self.runs {
            for &row in rows[*group].values.get(range.clone())? {
                let number = numbers[*group].get_mut(row as usize)?;
                if number.is_none() {
                    let text = texts[*group].text(row as usize)?;
                    let known = distinct.iter().position(|known| known == text);
                    *number = Some(known.unwrap_or(distinct.len()) as u32);
                    if known.is_none() {
                        distinct.push(text.to_owned());
                    }
                }
                out.push((*number)?);
            }
        }
        Some((out, distinct))
    }
}

/// Behind the name of a column of lists: the last slot of each list, where it stands apart.
pub(super) const APART: &str = ".apart";
/// Behind the name of a column of texts: its distinct texts.
pub(super) const TEXTS: &str = ".texts";

#[derive(Clone, Copy)]
struct Lists<'a, T> {
    offsets: &'a [u32],
    values: &'a [T],
}

impl<'a> Lists<'a, u8> {
    fn text(&self, at: usize) -> Option<&'a str> {
        let range = *self.offsets.get(at)? as usize..*self.offsets.get(at + 1)? as usize;
        std::str::from_utf8(self.values.get(range)?).ok()
    }
}
