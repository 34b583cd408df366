//! Parameters by name, as views of one flat tensor: what is optimised is one vector, and what is saved has names.

use common::formats::safetensors;
use tch::{Device, Kind, Tensor, no_grad};

use crate::random::Random;

/// How a parameter starts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// Normal, with this deviation.
    Normal(f64),
    /// Uniform within this on both sides of 0.
    Uniform(f64),
    /// One value.
    Constant(f32),
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) start: Start,
}

impl Parameter {
    fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
}

/// All parameters of a model.
#[derive(Debug)]
pub(crate) struct Parameters {
    list: Vec<Parameter>,
    /// All values, one parameter behind the other.
    flat: Tensor,
    /// Each parameter, a view that gradients are taken of.
    views: Vec<Tensor>,
}

impl Parameters {
    /// Parameters at their start, which `seed` decides.
    pub(crate) fn start(list: Vec<Parameter>, seed: u64, device: Device) -> Self {
        let mut values = Vec::with_capacity(list.iter().map(Parameter::len).sum());
        for (number, parameter) in (0..).zip(&list) {
            let mut random = Random::new(&[seed, number]);
            values.extend((0..parameter.len()).map(|_| match parameter.start {
                Start::Normal(deviation) => (random.normal() * deviation) as f32,
                Start::Uniform(most) => ((2.0 * random.unit() - 1.0) * most) as f32,
                Start::Constant(value) => value,
            }));
        }
        Self::new(list, &values, device)
    }

    fn new(list: Vec<Parameter>, values: &[f32], device: Device) -> Self {
        let flat = Tensor::from_slice(values).to_device(device);
        let mut at = 0;
        let views = list.iter().map(|parameter| {
            let len = parameter.len() as i64;
            let view = flat.narrow(0, at, len).view(&parameter.shape[..]).detach().set_requires_grad(true);
            at += len;
            view
        });
        let views = views.collect();
        Self { list, flat, views }
    }

    /// A parameter.
    ///
    /// # Panics
    /// Where the model lists no parameter of this name.
    pub(crate) fn get(&self, name: &str) -> Tensor {
        let at = self.list.iter().position(|parameter| parameter.name == name);
        self.views[at.expect("the model lists its parameters")].shallow_clone()
    }

    /// All values in one vector.
    pub(crate) fn flat(&self) -> &Tensor {
        &self.flat
    }

    /// Gradient of a scalar, in one vector; zeros for parameters that it does not depend on.
    pub(crate) fn gradient(&self, of: &Tensor) -> Tensor {
        let gradients = Tensor::run_backward(&[of], &self.views, false, false);
        let flat = gradients.iter().zip(&self.views).map(|(gradient, view)| {
            if gradient.defined() { gradient.flatten(0, -1) } else { view.zeros_like().flatten(0, -1) }
        });
        no_grad(|| Tensor::cat(&flat.collect::<Vec<_>>(), 0))
    }

    /// Cuts a vector of all parameters' values into tensors on the host, under their names behind `prefix`.
    pub(crate) fn name(&self, flat: &Tensor, prefix: &str, out: &mut safetensors::Tensors) {
        let values = to_host(flat);
        let mut at = 0;
        for parameter in &self.list {
            let shape = parameter.shape.iter().map(|&len| len as usize).collect();
            let values = values[at..at + parameter.len()].to_vec();
            at += parameter.len();
            out.tensors.insert(format!("{prefix}{}", parameter.name), safetensors::Tensor { shape, values });
        }
    }

    /// The reverse of [`name`](Self::name). Tells what is missing or has another shape.
    pub(crate) fn find(&self, prefix: &str, all: &safetensors::Tensors) -> Result<Vec<f32>, String> {
        let mut flat = vec![];
        for parameter in &self.list {
            let name = format!("{prefix}{}", parameter.name);
            let tensor = all.tensors.get(&name).ok_or_else(|| format!("it has no tensor {name}"))?;
            let shape: Vec<i64> = tensor.shape.iter().map(|&len| len as i64).collect();
            if shape != parameter.shape {
                return Err(format!("tensor {name} is {shape:?} where {:?} is expected", parameter.shape));
            }
            flat.extend_from_slice(&tensor.values);
        }
        Ok(flat)
    }

    /// Replaces all values.
    pub(crate) fn set(&mut self, values: &[f32]) {
        no_grad(|| self.flat.copy_(&Tensor::from_slice(values)));
    }
}

/// Values of a tensor of floats, row by row.
pub(crate) fn to_host(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.detach().to_device(Device::Cpu).to_kind(Kind::Float).contiguous();
    let mut values = vec![0.0; tensor.numel()];
    tensor.copy_data(&mut values, tensor.numel());
    values
}
