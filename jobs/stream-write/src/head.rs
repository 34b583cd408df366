//! `head`: the first records of a stream, readable.

use std::fmt;
use std::num::NonZeroU32;

use common::formats::mpk1::{Header, Packed, Record};
use common::process::failure::InFile;
use common::process::{Common, Failure, emit};
use serde::Serialize;

use crate::cli::HeadArgs;
use crate::input::open_stream;

#[derive(Serialize)]
struct HeadReport {
    header: Header,
    records: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    record: u64,
    offset: u64,
    ply: u16,
    value_z: f32,
    value_q: f32,
    /// Board, side and hands; the bytes in hexadecimal where they are no position of 96 bytes.
    position: String,
    candidates: Vec<ShownCandidate>,
}

#[derive(Serialize)]
struct ShownCandidate {
    #[serde(rename = "move")]
    mv: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    visits: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cp: Option<i16>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &HeadArgs) -> Result<(), Failure> {
    let mut reader = open_stream(&args.file)?;
    let mut report = HeadReport { header: *reader.header(), records: vec![] };
    'stream: while let Some(chunk) = reader.next_chunk().in_file(&args.file)? {
        for record in chunk.records() {
            if report.records.len() == args.records {
                break 'stream;
            }
            let (place, record) = record.in_file(&args.file)?;
            report.records.push(show(place.record, place.offset, &record));
        }
    }
    emit(common, &report)
}

fn show(number: u64, offset: u64, record: &Record<'_>) -> Shown {
    let packed = record.board().and_then(|bytes| Packed::new(*bytes).ok());
    let hex = || record.packed().iter().map(|byte| format!("{byte:02x}")).collect();
    Shown {
        record: number,
        offset,
        ply: record.ply(),
        value_z: record.value_z(),
        value_q: record.value_q(),
        position: packed.map_or_else(hex, |packed| packed.to_string()),
        candidates: record
            .candidates()
            .map(|c| ShownCandidate { mv: c.mv.to_string(), visits: c.visits, cp: c.cp })
            .collect(),
    }
}

impl fmt::Display for HeadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for record in &self.records {
            writeln!(f, "record {} at byte {}, ply {}", record.record, record.offset, record.ply)?;
            writeln!(f, "  {}", record.position)?;
            write!(f, "  z {:+} q {:+.4} ", record.value_z, record.value_q)?;
            for c in &record.candidates {
                let share = c.visits.map(|n| n.to_string()).or(c.cp.map(|cp| format!("{cp:+}")));
                write!(f, " {} {}", c.mv, share.unwrap_or_default())?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
