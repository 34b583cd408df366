//! Rows of a JSONL corpus.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::row::{Converter, Row, Scratch};
use crate::batch::Batch;
use crate::cli::Columns;
use crate::lines::Lines;
use crate::refusal::Refusal;

/// Converts lines, one row each.
pub(super) fn convert(lines: &Lines, columns: &Columns, converter: &Converter) -> Batch {
    let (mut batch, mut scratch) = (Batch::default(), Scratch::default());
    for (number, line) in lines.iter() {
        match parse(line, columns) {
            Ok(json) => converter.convert(number, &json.row(), &mut scratch, &mut batch),
            Err(error) => {
                batch.read += 1;
                batch.refused.push((number, Refusal::Json(error.to_string())));
            }
        }
    }
    batch
}

fn parse<'a>(line: &'a [u8], columns: &Columns) -> serde_json::Result<JsonRow<'a>> {
    let mut input = serde_json::Deserializer::from_slice(line);
    let row = RowSeed(columns).deserialize(&mut input)?;
    input.end()?;
    Ok(row)
}

/// Text that borrows from the line where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default)]
struct JsonRow<'a> {
    sfen: Option<Text<'a>>,
    side: Option<Text<'a>>,
    ply: Option<i64>,
    cp: Option<i64>,
    cand: Option<Vec<Option<Text<'a>>>>,
    cand_cp: Option<Vec<Option<i64>>>,
    played: Option<Text<'a>>,
    result: Option<i64>,
}

impl JsonRow<'_> {
    fn row(&self) -> Row<'_> {
        fn text<'b>(text: &'b Option<Text<'_>>) -> Option<&'b str> {
            text.as_ref().map(|text| &*text.0)
        }
        Row {
            sfen: text(&self.sfen),
            side: text(&self.side),
            ply: self.ply,
            cp: self.cp,
            cand: self.cand.iter().flatten().map(text).collect(),
            cand_cp: self.cand_cp.clone().unwrap_or_default(),
            has_lists: self.cand.is_some() && self.cand_cp.is_some(),
            played: text(&self.played),
            result: self.result,
        }
    }
}

/// Reads an object whose keys are named by flags.
struct RowSeed<'c>(&'c Columns);

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = JsonRow<'de>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<JsonRow<'de>, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = JsonRow<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, one row of the corpus")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JsonRow<'de>, M::Error> {
        let (columns, mut row, mut seen) = (self.0, JsonRow::default(), 0u8);
        let names = [
            &columns.sfen,
            &columns.side,
            &columns.ply,
            &columns.cp,
            &columns.cand,
            &columns.cand_cp,
            &columns.played,
            &columns.result,
        ];
        while let Some(Text(key)) = map.next_key()? {
            let Some(column) = names.iter().position(|name| **name == key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen & 1 << column != 0 {
                return Err(M::Error::custom(format!("the key {key:?} stands twice")));
            }
            seen |= 1 << column;
            match column {
                0 => row.sfen = map.next_value()?,
                1 => row.side = map.next_value()?,
                2 => row.ply = map.next_value()?,
                3 => row.cp = map.next_value()?,
                4 => row.cand = map.next_value()?,
                5 => row.cand_cp = map.next_value()?,
                6 => row.played = map.next_value()?,
                _ => row.result = map.next_value()?,
            }
        }
        Ok(row)
    }
}
