//! Warm sets: row groups decoded once, before training, and mapped by all runs.

mod cli;
mod datasets;
mod plan;
mod show;
mod warm;

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
        Verb::Warm(args) => warm::run(common, args),
        Verb::Plan(args) => plan::run(common, args),
        Verb::Show(args) => show::run(common, args),
    }
}
