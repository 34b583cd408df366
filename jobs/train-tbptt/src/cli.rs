//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::process::{ByteSize, Common, Failure};

use crate::config::Config;
use crate::device::Choice;

/// Train the recurrent agent on decision days
#[derive(Debug, Parser)]
#[command(name = "train-tbptt", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start a run
    Train(Box<TrainArgs>),
    /// Go on with a run from its newest whole checkpoint; the result is that of a run that was never stopped
    Resume(ResumeArgs),
    /// Say how well a checkpoint predicts the choices of days
    Eval(EvalArgs),
    /// Show what a checkpoint is
    Inspect(InspectArgs),
    /// Say which libtorch and devices there are, and what to do where something is missing
    Doctor,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Where to compute: auto (MPS, else CUDA, else the CPU), mps, cuda, cpu
    #[arg(
        long,
        hide_env_values = true,
        env = "FOLDLINE_DEVICE",
        value_name = "DEVICE",
        default_value = "auto"
    )]
    pub(crate) device: Choice,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Memory for decoded row groups [default: what this machine has, but for what the rest takes]
    #[arg(long, hide_env_values = true, env = "FOLDLINE_CACHE_MEMORY", value_name = "SIZE")]
    pub(crate) cache_memory: Option<ByteSize>,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Days, each with its manifest beside it
    #[arg(long, required = true, num_args = 1.., value_name = "DATE.parquet")]
    pub(crate) data: Vec<PathBuf>,
    /// Cards, as a table: what the days were built with
    #[arg(long, value_name = "FILE")]
    pub(crate) cards: PathBuf,
    /// Attacks, as a table: what the days were built with
    #[arg(long, value_name = "FILE")]
    pub(crate) attacks: PathBuf,
    /// Folder of the run
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
    /// Checkpoint whose weights to start from
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) init_from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// Flags that override the configuration file; `config.toml` of a run tells the defaults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigArgs {
    /// Configuration, which these flags override
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Seed of the first weights and of the order of lanes
    #[arg(long, hide_env_values = true, env = "FOLDLINE_SEED", value_name = "N")]
    seed: Option<u64>,
    /// Times that every lane is seen
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Updates after which training ends
    #[arg(long, value_name = "N")]
    max_updates: Option<u64>,
    /// Floats of a token
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Attention heads
    #[arg(long, value_name = "N")]
    heads: Option<usize>,
    /// Encoder layers
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Let each decision read the initial registers, to see what memory is worth
    #[arg(long)]
    no_memory: bool,
    /// Rows of a micro-batch
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Decisions that gradients reach back over
    #[arg(long, value_name = "K")]
    chunk: Option<usize>,
    /// Micro-batches of an update
    #[arg(long, value_name = "N")]
    accumulate: Option<usize>,
    /// Greatest learning rate
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f64>,
    /// Updates of warm-up
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,
    /// Share of the episodes that are held out
    #[arg(long, value_name = "SHARE")]
    validation_share: Option<f64>,
    /// Updates between validations; 0 for one an epoch
    #[arg(long, value_name = "N")]
    validate_every: Option<u64>,
    /// Validations without a better one after which training ends
    #[arg(long, value_name = "N")]
    patience: Option<u32>,
    /// Updates between checkpoints
    #[arg(long, value_name = "N")]
    checkpoint_every: Option<u64>,
    /// Checkpoints that are kept, beside the best
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Updates between two reports
    #[arg(long, value_name = "N")]
    log_every: Option<u64>,
}

impl ConfigArgs {
    /// Defaults, then the file, then flags.
    pub(crate) fn effective(&self) -> Result<Config, Failure> {
        let mut config = self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let Config { model, train, validation, .. } = &mut config;
        set(&mut model.width, self.width);
        set(&mut model.heads, self.heads);
        set(&mut model.layers, self.layers);
        model.memory &= !self.no_memory;
        set(&mut train.seed, self.seed);
        set(&mut train.epochs, self.epochs);
        set(&mut train.max_updates, self.max_updates);
        set(&mut train.rows, self.rows);
        set(&mut train.chunk, self.chunk);
        set(&mut train.accumulate, self.accumulate);
        set(&mut train.learning_rate, self.learning_rate);
        set(&mut train.warmup, self.warmup);
        set(&mut train.checkpoint_every, self.checkpoint_every);
        set(&mut train.keep, self.keep);
        set(&mut train.log_every, self.log_every);
        set(&mut validation.share, self.validation_share);
        set(&mut validation.every, self.validate_every);
        set(&mut validation.patience, self.patience);
        config.check()?;
        Ok(config)
    }
}

fn set<T: Copy>(value: &mut T, flag: Option<T>) {
    *value = flag.unwrap_or(*value);
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where the days are now, in the order of the run [default: where they were]
    #[arg(long, num_args = 1.., value_name = "DATE.parquet")]
    pub(crate) data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Checkpoint, or a run's folder, whose best one is taken
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// Days, of which all lanes are looked at [default: the held-out lanes of the run's own]
    #[arg(long, num_args = 1.., value_name = "DATE.parquet")]
    pub(crate) data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Checkpoint, or a run's folder, whose newest one is taken
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
}
