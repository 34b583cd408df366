//! Reads a day, a row group at a time, the columns that are asked for: as flat buffers or in the ragged form.

use std::collections::HashMap;

use super::columns::{COLUMNS, Column, Pad};
use super::group::{Data, Group, Lists, Texts, Word};
use super::schema::{schema, schema_of};
use crate::formats::parquet::{Body, ChunkReader, Error, Fixed, Footer, ReadAt};

type Checked<T> = Result<T, &'static str>;

/// An open day.
#[derive(Debug)]
pub struct Day<F> {
    file: F,
    footer: Footer,
}

/// Columns that are read together, and where they lie in a file.
#[derive(Debug, Clone)]
pub struct Projection {
    /// Number in [`COLUMNS`], and number of the leaf.
    places: Vec<(usize, usize)>,
}

impl Projection {
    /// The columns, as numbers of [`COLUMNS`].
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.iter().map(|&(column, _)| column)
    }
}

impl<F: ReadAt> Day<F> {
    /// Reads the footer. Which columns are there is seen by [`project`](Self::project) and
    /// [`check_schema`](Self::check_schema).
    pub fn open(file: F) -> Result<Self, Error> {
        let footer = Footer::read(&file)?;
        Ok(Self { file, footer })
    }

    /// The footer, with its key-value pairs.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Rows of the day.
    pub fn rows(&self) -> u64 {
        (0..self.footer.groups()).map(|group| self.footer.group_rows(group) as u64).sum()
    }

    /// Holds the file to exactly the columns of the table.
    pub fn check_schema(&self) -> Result<(), Error> {
        self.footer.check_schema(&schema())
    }

    /// Finds columns, wherever they stand. One that is missing, or of another type, is refused by its name.
    pub fn project<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Projection, Error> {
        let number = |name: &str| {
            super::columns::find(name)
                .ok_or_else(|| Error::Schema(format!("decision days have no column {name:?}")))
        };
        let columns = names.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let wanted: Vec<Column> = columns.iter().map(|&at| COLUMNS[at]).collect();
        let leaves = self.footer.find(&schema_of(&wanted))?;
        Ok(Projection { places: columns.into_iter().zip(leaves).collect() })
    }

    /// All columns.
    pub fn project_all(&self) -> Result<Projection, Error> {
        self.project(COLUMNS.iter().map(|column| column.name))
    }

    /// Reads row group `group` without its padding.
    pub fn read(&self, group: usize, projection: &Projection) -> Result<Group, Error> {
        let mut chunks = ChunkReader::new(&self.file, &self.footer);
        let rows = self.footer.group_rows(group);
        let mut out = Group::new(projection.columns());
        let read = |&(column, leaf): &(usize, usize)| {
            let column = &COLUMNS[column];
            let mut data = Data::new(column);
            let place = Place { group, leaf, column };
            match &mut data {
                Data::I8(all) => read_bytes(&mut chunks, place, all)?,
                Data::I32(all) => read_words(&mut chunks, place, &mut Flat(all))?,
                Data::F32(all) => read_words(&mut chunks, place, &mut Flat(all))?,
                Data::I64(all) => read_longs(&mut chunks, place, all)?,
                Data::Text(all) => read_texts(&mut chunks, place, all)?,
                Data::I32s(lists) => read_words(&mut chunks, place, &mut Ragged::new(column, rows, lists))?,
                Data::F32s(lists) => read_words(&mut chunks, place, &mut Ragged::new(column, rows, lists))?,
            }
            Ok(data)
        };
        let data = projection.places.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        out.set(rows, data);
        Ok(out)
    }

    /// Reads row group `group` with its padding: a list column becomes one buffer of `rows × length` values.
    pub fn read_flat(&self, group: usize, projection: &Projection) -> Result<Vec<Data>, Error> {
        let mut chunks = ChunkReader::new(&self.file, &self.footer);
        let read = |&(column, leaf): &(usize, usize)| {
            let column = &COLUMNS[column];
            let place = Place { group, leaf, column };
            Ok(match Data::new(column) {
                Data::I32s(_) => {
                    let mut all = vec![];
                    read_words(&mut chunks, place, &mut Flat(&mut all))?;
                    Data::I32(all)
                }
                Data::F32s(_) => {
                    let mut all = vec![];
                    read_words(&mut chunks, place, &mut Flat(&mut all))?;
                    Data::F32(all)
                }
                mut data => {
                    match &mut data {
                        Data::I8(all) => read_bytes(&mut chunks, place, all)?,
                        Data::I32(all) => read_words(&mut chunks, place, &mut Flat(all))?,
                        Data::F32(all) => read_words(&mut chunks, place, &mut Flat(all))?,
                        Data::I64(all) => read_longs(&mut chunks, place, all)?,
                        Data::Text(all) => read_texts(&mut chunks, place, all)?,
                        Data::I32s(_) | Data::F32s(_) => {}
                    }
                    data
                }
            })
        };
        projection.places.iter().map(read).collect()
    }
}

/// A chunk, and what it is.
#[derive(Clone, Copy)]
struct Place {
    group: usize,
    leaf: usize,
    column: &'static Column,
}

impl Place {
    fn fixed(self) -> Fixed {
        Fixed { group: self.group, column: self.leaf, len: self.column.list }
    }
}

/// Where values of four bytes go.
trait Sink<T> {
    fn repeat(&mut self, value: T, n: usize);
    fn extend(&mut self, values: &[T]);
}

/// One behind the other.
struct Flat<'a, T>(&'a mut Vec<T>);

impl<T: Word> Sink<T> for Flat<'_, T> {
    fn repeat(&mut self, value: T, n: usize) {
        self.0.resize(self.0.len() + n, value);
    }

    fn extend(&mut self, values: &[T]) {
        self.0.extend_from_slice(values);
    }
}

/// Into lists, without their padding.
struct Ragged<'a, T> {
    lists: &'a mut Lists<T>,
    pad: Pad,
    /// What pads a slot, where that is one value.
    padding: Option<u32>,
    /// Slots of a list without the one that stands apart.
    len: usize,
    apart: bool,
    /// The next slot.
    slot: usize,
    /// Where the values of the list start.
    start: usize,
}

impl<'a, T: Word> Ragged<'a, T> {
    fn new(column: &Column, rows: usize, lists: &'a mut Lists<T>) -> Self {
        lists.offsets.reserve(rows);
        let padding = (column.pad != Pad::OwnIndex).then(|| T::padding(column.pad, 0).bits());
        let len = column.ragged_len();
        Self { lists, pad: column.pad, padding, len, apart: column.apart, slot: 0, start: 0 }
    }

    /// Makes up for padding that was passed over before a value.
    fn catch_up(&mut self) {
        let (pad, from) = (self.pad, self.lists.values.len() - self.start);
        self.lists.values.extend((from..self.slot).map(|slot| T::padding(pad, slot)));
    }

    fn end_if_full(&mut self) {
        if self.slot == self.len + usize::from(self.apart) {
            self.lists.offsets.push(self.lists.values.len() as u32);
            (self.slot, self.start) = (0, self.lists.values.len());
        }
    }
}

impl<T: Word> Sink<T> for Ragged<'_, T> {
    fn repeat(&mut self, value: T, mut n: usize) {
        if self.padding.is_none() {
            // each slot has padding of its own
            return (0..n).for_each(|_| self.extend(&[value]));
        }
        while n > 0 {
            if self.slot == self.len {
                self.lists.apart.push(value);
                self.slot += 1;
                n -= 1;
            } else {
                let here = n.min(self.len - self.slot);
                if self.padding != Some(value.bits()) {
                    self.catch_up();
                    self.lists.values.extend(std::iter::repeat_n(value, here));
                }
                self.slot += here;
                n -= here;
            }
            self.end_if_full();
        }
    }

    fn extend(&mut self, mut values: &[T]) {
        while let Some((&first, rest)) = values.split_first() {
            if self.slot == self.len {
                self.lists.apart.push(first);
                self.slot += 1;
                values = rest;
            } else {
                let (here, rest) = values.split_at(values.len().min(self.len - self.slot));
                let last = match self.padding {
                    Some(padding) => here.iter().rposition(|value| value.bits() != padding),
                    None => last_used(here, self.pad, self.slot),
                };
                if let Some(last) = last {
                    self.catch_up();
                    self.lists.values.extend_from_slice(&here[..=last]);
                }
                self.slot += here.len();
                values = rest;
            }
            self.end_if_full();
        }
    }
}

/// The last slot that is no padding, where each slot has padding of its own. Most stretches are padding alone, which is
/// looked for first and eight at a time.
fn last_used<T: Word>(here: &[T], pad: Pad, from: usize) -> Option<usize> {
    let is_used = |(value, slot): (&T, usize)| value.bits() != T::padding(pad, slot).bits();
    if !here.iter().zip(from..).fold(false, |used, slot| used | is_used(slot)) {
        return None;
    }
    (0..here.len()).rev().find(|&i| is_used((&here[i], from + i)))
}

/// Indices that are turned into values at once.
const AT_ONCE: usize = 512;

fn read_words<T: Word, F: ReadAt>(
    chunks: &mut ChunkReader<'_, F>,
    place: Place,
    sink: &mut impl Sink<T>,
) -> Result<(), Error> {
    let mut dictionary: Vec<T> = vec![];
    let word = |word: &[u8; 4]| T::of_bits(u32::from_le_bytes(*word));
    chunks.read_fixed(place.fixed(), &mut |body| {
        let (plain, len) = match &body {
            Body::Dictionary { plain, len } | Body::Plain { plain, len } => (plain, *len),
            Body::Indices(indices) => {
                let mut buffer = [T::of_bits(0); AT_ONCE];
                return indices.for_each(
                    sink,
                    &mut |sink, index, n| {
                        sink.repeat(*dictionary.get(index as usize).ok_or(NO_SUCH)?, n);
                        Ok(())
                    },
                    &mut |sink, indices| {
                        let greatest = indices.iter().fold(0, |most, &index| most.max(index));
                        if greatest as usize >= dictionary.len() {
                            return Err(NO_SUCH);
                        }
                        let values = &mut buffer[..indices.len()];
                        values
                            .iter_mut()
                            .zip(indices)
                            .for_each(|(value, &at)| *value = dictionary[at as usize]);
                        sink.extend(values);
                        Ok(())
                    },
                );
            }
        };
        let words = plain.as_chunks().0.get(..len).ok_or("its values are cut off")?;
        match body {
            Body::Dictionary { .. } => dictionary = words.iter().map(word).collect(),
            _ => {
                for words in words.chunks(AT_ONCE) {
                    let mut buffer = [T::of_bits(0); AT_ONCE];
                    let values = &mut buffer[..words.len()];
                    values.iter_mut().zip(words).for_each(|(value, bytes)| *value = word(bytes));
                    sink.extend(values);
                }
            }
        }
        Ok(())
    })
}

const NO_SUCH: &str = "it names a value that its dictionary has not got";

fn read_bytes<F: ReadAt>(
    chunks: &mut ChunkReader<'_, F>,
    place: Place,
    out: &mut Vec<i8>,
) -> Result<(), Error> {
    let mut words: Vec<i32> = vec![];
    read_words(chunks, place, &mut Flat(&mut words))?;
    for word in words {
        out.push(i8::try_from(word).map_err(|_| Error::Column {
            group: place.group,
            column: place.column.name.into(),
            what: "it has a value out of range",
        })?);
    }
    Ok(())
}

fn read_longs<F: ReadAt>(
    chunks: &mut ChunkReader<'_, F>,
    place: Place,
    out: &mut Vec<i64>,
) -> Result<(), Error> {
    let mut dictionary: Vec<i64> = vec![];
    chunks.read_fixed(place.fixed(), &mut |body| {
        let longs = |plain: &[u8], len: usize| {
            let longs = plain.as_chunks().0.get(..len).ok_or("its values are cut off")?;
            Ok::<Vec<i64>, &'static str>(longs.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect())
        };
        match body {
            Body::Dictionary { plain, len } => dictionary = longs(plain, len)?,
            Body::Plain { plain, len } => out.extend(longs(plain, len)?),
            Body::Indices(indices) => indices.each_index(&mut |index, n| {
                let value = *dictionary.get(index as usize).ok_or(NO_SUCH)?;
                out.extend(std::iter::repeat_n(value, n));
                Ok(())
            })?,
        }
        Ok(())
    })
}

fn read_texts<F: ReadAt>(
    chunks: &mut ChunkReader<'_, F>,
    place: Place,
    out: &mut Texts,
) -> Result<(), Error> {
    // a text may stand in a dictionary twice, and rows may name it themselves
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut number = |out: &mut Texts, text: &str| match known.get(text) {
        Some(&number) => number,
        None => {
            let number = out.distinct.len() as u32;
            out.distinct.push(text.into());
            known.insert(text.into(), number);
            number
        }
    };
    let mut dictionary: Vec<u32> = vec![];
    chunks.read_fixed(place.fixed(), &mut |body| {
        match body {
            Body::Dictionary { mut plain, len } => {
                for _ in 0..len {
                    dictionary.push(number(out, take_text(&mut plain)?));
                }
            }
            Body::Plain { mut plain, len } => {
                for _ in 0..len {
                    let row = number(out, take_text(&mut plain)?);
                    out.rows.push(row);
                }
            }
            Body::Indices(indices) => indices.each_index(&mut |index, n| {
                let row = *dictionary.get(index as usize).ok_or(NO_SUCH)?;
                out.rows.extend(std::iter::repeat_n(row, n));
                Ok(())
            })?,
        }
        Ok(())
    })
}

fn take_text<'a>(plain: &mut &'a [u8]) -> Checked<&'a str> {
    let cut = "its texts are cut off";
    let (len, rest) = plain.split_first_chunk::<4>().ok_or(cut)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or(cut)?;
    *plain = rest;
    std::str::from_utf8(text).map_err(|_| "it has a text that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::columns::Kind;
    use super::super::{Cell, column, day_writer, encode};
    use super::*;

    /// A row in words: what each column makes of them is up to [`cells`].
    fn rows() -> impl Strategy<Value = Vec<Vec<u32>>> {
        vec(vec(prop_oneof![4 => 0u32..5, 1 => any::<u32>()], COLUMNS.len()), 1..30)
    }

    /// Lists of any used length, with padding among their values.
    fn list<T: Word>(column: &Column, word: u32) -> Vec<T> {
        let len = column.list.unwrap_or(1);
        let used = word as usize % (len + 1);
        let slot = |slot: usize| match (slot < used, slot % 3) {
            (true, 0) => T::of_bits(word.rotate_left(slot as u32)),
            (true, 1) => T::of_bits(word % 7),
            _ => T::padding(column.pad, slot),
        };
        (0..len).map(slot).collect()
    }

    fn group_of(rows: &[Vec<u32>]) -> Group {
        let mut group = Group::whole();
        for row in rows {
            for (at, (column, &word)) in COLUMNS.iter().zip(row).enumerate() {
                match (column.kind, column.list) {
                    (Kind::I32, Some(_)) => group.push(at, Cell::I32s(&list(column, word))),
                    (Kind::F32, Some(_)) => group.push(at, Cell::F32s(&list(column, word))),
                    (Kind::I8, _) => group.push(at, Cell::I8(word as i8)),
                    (Kind::I32, None) => group.push(at, Cell::I32(word.cast_signed())),
                    (Kind::I64, _) => group.push(at, Cell::I64(i64::from(word) << 20)),
                    (Kind::F32, None) => group.push(at, Cell::F32(f32::from_bits(word))),
                    (Kind::Text, _) => group.push(at, Cell::Text(&format!("name {}", word % 9))),
                }
            }
            group.end_row();
        }
        group
    }

    fn file_of(groups: &[Group]) -> Vec<u8> {
        let mut day = day_writer(vec![], &[("date".into(), "2026-11-21".into())]).unwrap();
        groups.iter().for_each(|group| day.append(encode(group).unwrap()).unwrap());
        day.finish().unwrap()
    }

    /// Bits, so that NaNs compare.
    fn bits(data: &Data) -> Vec<Vec<u64>> {
        let of = |lists: &dyn Fn(usize) -> Vec<u64>, rows: usize| (0..rows).map(lists).collect();
        match data {
            Data::I8(all) => vec![all.iter().map(|&value| value as u64).collect()],
            Data::I32(all) => vec![all.iter().map(|&value| value as u64).collect()],
            Data::I64(all) => vec![all.iter().map(|&value| value as u64).collect()],
            Data::F32(all) => vec![all.iter().map(|value| value.to_bits().into()).collect()],
            Data::Text(all) => {
                (0..all.rows.len()).map(|row| all.row(row).bytes().map(Into::into).collect()).collect()
            }
            Data::I32s(all) => {
                let apart = all.apart.iter().map(|&value| value as u64).collect();
                let mut rows: Vec<Vec<u64>> = of(
                    &|row| all.row(row).iter().map(|&value| value as u64).collect(),
                    all.offsets.len() - 1,
                );
                rows.push(apart);
                rows
            }
            Data::F32s(all) => {
                let apart = all.apart.iter().map(|value| value.to_bits().into()).collect();
                let mut rows: Vec<Vec<u64>> = of(
                    &|row| all.row(row).iter().map(|value| value.to_bits().into()).collect(),
                    all.offsets.len() - 1,
                );
                rows.push(apart);
                rows
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn groups_come_back(first in rows(), second in rows()) {
            let groups = [group_of(&first), group_of(&second)];
            let file = file_of(&groups);
            let day = Day::open(&file[..]).unwrap();
            day.check_schema().unwrap();
            let all = day.project_all().unwrap();
            for (at, group) in groups.iter().enumerate() {
                let read = day.read(at, &all).unwrap();
                prop_assert!(read.is_whole());
                let flat = day.read_flat(at, &all).unwrap();
                for (((column, wanted), (_, found)), flat) in group.columns().zip(read.columns()).zip(&flat) {
                    prop_assert_eq!(bits(wanted), bits(found), "{}", column.name);
                    let dense = |row: usize, slot: usize| match wanted {
                        Data::I32s(lists) => lists.get(column, row, slot).bits(),
                        Data::F32s(lists) => lists.get(column, row, slot).bits(),
                        _ => 0,
                    };
                    let len = column.list.unwrap_or(1);
                    match flat {
                        Data::I32(all) if column.list.is_some() => {
                            prop_assert!(all.iter().enumerate().all(|(i, v)| v.bits() == dense(i / len, i % len)));
                        }
                        Data::F32(all) if column.list.is_some() => {
                            prop_assert!(all.iter().enumerate().all(|(i, v)| v.bits() == dense(i / len, i % len)));
                        }
                        other => prop_assert_eq!(bits(wanted), bits(other), "{}", column.name),
                    }
                }
            }
        }

        /// Damage is an error, or it changed nothing that is read: pages have checksums.
        #[test]
        fn damage_is_never_taken_for_values(rows in rows(), at in any::<prop::sample::Index>(), mask in 1u8..) {
            let group = group_of(&rows);
            let mut file = file_of(std::slice::from_ref(&group));
            let at = at.index(file.len());
            file[at] ^= mask;
            let read = Day::open(&file[..]).and_then(|day| day.read(0, &day.project_all()?));
            if let Ok(read) = read {
                for ((column, wanted), (_, found)) in group.columns().zip(read.columns()) {
                    prop_assert_eq!(bits(wanted), bits(found), "{}, byte {}", column.name, at);
                }
            }
        }
    }

    #[test]
    fn a_missing_column_is_refused_by_its_name() {
        let file = file_of(&[group_of(&[vec![1; COLUMNS.len()]])]);
        let day = Day::open(&file[..]).unwrap();
        let error = day.project(["y", "opt_atr"]).unwrap_err().to_string();
        assert!(error.contains("opt_atr"), "{error}");
        // a file of another maker that lacks one
        let fields = super::super::schema().fields.into_iter().filter(|field| field.name != "opt_group");
        let schema = crate::formats::parquet::Schema::from(fields.collect::<Vec<_>>());
        let other = crate::formats::parquet::FileWriter::new(vec![], &schema, &[]).unwrap().finish().unwrap();
        let day = Day::open(&other[..]).unwrap();
        assert!(day.check_schema().is_err());
        day.project(["y", "opt_attr"]).unwrap();
        let error = day.project(["y", "opt_group"]).unwrap_err().to_string();
        assert!(error.contains("no column \"opt_group\""), "{error}");
    }

    #[test]
    fn a_projection_reads_what_was_asked_for_in_that_order() {
        let file = file_of(&[group_of(&[vec![3; COLUMNS.len()], vec![4; COLUMNS.len()]])]);
        let day = Day::open(&file[..]).unwrap();
        let group = day.read(0, &day.project(["side", "y"]).unwrap()).unwrap();
        assert_eq!(group.get(column("y")), Some(&Data::I32(vec![3, 4])));
        assert_eq!(group.get(column("side")), Some(&Data::I8(vec![3, 4])));
        assert_eq!(group.get(column("opt_attr")), None);
    }
}
