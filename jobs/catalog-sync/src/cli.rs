//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::formats::decisions::Date;
use common::process::{Common, SelectionArgs};

/// Keep a catalog of datasets: what is there, whole, and where
#[derive(Debug, Parser)]
#[command(name = "catalog-sync", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Record the sets and days below folders; check what is new or changed, mark what has gone
    Sync(SyncArgs),
    /// List the sets and days of a catalog, or select rows of days
    List(ListArgs),
    /// Show a set with its shards, or a day with its members
    Show(ShowArgs),
    /// Hold the files to the catalog
    Verify(VerifyArgs),
    /// Rate agents, decks and cards by the games before a day
    Elo(EloArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// Catalog, a SQLite file
    #[arg(long, hide_env_values = true, env = "FOLDLINE_CATALOG", value_name = "FILE")]
    pub(crate) catalog: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Folders to look through, with all that is below
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// Check every file again, even where size, times and inode are as recorded
    #[arg(long)]
    pub(crate) deep: bool,
    /// Record a day from where it is found, also where another file is its dataset
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Set or day, by its path or the end of it; a day also by its date
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EloArgs {
    /// Folder of DATE.scan.json, as `day-build scan` writes them
    #[arg(long, value_name = "DIR")]
    pub(crate) scans: PathBuf,
    /// Day that the ratings are for: games of earlier days count
    #[arg(long, value_name = "DATE")]
    pub(crate) before: Date,
    /// Snapshot to write, as `day-build build --elo` reads it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// Read every file, instead of comparing sizes, times and inodes
    #[arg(long)]
    pub(crate) deep: bool,
}
