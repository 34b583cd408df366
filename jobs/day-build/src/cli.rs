//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use common::formats::decisions::Date;
use common::process::Common;

/// Build decision days from archives of replays
#[derive(Debug, Parser)]
#[command(name = "day-build", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Extract results, names and decks of archives, which ratings are made from
    Scan(ScanArgs),
    /// Build the day of each archive
    Build(BuildArgs),
    /// Show what a day states and holds: schema, row groups, counts, one decision
    Inspect(InspectArgs),
    /// Hold days to their manifests and every row to the rules
    Verify(VerifyArgs),
    /// Tell whether the game's engine can be used here
    Engine(EngineArgs),
    /// Look ahead for a build that asks through a pipe
    #[command(hide = true)]
    EngineWorker(WorkerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Archives, each named after its day: 2026-07-28.zip
    #[arg(required = true, value_name = "ZIP")]
    pub(crate) archives: Vec<PathBuf>,
    /// Folder for DATE.scan.json
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// Cards, as a table
    #[arg(long, value_name = "FILE")]
    pub(crate) cards: PathBuf,
    /// Attacks, as a table
    #[arg(long, value_name = "FILE")]
    pub(crate) attacks: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Archives, each named after its day: 2026-07-28.zip
    #[arg(required = true, value_name = "ZIP")]
    pub(crate) archives: Vec<PathBuf>,
    /// Folder for DATE.parquet and DATE.manifest.json
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// Ratings from before the days, as `catalog-sync elo` writes them [default: every bucket is unknown]
    #[arg(long, value_name = "FILE")]
    pub(crate) elo: Option<PathBuf>,
    /// What rules text says, as a table [default: effects are 0]
    #[arg(long, value_name = "FILE")]
    pub(crate) effects: Option<PathBuf>,
    /// Episodes of a row group, which also closes at 35,000 rows
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) flush: u32,
    /// Leave out the rows of players that are not ours
    #[arg(long)]
    pub(crate) self_only: bool,
    /// Name of a player that is ours; may be given again
    #[arg(long = "self-alias", value_name = "NAME")]
    pub(crate) self_aliases: Vec<String>,
    /// Build drawn episodes too
    #[arg(long)]
    pub(crate) keep_draws: bool,
    /// What an episode may take, after which it is left out
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) ep_timeout: Duration,
    /// First day of the competition, which the position of a day is counted from
    #[arg(long, value_name = "DATE")]
    pub(crate) competition_start: Option<Date>,
    #[command(flatten)]
    pub(crate) look_ahead: LookAheadArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Look-ahead")]
pub(crate) struct LookAheadArgs {
    /// What attacks would come to, from the game's engine: three features of an option, 0 without
    #[arg(long)]
    pub(crate) would_ko: bool,
    /// Ways in which hidden cards may lie that are tried
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) wk_nvar: u32,
    /// Wheel of kaggle-environments, or the folder it is installed in
    #[arg(long, hide_env_values = true, env = "FOLDLINE_ENGINE", value_name = "PATH")]
    pub(crate) engine: Option<PathBuf>,
    /// Load libraries that are not those of kaggle-environments 1.33.2
    #[arg(long)]
    pub(crate) any_engine: bool,
    /// End the build where the engine does not work, instead of going on without look-ahead
    #[arg(long, requires = "would_ko")]
    pub(crate) require_engine: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Day: its Parquet file or its manifest
    #[arg(value_name = "DAY")]
    pub(crate) day: PathBuf,
    /// Row whose decision is shown, from 0
    #[arg(short = 'r', long, value_name = "N", default_value_t = 0)]
    pub(crate) row: u64,
    /// Cards, as a table: names instead of numbers
    #[arg(long, value_name = "FILE", requires = "attacks")]
    pub(crate) cards: Option<PathBuf>,
    /// Attacks, as a table
    #[arg(long, value_name = "FILE", requires = "cards")]
    pub(crate) attacks: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Days: their Parquet files or their manifests
    #[arg(required = true, value_name = "DAY")]
    pub(crate) days: Vec<PathBuf>,
    /// Check digests and footers only, not the rows
    #[arg(long)]
    pub(crate) shallow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    /// Wheel of kaggle-environments, or the folder it is installed in
    #[arg(hide_env_values = true, env = "FOLDLINE_ENGINE", value_name = "PATH")]
    pub(crate) engine: PathBuf,
    /// Load libraries that are not those of kaggle-environments 1.33.2
    #[arg(long)]
    pub(crate) any_engine: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Library, or the wheel that holds it
    #[arg(long, value_name = "FILE")]
    pub(crate) library: PathBuf,
    /// Its name in the wheel
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Its digest
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: String,
}
