//! Archives of replays to decision days: a Parquet file a day, one row a choice of one side, and a manifest.
//!
//! A member of an archive goes its way on any thread: its text ([`archive`]), its decisions and answers ([`game`]), its
//! rows ([`encode`]). Members then come together in the archive's order ([`build`]), which tells duplicates, fills row
//! groups and writes. Nothing is kept of an episode but its rows.

mod archive;
mod build;
mod cards;
mod cli;
mod effects;
mod elo;
mod encode;
pub mod engine;
mod engine_report;
mod examine;
mod game;
mod replay;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use common::process::{self, Failure};

use cli::{Cli, Verb};

/// Runs the job with the arguments of a command line, the program's name first.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    process::main(args, env!("FOLDLINE_BUILD"), |cli: &mut Cli| &mut cli.common, run)
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.verb {
        Verb::Scan(args) => verbs::scan::run(common, args),
        Verb::Build(args) => verbs::build::run(common, args),
        Verb::Inspect(args) => verbs::inspect::run(common, args),
        Verb::Verify(args) => verbs::verify::run(common, args),
        Verb::Engine(args) => engine_report::run(common, args),
        Verb::EngineWorker(args) => engine::worker::run(args),
    }
}
