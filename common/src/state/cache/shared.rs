//! The cache behind its face: one lock over what is decided, and bytes that move outside of it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::ahead::Plan;
use super::block::Block;
use super::content::Content;
use super::counters::Counters;
use super::error::CacheError;
use super::flight::Flight;
use super::key::Key;
use super::memory::Probe;
use super::policy::{Arrival, Evicted, Fate, Found, Policy};
use super::run::SpillFolder;
use super::source::{Slot, Source};
use super::spill::Spilled;

/// What all clones of a cache share.
pub(super) struct Inner<S> {
    pub(super) source: S,
    pub(super) high_watermark: f64,
    pub(super) probe: Box<dyn Probe>,
    pub(super) spill: Option<SpillFolder>,
    pub(super) warm: Option<PathBuf>,
    pub(super) state: Mutex<State>,
    /// Something was asked for, or a group has come or gone.
    pub(super) changed: Condvar,
}

pub(super) struct State {
    pub(super) policy: Policy<Slot>,
    resident: HashMap<Slot, Arc<Block>>,
    /// Groups that are out of memory as soon as they are on the disk.
    leaving: HashMap<Slot, Arc<Block>>,
    pub(super) flights: HashMap<Slot, Arc<Flight>>,
    /// Files whose sums were looked at.
    verified: HashSet<Slot>,
    /// Groups whose warm files are no good.
    refused: HashSet<Slot>,
    counters: Counters,
    pub(super) plan: Plan,
    /// The largest group so far.
    pub(super) largest: u64,
}

/// Why a group is brought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Purpose {
    Access,
    Ahead,
}

/// Groups that are to be written to the disk.
pub(super) type Leaving = Vec<(Slot, Arc<Block>)>;

impl State {
    pub(super) fn new(policy: Policy<Slot>) -> Self {
        Self {
            policy,
            resident: HashMap::new(),
            leaving: HashMap::new(),
            flights: HashMap::new(),
            verified: HashSet::new(),
            refused: HashSet::new(),
            counters: Counters::default(),
            plan: Plan::default(),
            largest: 0,
        }
    }

    pub(super) fn counters(&self) -> Counters {
        let [resident_hot, resident_transient, ssd_resident] = self.policy.counts().map(|count| count as u64);
        let resident_bytes = self.policy.resident_bytes();
        Counters { resident_hot, resident_transient, ssd_resident, resident_bytes, ..self.counters }
    }

    /// Takes evicted groups out of memory; `passing` is one that never was in it. Gives those that are to be written.
    pub(super) fn take(
        &mut self,
        evicted: Vec<Evicted<Slot>>,
        passing: Option<(Slot, &Arc<Block>)>,
    ) -> Leaving {
        let mut leaving = vec![];
        for Evicted { key, fate } in evicted {
            self.counters.evictions += 1;
            let passing = passing.filter(|(slot, _)| *slot == key).map(|(_, block)| Arc::clone(block));
            let block = self.resident.remove(&key).or(passing);
            match (fate, block) {
                (Fate::Write, Some(block)) => {
                    self.leaving.insert(key, Arc::clone(&block));
                    leaving.push((key, block));
                }
                (Fate::Drop, _) => self.counters.dropped += 1,
                _ => {}
            }
        }
        leaving
    }
}

impl<S: Source> Inner<S> {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // a thread that panicked has left the state as whole as any other moment does
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_pressed(&self) -> bool {
        self.probe.usage().is_some_and(|usage| usage.share() > self.high_watermark)
    }

    /// One access: the group from memory, from the disk, or decoded.
    pub(super) fn fetch(&self, slot: Slot) -> Result<Arc<Block>, CacheError> {
        let pressed = self.is_pressed();
        let (mut evicted, mut state) = (vec![], self.lock());
        let found = state.policy.access(slot, pressed, &mut evicted);
        state.plan.advance(slot);
        let block = state.resident.get(&slot).cloned();
        let leaving = state.take(evicted, None);
        match found {
            Found::Hot | Found::Transient => state.counters.hits += 1,
            Found::Promoted => {
                state.counters.hits += 1;
                state.counters.promotions += 1;
            }
            Found::Spilled | Found::Absent => state.counters.misses += 1,
        }
        drop(state);
        self.changed.notify_all();
        self.write(leaving);
        match block {
            Some(block) => Ok(block),
            None => self.load(slot, Purpose::Access),
        }
    }

    /// Brings a group, or waits for who brings it already: it is brought once, however many ask for it.
    pub(super) fn load(&self, slot: Slot, purpose: Purpose) -> Result<Arc<Block>, CacheError> {
        loop {
            let mut state = self.lock();
            if let Some(block) = state.resident.get(&slot) {
                return Ok(Arc::clone(block));
            }
            let Some(flight) = state.flights.get(&slot).cloned() else {
                let flight = Arc::default();
                state.flights.insert(slot, Arc::clone(&flight));
                drop(state);
                let landing = Landing { cache: self, slot, flight };
                let (block, warm) = self.bring(slot, purpose)?;
                self.admit(slot, &block, warm);
                landing.flight.land(Some(&block));
                return Ok(block);
            };
            state.counters.coalesced += 1;
            drop(state);
            if let Some(block) = flight.wait() {
                return Ok(block);
            }
            // whoever brought it failed; the error is met again here
        }
    }

    /// A group from the disk or decoded, and whether a warm set holds it.
    fn bring(&self, slot: Slot, purpose: Purpose) -> Result<(Arc<Block>, bool), CacheError> {
        let key = self.source.key(slot).ok_or(CacheError::NoGroup(slot))?;
        if let Some(block) = self.spilled(slot, &key) {
            return Ok((block, false));
        }
        if let Some(block) = self.warmed(slot, &key) {
            return Ok((block, true));
        }
        let block = Block::Decoded(self.source.decode(slot)?.into_columns());
        let mut state = self.lock();
        state.counters.decodes += 1;
        state.counters.bytes_loaded += block.bytes();
        if purpose == Purpose::Ahead {
            state.counters.read_ahead += 1;
        }
        Ok((Arc::new(block), false))
    }

    fn spilled(&self, slot: Slot, key: &Key) -> Option<Arc<Block>> {
        let folder = self.spill.as_ref()?;
        let mut state = self.lock();
        if let Some(block) = state.leaving.get(&slot).cloned() {
            state.counters.ssd_hits += 1;
            return Some(block);
        }
        if !state.policy.is_spilled(slot) {
            return None;
        }
        let deep = !state.verified.contains(&slot);
        drop(state);
        let opened = folder.open(key, S::Rows::KIND, deep);
        let mut state = self.lock();
        match opened {
            Ok(Some(spilled)) => {
                state.counters.ssd_hits += 1;
                state.verified.insert(slot);
                Some(Arc::new(Block::Mapped(spilled)))
            }
            miss => {
                let why = miss.err().map_or_else(|| "it is torn".into(), |error| error.to_string());
                tracing::warn!("a spill file is lost: {why}");
                state.counters.spill_errors += 1;
                state.policy.lost(slot);
                None
            }
        }
    }

    fn warmed(&self, slot: Slot, key: &Key) -> Option<Arc<Block>> {
        let path = self.warm.as_ref()?.join(key.file_name());
        let state = self.lock();
        let deep = !state.verified.contains(&slot);
        if state.refused.contains(&slot) || !path.exists() {
            return None;
        }
        drop(state);
        let opened = Spilled::open(&path, key, S::Rows::KIND, deep);
        let mut state = self.lock();
        let Ok(Some(spilled)) = opened else {
            tracing::warn!("{} is no whole spill file", path.display());
            state.counters.spill_errors += 1;
            state.refused.insert(slot);
            return None;
        };
        state.counters.warm_hits += 1;
        state.verified.insert(slot);
        Some(Arc::new(Block::Mapped(spilled)))
    }

    /// Takes a group in, and others out.
    fn admit(&self, slot: Slot, block: &Arc<Block>, warm: bool) {
        let (mut evicted, mut state) = (vec![], self.lock());
        if block.bytes() > state.largest {
            // hot groups leave room for one more of this size, whatever their share
            state.largest = block.bytes();
            state.policy.reserve(block.bytes());
        }
        state.policy.insert(Arrival { key: slot, bytes: block.bytes(), warm }, &mut evicted);
        if state.policy.is_resident(slot) {
            state.resident.insert(slot, Arc::clone(block));
        }
        let leaving = state.take(evicted, Some((slot, block)));
        drop(state);
        self.write(leaving);
    }

    /// Writes what leaves. A disk that takes no more is no reason to stop: the group is dropped, and counted.
    pub(super) fn write(&self, leaving: Leaving) {
        for (slot, block) in leaving {
            let written = match (&self.spill, self.source.key(slot)) {
                (Some(folder), Some(key)) => folder.write(&key, S::Rows::KIND, block.rows(), &block.views()),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            };
            let mut state = self.lock();
            state.leaving.remove(&slot);
            match written {
                Ok(()) => {
                    state.counters.ssd_spills += 1;
                    state.verified.remove(&slot);
                }
                Err(error) => {
                    tracing::warn!("a row group was not spilled: {error}");
                    state.counters.spill_errors += 1;
                    state.counters.dropped += 1;
                    state.policy.lost(slot);
                }
            }
        }
    }

    /// Forgets a group that turned out torn when it was read.
    pub(super) fn discard(&self, slot: Slot, block: &Arc<Block>) {
        let mut state = self.lock();
        if !state.resident.get(&slot).is_some_and(|there| Arc::ptr_eq(there, block)) {
            return;
        }
        tracing::warn!("a mapped row group was cut while it was in use");
        state.resident.remove(&slot);
        state.policy.forget(slot);
        state.policy.lost(slot);
        state.verified.remove(&slot);
        state.refused.insert(slot);
        state.counters.spill_errors += 1;
        drop(state);
        if let (Some(folder), Some(key)) = (&self.spill, self.source.key(slot)) {
            folder.remove(&key);
        }
    }
}

/// A group that is under way. Whatever becomes of it, those who wait for it go on.
struct Landing<'a, S: Source> {
    cache: &'a Inner<S>,
    slot: Slot,
    flight: Arc<Flight>,
}

impl<S: Source> Drop for Landing<'_, S> {
    fn drop(&mut self) {
        self.cache.lock().flights.remove(&self.slot);
        self.flight.land(None);
        self.cache.changed.notify_all();
    }
}
