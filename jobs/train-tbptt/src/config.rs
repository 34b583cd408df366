//! Configuration: defaults, then a file, then flags. The effective one is saved in the run as `config.toml`, which is
//! also the form of the file.

use std::path::Path;

use common::process::failure::InFile;
use common::process::{Exit, Failure};
use serde::{Deserialize, Serialize};

/// Everything that decides on a run beside its data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The model.
    pub(crate) model: Architecture,
    /// What is optimised.
    pub(crate) loss: Weights,
    /// How it is optimised.
    pub(crate) train: Train,
    /// What is held out, and when it is looked at.
    pub(crate) validation: Validation,
}

/// Dimensions of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Architecture {
    /// Floats of a token; the feed-forward layers have four times as many.
    pub(crate) width: usize,
    /// Attention heads, which divide the width.
    pub(crate) heads: usize,
    /// Encoder layers.
    pub(crate) layers: usize,
    /// Whether decisions read what those before wrote; without, each reads the initial registers.
    pub(crate) memory: bool,
}

impl Default for Architecture {
    fn default() -> Self {
        Self { width: 128, heads: 4, layers: 3, memory: true }
    }
}

/// Weights of the losses beside the policy's, whose weight is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Weights {
    /// Value.
    pub(crate) value: f64,
    /// Whether a prize is taken by the end of the turn.
    pub(crate) ko: f64,
    /// Prizes to the end of the turn.
    pub(crate) prize_delta: f64,
    /// Whether it is the last decision.
    pub(crate) terminal: f64,
    /// Return to the end of the round.
    pub(crate) returns: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { value: 0.5, ko: 0.1, prize_delta: 0.1, terminal: 0.1, returns: 0.1 }
    }
}

/// Optimiser, schedule, and the order of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Train {
    /// Seed of the first weights and of the order of lanes.
    pub(crate) seed: u64,
    /// Times that every lane is seen.
    pub(crate) epochs: u32,
    /// Updates after which training ends; 0 for no such limit.
    pub(crate) max_updates: u64,
    /// Rows of a micro-batch.
    pub(crate) rows: usize,
    /// Decisions of a lane that gradients reach back over.
    pub(crate) chunk: usize,
    /// Micro-batches of an update.
    pub(crate) accumulate: usize,
    /// Greatest learning rate.
    pub(crate) learning_rate: f64,
    /// Learning rate at the end, as a share of the greatest.
    pub(crate) final_share: f64,
    /// Updates of warm-up; a fifth of all at most.
    pub(crate) warmup: u64,
    /// Weight decay of AdamW.
    pub(crate) weight_decay: f64,
    /// Greatest norm of a gradient.
    pub(crate) clip: f64,
    /// Whether columns and options that every row pads are left out; the result is the same.
    pub(crate) compact: bool,
    /// Updates between checkpoints.
    pub(crate) checkpoint_every: u64,
    /// Checkpoints that are kept, beside the best.
    pub(crate) keep: usize,
    /// Updates between two reports.
    pub(crate) log_every: u64,
}

impl Default for Train {
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 1,
            max_updates: 0,
            rows: 256,
            chunk: 16,
            accumulate: 1,
            learning_rate: 5e-4,
            final_share: 0.1,
            warmup: 1500,
            weight_decay: 0.01,
            clip: 1.0,
            compact: true,
            checkpoint_every: 500,
            keep: 3,
            log_every: 20,
        }
    }
}

/// Validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Validation {
    /// Share of the episodes that are held out; at least one is, and one is not.
    pub(crate) share: f64,
    /// Updates between validations; 0 for one at the end of each epoch.
    pub(crate) every: u64,
    /// Validations without a better one after which training ends; 0 for never.
    pub(crate) patience: u32,
}

impl Default for Validation {
    fn default() -> Self {
        Self { share: 0.1, every: 0, patience: 0 }
    }
}

impl Config {
    /// Reads a file. A key that is not known, or a value out of its range, is refused by its name (exit 2).
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs_err::read_to_string(path).in_file(path)?;
        let config: Self = toml::from_str(&text)
            .map_err(|error| Failure::usage(error.message()).at(place(path, &text, error.span())))?;
        config.check().map_err(|failure| failure.in_file(path))?;
        Ok(config)
    }

    /// As text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        toml::to_string(self).map_err(|error| Failure::new(Exit::Unexpected, error))
    }

    /// Holds every value to its range.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self { model, loss, train, validation } = self;
        let least = |name: &str, value: usize, least: usize| {
            if value >= least { Ok(()) } else { Err(refuse(name, value, format!("{least} or more"))) }
        };
        let within = |name: &str, value: f64, from: f64, to: f64| {
            let fine = (from..=to).contains(&value);
            if fine { Ok(()) } else { Err(refuse(name, value, format!("from {from} to {to}"))) }
        };
        least("model.width", model.width, 1)?;
        least("model.heads", model.heads, 1)?;
        least("model.layers", model.layers, 1)?;
        if !model.width.is_multiple_of(model.heads) {
            return Err(refuse(
                "model.heads",
                model.heads,
                format!("a divisor of the width, {}", model.width),
            ));
        }
        let weights = [
            ("loss.value", loss.value),
            ("loss.ko", loss.ko),
            ("loss.prize_delta", loss.prize_delta),
            ("loss.terminal", loss.terminal),
            ("loss.returns", loss.returns),
        ];
        for (name, weight) in weights {
            within(name, weight, 0.0, 1e6)?;
        }
        least("train.epochs", train.epochs as usize, 1)?;
        least("train.rows", train.rows, 1)?;
        least("train.chunk", train.chunk, 1)?;
        least("train.accumulate", train.accumulate, 1)?;
        least("train.keep", train.keep, 1)?;
        least("train.log_every", train.log_every as usize, 1)?;
        least("train.checkpoint_every", train.checkpoint_every as usize, 1)?;
        within("train.learning_rate", train.learning_rate, 0.0, 10.0)?;
        within("train.final_share", train.final_share, 0.0, 1.0)?;
        within("train.weight_decay", train.weight_decay, 0.0, 1.0)?;
        within("train.clip", train.clip, 1e-9, 1e9)?;
        within("validation.share", validation.share, 0.0, 1.0)
    }
}

fn refuse(name: &str, found: impl std::fmt::Display, expected: String) -> Failure {
    Failure::usage(format!("{name} is out of its range")).found(found, expected)
}

/// File and line of an error.
fn place(path: &Path, text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let line = span.and_then(|span| text.get(..span.start)).map(|before| before.lines().count().max(1));
    line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(file.path(), text).unwrap();
        Config::read(file.path())
    }

    #[test]
    fn a_file_changes_what_it_names() {
        let config = read("[train]\nepochs = 3\n[model]\nwidth = 32\n").unwrap();
        assert_eq!((config.train.epochs, config.model.width, config.model.heads), (3, 32, 4));
        assert_eq!(config.validation, Validation::default());
        assert_eq!(read(&config.text().unwrap()).unwrap(), config);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_name() {
        for (text, says) in [
            ("[train]\nepoch = 3\n", "epoch"),
            ("[model]\nheads = 3\n", "model.heads"),
            ("[train]\nlearning_rate = nan\n", "train.learning_rate"),
            ("[validation]\nshare = 1.5\n", "validation.share"),
            ("[train]\nrows = 0\n", "train.rows"),
        ] {
            let failure = read(text).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains(says), "{failure}");
        }
    }
}
