//! `selfplay`: games of a tree search to a stream of visit counts. Specification: "Self-play".

mod append;
mod game;

use std::fmt;
use std::path::Path;

use common::formats::mpk1::Header;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Failure, Input, emit};
use common::state::store::record;
use serde::Serialize;
use serde_json::json;

use crate::batch::{Batch, Naming, Totals, convert};
use crate::cli::SelfplayArgs;
use crate::lines::{LineReader, Lines};
use crate::refusal::Refusal;
use crate::target::{Outcome, Target, Written, obtain};

#[derive(Serialize)]
struct SelfplayReport<'a> {
    #[serde(serialize_with = "path_text")]
    output: &'a Path,
    outcome: Outcome,
    games: u64,
    unfinished: u64,
    records: u64,
    candidates: u64,
    refused: u64,
    refused_by_reason: &'a std::collections::BTreeMap<String, u64>,
    header: Header,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &SelfplayArgs) -> Result<(), Failure> {
    if args.append {
        let Written { counts, outcome } = append::run(common, args)?;
        return emit(common, &report(args, &counts, outcome));
    }
    let SelfplayArgs { policy_scale, skip_bad, .. } = args;
    let parameters =
        record::parameters([("policy_scale", json!(policy_scale)), ("skip_bad", json!(skip_bad))]);
    let input = ("games", args.games.as_path());
    let done = obtain(common, &args.target, input, parameters, |at| write(common, args, at))?;
    done.emit(common, &report(args, &done.value.counts, done.value.outcome))
}

fn report<'a>(args: &'a SelfplayArgs, totals: &'a Totals, outcome: Outcome) -> SelfplayReport<'a> {
    if totals.unfinished > 0 {
        tracing::warn!("{} games have no result and give no records", totals.unfinished);
    }
    SelfplayReport {
        output: &args.target.output,
        outcome,
        games: totals.read,
        unfinished: totals.unfinished,
        records: totals.records,
        candidates: totals.candidates,
        refused: totals.refusals.total(),
        refused_by_reason: &totals.refusals.by_name,
        header: Header::visits(),
    }
}

fn write(common: &Common, args: &SelfplayArgs, at: &Path) -> Result<Written<Totals>, Failure> {
    let path = args.games.as_path();
    let input = Input::open(path)?;
    if input.is_empty() {
        return Err(Failure::bad_data("an empty file where games are expected").in_file(path));
    }
    let mut lines = LineReader::new(input);
    let mut target = Target::create(common, at, &Header::visits())?;
    let progress = common.progress("selfplay", "games", None);
    let naming = Naming { path, unit: "line", skip_bad: args.skip_bad };
    let source = || lines.next_piece().in_file(path);
    let work = |lines: Lines| {
        let mut batch = Batch::default();
        lines.iter().for_each(|(number, line)| add_game(args, number, line, &mut batch));
        batch
    };
    let counts = convert(common, &naming, progress, source, work, |bytes| target.write(bytes))?;
    Ok(Written { counts, outcome: target.finish()? })
}

/// Appends a game's records to a batch, all or none, or its refusal.
fn add_game(args: &SelfplayArgs, number: u64, line: &[u8], batch: &mut Batch) {
    batch.read += 1;
    let parsed = serde_json::from_slice(line).map_err(|error| Refusal::Json(error.to_string()));
    match parsed.and_then(|game: game::Game<'_>| game.records(&Header::visits(), args.policy_scale)) {
        Ok(Some(records)) => {
            batch.bytes.extend_from_slice(&records.bytes);
            batch.records += records.records;
            batch.candidates += records.candidates;
        }
        Ok(None) => batch.unfinished += 1,
        Err(refusal) => batch.refused.push((number, refusal)),
    }
}

impl fmt::Display for SelfplayReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { games, unfinished, records, candidates, refused, .. } = self;
        writeln!(f, "{} ({})", self.output.display(), self.outcome)?;
        writeln!(f, "  {records} records with {candidates} candidates, of {games} games; {refused} refused")?;
        if *unfinished > 0 {
            writeln!(f, "  {unfinished} games without a result gave none")?;
        }
        self.refused_by_reason.iter().try_for_each(|(reason, n)| writeln!(f, "    {n} {reason}"))
    }
}
