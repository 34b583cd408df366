//! Rows of a Parquet corpus. Foreign files are read by arrow-rs, which is maintained; it is used here alone.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use common::formats::parquet as pages;
use common::process::Failure;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::row::{Converter, Row, Scratch};
use crate::batch::Batch;
use crate::cli::Columns;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 4096;

/// A corpus that is read batch by batch.
pub(super) struct Table<'c> {
    reader: ParquetRecordBatchReader,
    columns: &'c Columns,
    rows: u64,
    next: u64,
}

impl<'c> Table<'c> {
    /// Opens a file and finds its columns.
    pub(super) fn open(file: File, columns: &'c Columns) -> Result<Self, Failure> {
        let (reader, rows) = guarded(|| {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Failure::bad_data)?;
            let schema = builder.schema();
            let mut wanted = vec![];
            for (name, flag, _) in columns.wanted() {
                let index = schema.index_of(name).map_err(|_| {
                    let found: Vec<&str> =
                        schema.fields().iter().map(|field| field.name().as_str()).collect();
                    Failure::bad_data(format!("the corpus has no column {name:?}"))
                        .found(found.join(", "), name)
                        .hint(format!("`{flag} NAME` says how the column is named"))
                })?;
                wanted.push(index);
            }
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
            let rows = builder.metadata().file_metadata().num_rows();
            let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
            Ok((builder.build().map_err(Failure::bad_data)?, rows))
        })?;
        Ok(Self { reader, columns, rows: rows.max(0) as u64, next: 0 })
    }

    /// Rows of the file, by its footer.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The next rows; `None` at the end.
    pub(super) fn next_batch(&mut self) -> Result<Option<TableBatch>, Failure> {
        let first = self.next;
        let at_row = |failure: Failure| failure.hint(format!("after row {first}"));
        let Some(batch) = guarded(|| Ok(self.reader.next()))? else { return Ok(None) };
        let batch = batch.map_err(|error| at_row(Failure::bad_data(error)))?;
        self.next += batch.num_rows() as u64;
        TableBatch::new(&batch, first, self.columns).map(Some)
    }
}

/// A panic of the Parquet library is a damaged file.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    pages::guard(|| Ok(work()))?
}

impl Columns {
    /// Name, flag and type of every column.
    fn wanted(&self) -> [(&str, &'static str, DataType); 8] {
        let list = |item| DataType::List(Field::new_list_field(item, true).into());
        [
            (&self.sfen, "--column-sfen", DataType::Utf8),
            (&self.side, "--column-side", DataType::Utf8),
            (&self.ply, "--column-ply", DataType::Int64),
            (&self.cp, "--column-cp", DataType::Int64),
            (&self.cand, "--column-cand", list(DataType::Utf8)),
            (&self.cand_cp, "--column-cand-cp", list(DataType::Int64)),
            (&self.played, "--column-move", DataType::Utf8),
            (&self.result, "--column-result", DataType::Int64),
        ]
    }
}

/// Rows whose columns have the types that this job works with.
pub(super) struct TableBatch {
    first: u64,
    sfen: StringArray,
    side: StringArray,
    ply: Int64Array,
    cp: Int64Array,
    cand: ListArray,
    cand_cp: ListArray,
    played: StringArray,
    result: Int64Array,
}

impl TableBatch {
    fn new(batch: &RecordBatch, first: u64, columns: &Columns) -> Result<Self, Failure> {
        let mut cast = columns.wanted().into_iter().map(|(name, flag, kind)| typed(batch, name, flag, &kind));
        let mut next = || cast.next().unwrap_or_else(|| unreachable!("eight columns are wanted"));
        Ok(Self {
            first,
            sfen: next()?.as_string().clone(),
            side: next()?.as_string().clone(),
            ply: next()?.as_primitive::<Int64Type>().clone(),
            cp: next()?.as_primitive::<Int64Type>().clone(),
            cand: next()?.as_list().clone(),
            cand_cp: next()?.as_list().clone(),
            played: next()?.as_string().clone(),
            result: next()?.as_primitive::<Int64Type>().clone(),
        })
    }

    /// Converts the rows. Numbers count from 0, as table tools do.
    pub(super) fn convert(&self, converter: &Converter) -> Batch {
        let (mut batch, mut scratch, mut row) = (Batch::default(), Scratch::default(), Row::default());
        let (moves, scores) = (self.cand.values().as_string::<i32>(), self.cand_cp.values());
        let scores = scores.as_primitive::<Int64Type>();
        for i in 0..self.sfen.len() {
            let list = |lists: &ListArray| {
                let offsets = lists.value_offsets();
                if lists.is_null(i) { 0..0 } else { offsets[i] as usize..offsets[i + 1] as usize }
            };
            row.sfen = text(&self.sfen, i);
            row.side = text(&self.side, i);
            row.ply = number(&self.ply, i);
            row.cp = number(&self.cp, i);
            row.cand.clear();
            row.cand.extend(list(&self.cand).map(|j| text(moves, j)));
            row.cand_cp.clear();
            row.cand_cp.extend(list(&self.cand_cp).map(|j| number(scores, j)));
            row.has_lists = self.cand.is_valid(i) && self.cand_cp.is_valid(i);
            row.played = text(&self.played, i);
            row.result = number(&self.result, i);
            converter.convert(self.first + i as u64, &row, &mut scratch, &mut batch);
        }
        batch
    }
}

fn text(column: &StringArray, i: usize) -> Option<&str> {
    column.is_valid(i).then(|| column.value(i))
}

fn number(column: &Int64Array, i: usize) -> Option<i64> {
    column.is_valid(i).then(|| column.value(i))
}

/// A column in the wanted type. Only text is taken as text and only integers as integers.
fn typed(batch: &RecordBatch, name: &str, flag: &str, want: &DataType) -> Result<ArrayRef, Failure> {
    let column =
        batch.column_by_name(name).ok_or_else(|| Failure::bad_data(format!("no column {name:?}")))?;
    let have = column.data_type();
    let wrong = || {
        Failure::bad_data(format!("column {name:?} has another type"))
            .found(have, want)
            .hint(format!("`{flag} NAME` names another column"))
    };
    if have == want {
        return Ok(column.clone());
    }
    if !same_family(have, want) {
        return Err(wrong());
    }
    let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
    arrow_cast::cast_with_options(column, want, &strict).map_err(|_| wrong())
}

fn same_family(have: &DataType, want: &DataType) -> bool {
    use DataType::{Dictionary, Int64, LargeList, LargeUtf8, List, Utf8, Utf8View};
    match (have, want) {
        (Dictionary(_, value), want) => same_family(value, want),
        (List(have) | LargeList(have), List(want)) => same_family(have.data_type(), want.data_type()),
        (have, Int64) => have.is_integer(),
        (have, Utf8) => matches!(have, Utf8 | LargeUtf8 | Utf8View),
        _ => false,
    }
}
