//! Signals: the first ends the job at a clean point, the second at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::failure::{Exit, Failure};

static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Listens from now on.
pub(super) fn watch() {
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        let second = Arc::new(AtomicBool::new(false));
        // order matters: the shutdown looks at what the registration behind it sets
        let _ = flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&second));
        let _ = flag::register(signal, second);
        let _ = flag::register_usize(signal, Arc::clone(&SIGNAL), signal as usize);
    }
}

/// What an interrupted read is; it becomes the failure that [`check`] gives.
#[derive(Debug, thiserror::Error)]
#[error("stopped by a signal")]
pub struct Stopped;

/// A clean point within a read.
pub fn check_io() -> std::io::Result<()> {
    check().map_err(|_| std::io::Error::other(Stopped))
}

/// A clean point: ends the job here where a signal has come.
pub fn check() -> Result<(), Failure> {
    let (name, exit) = match SIGNAL.load(Ordering::Relaxed) as i32 {
        0 => return Ok(()),
        SIGTERM => ("SIGTERM", Exit::Terminated),
        _ => ("SIGINT", Exit::Interrupted),
    };
    Err(Failure::new(exit, format!("stopped by {name}")).hint("nothing is half-written; run it again"))
}
