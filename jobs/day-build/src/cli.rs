//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
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
    /// Tell whether the game's engine can be used here
    Engine(EngineArgs),
    /// Look ahead for a build that asks through a pipe
    #[command(hide = true)]
    EngineWorker(WorkerArgs),
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
