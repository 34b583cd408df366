//! Bounds on what is kept on disk: `store`, `purge`, `list`; and what a workflow asks of a store: `receipts`, `digest`.

mod cli;
mod digest;
mod list;
mod purge;
mod receipts;
mod store;

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
        Verb::Store(args) => store::run(common, args),
        Verb::Purge(args) => purge::run(common, args),
        Verb::List(args) => match &args.root {
            Some(root) => purge::list(common, root),
            None => list::run(common),
        },
        Verb::Receipts(args) => receipts::run(common, args),
        Verb::Digest(args) => digest::run(common, args),
    }
}
