//! Builds decision days from archives of replays. `engine`.

mod cli;
pub mod engine;
mod engine_report;

use std::ffi::OsString;
use std::process::ExitCode;

use common::process::{self, Failure};

use cli::{Cli, Verb};

/// Runs the job with the arguments of a command line, the program's name first.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    process::main(args, |cli: &Cli| &cli.common, run)
}

fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.verb {
        Verb::Engine(args) => engine_report::run(&cli.common, args),
        Verb::EngineWorker(args) => engine::worker::run(args),
    }
}
