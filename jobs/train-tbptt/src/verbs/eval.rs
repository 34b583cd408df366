//! `eval`: how well a checkpoint predicts the choices of days.

use std::fmt;
use std::path::PathBuf;

use common::formats::decisions::columns::OPTION_NAMES;
use common::process::{Common, Failure, emit};
use serde::Serialize;

use super::train::{newest, use_threads};
use crate::checkpoint::{self, Checkpoint};
use crate::cli::EvalArgs;
use crate::model::Model;
use crate::run::checkpoints;
use crate::session::Data;
use crate::validate::Metrics;

#[derive(Debug, Serialize)]
struct Evaluation {
    #[serde(serialize_with = "common::process::cli::path_text")]
    checkpoint: PathBuf,
    step: u64,
    lanes: usize,
    /// Cross-entropy by the frequency of verbs in training; for held-out lanes of the run's own days.
    verb_frequency: Option<f64>,
    metrics: Metrics,
}

/// Evaluates a checkpoint, or the best one of a run.
pub(crate) fn eval(common: &Common, args: &EvalArgs) -> Result<(), Failure> {
    let read = read(common, args)?;
    let record = &read.record;
    let own: Vec<PathBuf> = record.datasets.iter().map(|used| used.path.clone()).collect();
    let data = Data::open(
        if args.data.is_empty() { &own } else { &args.data },
        &record.config,
        args.memory.cache_memory,
    )?;
    record.provenance.hold(data.provenance(), "the checkpoint")?;
    let device = args.device.device.device()?;
    use_threads(common.threads());
    let mut model = Model::new(record.config.model, &read.cards()?, 0, device);
    read.load(&mut model)?;
    let lanes = if args.data.is_empty() { data.held_out() } else { data.all() };
    let metrics = data.validate(&model, &lanes, &record.config.train)?;
    let verb_frequency = args.data.is_empty().then(|| data.verb_frequency()).transpose()?;
    let (checkpoint, step) = (read.path.clone(), record.step);
    emit(common, &Evaluation { checkpoint, step, lanes: lanes.len(), verb_frequency, metrics })
}

/// The checkpoint that was named; of a run, the best one.
fn read(common: &Common, args: &EvalArgs) -> Result<Checkpoint, Failure> {
    let named = &args.checkpoint;
    if !named.is_dir() {
        return Checkpoint::read(named);
    }
    let newest = newest(common, named)?;
    match newest.record.best.step {
        Some(best) if best != newest.record.step => {
            Checkpoint::read(&checkpoint::record_path(&checkpoints(named), best))
        }
        _ => Ok(newest),
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metrics { by_verb, attacks, aux, .. } = &self.metrics;
        writeln!(f, "{}: update {}, {} lanes", self.checkpoint.display(), self.step, self.lanes)?;
        writeln!(f, "  {}", self.metrics)?;
        if let Some(cost) = self.verb_frequency {
            writeln!(f, "  by the frequency of verbs in training {cost:.4}")?;
        }
        let part = |f: &mut fmt::Formatter<'_>, name: &str, part: &crate::validate::Part| {
            let top1 = 100.0 * part.top1;
            writeln!(
                f,
                "  {name:<18}{:>8} rows  cross-entropy {:.4}  top-1 {top1:.1} %",
                part.rows, part.policy
            )
        };
        for (verb, metrics) in by_verb {
            part(f, &verb_name(*verb), metrics)?;
        }
        part(f, "attack offered", attacks)?;
        write!(
            f,
            "  of {} rows: value error {:.4}, sign {:.1} %; ko {:.4}, prize delta {:.4}, terminal {:.4}, return {:.4}",
            aux.rows,
            aux.value,
            100.0 * aux.value_sign,
            aux.ko,
            aux.prize_delta,
            aux.terminal,
            aux.returns
        )
    }
}

/// Name of a verb, as episodes number them.
pub(crate) fn verb_name(verb: i32) -> String {
    let name = usize::try_from(verb).ok().and_then(|verb| OPTION_NAMES.get(verb));
    name.map_or_else(|| "submit".into(), |&name| name.into())
}
