//! Producers' output to MPK1, and care for the streams: `teacher`, `selfplay`, `check`, `repair`, `head`, `stats`.

mod batch;
mod check;
mod cli;
mod head;
mod input;
mod lines;
mod refusal;
mod repair;
mod selfplay;
mod stats;
mod target;
mod teacher;

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
        Verb::Teacher(args) => teacher::run(common, args),
        Verb::Selfplay(args) => selfplay::run(common, args),
        Verb::Check(args) => check::run(common, args),
        Verb::Repair(args) => repair::run(common, args),
        Verb::Head(args) => head::run(common, args),
        Verb::Stats(args) => stats::run(common, args),
    }
}
