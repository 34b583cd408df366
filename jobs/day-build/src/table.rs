//! Tables as text: a line of names, then rows, fields between tabs.

use std::str::FromStr;

use common::process::Failure;

/// A table.
pub(crate) struct Table<'a> {
    names: Vec<&'a str>,
    lines: Vec<&'a str>,
}

/// A row, and its line.
pub(crate) struct Row<'a> {
    line: usize,
    fields: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Splits a text into lines.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(text).map_err(|_| Failure::bad_data("it is no UTF-8 text"))?;
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        Ok(Self { names, lines: lines.collect() })
    }

    /// Names of the columns.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Number of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize, Failure> {
        self.names.iter().position(|there| *there == name).ok_or_else(|| {
            Failure::bad_data(format!("it has no column {name}"))
                .found(self.names.join(", "), format!("a line of names between tabs, {name} among them"))
        })
    }

    /// The rows; empty lines are passed over.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'a>> + '_ {
        let rows = self.lines.iter().zip(2..).filter(|(text, _)| !text.is_empty());
        rows.map(|(text, line)| Row { line, fields: text.split('\t').collect() })
    }
}

impl Row<'_> {
    /// A field; what is cut off is empty.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.fields.get(column).copied().unwrap_or_default()
    }

    /// A field that must be a number.
    pub(crate) fn number<T: FromStr>(&self, column: usize) -> Result<T, Failure> {
        let text = self.text(column);
        text.parse().map_err(|_| self.refuse(format!("field {} is {text:?}, no such number", column + 1)))
    }

    /// A field that must be an id from 1 to `most`.
    pub(crate) fn id(&self, column: usize, most: i32) -> Result<usize, Failure> {
        match self.number::<usize>(column)? {
            id if (1..=most as usize).contains(&id) => Ok(id),
            id => Err(self.refuse(format!("id {id} is outside of 1 to {most}"))),
        }
    }

    /// Why the row cannot be.
    pub(crate) fn refuse(&self, what: String) -> Failure {
        Failure::bad_data(format!("line {}: {what}", self.line))
    }
}
