//! Receipts: what a job did, for workflows. Fields: `docs/formats/receipt.md`.
//!
//! A receipt is small however large the data is, so that an engine may go by its content, and it is written last.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cli::{Common, Report};
use super::failure::{Exit, Failure, InFile};
use crate::state::digest::Digest;
use crate::state::output::write_whole;
use crate::state::store::record::{Cost, Input, Parameters, Record};

/// What a receipt says it is.
pub const FORMAT: &str = "foldline receipt";
/// Revision of receipts.
pub const VERSION: u32 = 1;

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Job and verb.
    pub job: String,
    /// What the job was built from.
    pub build: String,
    /// Key of the action; none where nothing was stored, or several actions were done.
    pub key: Option<Digest>,
    /// Whether the results lie in the store.
    pub stored: bool,
    /// Whether they were found there, instead of computed by this run.
    pub cached: bool,
    /// Parameters that the results depend on.
    pub parameters: Parameters,
    /// What was read.
    pub inputs: Vec<Input>,
    /// What is in place now.
    pub outputs: Vec<Output>,
    /// What computing it cost, whenever that was.
    pub cost: Option<Cost>,
    /// Seconds that this run took.
    pub took_s: f64,
    /// What the job printed with `--json`.
    pub report: Value,
}

/// A file that is in place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Where, as it was named on the command line.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// Its content.
    pub sha256: Digest,
}

impl Output {
    pub(super) fn new(path: &Path, bytes: u64, sha256: &Digest) -> Self {
        Self { path: path.to_string_lossy().into_owned(), bytes, sha256: sha256.clone() }
    }
}

/// An action that was done.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) key: Option<Digest>,
    pub(super) stored: bool,
    pub(super) cached: bool,
    pub(super) parameters: Parameters,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    pub(super) cost: Option<Cost>,
}

impl Receipt {
    /// Reads a file that may be a receipt.
    pub fn read(path: &Path) -> Option<Self> {
        let receipt: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (receipt.format == FORMAT && receipt.version == VERSION).then_some(receipt)
    }
}

impl Done {
    /// One whose results lie in the store.
    pub(super) fn stored(record: &Record, cached: bool) -> Self {
        Self {
            key: Some(record.key.clone()),
            stored: true,
            cached,
            parameters: record.parameters.clone(),
            inputs: record.inputs.clone(),
            outputs: vec![],
            cost: Some(record.cost),
        }
    }

    /// Several actions of one run as one, which has no key.
    pub(super) fn join<'a>(all: impl ExactSizeIterator<Item = &'a Self> + Clone) -> Self {
        let costs = || all.clone().filter_map(|done| done.cost);
        let sum = |of: fn(Cost) -> f64| costs().map(of).sum();
        let ended_at = costs().map(|cost| cost.ended_at).max();
        Self {
            key: None,
            stored: all.len() > 0 && all.clone().all(|done| done.stored),
            cached: all.len() > 0 && all.clone().all(|done| done.cached),
            parameters: Parameters::new(),
            inputs: all.clone().flat_map(|done| done.inputs.clone()).collect(),
            outputs: all.clone().flat_map(|done| done.outputs.clone()).collect(),
            cost: ended_at.map(|ended_at| Cost {
                ended_at,
                wall_s: sum(|cost| cost.wall_s),
                cpu_s: sum(|cost| cost.cpu_s),
            }),
        }
    }
}

/// What was read of a file that no store knows.
pub(super) fn input(role: &str, path: &Path) -> Result<Input, Failure> {
    let sha256 = Digest::of_file(&mut File::open(path).in_file(path)?).in_file(path)?;
    Ok(Input::new(role, path, &sha256))
}

/// A file that is in place, by reading it.
pub(super) fn output(path: &Path) -> Result<Output, Failure> {
    let mut file = File::open(path).in_file(path)?;
    let sha256 = Digest::of_file(&mut file).in_file(path)?;
    Ok(Output::new(path, file.metadata().in_file(path)?.len(), &sha256))
}

/// Writes the receipt, where one is wanted.
pub(super) fn write(common: &Common, report: &impl Report, done: Option<&Done>) -> Result<(), Failure> {
    let Some(path) = common.receipt.as_deref().filter(|_| !common.dry_run) else { return Ok(()) };
    let none = Done::default();
    let done = done.unwrap_or(&none);
    let receipt = Receipt {
        format: FORMAT.into(),
        version: VERSION,
        job: common.run.job.clone(),
        build: common.run.build.into(),
        key: done.key.clone(),
        stored: done.stored,
        cached: done.cached,
        parameters: done.parameters.clone(),
        inputs: done.inputs.clone(),
        outputs: done.outputs.clone(),
        cost: done.cost,
        took_s: common.run.started.elapsed().as_secs_f64(),
        report: serde_json::to_value(report).map_err(|error| Failure::new(Exit::Unexpected, error))?,
    };
    let text =
        serde_json::to_string_pretty(&receipt).map_err(|error| Failure::new(Exit::Unexpected, error))?;
    write_whole(path, (text + "\n").as_bytes()).in_file(path)
}
