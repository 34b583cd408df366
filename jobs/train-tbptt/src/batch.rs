//! A batch: rows of one decision each of several lanes, as two buffers that go to the device in one piece each.
//!
//! Rows are put together on the host without padding beyond what the batch needs ([`fill`]): state columns that every
//! row pads are left out, and options end at the least bucket that holds them ([`shape`]). Positions that options
//! refer to are those of what is left.

pub(crate) mod fill;
pub(crate) mod shape;

use tch::{Device, Kind, Tensor};

pub(crate) use fill::{Source, fill};
pub(crate) use shape::{Floats, Ints, Shape};

/// A batch on the host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostBatch {
    pub(crate) shape: Shape,
    /// Ids, positions and labels, a part behind the other as [`Ints`] lists them.
    pub(crate) ints: Vec<i32>,
    /// Features, masks and targets, as [`Floats`] lists them.
    pub(crate) floats: Vec<f32>,
}

impl HostBatch {
    /// Zeros of a shape.
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, ints: vec![0; shape.ints_len()], floats: vec![0.0; shape.floats_len()] }
    }

    /// A part of the ints.
    pub(crate) fn ints(&self, part: Ints) -> &[i32] {
        &self.ints[self.shape.ints_at(part)]
    }

    pub(crate) fn ints_mut(&mut self, part: Ints) -> &mut [i32] {
        &mut self.ints[self.shape.ints_at(part)]
    }

    /// A part of the floats.
    pub(crate) fn floats(&self, part: Floats) -> &[f32] {
        &self.floats[self.shape.floats_at(part)]
    }

    pub(crate) fn floats_mut(&mut self, part: Floats) -> &mut [f32] {
        &mut self.floats[self.shape.floats_at(part)]
    }

    /// Copies both buffers to a device: as int32, which become int64 there, and as float32.
    pub(crate) fn to_device(&self, device: Device) -> Batch {
        let ints = Tensor::from_slice(&self.ints).to_device(device).to_kind(Kind::Int64);
        Batch { shape: self.shape, ints, floats: Tensor::from_slice(&self.floats).to_device(device) }
    }
}

/// A batch on a device.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) shape: Shape,
    ints: Tensor,
    floats: Tensor,
}

impl Batch {
    /// A part of the ints, of these dimensions.
    pub(crate) fn ints(&self, part: Ints, dims: &[usize]) -> Tensor {
        view(&self.ints, self.shape.ints_at(part), dims)
    }

    /// A part of the floats, of these dimensions.
    pub(crate) fn floats(&self, part: Floats, dims: &[usize]) -> Tensor {
        view(&self.floats, self.shape.floats_at(part), dims)
    }
}

fn view(all: &Tensor, at: std::ops::Range<usize>, dims: &[usize]) -> Tensor {
    let dims: Vec<i64> = dims.iter().map(|&len| len as i64).collect();
    all.narrow(0, at.start as i64, at.len() as i64).view(&dims[..])
}
