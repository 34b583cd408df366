//! Trains the recurrent agent on decision days, by truncated backpropagation through time.
//!
//! Days are read as lanes ([`data`]): the decisions of one side in one round. A [`plan`] says which decisions make up
//! which update, a loader puts them together ([`window`], [`batch`]) while the [`trainer`] runs the [`model`] on those
//! before. Between chunks of a lane its memory is carried on; everything else of a run's state is in its
//! [`checkpoint`], so that a run that was killed ends as one that was not. libtorch is used here alone.

mod baseline;
mod batch;
mod cards;
mod checkpoint;
mod cli;
mod config;
mod data;
mod device;
mod loss;
mod model;
mod optimize;
mod plan;
mod random;
mod report;
#[cfg(test)]
mod rules;
mod run;
mod schema;
mod session;
#[cfg(test)]
mod testing;
mod trainer;
#[cfg(test)]
mod twin;
mod validate;
mod verbs;
mod window;

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
        Verb::Train(args) => verbs::train::train(common, args),
        Verb::Resume(args) => verbs::train::resume(common, args),
        Verb::Eval(args) => verbs::eval::eval(common, args),
        Verb::Inspect(args) => verbs::inspect::inspect(common, args),
        Verb::Doctor => verbs::doctor::doctor(common),
    }
}
