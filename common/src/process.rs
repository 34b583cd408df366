//! What every job does alike: arguments, exit codes, errors, output, receipts, the store, progress, signals, threads.

pub mod action;
pub mod cli;
pub mod failure;
pub mod input;
pub mod parallel;
pub mod progress;
pub mod receipt;
pub mod selection;
pub mod size;
pub mod space;
pub mod stop;
pub mod table;

pub use action::{Action, Made, Obtained, Place};
pub use cli::{Common, Report, conclude, emit, main};
pub use failure::{Exit, Failure};
pub use input::Input;
pub use progress::Progress;
pub use selection::SelectionArgs;
pub use size::ByteSize;
