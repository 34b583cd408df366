//! The model: tokens ([`tokens`]), an encoder over them ([`encoder`]), and heads. Per decision it reads memory, sixteen
//! registers a lane, and writes it anew. All of it is float32.

mod encoder;
mod parameters;
mod tokens;

use tch::{Device, Kind, Tensor};

use crate::batch::{Batch, Floats, Ints};
use crate::cards::{CardTable, FEATURES};
use crate::config::Architecture;
use crate::schema::{CARDS, SCRATCH};

use encoder::Encoder;
pub(crate) use parameters::{Parameter, Parameters, Start, to_host};
pub(crate) use tokens::Tables;
use tokens::Tokens;

/// Atoms of the value, evenly on [−1, 1].
pub(crate) const ATOMS: usize = 51;
/// Auxiliary heads: ko, prize delta, terminal, return.
pub(crate) const AUX: usize = 4;
/// Logit of an action that may not be chosen.
pub(crate) const ILLEGAL: f64 = -1e9;

/// A model on a device.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) architecture: Architecture,
    pub(crate) parameters: Parameters,
    tokens: Tokens,
    encoder: Encoder,
    heads: Heads,
    /// `[SCRATCH, width]`: the memory that a lane starts with.
    initial: Tensor,
    /// `[ATOMS]`, fixed.
    atoms: Tensor,
}

#[derive(Debug)]
struct Heads {
    option: Linear,
    submit: Linear,
    value: Linear,
    aux: Linear,
}

/// What the model says of a batch.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// `[rows, actions]`; [`ILLEGAL`] for what may not be chosen.
    pub(crate) logits: Tensor,
    /// `[rows, ATOMS]`
    pub(crate) value: Tensor,
    /// `[rows, AUX]`
    pub(crate) aux: Tensor,
    /// `[lanes, SCRATCH, width]`
    pub(crate) memory: Tensor,
}

impl Model {
    /// A model whose first weights `seed` decides.
    pub(crate) fn new(architecture: Architecture, cards: &CardTable, seed: u64, device: Device) -> Self {
        let parameters = Parameters::start(list(architecture), seed, device);
        let features = Tensor::from_slice(&cards.features).view([CARDS as i64, FEATURES as i64]);
        let atoms: Vec<f32> = (0..ATOMS).map(|at| 2.0 * at as f32 / (ATOMS - 1) as f32 - 1.0).collect();
        Self {
            tokens: Tokens::new(&parameters, features.to_device(device)),
            encoder: Encoder::new(&parameters, architecture),
            heads: Heads {
                option: Linear::new(&parameters, "policy.option"),
                submit: Linear::new(&parameters, "policy.submit"),
                value: Linear::new(&parameters, "value"),
                aux: Linear::new(&parameters, "aux"),
            },
            initial: parameters.get("memory.initial"),
            atoms: Tensor::from_slice(&atoms).to_device(device),
            architecture,
            parameters,
        }
    }

    /// Where it computes.
    pub(crate) fn device(&self) -> Device {
        self.parameters.flat().device()
    }

    /// Tables that all batches of an update share.
    pub(crate) fn tables(&self) -> Tables {
        self.tokens.tables()
    }

    /// Memory of lanes that start: `[lanes, SCRATCH, width]`.
    pub(crate) fn fresh(&self, lanes: usize) -> Tensor {
        self.initial.unsqueeze(0).expand([lanes as i64, -1, -1], false)
    }

    /// Runs a batch on `memory`, `[lanes, SCRATCH, width]`. All rows of a lane read the same memory.
    pub(crate) fn forward(&self, tables: &Tables, batch: &Batch, memory: &Tensor) -> Outputs {
        let shape = batch.shape;
        let (state, scratch) = (shape.state() as i64, SCRATCH as i64);
        let lanes = batch.ints(Ints::LaneOfRow, &[shape.rows]);
        let read =
            if self.architecture.memory { memory.index_select(0, &lanes) } else { self.fresh(shape.rows) };
        let tokens = self.tokens.sequence(tables, batch, &read);
        let keys = batch.floats(Floats::Keys, &[shape.rows, 1, 1, shape.tokens()]);
        // added to attention scores: 0 for what is there, a large negative number for padding
        let mask = (keys - 1.0) * -ILLEGAL;
        let encoded = self.encoder.run(tokens, &mask);
        let written = encoded.narrow(1, state, scratch);
        let options = encoded.narrow(1, state + scratch, shape.options as i64);
        let submit = encoded.narrow(1, 2, 1);
        let logits = Tensor::cat(&[self.heads.option.run(&options), self.heads.submit.run(&submit)], 1);
        let legal = batch.floats(Floats::Legal, &[shape.rows, shape.actions()]);
        let whole = encoded.select(1, 1);
        let next = batch.ints(Ints::NextMemory, &[shape.lanes]);
        Outputs {
            logits: logits.squeeze_dim(2).masked_fill(&legal.eq(0.0), ILLEGAL),
            value: self.heads.value.run(&whole),
            aux: self.heads.aux.run(&whole),
            memory: Tensor::cat(&[memory, &written], 0).index_select(0, &next),
        }
    }

    /// Atoms of the value.
    pub(crate) fn atoms(&self) -> &Tensor {
        &self.atoms
    }

    /// The value as a number in [−1, 1], `[rows]`: the expectation over the atoms.
    pub(crate) fn expectation(&self, value: &Tensor) -> Tensor {
        (value.softmax(-1, Kind::Float) * &self.atoms).sum_dim_intlist(-1, false, Kind::Float)
    }
}

/// All parameters of an architecture.
fn list(architecture: Architecture) -> Vec<Parameter> {
    let width = architecture.width;
    let mut list = tokens::list(width);
    list.extend(encoder::list(architecture));
    list.push(parameter("memory.initial", &[SCRATCH, width], embedding(width)));
    for (name, outputs) in [("policy.option", 1), ("policy.submit", 1), ("value", ATOMS), ("aux", AUX)] {
        list.extend(linear(name, width, outputs));
    }
    list
}

fn parameter(name: &str, shape: &[usize], start: Start) -> Parameter {
    Parameter { name: name.into(), shape: shape.iter().map(|&len| len as i64).collect(), start }
}

/// Start of embeddings.
fn embedding(width: usize) -> Start {
    Start::Normal(1.0 / libm::sqrt(width as f64))
}

/// Start of a matrix that reads `inputs`.
fn uniform(inputs: usize) -> Start {
    Start::Uniform(1.0 / libm::sqrt(inputs as f64))
}

/// Weight and bias of a linear layer.
fn linear(name: &str, inputs: usize, outputs: usize) -> [Parameter; 2] {
    [
        parameter(&format!("{name}.weight"), &[outputs, inputs], uniform(inputs)),
        parameter(&format!("{name}.bias"), &[outputs], Start::Constant(0.0)),
    ]
}

/// A linear layer.
#[derive(Debug)]
struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn new(parameters: &Parameters, name: &str) -> Self {
        let get = |part: &str| parameters.get(&format!("{name}.{part}"));
        Self { weight: get("weight"), bias: get("bias") }
    }

    fn run(&self, input: &Tensor) -> Tensor {
        input.linear(&self.weight, Some(&self.bias))
    }
}
