//! Checkpoints: weights, the optimizer's state and the memories under way in `step-NNNNNNNN.safetensors`, and beside it
//! `step-NNNNNNNN.json`, which says what they are and holds their digest. The JSON file is written last and makes the
//! checkpoint; one that is cut short is passed over.

use std::path::{Path, PathBuf};

use common::formats::safetensors::{self, Tensors};
use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::digest::{Digest, Digesting};
use common::state::output::{Output, remove_if_there, write_whole};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

use crate::cards::{CardTable, FEATURES};
use crate::config::{Architecture, Config};
use crate::data::{Provenance, Used};
use crate::model::{ATOMS, Model, to_host};
use crate::plan::Cursor;
use crate::schema::{self, CARDS, SCRATCH};
use crate::trainer::Trainer;

/// What the JSON file says it is.
const FORMAT: &str = "foldline checkpoint";
/// Revision of both files.
const VERSION: u32 = 1;
const MODEL: &str = "model.";
const FIRST: &str = "adamw.first.";
const SECOND: &str = "adamw.second.";
const MEMORY: &str = "memory.lanes";
const FEATURES_NAME: &str = "fixed.card_features";

/// What a checkpoint is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// [`FORMAT`].
    format: String,
    /// [`VERSION`].
    version: u32,
    /// What its tensors mean.
    pub(crate) model: ModelRecord,
    /// Updates that are done.
    pub(crate) step: u64,
    /// Updates in all.
    pub(crate) total: u64,
    /// Where the data's order stands.
    pub(crate) cursor: Cursor,
    /// How validation went.
    pub(crate) best: Best,
    /// What the days were made with.
    pub(crate) provenance: Provenance,
    /// The days.
    pub(crate) datasets: Vec<Used>,
    /// The configuration. All randomness comes from its seed, the epoch and names, so there is no other random state.
    pub(crate) config: Config,
    /// Threads that computed: sums are the same to the bit for the same number only.
    pub(crate) threads: usize,
    /// Device that computed.
    pub(crate) device: String,
    /// Bytes of the tensors' file.
    pub(crate) bytes: u64,
    /// Digest of the tensors' file.
    pub(crate) sha256: Digest,
}

/// What tensors must agree on to be the same model's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRecord {
    pub(crate) architecture: Architecture,
    pub(crate) feed_forward: usize,
    pub(crate) token_schema_version: u32,
    pub(crate) token_schema_sha256: Digest,
    pub(crate) scratch: usize,
    pub(crate) options: usize,
    pub(crate) atoms: usize,
    pub(crate) card_features: usize,
    pub(crate) dtype: String,
}

/// The best validation so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    /// Update behind which it was.
    pub(crate) step: Option<u64>,
    /// Its cross-entropy.
    pub(crate) policy: Option<f64>,
    /// Validations since that were not better.
    pub(crate) since: u32,
}

/// A checkpoint that was read.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) path: PathBuf,
    pub(crate) record: Record,
    tensors: Tensors,
}

impl ModelRecord {
    /// That of an architecture, as this program builds it.
    pub(crate) fn of(architecture: Architecture) -> Self {
        Self {
            architecture,
            feed_forward: 4 * architecture.width,
            token_schema_version: schema::VERSION,
            token_schema_sha256: schema::digest(),
            scratch: SCRATCH,
            options: common::formats::decisions::columns::MAX_OPTIONS,
            atoms: ATOMS,
            card_features: FEATURES,
            dtype: "float32".into(),
        }
    }

    /// Refuses another one by the names of what differs (exit 4).
    pub(crate) fn hold(&self, found: &Self) -> Result<(), Failure> {
        let json = |record: &Self| serde_json::to_value(record).unwrap_or_default();
        let (expected, found) = (json(self), json(found));
        let differing = |at: &str| {
            let pick = |value: &serde_json::Value| value.pointer(at).cloned().unwrap_or_default();
            let (expected, found) = (pick(&expected), pick(&found));
            (expected != found).then(|| (at.trim_start_matches('/').to_owned(), found, expected))
        };
        let all = [
            "/token_schema_version",
            "/token_schema_sha256",
            "/architecture/width",
            "/architecture/heads",
            "/architecture/layers",
            "/architecture/memory",
            "/feed_forward",
            "/scratch",
            "/options",
            "/atoms",
            "/card_features",
            "/dtype",
        ];
        match all.into_iter().find_map(differing) {
            None => Ok(()),
            Some((name, found, expected)) => {
                Err(Failure::new(Exit::Mixed, format!("the checkpoint is of another model: {name} differs"))
                    .found(found, expected))
            }
        }
    }
}

/// What is beside the trainer's own state in a checkpoint.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    pub(crate) cards: &'a CardTable,
    pub(crate) provenance: &'a Provenance,
    pub(crate) datasets: &'a [Used],
    pub(crate) threads: usize,
}

/// Writes a checkpoint into `folder`.
pub(crate) fn write(
    folder: &Path,
    trainer: &Trainer,
    cursor: &Cursor,
    best: Best,
    beside: &Beside<'_>,
) -> Result<Record, Failure> {
    let mut tensors = Tensors::default();
    let parameters = &trainer.model.parameters;
    for (prefix, flat) in
        [(MODEL, parameters.flat()), (FIRST, &trainer.optimizer.first), (SECOND, &trainer.optimizer.second)]
    {
        parameters.name(flat, prefix, &mut tensors);
    }
    let shape = trainer.memory.size().iter().map(|&len| len as usize).collect();
    let memory = safetensors::Tensor { shape, values: to_host(&trainer.memory) };
    tensors.tensors.insert(MEMORY.into(), memory);
    let features =
        safetensors::Tensor { shape: vec![CARDS, FEATURES], values: beside.cards.features.clone() };
    tensors.tensors.insert(FEATURES_NAME.into(), features);
    let path = tensors_path(folder, trainer.step);
    let mut out = Digesting::new(Output::create(&path)?);
    tensors.write(&mut out).in_file(&path)?;
    let (out, sha256, bytes) = out.finish();
    out.publish()?;
    let record = Record {
        format: FORMAT.into(),
        version: VERSION,
        model: ModelRecord::of(trainer.model.architecture),
        step: trainer.step,
        total: trainer.total,
        cursor: cursor.clone(),
        best,
        provenance: beside.provenance.clone(),
        datasets: beside.datasets.to_vec(),
        config: trainer.config.clone(),
        threads: beside.threads,
        device: format!("{:?}", trainer.model.device()).to_lowercase(),
        bytes,
        sha256,
    };
    let text = serde_json::to_vec_pretty(&record).map_err(|error| Failure::new(Exit::Unexpected, error))?;
    write_whole(&record_path(folder, trainer.step), &text)?;
    Ok(record)
}

/// The newest whole checkpoint of a folder, with a note of each that is not; `None` where there is none.
pub(crate) fn newest(folder: &Path) -> Result<(Option<Checkpoint>, Vec<String>), Failure> {
    let mut notes = vec![];
    for step in steps(folder)?.into_iter().rev() {
        match Checkpoint::read(&record_path(folder, step)) {
            Ok(checkpoint) => return Ok((Some(checkpoint), notes)),
            Err(failure) => notes.push(failure.to_string()),
        }
    }
    Ok((None, notes))
}

/// Removes all checkpoints but the newest `keep` and the best.
pub(crate) fn prune(folder: &Path, keep: usize, best: Option<u64>) -> Result<(), Failure> {
    let steps = steps(folder)?;
    let old = steps.len().saturating_sub(keep);
    for &step in steps[..old].iter().filter(|&&step| Some(step) != best) {
        // the record first: without it there is no checkpoint
        remove_if_there(&record_path(folder, step))?;
        remove_if_there(&tensors_path(folder, step))?;
    }
    Ok(())
}

/// Steps that have either file, ascending.
pub(crate) fn steps(folder: &Path) -> Result<Vec<u64>, Failure> {
    let mut steps = vec![];
    match fs_err::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
        Ok(entries) => {
            for entry in entries {
                let name = entry?.file_name();
                let step = name.to_str().and_then(|name| {
                    let (stem, end) = name.strip_prefix("step-")?.split_once('.')?;
                    if matches!(end, "json" | "safetensors") { stem.parse::<u64>().ok() } else { None }
                });
                steps.extend(step);
            }
        }
    }
    steps.sort_unstable();
    steps.dedup();
    Ok(steps)
}

/// Where the tensors of a step lie.
pub(crate) fn tensors_path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:08}.safetensors"))
}

/// Where the record of a step lies.
pub(crate) fn record_path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:08}.json"))
}

impl Checkpoint {
    /// Reads a checkpoint by either of its files, and holds the tensors to the record's digest. What is cut short or
    /// damaged is exit 3, another revision exit 4, a missing file exit 5.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let (json, tensors) = (path.with_extension("json"), path.with_extension("safetensors"));
        let text = fs_err::read(&json).in_file(&json)?;
        let bad =
            |error: serde_json::Error| Failure::bad_data(format!("no checkpoint: {error}")).in_file(&json);
        let head: Head = serde_json::from_slice(&text).map_err(bad)?;
        if head.format != FORMAT {
            return Err(Failure::bad_data("no checkpoint").found(head.format, FORMAT).in_file(&json));
        }
        if head.version != VERSION {
            let failure = Failure::new(Exit::Mixed, "the checkpoint is of another revision");
            return Err(failure.found(head.version, VERSION).in_file(&json));
        }
        let record: Record = serde_json::from_slice(&text).map_err(bad)?;
        let bytes = fs_err::read(&tensors).in_file(&tensors)?;
        let found = Digest::of(&bytes);
        if found != record.sha256 {
            return Err(Failure::bad_data("the tensors are not those that the checkpoint records")
                .found(
                    format!("{found}, {} bytes", bytes.len()),
                    format!("{}, {} bytes", record.sha256, record.bytes),
                )
                .in_file(&tensors));
        }
        let read = Tensors::read(&bytes).map_err(|error| Failure::bad_data(error).in_file(&tensors))?;
        Ok(Self { path: json, record, tensors: read })
    }

    /// Number of the model's parameters.
    pub(crate) fn parameters(&self) -> usize {
        let of_model = self.tensors.tensors.iter().filter(|(name, _)| name.starts_with(MODEL));
        of_model.map(|(_, tensor)| tensor.values.len()).sum()
    }

    /// The table of card features that the model was trained with.
    pub(crate) fn cards(&self) -> Result<CardTable, Failure> {
        let tensor = self.tensors.tensors.get(FEATURES_NAME);
        let tensor = tensor.filter(|tensor| tensor.shape == [CARDS, FEATURES]);
        let features = tensor.map(|tensor| tensor.values.clone());
        let features =
            features.ok_or_else(|| self.lacks(format!("it has no {FEATURES_NAME} of this size")))?;
        Ok(CardTable { features, digest: self.record.provenance.card_catalog_sha256.clone() })
    }

    /// Puts the weights into a model of the same architecture.
    pub(crate) fn load(&self, model: &mut Model) -> Result<(), Failure> {
        ModelRecord::of(model.architecture)
            .hold(&self.record.model)
            .map_err(|failure| failure.in_file(&self.path))?;
        let values = model.parameters.find(MODEL, &self.tensors).map_err(|what| self.lacks(what))?;
        model.parameters.set(&values);
        Ok(())
    }

    /// Puts everything into a trainer of the same architecture.
    pub(crate) fn restore(&self, trainer: &mut Trainer) -> Result<(), Failure> {
        self.load(&mut trainer.model)?;
        let device = trainer.model.device();
        for (prefix, state) in
            [(FIRST, &mut trainer.optimizer.first), (SECOND, &mut trainer.optimizer.second)]
        {
            let values =
                trainer.model.parameters.find(prefix, &self.tensors).map_err(|what| self.lacks(what))?;
            no_grad(|| state.copy_(&Tensor::from_slice(&values)));
        }
        let memory = self.tensors.tensors.get(MEMORY);
        let lanes = self.record.cursor.active.len();
        let shape = [lanes, SCRATCH, trainer.model.architecture.width];
        let memory = memory.filter(|memory| memory.shape == shape);
        let memory = memory.ok_or_else(|| self.lacks(format!("it has no {MEMORY} of {shape:?}")))?;
        let memory = Tensor::from_slice(&memory.values).view(shape.map(|len| len as i64));
        trainer.memory = memory.to_device(device).to_kind(Kind::Float);
        (trainer.step, trainer.total) = (self.record.step, self.record.total);
        Ok(())
    }

    fn lacks(&self, what: String) -> Failure {
        Failure::new(Exit::Mixed, format!("the checkpoint does not fit: {what}")).in_file(&self.path)
    }
}
