//! The command line.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use common::process::Common;
use serde::Serialize;

/// Write MPK1 streams of training positions, and look after them
#[derive(Debug, Parser)]
#[command(name = "stream-write", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Convert a teacher corpus (Parquet or JSONL, one searched position a row) to a stream
    Teacher(TeacherArgs),
    /// Convert self-play games (JSONL, one game a line) to a stream, or append them as they end
    Selfplay(SelfplayArgs),
    /// Read streams to their end and hold every record to the rules
    Check(FilesArgs),
    /// Copy all whole records of a stream whose last one is cut off
    Repair(RepairArgs),
    /// Show the first records of a stream
    Head(HeadArgs),
    /// Count what is in streams: records, plies, outcomes, candidates, visits or scores
    Stats(FilesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Stream to write; it appears whole or not at all
    #[arg(short, long = "output", value_name = "OUT.mpk1")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct TeacherArgs {
    /// Corpus: Parquet, or JSONL (`-` reads JSONL from stdin)
    pub(crate) corpus: PathBuf,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Centipawn value that the corpus folds mates to; 0 where it has no mates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=32767))]
    pub(crate) mate_scale: u16,
    /// How far below the mate scale its mates reach; 0 is not stated, which readers take as 320
    #[arg(long, value_name = "N")]
    pub(crate) mate_slack: u16,
    /// Centipawn scale of the win rate: value_q = tanh(cp / (2 X))
    #[arg(long, value_name = "X")]
    pub(crate) eval_coef: f32,
    /// FV_SCALE that the engine's evaluation was read at; 0 where nobody can say
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) fv_scale: u16,
    /// Leave refused rows out instead of refusing the run
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Form of the corpus [default: by its first bytes]
    #[arg(long, value_enum)]
    pub(crate) format: Option<CorpusFormat>,
    #[command(flatten)]
    pub(crate) columns: Columns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CorpusFormat {
    Parquet,
    Jsonl,
}

/// Names of a corpus's columns.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Column names of the corpus")]
pub(crate) struct Columns {
    /// Position: board, side, hand, move number
    #[arg(long = "column-sfen", value_name = "NAME", default_value = "sfen")]
    pub(crate) sfen: String,
    /// Side to move, b or w
    #[arg(long = "column-side", value_name = "NAME", default_value = "side")]
    pub(crate) side: String,
    /// Ply, 0-based
    #[arg(long = "column-ply", value_name = "NAME", default_value = "ply")]
    pub(crate) ply: String,
    /// Root score in centipawns, for the side to move
    #[arg(long = "column-cp", value_name = "NAME", default_value = "cp")]
    pub(crate) cp: String,
    /// Candidate moves, USI
    #[arg(long = "column-cand", value_name = "NAME", default_value = "cand")]
    pub(crate) cand: String,
    /// Score of each candidate, for the side to move
    #[arg(long = "column-cand-cp", value_name = "NAME", default_value = "cand_cp")]
    pub(crate) cand_cp: String,
    /// Move that the game played
    #[arg(long = "column-move", value_name = "NAME", default_value = "move")]
    pub(crate) played: String,
    /// Outcome: 1 Black won, 0 draw, -1 White won
    #[arg(long = "column-result", value_name = "NAME", default_value = "result")]
    pub(crate) result: String,
}

#[derive(Debug, Args)]
pub(crate) struct SelfplayArgs {
    /// Games: JSONL (`-` reads them from stdin)
    pub(crate) games: PathBuf,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Candidates carry a policy in [0, 1]: write round(policy × SCALE) as its visits
    #[arg(long, value_name = "SCALE")]
    pub(crate) policy_scale: Option<NonZeroU32>,
    /// Append to the stream, game by game, each made durable before the next is read
    #[arg(long)]
    pub(crate) append: bool,
    /// Leave refused games out instead of refusing the run
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// Streams (`-` is stdin)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Stream to copy; it is left as it is
    #[arg(value_name = "IN.mpk1")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HeadArgs {
    /// Stream (`-` is stdin)
    pub(crate) file: PathBuf,
    /// Records to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) records: usize,
}
