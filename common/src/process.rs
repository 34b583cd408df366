//! What every job does alike: arguments, exit codes, errors, output, progress, signals, threads.

pub mod cli;
pub mod failure;
pub mod input;
pub mod parallel;
pub mod progress;
pub mod size;
pub mod space;
pub mod stop;

pub use cli::{Common, Report, emit, main};
pub use failure::{Exit, Failure};
pub use input::Input;
pub use progress::Progress;
pub use size::ByteSize;
