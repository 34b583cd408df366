//! A run's folder:
//!
//! | | |
//! |---|---|
//! | `config.toml` | the effective configuration |
//! | `checkpoints/` | [`checkpoint`](crate::checkpoint) |
//! | `metrics.jsonl` | a line an update and a line a validation; of lines about one step the last counts. Who holds its lock works on the run |
//! | `events.out.tfevents.foldline` | the same for TensorBoard |
//! | `metrics.json`, `report.html` | how the run ended: numbers, and plots |

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use common::formats::events::Events;
use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::lock::open_to_append;
use common::state::output::write_whole;
use serde::Serialize;

use crate::config::Config;

/// A run that this process works on.
#[derive(Debug)]
pub(crate) struct Run {
    folder: PathBuf,
    lines: File,
    events: Events<File>,
}

impl Run {
    /// Makes the folder, or goes on in it. Another process that works on it is exit 6.
    pub(crate) fn open(folder: &Path) -> Result<Self, Failure> {
        fs_err::create_dir_all(checkpoints(folder))?;
        let path = folder.join("metrics.jsonl");
        let mut lines = open_to_append(&path).in_file(&path)?;
        std::io::Seek::seek(&mut lines, std::io::SeekFrom::End(0)).in_file(&path)?;
        let path = folder.join("events.out.tfevents.foldline");
        let mut options = File::options();
        let file = options.append(true).create(true).open(&path).in_file(&path)?;
        let is_new = file.metadata().in_file(&path)?.len() == 0;
        let events = if is_new { Events::start(file, now()).in_file(&path)? } else { Events::resume(file) };
        Ok(Self { folder: folder.into(), lines, events })
    }

    /// Saves the effective configuration.
    pub(crate) fn save(&self, config: &Config) -> Result<(), Failure> {
        Ok(write_whole(&self.folder.join("config.toml"), config.text()?.as_bytes())?)
    }

    /// Adds lines to the metrics, whole or not at all as far as a killed process is concerned.
    pub(crate) fn lines(&mut self, lines: &[impl Serialize]) -> Result<(), Failure> {
        let mut text = vec![];
        for line in lines {
            serde_json::to_writer(&mut text, line).map_err(|error| Failure::new(Exit::Unexpected, error))?;
            text.push(b'\n');
        }
        Ok(self.lines.write_all(&text)?)
    }

    /// Adds values of a step for TensorBoard.
    pub(crate) fn scalars<'a>(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (&'a str, f32)>,
    ) -> Result<(), Failure> {
        Ok(self.events.scalars(now(), step, values)?)
    }

    /// Where checkpoints are.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        checkpoints(&self.folder)
    }

    /// Says how the run ended.
    pub(crate) fn finish(&self, summary: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_vec_pretty(summary).map_err(|error| Failure::new(Exit::Unexpected, error))?;
        Ok(write_whole(&self.folder.join("metrics.json"), &text)?)
    }
}

/// Where the checkpoints of a run are.
pub(crate) fn checkpoints(folder: &Path) -> PathBuf {
    folder.join("checkpoints")
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
