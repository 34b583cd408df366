//! Writes a day. Every column of four bytes is behind a dictionary: rows are mostly padding, which is then one run, and
//! readers pass over it.

use std::io::Write;

use super::columns::{COLUMNS, Column};
use super::group::{Data, Group, Lists, Texts, Word};
use super::schema::{leaf_kind, leaf_path, schema};
use crate::formats::parquet::{
    Dictionary, EncodedChunk, EncodedGroup, Error, FileWriter, IndexedPage, Leaf, Words, encode_chunk,
    encode_indexed, ends, push_lists, push_repeated,
};

/// Starts a file of all columns with pairs in its footer.
pub fn day_writer<W: Write>(out: W, pairs: &[(String, String)]) -> Result<FileWriter<W>, Error> {
    FileWriter::new(out, &schema(), pairs)
}

/// Goes on with a file that [`day_writer`] started, of `at` bytes and these row groups.
pub fn resume_day<W: Write>(
    out: W,
    at: u64,
    pairs: &[(String, String)],
    groups: &[Vec<u8>],
) -> Result<FileWriter<W>, Error> {
    FileWriter::resume(out, at, &schema(), pairs, groups)
}

/// Encodes one column of a group of all columns, on whatever thread.
pub fn encode_column(group: &Group, at: usize) -> Result<EncodedChunk, Error> {
    let wrong = || Error::Rows("the columns differ in length, or a list is too long");
    let (column, data) = group.columns().nth(at).ok_or_else(wrong)?;
    match data {
        Data::I8(all) => encode_words(column, all.len(), Single(all, i32::from)),
        Data::I32(all) => encode_words(column, all.len(), Single(all, |value| value)),
        Data::F32(all) => encode_words(column, all.len(), Single(all, |value| value)),
        Data::I64(all) => encode_long(column, all),
        Data::Text(all) => encode_texts(column, all),
        Data::I32s(lists) => encode_words(column, group.rows(), Slots { column, lists }),
        Data::F32s(lists) => encode_words(column, group.rows(), Slots { column, lists }),
    }
}

/// Encodes a group of all columns.
pub fn encode(group: &Group) -> Result<EncodedGroup, Error> {
    check(group)?;
    let chunks = (0..COLUMNS.len()).map(|at| encode_column(group, at)).collect::<Result<_, _>>()?;
    Ok(EncodedGroup { rows: group.rows(), chunks })
}

/// Refuses a group that no file can hold.
pub fn check(group: &Group) -> Result<(), Error> {
    if group.rows() == 0 || !group.is_whole() || group.columns().count() != COLUMNS.len() {
        return Err(Error::Rows("no rows, or the columns differ in length, or a list is too long"));
    }
    Ok(())
}

/// Values of a column in runs, padding included.
trait Runs {
    type Value: Word;
    /// Calls `take` with each run of equal values, until it says that this is enough.
    fn each(&self, take: &mut impl FnMut(Self::Value, usize) -> bool);
    /// Used values alone, in any order and number.
    fn used(&self, take: &mut impl FnMut(Self::Value) -> bool);
}

/// A value a row.
struct Single<'a, T, F>(&'a [T], F);

impl<T: Copy, V: Word, F: Fn(T) -> V> Runs for Single<'_, T, F> {
    type Value = V;

    fn each(&self, take: &mut impl FnMut(V, usize) -> bool) {
        self.0.iter().all(|&value| take((self.1)(value), 1));
    }

    fn used(&self, take: &mut impl FnMut(V) -> bool) {
        self.0.iter().all(|&value| take((self.1)(value)));
    }
}

/// A list a row.
struct Slots<'a, T> {
    column: &'a Column,
    lists: &'a Lists<T>,
}

impl<T: Word> Runs for Slots<'_, T> {
    type Value = T;

    fn each(&self, take: &mut impl FnMut(T, usize) -> bool) {
        let len = self.column.ragged_len();
        for row in 0..self.lists.offsets.len() - 1 {
            let used = self.lists.row(row);
            let mut going = used.iter().all(|&value| take(value, 1));
            going = going
                && match self.column.pad {
                    super::Pad::OwnIndex => {
                        (used.len()..len).all(|slot| take(T::padding(self.column.pad, slot), 1))
                    }
                    pad => take(T::padding(pad, 0), len - used.len()),
                };
            if let Some(&apart) = self.lists.apart.get(row) {
                going = going && take(apart, 1);
            }
            if !going {
                return;
            }
        }
    }

    fn used(&self, take: &mut impl FnMut(T) -> bool) {
        let padding = match self.column.pad {
            super::Pad::OwnIndex => self.column.ragged_len(),
            _ => 1,
        };
        let mut padding = (0..padding).map(|slot| T::padding(self.column.pad, slot));
        let _ = padding.all(&mut *take)
            && self.lists.values.iter().chain(&self.lists.apart).all(|&value| take(value));
    }
}

fn encode_words<R: Runs>(column: &Column, rows: usize, runs: R) -> Result<EncodedChunk, Error> {
    let mut words = Words::default();
    let (mut few, mut last) = (true, None);
    runs.used(&mut |value| {
        let bits = value.bits();
        if last != Some(bits) {
            few = words.add(bits);
            last = Some(bits);
        }
        few
    });
    if !few {
        return encode_plain(column, rows, &runs);
    }
    let distinct = words.number();
    let mut page = IndexedPage::new(rows, column.list, distinct.len());
    let mut last = (R::Value::of_bits(0).bits(), None);
    runs.each(&mut |value, n| {
        let bits = value.bits();
        let index = match last {
            (same, Some(index)) if same == bits => index,
            _ => words.get(bits),
        };
        last = (bits, Some(index));
        page.push(index, n);
        true
    });
    let typed: Vec<R::Value> = distinct.iter().map(|&bits| R::Value::of_bits(bits)).collect();
    let plain: Vec<u8> = distinct.iter().flat_map(|word| word.to_le_bytes()).collect();
    let dictionary = Dictionary { plain: &plain, len: distinct.len() };
    let (path, values) = (leaf_path(column), rows * column.list.unwrap_or(1));
    let leaf = Leaf { path: &path, kind: leaf_kind(column) };
    encode_indexed(&leaf, &dictionary, &page.finish(), values, typed_ends(&typed))
}

/// A column of so many different values that a dictionary would not help.
fn encode_plain<R: Runs>(column: &Column, rows: usize, runs: &R) -> Result<EncodedChunk, Error> {
    let (mut body, mut all) = (vec![], vec![]);
    if let Some(len) = column.list {
        push_lists(&mut body, rows, len);
        push_repeated(&mut body, 1, rows * len);
    }
    runs.each(&mut |value, n| {
        all.extend(std::iter::repeat_n(value, n));
        true
    });
    body.extend(all.iter().flat_map(|value| value.plain()));
    let path = leaf_path(column);
    encode_chunk(&Leaf { path: &path, kind: leaf_kind(column) }, &body, all.len(), 0, typed_ends(&all))
}

/// Least and greatest value. Of the zeros the least is the negative and the greatest the positive one, as the format
/// asks; for integers they are the same.
fn typed_ends<T: Word>(values: &[T]) -> crate::formats::parquet::Ends {
    let low_zero = T::of_bits((-0.0f32).to_bits());
    let zero = T::of_bits(0);
    let zeros = (low_zero == zero).then_some((low_zero, zero));
    ends(values, zeros, |value| value.plain().to_vec())
}

fn encode_long(column: &Column, all: &[i64]) -> Result<EncodedChunk, Error> {
    let body: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
    let ends = ends(all, None, |value| value.to_le_bytes().to_vec());
    let path = leaf_path(column);
    encode_chunk(&Leaf { path: &path, kind: leaf_kind(column) }, &body, all.len(), 0, ends)
}

fn encode_texts(column: &Column, texts: &Texts) -> Result<EncodedChunk, Error> {
    let mut plain = vec![];
    for text in &texts.distinct {
        let len = u32::try_from(text.len()).map_err(|_| Error::Rows("a text is too long"))?;
        plain.extend_from_slice(&len.to_le_bytes());
        plain.extend_from_slice(text.as_bytes());
    }
    let dictionary = Dictionary { plain: &plain, len: texts.distinct.len() };
    let mut page = IndexedPage::new(texts.rows.len(), None, texts.distinct.len());
    texts.rows.iter().for_each(|&row| page.push(row, 1));
    let (low, high) = (texts.distinct.iter().min(), texts.distinct.iter().max());
    let ends = low.zip(high).map(|(low, high)| (low.clone().into_bytes(), high.clone().into_bytes()));
    let path = leaf_path(column);
    let leaf = Leaf { path: &path, kind: leaf_kind(column) };
    encode_indexed(&leaf, &dictionary, &page.finish(), texts.rows.len(), ends)
}
