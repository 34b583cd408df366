//! `stats`: what is in shards, and how well their rows are shuffled.

use std::fmt;

use common::formats::folded::{Conventions, Rows};
use common::formats::mpk1::packed::{Side, side_to_move};
use common::process::{Action, Common, Failure, Made, Place};
use common::state::store::record::{self, Keep};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::shard_files::{ShardFile, is_set, open_all};
use crate::cli::StatsArgs;
use crate::shuffle::{BLOCKS, BlockRatio};

#[derive(Serialize, Deserialize, Default)]
struct StatsReport {
    shards: usize,
    rows: u64,
    records: u64,
    /// Rows of weight 1, 2, 3, 4 and more.
    weights: [u64; 4],
    greatest_weight: u32,
    black_to_move: u64,
    ply: Span,
    candidates: Span,
    value_z_mean: f64,
    value_q_mean: f64,
    /// Rows whose leader is a mate, by the conventions of their shard.
    mates: u64,
    /// Spread of the means of 24 blocks of rows, over what independent rows would show: about 1 for shuffled rows.
    block_ratios: Ratios,
    histograms: Histograms,
}

/// Rows by a quantity; the last count is of the greatest that occurs.
#[derive(Serialize, Deserialize, Default)]
struct Histograms {
    /// By 10 plies.
    ply_by_10: Vec<u64>,
    /// By the number of candidates, from 0.
    candidates: Vec<u64>,
    /// By the weight's power of two: 1, 2 to 3, 4 to 7.
    weight_log2: Vec<u64>,
}

fn count(counts: &mut Vec<u64>, bin: usize) {
    if counts.len() <= bin {
        counts.resize(bin + 1, 0);
    }
    counts[bin] += 1;
}

/// Least, mean and greatest.
#[derive(Serialize, Deserialize, Default)]
struct Span {
    least: u64,
    mean: f64,
    greatest: u64,
}

#[derive(Serialize, Deserialize, Default)]
struct Ratios {
    ply: Option<f64>,
    side_to_move: Option<f64>,
    weight_to_4: Option<f64>,
    value_q: Option<f64>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &StatsArgs) -> Result<(), Failure> {
    let shards = open_all(&args.files)?;
    let sets = args.files.iter().filter(|file| is_set(file)).map(|set| ("set", set.clone()));
    let action = Action {
        parameters: record::parameters([("assume", json!(args.assume.assume.0))]),
        inputs: sets.chain(shards.iter().map(|shard| ("shard", shard.path.clone()))).collect(),
        place: Place::Nowhere,
        keep: Keep::Scratch,
    };
    let done = action.obtain(common, |_| Ok(Made::new(count_all(common, args, &shards)?, vec![])))?;
    done.emit(common, &done.value)
}

fn count_all(common: &Common, args: &StatsArgs, shards: &[ShardFile]) -> Result<StatsReport, Failure> {
    let total = shards.iter().map(|shard| shard.shard.rows()).sum();
    let mut tally = Tally::new(total);
    let mut progress = common.progress("stats", "rows", Some(total));
    for shard in shards {
        let conventions = shard.conventions(&args.assume.assume.0)?;
        shard.each_group(|rows| {
            tally.add(rows, &conventions);
            progress.add(rows.len() as u64);
            Ok(())
        })?;
    }
    Ok(tally.report(shards.len()))
}

struct Tally {
    report: StatsReport,
    plies: u64,
    listed: u64,
    blocks: [BlockRatio; 4],
}

impl Tally {
    fn new(rows: u64) -> Self {
        let span = || Span { least: u64::MAX, ..Span::default() };
        let report = StatsReport { ply: span(), candidates: span(), ..StatsReport::default() };
        Self { report, plies: 0, listed: 0, blocks: [(); 4].map(|()| BlockRatio::new(rows)) }
    }

    fn add(&mut self, rows: &Rows, conventions: &Conventions) {
        let report = &mut self.report;
        for row in 0..rows.len() {
            let (ply, weight, candidates) =
                (u64::from(rows.ply[row]), rows.weight[row], rows.candidates(row));
            report.rows += 1;
            report.records += u64::from(weight);
            report.weights[weight.clamp(1, 4) as usize - 1] += 1;
            report.greatest_weight = report.greatest_weight.max(weight);
            let black = side_to_move(rows.board(row)) == Side::Black;
            report.black_to_move += u64::from(black);
            report.ply.stretch(ply);
            report.candidates.stretch(candidates.len() as u64);
            let histograms = &mut report.histograms;
            count(&mut histograms.ply_by_10, ply as usize / 10);
            count(&mut histograms.candidates, candidates.len());
            count(&mut histograms.weight_log2, weight.max(1).ilog2() as usize);
            self.plies += ply;
            self.listed += candidates.len() as u64;
            report.value_z_mean += f64::from(rows.value_z[row]);
            report.value_q_mean += f64::from(rows.value_q[row]);
            let leader = rows.cp[candidates].iter().copied().max().flatten();
            let mate = leader.zip(conventions.mate_threshold());
            report.mates += u64::from(mate.is_some_and(|(cp, threshold)| cp.unsigned_abs() >= threshold));
            let values =
                [ply as f64, f64::from(black), f64::from(weight.min(4)), f64::from(rows.value_q[row])];
            self.blocks.iter_mut().zip(values).for_each(|(blocks, value)| blocks.add(value));
        }
    }

    fn report(self, shards: usize) -> StatsReport {
        let mut report = self.report;
        let rows = report.rows as f64;
        if report.rows == 0 {
            return StatsReport { shards, ..StatsReport::default() };
        }
        report.shards = shards;
        (report.ply.mean, report.candidates.mean) = (self.plies as f64 / rows, self.listed as f64 / rows);
        report.value_z_mean /= rows;
        report.value_q_mean /= rows;
        let [ply, side_to_move, weight_to_4, value_q] = self.blocks.map(|blocks| blocks.ratio());
        report.block_ratios = Ratios { ply, side_to_move, weight_to_4, value_q };
        report
    }
}

impl Span {
    fn stretch(&mut self, value: u64) {
        (self.least, self.greatest) = (self.least.min(value), self.greatest.max(value));
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}, mean {:.2}", self.least, self.greatest, self.mean)
    }
}

impl fmt::Display for StatsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shards, rows, records, .. } = self;
        writeln!(f, "{rows} rows of {records} records in {shards} shards")?;
        let [one, two, three, more] = self.weights;
        writeln!(
            f,
            "  weight      {one} of 1, {two} of 2, {three} of 3, {more} more; at most {}",
            self.greatest_weight
        )?;
        writeln!(f, "  to move     {} Black, {} White", self.black_to_move, rows - self.black_to_move)?;
        writeln!(f, "  ply         {}", self.ply)?;
        writeln!(f, "  candidates  {}", self.candidates)?;
        writeln!(f, "  mates       {} rows", self.mates)?;
        writeln!(f, "  means       value_z {:+.4}, value_q {:+.4}", self.value_z_mean, self.value_q_mean)?;
        let text = |ratio: Option<f64>| ratio.map_or("none".into(), |ratio| format!("{ratio:.3}"));
        let Ratios { ply, side_to_move, weight_to_4, value_q } = &self.block_ratios;
        writeln!(
            f,
            "  {BLOCKS} blocks   ply {}, side to move {}, weight {}, value_q {} (1 where rows are shuffled)",
            text(*ply),
            text(*side_to_move),
            text(*weight_to_4),
            text(*value_q)
        )
    }
}
