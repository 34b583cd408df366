//! Reading ahead: a trainer knows in which order it will ask, so the next groups are brought while it computes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::Cache;
use super::shared::{Inner, Purpose, State};
use super::source::{Slot, Source};

/// How far an access may be ahead of the plan and still be found in it.
const WINDOW: usize = 64;

/// The accesses to come.
#[derive(Debug, Default)]
pub(super) struct Plan {
    accesses: Vec<Slot>,
    /// How many of them were made.
    at: usize,
    depth: usize,
    /// Groups that could not be brought. Whoever asks for them learns why.
    failed: HashSet<Slot>,
}

impl Plan {
    /// Notes an access. One that is not in the plan is passed over.
    pub(super) fn advance(&mut self, slot: Slot) {
        let left = self.accesses.get(self.at..).unwrap_or(&[]);
        if let Some(passed) = left.iter().take(WINDOW).position(|&planned| planned == slot) {
            self.at += passed + 1;
        }
    }

    /// The next accesses.
    fn next(&self) -> &[Slot] {
        let left = self.accesses.get(self.at..).unwrap_or(&[]);
        &left[..left.len().min(self.depth)]
    }
}

/// Threads that read ahead, until this is dropped.
#[derive(Debug)]
pub struct ReadAhead {
    stop: Arc<AtomicBool>,
    wake: Box<dyn Wake>,
    threads: Vec<JoinHandle<()>>,
}

trait Wake: std::fmt::Debug + Send {
    fn wake(&self);
}

impl<S: Source> Wake for Cache<S> {
    fn wake(&self) {
        // whoever is about to wait holds the lock, and hears this afterwards
        drop(self.0.lock());
        self.0.changed.notify_all();
    }
}

impl<S: Source + 'static> Cache<S> {
    /// Brings groups before they are asked for: of the next `depth` accesses of a plan, by `threads` threads. What would
    /// push out a group that the same accesses need is left for later.
    pub fn read_ahead(&self, plan: Vec<Slot>, depth: usize, threads: usize) -> ReadAhead {
        self.0.lock().plan = Plan { accesses: plan, at: 0, depth, failed: HashSet::new() };
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |_| {
            let (cache, stop) = (self.clone(), Arc::clone(&stop));
            std::thread::spawn(move || cache.0.follow(&stop))
        };
        ReadAhead { threads: (0..threads).map(thread).collect(), stop, wake: Box::new(self.clone()) }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<S: Source> Inner<S> {
    fn follow(&self, stop: &AtomicBool) {
        let mut state = self.lock();
        while !stop.load(Ordering::Acquire) {
            let Some(slot) = state.wanted_ahead() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let failed = self.is_pressed() || self.load(slot, Purpose::Ahead).is_err();
            state = self.lock();
            if failed {
                state.plan.failed.insert(slot);
            }
        }
    }
}

impl State {
    /// The next group to bring.
    fn wanted_ahead(&self) -> Option<Slot> {
        let next = self.plan.next();
        let room = self.policy.has_room(self.largest);
        let spare = || {
            !self.policy.is_guarded() && self.policy.oldest().is_some_and(|oldest| !next.contains(&oldest))
        };
        let wanted = |slot: &&Slot| {
            let under_way = self.policy.is_resident(**slot) || self.flights.contains_key(*slot);
            !under_way && !self.plan.failed.contains(*slot)
        };
        next.iter().find(wanted).copied().filter(|_| room || spare())
    }
}
