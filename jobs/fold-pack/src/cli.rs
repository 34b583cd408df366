//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::process::{ByteSize, Common};
use common::state::store::record::{self, Parameters};
use serde_json::Value;

use crate::fold::range::Range;

/// Fold MPK1 streams into shuffled Parquet shards, one row a position
#[derive(Debug, Parser)]
#[command(name = "fold-pack", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Fold streams into shards on this machine
    Pack(PackArgs),
    /// First half of `pack`, for one of many machines: a stream to a folder of buckets
    Partition(PartitionArgs),
    /// Second half of `pack`, for one of many machines: folders of buckets to the shards of a key range
    Fold(FoldArgs),
    /// Show what shards state and hold: schema, row groups, conventions, some rows
    Inspect(InspectArgs),
    /// Count what is in shards: weights, plies, candidates, mates, and how well rows are shuffled
    Stats(StatsArgs),
    /// Hold a set to its record and every row to the rules
    Verify(VerifyArgs),
    /// Draft the dataset card of a set
    Card(CardArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SeedArgs {
    /// Seed of the row order
    #[arg(long, hide_env_values = true, env = "FOLDLINE_SEED", value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Memory to stay within, from 64MiB; `unlimited` for none
    #[arg(long, hide_env_values = true, env = "FOLDLINE_MEMORY", value_name = "SIZE", default_value = "256MiB", value_parser = memory)]
    pub(crate) memory: ByteSize,
}

#[derive(Debug, Args)]
pub(crate) struct BucketArgs {
    /// Buckets that records are spooled to; the result is the same with any number [default: by size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) buckets: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ShardArgs {
    /// Path of the set, to which `-NNNNN.parquet` and `.set.json` are added
    #[arg(short = 'o', long = "output", value_name = "PREFIX")]
    pub(crate) prefix: PathBuf,
    /// Shards, a power of two [default: the least with 1,000,000 records each at most]
    #[arg(long, value_name = "S", value_parser = shards)]
    pub(crate) shards: Option<u32>,
    /// Temperature of the softmax over scores, in centipawns
    #[arg(long, value_name = "CP", default_value_t = 100.0, value_parser = temperature)]
    pub(crate) temperature: f64,
}

impl ShardArgs {
    /// What the set depends on beside its inputs, and `more`. Its name stands in its record.
    pub(crate) fn parameters<const N: usize>(&self, more: [(&str, Value); N]) -> Parameters {
        let mut parameters = record::parameters(more);
        parameters.extend(record::parameters([
            ("name", self.prefix.file_name().unwrap_or_default().to_string_lossy().into()),
            ("shards", self.shards.into()),
            ("temperature", self.temperature.into()),
        ]));
        parameters
    }
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// Streams (`-` is stdin)
    #[arg(required = true, value_name = "IN.mpk1")]
    pub(crate) streams: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) buckets: BucketArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PartitionArgs {
    /// Stream (`-` is stdin)
    #[arg(value_name = "STREAM.mpk1")]
    pub(crate) stream: PathBuf,
    /// Folder of buckets to make
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) buckets: BucketArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FoldArgs {
    /// Folders that `partition` made
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
    /// Part I of N of the shards, from 0/N; the part that is done last completes the set
    #[arg(long, value_name = "I/N", default_value = "0/1")]
    pub(crate) range: Range,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AssumeArgs {
    /// What the footer of a foreign shard lacks: KEY=VALUE, separated by commas
    #[arg(long, value_name = "PAIRS", value_parser = pairs, default_value = "")]
    pub(crate) assume: Pairs,
}

/// Key-value pairs of `--assume`.
#[derive(Debug, Clone)]
pub(crate) struct Pairs(pub(crate) BTreeMap<String, String>);

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Shards, or sets (`<prefix>.set.json`)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Rows to show of each shard
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    pub(crate) rows: usize,
    #[command(flatten)]
    pub(crate) assume: AssumeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Shards in their order, or sets (`<prefix>.set.json`)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) assume: AssumeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Sets (`<prefix>.set.json`)
    #[arg(required = true, value_name = "SET.json")]
    pub(crate) sets: Vec<PathBuf>,
    /// Check digests and footers only, not the rows
    #[arg(long)]
    pub(crate) shallow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CardArgs {
    /// Set (`<prefix>.set.json`)
    #[arg(value_name = "SET.json")]
    pub(crate) set: PathBuf,
    /// File to write [default: stdout]
    #[arg(short, long = "output", value_name = "README.md")]
    pub(crate) output: Option<PathBuf>,
}

fn memory(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse()?;
    if size.0 < 64 << 20 { Err("64MiB is the least that it works with".into()) } else { Ok(size) }
}

fn shards(text: &str) -> Result<u32, String> {
    let shards = text.parse().ok().filter(|shards: &u32| shards.is_power_of_two() && *shards <= 1 << 16);
    shards.ok_or_else(|| "expected a power of two from 1 to 65536".into())
}

fn temperature(text: &str) -> Result<f64, String> {
    let temperature = text.parse().ok().filter(|t: &f64| t.is_finite() && *t > 0.0);
    temperature.ok_or_else(|| "expected a positive, finite number of centipawns".into())
}

fn pairs(text: &str) -> Result<Pairs, String> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty()).map(|pair| match pair.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!("{pair:?} is no KEY=VALUE")),
    });
    pairs.collect::<Result<_, _>>().map(Pairs)
}
