//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use common::process::{ByteSize, Common, SelectionArgs};
use common::state::cache::ColumnSet;

/// Decode row groups once, before training, for all runs to share
#[derive(Debug, Parser)]
#[command(name = "cache-warm", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Write the spill files of all row groups that are not there yet
    Warm(WarmArgs),
    /// Say what would be decoded, how large it is, and what fits into which tier
    Plan(PlanArgs),
    /// Show what a warm set holds
    Show(ShowArgs),
}

/// Which datasets, and which of their columns.
#[derive(Debug, Args)]
pub(crate) struct SelectArgs {
    /// Decision days (DATE.parquet) or folded sets (PREFIX.set.json)
    #[arg(required_unless_present = "days", value_name = "DATASET")]
    pub(crate) datasets: Vec<PathBuf>,
    /// Catalog to select days from, a SQLite file
    #[arg(
        long,
        hide_env_values = true,
        env = "FOLDLINE_CATALOG",
        value_name = "FILE",
        required_unless_present = "datasets"
    )]
    pub(crate) catalog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Columns of decision days
    #[arg(long, value_enum, default_value_t = Projection::Train)]
    pub(crate) projection: Projection,
}

/// Columns of decision days.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Projection {
    /// What a training step reads
    Train,
    /// What a validation reads
    Val,
    /// Every column
    All,
}

impl From<Projection> for ColumnSet {
    fn from(projection: Projection) -> Self {
        match projection {
            Projection::Train => Self::Train,
            Projection::Val => Self::Val,
            Projection::All => Self::All,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct WarmArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Folder of the warm set
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Bytes that the set may take, such as 50GB; what is left out makes exit code 9
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<ByteSize>,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Memory to plan for [default: what this machine and its cgroups allow]
    #[arg(long, value_name = "SIZE")]
    pub(crate) limit: Option<ByteSize>,
    /// Bytes of the limit that the rest of a run takes
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub(crate) reserve: ByteSize,
    /// Decode every row group, instead of estimating from the largest of each dataset
    #[arg(long)]
    pub(crate) exact: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Folder of the warm set
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Read every file and look at its sums
    #[arg(long)]
    pub(crate) deep: bool,
}
