//! Tables as text, such as the card files: a line of names, then rows, fields between tabs.

use std::str::FromStr;

use super::failure::Failure;

/// A table.
#[derive(Debug)]
pub struct Table<'a> {
    names: Vec<&'a str>,
    lines: Vec<&'a str>,
}

/// A row, and its line.
#[derive(Debug)]
pub struct Row<'a> {
    line: usize,
    fields: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Splits a text into lines.
    pub fn parse(text: &'a [u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(text).map_err(|_| Failure::bad_data("it is no UTF-8 text"))?;
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        Ok(Self { names, lines: lines.collect() })
    }

    /// Names of the columns.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Number of a column.
    pub fn column(&self, name: &str) -> Result<usize, Failure> {
        self.names.iter().position(|there| *there == name).ok_or_else(|| {
            Failure::bad_data(format!("it has no column {name}"))
                .found(self.names.join(", "), format!("a line of names between tabs, {name} among them"))
        })
    }

    /// Numbers of several columns.
    pub fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], Failure> {
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name)?;
        }
        Ok(columns)
    }

    /// The rows; empty lines are passed over.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> + '_ {
        let rows = self.lines.iter().zip(2..).filter(|(text, _)| !text.is_empty());
        rows.map(|(text, line)| Row { line, fields: text.split('\t').collect() })
    }
}

impl Row<'_> {
    /// A field; what is cut off is empty.
    pub fn text(&self, column: usize) -> &str {
        self.fields.get(column).copied().unwrap_or_default()
    }

    /// A field that must be a number.
    pub fn number<T: FromStr>(&self, column: usize) -> Result<T, Failure> {
        let text = self.text(column);
        text.parse().map_err(|_| self.refuse(format!("field {} is {text:?}, no such number", column + 1)))
    }

    /// A field that must be a number below `len`.
    pub fn below(&self, column: usize, len: usize) -> Result<usize, Failure> {
        match self.number::<usize>(column)? {
            number if number < len => Ok(number),
            number => Err(self.refuse(format!("field {} is {number}, not below {len}", column + 1))),
        }
    }

    /// A field that must be an id from 1 to `most`.
    pub fn id(&self, column: usize, most: i32) -> Result<usize, Failure> {
        match self.number::<usize>(column)? {
            id if (1..=most as usize).contains(&id) => Ok(id),
            id => Err(self.refuse(format!("id {id} is outside of 1 to {most}"))),
        }
    }

    /// Why the row cannot be.
    pub fn refuse(&self, what: String) -> Failure {
        Failure::bad_data(format!("line {}: {what}", self.line))
    }
}
