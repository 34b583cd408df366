//! Arguments, output and the frame of `main`.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser};
use serde::Serialize;
use tracing::level_filters::LevelFilter;

use super::failure::{Exit, Failure};
use super::progress::Progress;
use super::{receipt, stop};

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
    /// Store of results: what it holds is not computed again, and outputs become links into it
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_STORE", value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Write a record of what was done: inputs, outputs with digests, times, computed or found in the store
    #[arg(long, global = true, hide_env_values = true, env = "FOLDLINE_RECEIPT", value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// This run.
    #[arg(skip)]
    pub run: Run,
}

/// One run of a job.
#[derive(Debug, Clone)]
pub struct Run {
    /// Job and verb.
    pub job: String,
    /// Digest of what the job is built from.
    pub build: &'static str,
    /// When it started.
    pub started: Instant,
}

impl Default for Run {
    fn default() -> Self {
        Self { job: String::new(), build: "", started: Instant::now() }
    }
}

impl Common {
    /// Threads that work.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, Into::into);
        self.threads.map_or_else(cores, usize::from)
    }

    /// The store that was named, or the user's own.
    pub fn store_or_default(&self) -> Result<PathBuf, Failure> {
        let own = || {
            let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
            let home = std::env::var_os("HOME").filter(|path| !path.is_empty());
            cache.or_else(|| Some(PathBuf::from(home?).join(".cache")))
        };
        self.store.clone().or_else(|| Some(own()?.join("foldline/store"))).ok_or_else(|| {
            Failure::usage("no store is named").hint("`--store DIR` names one, or HOME is to be set")
        })
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

/// Prints a report in the form that was asked for, and writes the receipt where one is wanted.
pub fn emit(common: &Common, report: &impl Report) -> Result<(), Failure> {
    receipt::write(common, report, None)?;
    print(common, report)
}

/// Prints the report of a verb that looks at everything before it fails.
pub fn conclude(common: &Common, report: &impl Report, failure: Option<Failure>) -> Result<(), Failure> {
    let Some(failure) = failure else { return emit(common, report) };
    print(common, report)?;
    Err(failure)
}

/// Prints a report in the form that was asked for.
pub(super) fn print(common: &Common, report: &impl Report) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = if common.json {
        serde_json::to_string_pretty(report).map_err(|error| Failure::new(Exit::Unexpected, error))?
    } else {
        report.to_string()
    };
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// Parses arguments, runs the job, and turns its end into an exit code. `build` is what the job's build script says.
pub fn main<C: Parser>(
    args: impl IntoIterator<Item = std::ffi::OsString>,
    build: &'static str,
    common: impl Fn(&mut C) -> &mut Common,
    run: impl FnOnce(&C) -> Result<(), Failure>,
) -> ExitCode {
    let started = Instant::now();
    let mut command = C::command();
    let parsed = command.try_get_matches_from_mut(args).and_then(|matches| {
        let words = [Some(command.get_name()), matches.subcommand_name()];
        let job = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let mut cli = C::from_arg_matches(&matches)?;
        let common = common(&mut cli);
        common.run = Run { job, build, started };
        common.start_log();
        Ok(cli)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
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
