//! What a cache holds: rows of decision days, or of folded shards, to columns and back.

use super::columns::{APART, Column, Columns, Gather, Number, TEXTS};
use crate::formats::decisions::{self, Data, Group, Texts};
use crate::formats::folded::Rows;
use crate::formats::mpk1::PACKED_LEN;

/// Rows of one kind of dataset.
pub trait Content: Sized + Send {
    /// The kind, as spill files state it.
    const KIND: u32;

    /// The rows as columns. Their order depends on the projection alone.
    fn into_columns(self) -> Columns;

    /// Replaces the rows by those of a request, in the same columns; `None` where a group is not what it was.
    fn gather(&mut self, from: Gather<'_>) -> Option<()>;
}

impl Content for Group {
    const KIND: u32 = 1;

    fn into_columns(self) -> Columns {
        let rows = self.rows();
        let mut columns = vec![];
        for (column, data) in self.into_data() {
            let name = column.name;
            match data {
                Data::I8(all) => columns.push(Column::flat(name, all)),
                Data::I32(all) => columns.push(Column::flat(name, all)),
                Data::I64(all) => columns.push(Column::flat(name, all)),
                Data::F32(all) => columns.push(Column::flat(name, all)),
                Data::Text(texts) => columns.extend(text_columns(name, texts)),
                Data::I32s(lists) => columns.extend(list_columns(column, lists)),
                Data::F32s(lists) => columns.extend(list_columns(column, lists)),
            }
        }
        Columns { rows, columns }
    }

    fn gather(&mut self, mut from: Gather<'_>) -> Option<()> {
        let rows = from.rows();
        let mut all = vec![];
        for (column, data) in self.columns() {
            let name = column.name;
            all.push(match data {
                Data::I8(_) => Data::I8(from.flat(name, "", 1)?),
                Data::I32(_) => Data::I32(from.flat(name, "", 1)?),
                Data::I64(_) => Data::I64(from.flat(name, "", 1)?),
                Data::F32(_) => Data::F32(from.flat(name, "", 1)?),
                Data::Text(_) => {
                    let (rows, distinct) = from.texts(name)?;
                    Data::Text(Texts { distinct, rows })
                }
                Data::I32s(_) => Data::I32s(gather_lists(&mut from, column)?),
                Data::F32s(_) => Data::F32s(gather_lists(&mut from, column)?),
            });
        }
        self.replace(rows, all)
    }
}

fn list_columns<T: Number + Send + Sync>(
    column: &'static decisions::Column,
    lists: decisions::Lists<T>,
) -> impl Iterator<Item = Column> {
    let apart = column.apart.then(|| Column::flat(format!("{}{APART}", column.name), lists.apart));
    [Column::lists(column.name, lists.offsets, lists.values)].into_iter().chain(apart)
}

fn text_columns(name: &'static str, texts: Texts) -> [Column; 2] {
    let mut offsets = vec![0];
    let mut bytes: Vec<u8> = vec![];
    for text in &texts.distinct {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(bytes.len() as u32);
    }
    [Column::flat(name, texts.rows), Column::lists(format!("{name}{TEXTS}"), offsets, bytes)]
}

fn gather_lists<T: Number>(from: &mut Gather<'_>, column: &decisions::Column) -> Option<decisions::Lists<T>> {
    let (offsets, values) = from.lists(column.name)?;
    let apart = if column.apart { from.flat(column.name, APART, 1)? } else { vec![] };
    Some(decisions::Lists { offsets, values, apart })
}

impl Content for Rows {
    const KIND: u32 = 2;

    fn into_columns(self) -> Columns {
        let rows = self.len();
        let present: Vec<u8> = self.cp.iter().map(|cp| u8::from(cp.is_some())).collect();
        let cp: Vec<i16> = self.cp.iter().map(|cp| cp.unwrap_or(0)).collect();
        let columns = vec![
            Column::flat("packed", self.packed),
            Column::flat("ply", self.ply),
            Column::flat("value_z", self.value_z),
            Column::flat("value_q", self.value_q),
            Column::flat("weight", self.weight),
            Column::lists("mv", self.offsets, self.mv),
            Column::flat("prob", self.prob),
            Column::flat("cp", cp),
            Column::flat("cp.present", present),
        ];
        Columns { rows, columns }
    }

    fn gather(&mut self, mut from: Gather<'_>) -> Option<()> {
        self.packed = from.flat("packed", "", PACKED_LEN)?;
        self.ply = from.flat("ply", "", 1)?;
        self.value_z = from.flat("value_z", "", 1)?;
        self.value_q = from.flat("value_q", "", 1)?;
        self.weight = from.flat("weight", "", 1)?;
        let bounds = from.bounds()?;
        (self.offsets, self.mv) = from.lists("mv")?;
        self.prob = from.beside("prob", &bounds)?;
        let cp: Vec<i16> = from.beside("cp", &bounds)?;
        let present: Vec<u8> = from.beside("cp.present", &bounds)?;
        self.cp = cp.into_iter().zip(present).map(|(cp, present)| (present != 0).then_some(cp)).collect();
        Some(())
    }
}
