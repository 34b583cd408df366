//! Arguments, output and the frame of `main`.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Parser};
use serde::Serialize;
use tracing::level_filters::LevelFilter;

use super::failure::{Exit, Failure};
use super::progress::Progress;
use super::stop;

/// Options of every job.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every job")]
pub struct Common {
    /// Print one JSON document instead of a table
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    pub json: bool,
    /// Show no progress and no warnings
    #[arg(short, long, global = true, hide_env_values = true, env = "FOLDLINE_QUIET", value_parser = clap::builder::FalseyValueParser::new())]
    pub quiet: bool,
    /// Log more; twice for everything
    #[arg(short, long, global = true, hide_env_values = true, env = "FOLDLINE_VERBOSE", action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Say what would be done, and do nothing
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_DRY_RUN", value_parser = clap::builder::FalseyValueParser::new())]
    pub dry_run: bool,
    /// Replace an output of other content that is already there
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_FORCE", value_parser = clap::builder::FalseyValueParser::new())]
    pub force: bool,
    /// Threads that work [default: the cores of this machine]
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Common {
    /// Threads that work.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, Into::into);
        self.threads.map_or_else(cores, usize::from)
    }

    /// A progress line, unless it was not wanted.
    pub fn progress(&self, what: &'static str, unit: &'static str, total: Option<u64>) -> Progress {
        if self.quiet { Progress::hidden() } else { Progress::new(what, unit, total) }
    }

    /// A line for people, unless they want none.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    fn start_log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (_, 0) => LevelFilter::WARN,
            (_, 1) => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_target(false).without_time();
        // a test runs several jobs in one process, where the first log serves all
        let _ = log.with_writer(io::stderr).with_ansi(false).try_init();
    }
}

/// What a job prints on stdout: a table for people, a document for programs.
pub trait Report: Serialize + Display {}

impl<T: Serialize + Display> Report for T {}

/// Serializes a path as text, whatever its bytes; for `serialize_with`.
pub fn path_text<S: serde::Serializer>(path: &std::path::Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Prints a report in the form that was asked for.
pub fn emit(common: &Common, report: &impl Report) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = if common.json {
        serde_json::to_string_pretty(report).map_err(|error| Failure::new(Exit::Unexpected, error))?
    } else {
        report.to_string()
    };
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// Parses arguments, runs the job, and turns its end into an exit code.
pub fn main<C: Parser>(
    args: impl IntoIterator<Item = std::ffi::OsString>,
    common: impl Fn(&C) -> &Common,
    run: impl FnOnce(&C) -> Result<(), Failure>,
) -> ExitCode {
    let cli = match C::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    common(&cli).start_log();
    stop::watch();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = write!(io::stderr(), "{failure}");
            ExitCode::from(failure.exit() as u8)
        }
    }
}
