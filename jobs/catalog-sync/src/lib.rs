//! A SQLite catalog of datasets: what is there, whole, and where. `sync`, `list`, `show`, `verify`, `elo`.

mod cli;
mod discover;
mod elo;
mod list;
mod look;
mod select;
mod show;
mod sync;
mod verify;

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
        Verb::Sync(args) => sync::run(common, args),
        Verb::List(args) => list::run(common, args),
        Verb::Show(args) => show::run(common, args),
        Verb::Verify(args) => verify::run(common, args),
        Verb::Elo(args) => elo::run(common, args),
    }
}
