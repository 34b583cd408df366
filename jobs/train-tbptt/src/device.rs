//! Where a model computes.

use std::str::FromStr;

use common::process::{Exit, Failure};
use tch::Device;

/// A device that was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// MPS where there is one, else CUDA, else the CPU.
    #[default]
    Auto,
    /// The GPU of a Mac.
    Mps,
    /// A GPU of NVIDIA's.
    Cuda,
    /// The processor.
    Cpu,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "mps" => Ok(Self::Mps),
            "cuda" => Ok(Self::Cuda),
            "cpu" => Ok(Self::Cpu),
            _ => Err("expected auto, mps, cuda or cpu".into()),
        }
    }
}

impl Choice {
    /// The device. One that is not there is exit 5.
    pub(crate) fn device(self) -> Result<Device, Failure> {
        let (mps, cuda) = (tch::utils::has_mps(), tch::Cuda::is_available());
        let lacking = |name: &str| {
            Err(Failure::new(Exit::Missing, format!("this libtorch finds no {name} device"))
                .hint("`train-tbptt doctor` says what there is; `--device cpu` works everywhere"))
        };
        match self {
            Self::Auto if mps => Ok(Device::Mps),
            Self::Auto if cuda => Ok(Device::Cuda(0)),
            Self::Auto | Self::Cpu => Ok(Device::Cpu),
            Self::Mps if mps => Ok(Device::Mps),
            Self::Mps => lacking("MPS"),
            Self::Cuda if cuda => Ok(Device::Cuda(0)),
            Self::Cuda => lacking("CUDA"),
        }
    }
}
