//! A group on its way into memory, and the threads that wait for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::block::Block;

/// Empty, until the group is there or is known not to come.
#[derive(Debug, Default)]
pub(super) struct Flight {
    landed: Mutex<Option<Option<Arc<Block>>>>,
    arrival: Condvar,
}

impl Flight {
    /// Ends the waiting; the first call counts.
    pub(super) fn land(&self, block: Option<&Arc<Block>>) {
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        landed.get_or_insert_with(|| block.cloned());
        self.arrival.notify_all();
    }

    /// Waits for the group; `None` where it could not be brought.
    pub(super) fn wait(&self) -> Option<Arc<Block>> {
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(block) = &*landed {
                return block.clone();
            }
            landed = self.arrival.wait(landed).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
