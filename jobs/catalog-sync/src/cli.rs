//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::process::Common;

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
    /// Record the sets below folders; check what is new or changed, mark what has gone
    Sync(SyncArgs),
    /// List the sets of a catalog
    List(CatalogArgs),
    /// Show a set with its shards
    Show(ShowArgs),
    /// Hold the files to the catalog
    Verify(VerifyArgs),
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
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Set, by its path or the end of it
    pub(crate) set: String,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// Read every file, instead of comparing sizes, times and inodes
    #[arg(long)]
    pub(crate) deep: bool,
}
