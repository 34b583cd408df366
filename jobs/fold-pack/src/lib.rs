//! MPK1 streams to folded Parquet shards: duplicates become one row each, rows leave shuffled.
//!
//! Rows are ordered by a keyed pseudo-random function of their position ([`order`]), so that one external pass is
//! enough: [`partition`] puts records into buckets of that order, which brings duplicates together *and* is already
//! the shuffle; [`fold`] takes key ranges from the buckets, folds, and writes. The result depends on the records, the
//! seed and the temperature alone, not on the order of streams, threads, memory, buckets or machines.

mod cli;
mod conventions;
pub mod fold;
pub mod order;
pub mod partition;
pub mod shuffle;
pub mod spool;
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
        Verb::Pack(args) => verbs::pack::run(common, args),
        Verb::Partition(args) => verbs::partition::run(common, args),
        Verb::Fold(args) => verbs::fold::run(common, args),
        Verb::Inspect(args) => verbs::inspect::run(common, args),
        Verb::Stats(args) => verbs::stats::run(common, args),
        Verb::Verify(args) => verbs::verify::run(common, args),
        Verb::Card(args) => verbs::card::run(common, args),
    }
}
