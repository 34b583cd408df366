//! `doctor`: which libtorch and devices there are, and what to do where something is missing.

use std::fmt;

use common::process::{Common, Failure, emit};
use serde::Serialize;

/// The libtorch that this program is built for.
const WANTED: &str = "2.13.0";

#[derive(Debug, Serialize)]
struct Health {
    libtorch_wanted: &'static str,
    libtorch_built_with: &'static str,
    mps: Device,
    cuda: Device,
    auto: String,
    threads: usize,
    cores: usize,
    /// Set by the program itself where it was not.
    omp_wait_policy: Option<String>,
    mkl: bool,
    openmp: bool,
}

/// A kind of device.
#[derive(Debug, Serialize)]
struct Device {
    there: bool,
    /// Whether it adds 1 and 1, or why not.
    works: Result<(), String>,
    hint: &'static str,
}

/// Looks at everything.
pub(crate) fn doctor(common: &Common) -> Result<(), Failure> {
    emit(
        common,
        &Health {
            libtorch_wanted: WANTED,
            libtorch_built_with: env!("FOLDLINE_LIBTORCH"),
            mps: Device::of(
                tch::utils::has_mps(),
                tch::Device::Mps,
                "needs a Mac with Apple silicon and libtorch of the macOS wheel: `./run libtorch` there",
            ),
            cuda: Device::of(
                tch::Cuda::is_available(),
                tch::Device::Cuda(0),
                "needs a driver and a libtorch with CUDA, which LIBTORCH names; `./run libtorch` has none",
            ),
            auto: format!("{:?}", crate::device::Choice::Auto.device()?).to_lowercase(),
            threads: common.threads(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            omp_wait_policy: std::env::var("OMP_WAIT_POLICY").ok(),
            mkl: tch::utils::has_mkl(),
            openmp: tch::utils::has_openmp(),
        },
    )
}

impl Device {
    fn of(there: bool, device: tch::Device, hint: &'static str) -> Self {
        let works = if there { sum(device) } else { Err("libtorch finds no such device".into()) };
        Self { there, works, hint }
    }
}

/// Adds 1 and 1 on a device, as what is found there may not work.
fn sum(device: tch::Device) -> Result<(), String> {
    let text = |error: tch::TchError| error.to_string().lines().next().unwrap_or_default().to_owned();
    let one = tch::Tensor::f_ones([1], (tch::Kind::Float, device)).map_err(text)?;
    let two = one.f_add(&one).map_err(text)?.f_double_value(&[0]).map_err(text)?;
    if two == 2.0 { Ok(()) } else { Err(format!("1 + 1 is {two} there")) }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, wanted) = (self.libtorch_built_with, self.libtorch_wanted);
        writeln!(
            f,
            "libtorch  {found}{}",
            if found == wanted { "" } else { ", which is not the one wanted" }
        )?;
        if found != wanted {
            writeln!(f, "          {wanted} is wanted: unset LIBTORCH, and `./run libtorch` fetches it")?;
        }
        writeln!(
            f,
            "threads   {} of {} cores, MKL {}, OpenMP {}",
            self.threads, self.cores, self.mkl, self.openmp
        )?;
        let policy = self.omp_wait_policy.as_deref().unwrap_or("not set");
        writeln!(f, "waiting   OMP_WAIT_POLICY {policy}")?;
        writeln!(f, "cpu       works")?;
        for (name, device) in [("mps", &self.mps), ("cuda", &self.cuda)] {
            match &device.works {
                Ok(()) => writeln!(f, "{name:<9} works")?,
                Err(why) => writeln!(f, "{name:<9} {why}\n          {}", device.hint)?,
            }
        }
        write!(f, "auto      {}", self.auto)
    }
}
