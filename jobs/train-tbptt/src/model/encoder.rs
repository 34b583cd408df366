//! The encoder: layers of attention and feed-forward, each behind a residual and normalised after it, as PyTorch's
//! `TransformerEncoderLayer` with GELU and without dropout.

use tch::Tensor;

use super::{Linear, Parameter, Parameters, Start, linear, parameter};
use crate::config::Architecture;

const EPSILON: f64 = 1e-5;

#[derive(Debug)]
pub(super) struct Encoder {
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    heads: i64,
    /// Query, key and value, one behind the other.
    project: Linear,
    out: Linear,
    first: Linear,
    second: Linear,
    norms: [Linear; 2],
}

impl Encoder {
    pub(super) fn new(parameters: &Parameters, architecture: Architecture) -> Self {
        let layer = |number: usize| {
            let part = |name: &str| Linear::new(parameters, &format!("encoder.{number}.{name}"));
            Layer {
                heads: architecture.heads as i64,
                project: part("attention.in"),
                out: part("attention.out"),
                first: part("linear1"),
                second: part("linear2"),
                norms: [part("norm1"), part("norm2")],
            }
        };
        Self { layers: (0..architecture.layers).map(layer).collect() }
    }

    /// `tokens` is `[rows, tokens, width]`; `mask`, `[rows, 1, 1, tokens]`, is added to attention scores.
    pub(super) fn run(&self, tokens: Tensor, mask: &Tensor) -> Tensor {
        self.layers.iter().fold(tokens, |tokens, layer| layer.run(&tokens, mask))
    }
}

impl Layer {
    fn run(&self, tokens: &Tensor, mask: &Tensor) -> Tensor {
        let tokens = norm(&(tokens + self.attend(tokens, mask)), &self.norms[0]);
        let forward = self.second.run(&self.first.run(&tokens).gelu("none"));
        norm(&(tokens + forward), &self.norms[1])
    }

    fn attend(&self, tokens: &Tensor, mask: &Tensor) -> Tensor {
        let sizes = tokens.size();
        let (rows, count, width) = (sizes[0], sizes[1], sizes[2]);
        let projected = self.project.run(tokens).view([rows, count, 3, self.heads, width / self.heads]);
        let [query, key, value] = [0, 1, 2].map(|part| projected.select(2, part).transpose(1, 2));
        let mixed = Tensor::scaled_dot_product_attention(
            &query,
            &key,
            &value,
            Some(mask),
            0.0,
            false,
            None::<f64>,
            false,
        );
        self.out.run(&mixed.transpose(1, 2).reshape([rows, count, width]))
    }
}

fn norm(tokens: &Tensor, by: &Linear) -> Tensor {
    let width = by.weight.size();
    tokens.layer_norm(&width[..], Some(&by.weight), Some(&by.bias), EPSILON, false)
}

pub(super) fn list(Architecture { width, layers, .. }: Architecture) -> Vec<Parameter> {
    let mut list = vec![];
    for number in 0..layers {
        let name = |part: &str| format!("encoder.{number}.{part}");
        list.extend(linear(&name("attention.in"), width, 3 * width));
        list.extend(linear(&name("attention.out"), width, width));
        list.extend(linear(&name("linear1"), width, 4 * width));
        list.extend(linear(&name("linear2"), 4 * width, width));
        for norm in ["norm1", "norm2"] {
            list.push(parameter(&format!("{}.weight", name(norm)), &[width], Start::Constant(1.0)));
            list.push(parameter(&format!("{}.bias", name(norm)), &[width], Start::Constant(0.0)));
        }
    }
    list
}
