//! The `train-tbptt` program.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// How threads of libtorch wait. By default they spin, which makes two threads slower than one where cores are shared;
/// the library reads this when it is loaded, before any code of ours runs.
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

fn main() -> ExitCode {
    if std::env::var_os(WAIT_POLICY).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        // comes back only where it fails, and then spinning threads are no reason to give up
        let _ = Command::new(program).args(std::env::args_os().skip(1)).env(WAIT_POLICY, "PASSIVE").exec();
    }
    train_tbptt::main(std::env::args_os())
}
