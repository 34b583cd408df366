//! Training: windows in, updates out. No value is read from the device here; sums and norms stay there until somebody
//! asks for them.

use tch::{Device, Kind, Tensor, no_grad};

use crate::batch::HostBatch;
use crate::config::Config;
use crate::loss::{self, Counts, SUMS};
use crate::model::Model;
use crate::optimize::{AdamW, rate};
use crate::plan::Micro;
use crate::window::{Steps, Window};

/// A model that is being trained.
#[derive(Debug)]
pub(crate) struct Trainer {
    pub(crate) model: Model,
    pub(crate) optimizer: AdamW,
    pub(crate) config: Config,
    /// Updates that are done.
    pub(crate) step: u64,
    /// Updates in all.
    pub(crate) total: u64,
    /// `[lanes under way, SCRATCH, width]`: their memories, in the order of the plan's cursor.
    pub(crate) memory: Tensor,
}

/// What an update came to; on the device.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) step: u64,
    pub(crate) rate: f64,
    pub(crate) counts: Counts,
    /// `[SUMS]`
    pub(crate) sums: Tensor,
    /// Norm of the gradient before it was clipped.
    pub(crate) norm: Tensor,
}

impl Trainer {
    /// Before the first update.
    pub(crate) fn new(model: Model, config: Config, total: u64) -> Self {
        let optimizer = AdamW::new(&model.parameters);
        let memory = no_memory(&model);
        Self { model, optimizer, config, step: 0, total, memory }
    }

    /// One update.
    pub(crate) fn update(&mut self, window: &Window) -> Update {
        let (gradient, sums) = self.gradient(window);
        self.step += 1;
        let rate = rate(&self.config.train, self.step, self.total);
        let norm =
            self.optimizer.update(&self.model.parameters, &gradient, self.step, rate, &self.config.train);
        Update { step: self.step, rate, counts: window.counts, sums, norm }
    }

    /// Gradient of a window's loss, and its sums. Memories move on.
    pub(crate) fn gradient(&mut self, window: &Window) -> (Tensor, Tensor) {
        let factors = loss::factors(&self.config.loss, window.counts);
        let device = self.model.device();
        let factors = Tensor::from_slice(&factors).to_device(device);
        let mut gradient = self.model.parameters.flat().zeros_like();
        let mut all = Tensor::zeros([SUMS as i64], (Kind::Float, device));
        for Steps { micro, steps } in &window.micros {
            let before = lanes_before(&self.model, &self.memory, micro);
            let (sums, after) = run(&self.model, steps, before);
            let part = self.model.parameters.gradient(&(&sums * &factors).sum(Kind::Float));
            no_grad(|| {
                let _ = gradient.g_add_(&part);
                let _ = all.g_add_(&sums.detach());
                self.memory = memory_after(&self.memory, micro, &after.detach());
            });
        }
        (gradient, all)
    }

    /// Empties all memories, as every epoch does.
    pub(crate) fn forget(&mut self) {
        self.memory = no_memory(&self.model);
    }
}

/// Memories of no lanes.
pub(crate) fn no_memory(model: &Model) -> Tensor {
    let width = model.architecture.width as i64;
    Tensor::zeros([0, crate::schema::SCRATCH as i64, width], (Kind::Float, model.device()))
}

/// Memories that a micro-batch reads: carried ones, then fresh ones.
pub(crate) fn lanes_before(model: &Model, memory: &Tensor, micro: &Micro) -> Tensor {
    let carried = memory.narrow(0, 0, micro.carried as i64);
    Tensor::cat(&[carried, model.fresh(micro.chunks.len() - micro.carried)], 0)
}

/// Memories of the lanes under way behind a micro-batch: those that waited, then those that go on.
pub(crate) fn memory_after(memory: &Tensor, micro: &Micro, after: &Tensor) -> Tensor {
    let carried = micro.carried as i64;
    let waiting = memory.narrow(0, carried, memory.size()[0] - carried);
    let going_on = (0..).zip(&micro.chunks).filter(|(_, chunk)| chunk.unfinished).map(|(at, _)| at);
    let going_on = Tensor::from_slice(&going_on.collect::<Vec<i64>>()).to_device(after.device());
    Tensor::cat(&[waiting, after.index_select(0, &going_on)], 0)
}

/// Runs a micro-batch, decision after decision: sums over all its rows, and the memories behind it.
pub(crate) fn run(model: &Model, steps: &[HostBatch], mut memory: Tensor) -> (Tensor, Tensor) {
    let device: Device = model.device();
    let tables = model.tables();
    let mut sums = Tensor::zeros([SUMS as i64], (Kind::Float, device));
    for step in steps {
        let batch = step.to_device(device);
        let outputs = model.forward(&tables, &batch, &memory);
        sums += loss::sums(model, &batch, &outputs);
        memory = outputs.memory;
    }
    (sums, memory)
}
