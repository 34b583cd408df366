//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use common::process::{ByteSize, Common};

/// Keep disks from filling: bound the store of results, and remove what dead runs left
#[derive(Debug, Parser)]
#[command(name = "spill-purge", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Purge a store: what is broken or nobody's, then results until the bounds hold
    Store(StoreArgs),
    /// Remove what dead runs left in a spill folder. A running job's files stay, and so does what no job of ours wrote
    Purge(PurgeArgs),
    /// List the runs that have spilled into a folder; without one, what a store holds, the least lately used first
    List(ListArgs),
    /// Remove receipts whose data is gone or damaged, so that a workflow makes it again
    Receipts(ReceiptsArgs),
    /// Print digests of files, from the store's memo where they are as they were
    Digest(DigestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Bytes that all results may take, such as 50GB. Streams are never purged, nor what a running job holds, nor a dataset
    /// whose sources are gone
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<ByteSize>,
    /// Purge what was last used longer ago than this, such as 30d or 12h
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(crate) older_than: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    /// Folder that runs spill into
    #[arg(value_name = "ROOT")]
    pub(crate) root: PathBuf,
    /// Leave what a run began later than this, such as 2d or 12h
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(crate) older_than: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Folder that runs spill into
    #[arg(value_name = "ROOT")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiptsArgs {
    /// Folders to look through, with all that is below
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// Files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
