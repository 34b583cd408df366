//! `repair`: all whole records of a stream whose last one is cut off, in a new file.

use std::fmt;
use std::path::Path;

use common::formats::mpk1::Error;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Failure, space, stop};
use common::state::store::record::Parameters;
use serde::{Deserialize, Serialize};

use crate::cli::RepairArgs;
use crate::input::open_stream;
use crate::target::{Outcome, Target, Written, obtain};

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

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Repaired {
    records: u64,
    cut_bytes: usize,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &RepairArgs) -> Result<(), Failure> {
    let input = args.input.as_path();
    let done =
        obtain(common, &args.target, ("stream", input), Parameters::new(), |at| repair(common, input, at))?;
    let Written { counts: Repaired { records, cut_bytes }, outcome } = done.value;
    done.emit(common, &RepairReport { input, output: &args.target.output, outcome, records, cut_bytes })
}

fn repair(common: &Common, input: &Path, at: &Path) -> Result<Written<Repaired>, Failure> {
    let mut reader = open_stream(input)?;
    let header = *reader.header();
    let mut target = Target::create(common, at, &header)?;
    space::check(common, at, "the records", std::fs::metadata(input).map_or(0, |meta| meta.len()))?;
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
    let counts = Repaired { records: reader.place().record, cut_bytes };
    Ok(Written { counts, outcome: target.finish()? })
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
