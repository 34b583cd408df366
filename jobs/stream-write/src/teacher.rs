//! `teacher`: a corpus of MultiPV searches to a stream of scores. Specification: "Teacher generation".

mod json;
mod row;
mod table;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU16;
use std::path::Path;

use common::formats::mpk1::{Header, PolicySource};
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Failure, Input, space};
use common::state::store::record::{self, Parameters};
use serde::Serialize;
use serde_json::json;

use crate::batch::{Naming, Totals, convert};
use crate::cli::{CorpusFormat, TeacherArgs};
use crate::lines::LineReader;
use crate::target::{Outcome, Target, Written, obtain};
use row::Converter;

#[derive(Serialize)]
struct TeacherReport<'a> {
    #[serde(serialize_with = "path_text")]
    output: &'a Path,
    outcome: Outcome,
    rows: u64,
    records: u64,
    candidates: u64,
    refused: u64,
    refused_by_reason: &'a std::collections::BTreeMap<String, u64>,
    header: Header,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &TeacherArgs) -> Result<(), Failure> {
    let header = header(args);
    let done = obtain(common, &args.target, ("corpus", &args.corpus), parameters(args, &header), |at| {
        let mut target = Target::create(common, at, &header)?;
        let converter = Converter::new(header);
        let counts = match format(args)? {
            CorpusFormat::Parquet => from_parquet(common, args, at, &converter, &mut target)?,
            CorpusFormat::Jsonl => from_jsonl(common, args, &converter, &mut target)?,
        };
        Ok(Written { counts, outcome: target.finish()? })
    })?;
    let Written { counts: totals, outcome } = &done.value;
    let report = TeacherReport {
        output: &args.target.output,
        outcome: *outcome,
        rows: totals.read,
        records: totals.records,
        candidates: totals.candidates,
        refused: totals.refusals.total(),
        refused_by_reason: &totals.refusals.by_name,
        header,
    };
    done.emit(common, &report)
}

/// What the stream depends on beside the corpus.
fn parameters(args: &TeacherArgs, header: &Header) -> Parameters {
    let TeacherArgs { skip_bad, format, columns, .. } = args;
    record::parameters([
        ("header", json!(header)),
        ("skip_bad", json!(skip_bad)),
        ("format", json!(format.map(|format| format!("{format:?}")))),
        ("columns", json!(columns)),
    ])
}

fn header(args: &TeacherArgs) -> Header {
    Header {
        policy_source: PolicySource::Cp,
        mate_scale: NonZeroU16::new(args.mate_scale),
        mate_slack: NonZeroU16::new(args.mate_slack),
        fv_scale: NonZeroU16::new(args.fv_scale),
        eval_coef: Some(args.eval_coef),
        ..Header::visits()
    }
}

fn format(args: &TeacherArgs) -> Result<CorpusFormat, Failure> {
    let path = &args.corpus;
    if let Some(format) = args.format {
        return Ok(format);
    }
    let input = Input::open(path)?;
    if input.len().is_none() {
        // what is looked at in a pipe is gone from it
        return Ok(CorpusFormat::Jsonl);
    }
    let mut magic = vec![];
    input.take(4).read_to_end(&mut magic).in_file(path)?;
    if magic.is_empty() {
        return Err(Failure::bad_data("an empty file where a corpus is expected").in_file(path));
    }
    Ok(if magic == b"PAR1" { CorpusFormat::Parquet } else { CorpusFormat::Jsonl })
}

fn from_parquet(
    common: &Common,
    args: &TeacherArgs,
    at: &Path,
    converter: &Converter,
    target: &mut Target<'_>,
) -> Result<Totals, Failure> {
    let path = args.corpus.as_path();
    let mut table = table::Table::open(File::open(path).in_file(path)?, &args.columns).in_file(path)?;
    // a record is 108 bytes and its candidates
    space::check(common, at, "the records", table.rows().saturating_mul(116))?;
    let progress = common.progress("teacher", "rows", Some(table.rows()));
    let naming = Naming { path, unit: "row", skip_bad: args.skip_bad };
    let source = || table.next_batch().in_file(path);
    convert(common, &naming, progress, source, |batch| batch.convert(converter), |bytes| target.write(bytes))
}

fn from_jsonl(
    common: &Common,
    args: &TeacherArgs,
    converter: &Converter,
    target: &mut Target<'_>,
) -> Result<Totals, Failure> {
    let path = args.corpus.as_path();
    let mut lines = LineReader::new(Input::open(path)?);
    let progress = common.progress("teacher", "rows", None);
    let naming = Naming { path, unit: "line", skip_bad: args.skip_bad };
    let source = || lines.next_piece().in_file(path);
    let work = |lines: crate::lines::Lines| json::convert(&lines, &args.columns, converter);
    convert(common, &naming, progress, source, work, |bytes| target.write(bytes))
}

impl fmt::Display for TeacherReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, records, candidates, refused, .. } = self;
        writeln!(f, "{} ({})", self.output.display(), self.outcome)?;
        writeln!(f, "  {records} records with {candidates} candidates, of {rows} rows; {refused} refused")?;
        self.refused_by_reason.iter().try_for_each(|(reason, n)| writeln!(f, "    {n} {reason}"))
    }
}
