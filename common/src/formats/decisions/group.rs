//! Rows of a row group, a column beside the other, without padding: the ragged form. It is exact, since padding is
//! known: the used length of a list is its last slot that is not padding, plus one.

use super::columns::{COLUMNS, Column, Kind, Pad};

/// A value of four bytes, as lists hold it.
pub trait Word: Copy + PartialOrd {
    /// Its bits.
    fn bits(self) -> u32;
    /// The value of these bits.
    fn of_bits(bits: u32) -> Self;
    /// What fills slot `slot`.
    fn padding(pad: Pad, slot: usize) -> Self;
    /// Its bytes in a file.
    fn plain(self) -> [u8; 4] {
        self.bits().to_le_bytes()
    }
}

impl Word for i32 {
    fn bits(self) -> u32 {
        self.cast_unsigned()
    }

    fn of_bits(bits: u32) -> Self {
        bits.cast_signed()
    }

    fn padding(pad: Pad, slot: usize) -> Self {
        match pad {
            Pad::Zero => 0,
            Pad::MinusOne => -1,
            Pad::Ten => 10,
            Pad::OwnIndex => slot as Self,
        }
    }
}

impl Word for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn of_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }

    fn padding(pad: Pad, slot: usize) -> Self {
        i32::padding(pad, slot) as Self
    }
}

/// Lists of a column up to their used lengths.
#[derive(Debug, Clone, PartialEq)]
pub struct Lists<T> {
    /// List `i` holds `values[offsets[i]..offsets[i + 1]]`, and padding behind.
    pub offsets: Vec<u32>,
    /// Used slots.
    pub values: Vec<T>,
    /// The last slot of each list, where it stands apart.
    pub apart: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { offsets: vec![0], values: vec![], apart: vec![] }
    }
}

impl<T: Word> Lists<T> {
    /// Used slots of list `row`.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// Slot `slot` of list `row`, padding included.
    pub fn get(&self, column: &Column, row: usize, slot: usize) -> T {
        if column.apart && slot == column.ragged_len() {
            return self.apart[row];
        }
        self.row(row).get(slot).copied().unwrap_or_else(|| T::padding(column.pad, slot))
    }

    /// All lists in one buffer: `slots` of each, with their padding, then the slot that stands apart. `None` where a list
    /// uses more.
    pub fn padded(&self, column: &Column, slots: usize) -> Option<Vec<T>> {
        let rows = self.offsets.len() - 1;
        let padding: Vec<T> = (0..slots).map(|slot| T::padding(column.pad, slot)).collect();
        let mut all = Vec::with_capacity(rows * (slots + usize::from(column.apart)));
        for row in 0..rows {
            let used = self.row(row);
            all.extend_from_slice(used);
            all.extend_from_slice(padding.get(used.len()..)?);
            all.extend(self.apart.get(row));
        }
        Some(all)
    }

    fn push(&mut self, column: &Column, list: &[T]) {
        let (list, apart) = match list.split_last() {
            Some((&last, rest)) if column.apart => (rest, Some(last)),
            _ => (list, None),
        };
        let padding = |(slot, value): (usize, &T)| value.bits() == T::padding(column.pad, slot).bits();
        let used = list.iter().enumerate().rposition(|slot| !padding(slot)).map_or(0, |last| last + 1);
        self.values.extend_from_slice(&list[..used]);
        self.apart.extend(apart);
        self.offsets.push(self.values.len() as u32);
    }

    fn append(&mut self, other: &Self) {
        let base = self.values.len() as u32;
        self.offsets.extend(other.offsets[1..].iter().map(|end| base + end));
        self.values.extend_from_slice(&other.values);
        self.apart.extend_from_slice(&other.apart);
    }

    fn clear(&mut self) {
        self.offsets.truncate(1);
        self.values.clear();
        self.apart.clear();
    }

    fn is_whole(&self, column: &Column, rows: usize) -> bool {
        let len = column.ragged_len();
        self.offsets.len() == rows + 1
            && self.apart.len() == if column.apart { rows } else { 0 }
            && self.offsets.windows(2).all(|ends| ends[0] <= ends[1] && (ends[1] - ends[0]) as usize <= len)
            && self.offsets.last().is_some_and(|&end| end as usize == self.values.len())
    }
}

/// Texts of a column, each distinct one once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// Distinct texts.
    pub distinct: Vec<String>,
    /// Number of each row's text.
    pub rows: Vec<u32>,
}

impl Texts {
    /// Text of a row.
    pub fn row(&self, row: usize) -> &str {
        self.rows.get(row).and_then(|&at| self.distinct.get(at as usize)).map_or("", String::as_str)
    }

    /// Number of a text, which is added where it is new. The last ones are looked at first, as rows repeat.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let at = self.distinct.iter().rposition(|known| known == text);
        at.unwrap_or_else(|| {
            self.distinct.push(text.into());
            self.distinct.len() - 1
        }) as u32
    }
}

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// One `int8` a row.
    I8(Vec<i8>),
    /// One `int32` a row.
    I32(Vec<i32>),
    /// One `int64` a row.
    I64(Vec<i64>),
    /// One `float` a row.
    F32(Vec<f32>),
    /// One text a row.
    Text(Texts),
    /// A list of `int32` a row.
    I32s(Lists<i32>),
    /// A list of `float` a row.
    F32s(Lists<f32>),
}

/// What a row has in a column.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// `int8`.
    I8(i8),
    /// `int32`.
    I32(i32),
    /// `int64`.
    I64(i64),
    /// `float`.
    F32(f32),
    /// Text.
    Text(&'a str),
    /// Slots from the first on; with the last slot, where it stands apart.
    I32s(&'a [i32]),
    /// Slots from the first on; with the last slot, where it stands apart.
    F32s(&'a [f32]),
}

impl Data {
    /// No rows of a column.
    pub fn new(column: &Column) -> Self {
        match (column.kind, column.list) {
            (Kind::I32, Some(_)) => Self::I32s(Lists::default()),
            (Kind::F32, Some(_)) => Self::F32s(Lists::default()),
            (Kind::I8, _) => Self::I8(vec![]),
            (Kind::I32, None) => Self::I32(vec![]),
            (Kind::I64, _) => Self::I64(vec![]),
            (Kind::F32, None) => Self::F32(vec![]),
            (Kind::Text, _) => Self::Text(Texts::default()),
        }
    }

    fn push(&mut self, column: &Column, cell: Cell<'_>) {
        match (self, cell) {
            (Self::I8(all), Cell::I8(value)) => all.push(value),
            (Self::I32(all), Cell::I32(value)) => all.push(value),
            (Self::I64(all), Cell::I64(value)) => all.push(value),
            (Self::F32(all), Cell::F32(value)) => all.push(value),
            (Self::Text(all), Cell::Text(text)) => {
                let number = all.number(text);
                all.rows.push(number);
            }
            (Self::I32s(all), Cell::I32s(list)) => all.push(column, list),
            (Self::F32s(all), Cell::F32s(list)) => all.push(column, list),
            // a cell of another type leaves the column short, which `is_whole` finds
            _ => debug_assert!(false, "{} holds no such values", column.name),
        }
    }

    fn append(&mut self, other: &Self) {
        match (self, other) {
            (Self::I8(all), Self::I8(more)) => all.extend_from_slice(more),
            (Self::I32(all), Self::I32(more)) => all.extend_from_slice(more),
            (Self::I64(all), Self::I64(more)) => all.extend_from_slice(more),
            (Self::F32(all), Self::F32(more)) => all.extend_from_slice(more),
            (Self::Text(all), Self::Text(more)) => {
                let numbers: Vec<u32> = more.distinct.iter().map(|text| all.number(text)).collect();
                all.rows.extend(more.rows.iter().map(|&row| numbers[row as usize]));
            }
            (Self::I32s(all), Self::I32s(more)) => all.append(more),
            (Self::F32s(all), Self::F32s(more)) => all.append(more),
            _ => debug_assert!(false, "columns of different types"),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::I8(all) => all.clear(),
            Self::I32(all) => all.clear(),
            Self::I64(all) => all.clear(),
            Self::F32(all) => all.clear(),
            Self::Text(all) => {
                all.distinct.clear();
                all.rows.clear();
            }
            Self::I32s(all) => all.clear(),
            Self::F32s(all) => all.clear(),
        }
    }

    fn is_whole(&self, column: &Column, rows: usize) -> bool {
        match self {
            Self::I8(all) => all.len() == rows,
            Self::I32(all) => all.len() == rows,
            Self::I64(all) => all.len() == rows,
            Self::F32(all) => all.len() == rows,
            Self::Text(all) => all.rows.len() == rows,
            Self::I32s(all) => all.is_whole(column, rows),
            Self::F32s(all) => all.is_whole(column, rows),
        }
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::I8(all) => all.len(),
            Self::I32(all) => 4 * all.len(),
            Self::I64(all) => 8 * all.len(),
            Self::F32(all) => 4 * all.len(),
            Self::Text(all) => 4 * all.rows.len() + all.distinct.iter().map(String::len).sum::<usize>(),
            Self::I32s(Lists { offsets, values, apart }) => 4 * (offsets.len() + values.len() + apart.len()),
            Self::F32s(Lists { offsets, values, apart }) => 4 * (offsets.len() + values.len() + apart.len()),
        }
    }
}

/// Rows in some or all of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    rows: usize,
    columns: Vec<usize>,
    data: Vec<Data>,
}

impl Group {
    /// No rows of these columns, numbers of [`COLUMNS`].
    pub fn new(columns: impl IntoIterator<Item = usize>) -> Self {
        let columns: Vec<usize> = columns.into_iter().collect();
        let data = columns.iter().map(|&at| Data::new(&COLUMNS[at])).collect();
        Self { rows: 0, columns, data }
    }

    /// No rows of all columns.
    pub fn whole() -> Self {
        Self::new(0..COLUMNS.len())
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, and their values.
    pub fn columns(&self) -> impl Iterator<Item = (&'static Column, &Data)> {
        self.columns.iter().map(|&at| &COLUMNS[at]).zip(&self.data)
    }

    /// Values of a column of [`COLUMNS`], where it is among these.
    pub fn get(&self, column: usize) -> Option<&Data> {
        // in a group of all columns each stands at its own number
        let at = match self.columns.get(column) {
            Some(&there) if there == column => column,
            _ => self.columns.iter().position(|&there| there == column)?,
        };
        self.data.get(at)
    }

    /// Appends what the next row has in column `column` of a group of all columns. When each column has got its cell,
    /// [`end_row`](Self::end_row) counts the row.
    pub fn push(&mut self, column: usize, cell: Cell<'_>) {
        self.data[column].push(&COLUMNS[column], cell);
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Appends rows of the same columns.
    pub fn append(&mut self, other: &Self) {
        self.data.iter_mut().zip(&other.data).for_each(|(all, more)| all.append(more));
        self.rows += other.rows;
    }

    /// Removes all rows, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.data.iter_mut().for_each(Data::clear);
        self.rows = 0;
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        self.data.iter().map(Data::bytes).sum()
    }

    /// Whether every column has every row, and no list is too long.
    pub fn is_whole(&self) -> bool {
        self.columns().all(|(column, data)| data.is_whole(column, self.rows))
    }

    /// Takes the columns apart.
    pub fn into_data(self) -> impl Iterator<Item = (&'static Column, Data)> {
        self.columns.into_iter().map(|at| &COLUMNS[at]).zip(self.data)
    }

    /// Replaces all rows; `None`, and no rows, where the values are not those of the columns.
    pub fn replace(&mut self, rows: usize, data: Vec<Data>) -> Option<()> {
        self.set(rows, data);
        let typed = |(column, data): (&Column, &Data)| {
            std::mem::discriminant(&Data::new(column)) == std::mem::discriminant(data)
        };
        if self.data.len() == self.columns.len() && self.columns().all(typed) && self.is_whole() {
            return Some(());
        }
        *self = Self::new(std::mem::take(&mut self.columns));
        None
    }

    pub(super) fn set(&mut self, rows: usize, data: Vec<Data>) {
        (self.rows, self.data) = (rows, data);
    }
}
