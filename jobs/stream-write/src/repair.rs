//! `repair`: all whole records of a stream whose last one is cut off, in a new file.

use std::fmt;
use std::path::Path;

use common::formats::mpk1::Error;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Failure, emit, space, stop};
use serde::Serialize;

use crate::cli::RepairArgs;
use crate::input::open_stream;
use crate::target::{Outcome, Target};

#[derive(Serialize)]
struct RepairReport<'a> {
    #[serde(serialize_with = "path_text")]
    input: &'a Path,
    #[serde(serialize_with = "path_text")]
    output: &'a Path,
    outcome: Outcome,
    records: u64,
    /// Bytes of the incomplete record.
    cut_bytes: usize,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &RepairArgs) -> Result<(), Failure> {
    let (input, output) = (args.input.as_path(), args.target.output.as_path());
    let mut reader = open_stream(input)?;
    let header = *reader.header();
    let mut target = Target::create(common, &args.target, input, &header)?;
    space::check(common, output, "the records", std::fs::metadata(input).map_or(0, |meta| meta.len()))?;
    let mut progress = common.progress("repair", "records", None);
    let cut_bytes = loop {
        stop::check()?;
        let chunk = match reader.next_chunk() {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break 0,
            Err(Error::Torn { found, .. }) => break found,
            Err(error) => return Err(error).in_file(input),
        };
        for record in chunk.records().validated(&header) {
            let (_, record) = record.in_file(input)?;
            target.write(record.bytes())?;
            progress.add(1);
        }
    };
    let report =
        RepairReport { input, output, outcome: target.finish()?, records: reader.place().record, cut_bytes };
    emit(common, &report)
}

impl fmt::Display for RepairReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.output.display(), self.outcome)?;
        match self.cut_bytes {
            0 => writeln!(f, "  {} records, all there were: nothing was cut off", self.records),
            cut => writeln!(f, "  {} records; an incomplete one of {cut} bytes was left out", self.records),
        }
    }
}
