//! Validation: what a model says of held-out lanes. Memories start empty, are its own, and are forgotten behind it.

use std::collections::BTreeMap;

use common::process::{Failure, stop};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

use crate::batch::{Batch, Floats, HostBatch, Ints};
use crate::config::Train;
use crate::data::{Lanes, Rows};
use crate::model::{Model, Outputs, to_host};
use crate::plan::Planner;
use crate::trainer::{lanes_before, memory_after, no_memory};
use crate::window::Steps;

/// Select type of the main phase of a turn.
const MAIN: i32 = 0;
/// Verb of an attack.
const ATTACK: i32 = 13;
/// What stands for SUBMIT among verbs.
pub(crate) const SUBMIT_VERB: i32 = -1;
/// Parts of the values that calibration tells apart.
const BINS: usize = 10;
/// Values that the device gives a row: cross-entropy, action, value and its four auxiliary outputs.
const GIVEN: usize = 7;

/// Means over rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Metrics {
    /// Rows.
    pub(crate) rows: u64,
    /// Cross-entropy of the choice among legal actions, in nats.
    pub(crate) policy: f64,
    /// That of a choice that takes every legal action alike.
    pub(crate) uniform: f64,
    /// Share of rows whose most likely action is the choice.
    pub(crate) top1: f64,
    /// Share of rows whose most likely action comes to the same as the choice.
    pub(crate) top1_dedup: f64,
    /// By verb of the choice; −1 is SUBMIT.
    pub(crate) by_verb: BTreeMap<i32, Part>,
    /// Rows of the main phase that offer an attack.
    pub(crate) attacks: Part,
    /// Auxiliary outputs and the value, where targets count.
    pub(crate) aux: Aux,
}

/// Means over some of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Rows.
    pub(crate) rows: u64,
    /// Cross-entropy of the choice.
    pub(crate) policy: f64,
    /// Share of rows whose most likely action is the choice.
    pub(crate) top1: f64,
}

/// Means over rows whose auxiliary targets count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Aux {
    /// Rows.
    pub(crate) rows: u64,
    /// Squared error of the value against half the return.
    pub(crate) value: f64,
    /// Share of rows whose sign of the value is that of the return, where that is not 0.
    pub(crate) value_sign: f64,
    /// Rows whose return is not 0.
    pub(crate) signed: u64,
    /// Binary cross-entropy.
    pub(crate) ko: f64,
    /// Squared error.
    pub(crate) prize_delta: f64,
    /// Binary cross-entropy.
    pub(crate) terminal: f64,
    /// Squared error.
    pub(crate) returns: f64,
    /// Rows by their value, in [`BINS`] equal parts of [−1, 1].
    #[serde(default)]
    pub(crate) calibration: Vec<Bin>,
}

/// Rows whose values are about the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bin {
    /// Rows.
    pub(crate) rows: u64,
    /// Sum of their values.
    pub(crate) value: f64,
    /// Sum of half their returns.
    pub(crate) met: f64,
}

impl Bin {
    /// Mean value, mean of half the return, and rows; `None` without any.
    pub(crate) fn mean(&self) -> Option<(f64, f64, f64)> {
        let rows = self.rows as f64;
        (self.rows > 0).then(|| (self.value / rows, self.met / rows, rows))
    }
}

/// Runs a model over lanes in the order of their rows.
pub(crate) fn validate(
    model: &Model,
    lanes: &Lanes,
    part: &[u32],
    rows: &mut dyn Rows,
    config: &Train,
) -> Result<Metrics, Failure> {
    let mut plan = Planner::once(lanes, part, config);
    let mut metrics = Metrics::default();
    let mut memory = no_memory(model);
    while let Some(micro) = plan.window(1).pop() {
        stop::check()?;
        let Steps { micro, steps } = Steps::make(micro, lanes, rows, config.compact)?;
        memory = no_grad(|| {
            let mut after = lanes_before(model, &memory, &micro);
            let tables = model.tables();
            for step in &steps {
                let batch = step.to_device(model.device());
                let outputs = model.forward(&tables, &batch, &after);
                metrics.add(step, &given(model, &batch, &outputs));
                after = outputs.memory;
            }
            memory_after(&memory, &micro, &after)
        });
    }
    metrics.finish();
    Ok(metrics)
}

/// `GIVEN` lists of one value a row.
fn given(model: &Model, batch: &Batch, outputs: &Outputs) -> Vec<f32> {
    let label = batch.ints(Ints::Label, &[batch.shape.rows]).unsqueeze(1);
    let policy = -outputs.logits.log_softmax(-1, Kind::Float).gather(1, &label, false).squeeze_dim(1);
    let action = outputs.logits.argmax(-1, false).to_kind(Kind::Float);
    let value = model.expectation(&outputs.value);
    let mut lists = vec![policy, action, value];
    lists.extend((0..4).map(|head| outputs.aux.select(1, head)));
    to_host(&Tensor::stack(&lists, 0))
}

impl Metrics {
    /// Adds rows, as sums.
    fn add(&mut self, batch: &HostBatch, given: &[f32]) {
        let rows = batch.shape.rows;
        debug_assert_eq!(given.len(), GIVEN * rows);
        let of = |list: usize, row: usize| f64::from(given[list * rows + row]);
        let actions = batch.shape.actions();
        for row in 0..rows {
            let label = batch.ints(Ints::Label)[row] as usize;
            let (policy, action) = (of(0, row), given[rows + row] as usize);
            let group = &batch.ints(Ints::Group)[row * actions..][..actions];
            let legal = &batch.floats(Floats::Legal)[row * actions..][..actions];
            let verbs = &batch.ints(Ints::Verb)[row * batch.shape.options..][..batch.shape.options];
            let hit = f64::from(u8::from(action == label));
            let choices = legal.iter().filter(|&&legal| legal != 0.0).count();
            self.rows += 1;
            self.policy += policy;
            self.uniform += libm::log(choices as f64);
            self.top1 += hit;
            self.top1_dedup += f64::from(u8::from(group[action] == group[label]));
            self.by_verb
                .entry(verbs.get(label).copied().unwrap_or(SUBMIT_VERB))
                .or_default()
                .add(policy, hit);
            let offers = verbs.iter().zip(legal).any(|(&verb, &legal)| verb == ATTACK && legal != 0.0);
            if offers && batch.ints(Ints::SelectType)[row] == MAIN {
                self.attacks.add(policy, hit);
            }
            if batch.floats(Floats::AuxValid)[row] != 0.0 {
                self.aux.add(batch, row, |list| of(list, row));
            }
        }
    }

    /// Turns sums into means.
    fn finish(&mut self) {
        let rows = self.rows.max(1) as f64;
        for sum in [&mut self.policy, &mut self.uniform, &mut self.top1, &mut self.top1_dedup] {
            *sum /= rows;
        }
        self.by_verb.values_mut().for_each(Part::finish);
        self.attacks.finish();
        self.aux.finish();
    }
}

impl Part {
    fn add(&mut self, policy: f64, hit: f64) {
        self.rows += 1;
        self.policy += policy;
        self.top1 += hit;
    }

    fn finish(&mut self) {
        let rows = self.rows.max(1) as f64;
        (self.policy, self.top1) = (self.policy / rows, self.top1 / rows);
    }
}

impl Aux {
    fn add(&mut self, batch: &HostBatch, row: usize, given: impl Fn(usize) -> f64) {
        let target = |part| f64::from(batch.floats(part)[row]);
        let returns = target(Floats::Return);
        let square = |found: f64, target: f64| (found - target) * (found - target);
        let two_way =
            |logit: f64, target: f64| logit.max(0.0) - logit * target + libm::log1p(libm::exp(-logit.abs()));
        let (value, met) = (given(2), (returns / 2.0).clamp(-1.0, 1.0));
        self.calibration.resize(BINS, Bin::default());
        let bin = ((value + 1.0) / 2.0 * BINS as f64).clamp(0.0, (BINS - 1) as f64) as usize;
        let bin = &mut self.calibration[bin];
        (bin.rows, bin.value, bin.met) = (bin.rows + 1, bin.value + value, bin.met + met);
        self.rows += 1;
        self.value += square(value, met);
        if returns != 0.0 {
            self.signed += 1;
            self.value_sign += f64::from(u8::from((value > 0.0) == (returns > 0.0)));
        }
        self.ko += two_way(given(3), target(Floats::Ko));
        self.prize_delta += square(given(4), target(Floats::PrizeDelta));
        self.terminal += two_way(given(5), target(Floats::Terminal));
        self.returns += square(given(6), returns);
    }

    fn finish(&mut self) {
        let rows = self.rows.max(1) as f64;
        for sum in
            [&mut self.value, &mut self.ko, &mut self.prize_delta, &mut self.terminal, &mut self.returns]
        {
            *sum /= rows;
        }
        self.value_sign /= self.signed.max(1) as f64;
    }
}

impl std::fmt::Display for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, policy, uniform, top1, top1_dedup, .. } = self;
        write!(f, "{rows} rows, cross-entropy {policy:.4} (uniform {uniform:.4}), ")?;
        write!(f, "top-1 {:.1} %, dedup {:.1} %", 100.0 * top1, 100.0 * top1_dedup)
    }
}
