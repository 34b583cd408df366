//! `stats`: what is in streams, in one pass.

use std::fmt;
use std::path::Path;

use common::formats::mpk1::packed::{Side, side_to_move};
use common::formats::mpk1::{Header, Pov, Record};
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Action, Common, Failure, Made, Place, stop};
use common::state::store::record::{Keep, Parameters};
use serde::{Deserialize, Serialize};

use crate::cli::FilesArgs;
use crate::input::open_stream;

#[derive(Serialize)]
struct StatsReport<'a> {
    files: Vec<Of<'a>>,
}

#[derive(Serialize)]
struct Of<'a> {
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    #[serde(flatten)]
    stats: &'a Stats,
}

#[derive(Serialize, Deserialize)]
struct Stats {
    header: Header,
    records: u64,
    bytes: u64,
    black_to_move: u64,
    won: u64,
    drawn: u64,
    lost: u64,
    /// Records whose best candidate's score is a mate, for the side to move.
    mates: u64,
    ply: Range,
    candidates: Range,
    /// Sum of a record's visits: the budget of its search.
    visits: Range,
    cp: Range,
}

/// Least, mean and greatest of a quantity.
#[derive(Serialize, Deserialize, Default)]
struct Range {
    count: u64,
    least: i64,
    mean: f64,
    greatest: i64,
    #[serde(skip)]
    sum: i128,
}

impl Range {
    fn add(&mut self, value: i64) {
        (self.least, self.greatest) = match self.count {
            0 => (value, value),
            _ => (self.least.min(value), self.greatest.max(value)),
        };
        self.count += 1;
        self.sum += i128::from(value);
        self.mean = self.sum as f64 / self.count as f64;
    }
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &FilesArgs) -> Result<(), Failure> {
    let inputs = args.files.iter().map(|file| ("stream", file.clone())).collect();
    let action = Action { parameters: Parameters::new(), inputs, place: Place::Nowhere, keep: Keep::Scratch };
    let done = action.obtain(common, |_| {
        let stats = args.files.iter().map(|file| stats(common, file)).collect::<Result<Vec<_>, _>>()?;
        Ok(Made::new(stats, vec![]))
    })?;
    let of = args.files.iter().zip(&done.value).map(|(file, stats)| Of { file, stats });
    done.emit(common, &StatsReport { files: of.collect() })
}

fn stats(common: &Common, file: &Path) -> Result<Stats, Failure> {
    let mut reader = open_stream(file)?;
    let header = *reader.header();
    let mut stats = Stats::new(header);
    let mut progress = common.progress("stats", "records", None);
    while let Some(chunk) = reader.next_chunk().in_file(file)? {
        stop::check()?;
        for record in chunk.records().validated(&header) {
            let (_, record) = record.in_file(file)?;
            stats.add(&record);
            progress.add(1);
        }
    }
    stats.bytes = reader.place().offset;
    Ok(stats)
}

impl Stats {
    fn new(header: Header) -> Self {
        Self {
            header,
            records: 0,
            bytes: 0,
            black_to_move: 0,
            won: 0,
            drawn: 0,
            lost: 0,
            mates: 0,
            ply: Range::default(),
            candidates: Range::default(),
            visits: Range::default(),
            cp: Range::default(),
        }
    }

    fn add(&mut self, record: &Record<'_>) {
        self.records += 1;
        self.black_to_move +=
            u64::from(record.board().is_some_and(|board| side_to_move(board) == Side::Black));
        self.won += u64::from(record.value_z() > 0.0);
        self.drawn += u64::from(record.value_z() == 0.0);
        self.lost += u64::from(record.value_z() < 0.0);
        self.ply.add(record.ply().into());
        self.candidates.add(record.candidates().len() as i64);
        let visits = record.candidates().filter_map(|c| c.visits).map(|n| i64::from(n.get()));
        if let Some(budget) = visits.reduce(|a, b| a + b) {
            self.visits.add(budget);
        }
        let white = record.board().is_some_and(|board| side_to_move(board) == Side::White);
        let turned = self.header.pov == Pov::Black && white;
        let mut best = None;
        for cp in record.candidates().filter_map(|c| c.cp) {
            self.cp.add(cp.into());
            best = best.max(Some(if turned { -cp } else { cp }));
        }
        let threshold = self.header.mate_threshold();
        self.mates +=
            u64::from(best.zip(threshold).is_some_and(|(cp, threshold)| cp.unsigned_abs() >= threshold));
    }
}

impl fmt::Display for StatsReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.iter().try_for_each(|Of { file, stats }| write!(f, "{}\n{stats}", file.display()))
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, won, drawn, lost, .. } = self;
        writeln!(f, "  records     {records} in {} bytes", self.bytes)?;
        writeln!(f, "  to move     {} Black, {} White", self.black_to_move, records - self.black_to_move)?;
        writeln!(f, "  outcomes    {won} won, {drawn} drawn, {lost} lost, for the side to move")?;
        writeln!(f, "  ply         {}", self.ply)?;
        writeln!(f, "  candidates  {}", self.candidates)?;
        if self.visits.count > 0 {
            writeln!(f, "  visits      {} a record", self.visits)?;
        }
        if self.cp.count > 0 {
            writeln!(f, "  cp          {}", self.cp)?;
            writeln!(f, "  mates       {} records", self.mates)?;
        }
        Ok(())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}, mean {:.2}", self.least, self.greatest, self.mean)
    }
}
