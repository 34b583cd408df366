//! Losses as sums. Counts are known on the host before a window starts, so that each batch's sums are divided by what
//! the whole window holds: how rows are cut into micro-batches does not matter.

use tch::{Kind, Reduction, Tensor};

use crate::batch::{Batch, Floats, HostBatch, Ints};
use crate::config::Weights;
use crate::model::{Model, Outputs};

/// Sums that are kept of each batch.
pub(crate) const SUMS: usize = 7;
/// Their names, in order.
pub(crate) const NAMES: [&str; SUMS] = ["policy", "value", "ko", "prize_delta", "terminal", "return", "top1"];

/// What sums are divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows.
    pub(crate) rows: usize,
    /// Rows whose auxiliary targets count.
    pub(crate) aux: usize,
}

impl Counts {
    /// Adds those of a batch.
    pub(crate) fn add(&mut self, batch: &HostBatch) {
        self.rows += batch.shape.rows;
        self.aux += batch.floats(Floats::AuxValid).iter().filter(|&&valid| valid != 0.0).count();
    }

    /// What each of the [`SUMS`] is divided by; what nothing counts for is divided by 1, and stays 0.
    pub(crate) fn divisors(&self) -> [f64; SUMS] {
        let (rows, aux) = (self.rows.max(1) as f64, self.aux.max(1) as f64);
        [rows, aux, aux, aux, aux, aux, rows]
    }
}

/// How much each of the [`SUMS`] weighs in the loss of a window with these counts.
pub(crate) fn factors(weights: &Weights, counts: Counts) -> [f32; SUMS] {
    let weights =
        [1.0, weights.value, weights.ko, weights.prize_delta, weights.terminal, weights.returns, 0.0];
    let divisors = counts.divisors();
    std::array::from_fn(|at| (weights[at] / divisors[at]) as f32)
}

/// `[SUMS]`: sums over the rows of a batch.
pub(crate) fn sums(model: &Model, batch: &Batch, outputs: &Outputs) -> Tensor {
    let rows = batch.shape.rows;
    let float = |part| batch.floats(part, &[rows]);
    let valid = float(Floats::AuxValid).ne(0.0).to_kind(Kind::Float);
    let counted = |losses: Tensor| (losses * &valid).sum(Kind::Float);
    let label = batch.ints(Ints::Label, &[rows]);
    let returns = float(Floats::Return);
    let aux = |head| outputs.aux.select(1, head);
    let none = None::<&Tensor>;
    let two_way = |logits: Tensor, target: Tensor| {
        counted(logits.binary_cross_entropy_with_logits(&target, none, none, Reduction::None))
    };
    let square = |found: Tensor, target: &Tensor| counted((found - target).square());
    let policy = outputs.logits.cross_entropy_loss(&label, none, Reduction::Sum, -100, 0.0);
    let hits = outputs.logits.argmax(-1, false).eq_tensor(&label).to_kind(Kind::Float);
    let sums = [
        policy,
        counted(value(model, &outputs.value, &returns)),
        two_way(aux(0), float(Floats::Ko)),
        square(aux(1), &float(Floats::PrizeDelta)),
        two_way(aux(2), float(Floats::Terminal)),
        square(aux(3), &returns),
        hits.sum(Kind::Float).detach(),
    ];
    Tensor::stack(&sums, 0)
}

/// Cross-entropy of the value's atoms, `[rows]`, against half the return, which lies between two of them.
fn value(model: &Model, logits: &Tensor, returns: &Tensor) -> Tensor {
    let target = (returns * 0.5).clamp(-1.0, 1.0).unsqueeze(1);
    let step = 2.0 / (crate::model::ATOMS - 1) as f64;
    // each atom's share falls from 1 at the target to 0 one step away
    let shares = ((target - model.atoms().unsqueeze(0)).abs() * (-1.0 / step) + 1.0).clamp_min(0.0);
    -(shares * logits.log_softmax(-1, Kind::Float)).sum_dim_intlist(-1, false, Kind::Float)
}
