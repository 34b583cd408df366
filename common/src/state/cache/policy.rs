//! Which row groups stay in memory, and which go: three tiers, promotion, pressure, and the guard of an optimizer step. A
//! state machine without I/O, clock or threads; whoever drives it moves the bytes. Source: "Three-tier design",
//! "Pressure-driven eviction", "LFU-style promotion", "`in_opt_step()`".

#[cfg(test)]
mod model;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// How much each tier may hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Hot and transient groups together.
    pub capacity: u64,
    /// Hot groups, of the capacity.
    pub hot: u64,
    /// Hits in the transient tier that make a group hot.
    pub promotion_hits: u32,
    /// Groups on the disk.
    pub spill: u64,
}

/// Where a group was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In the hot tier.
    Hot,
    /// In the transient tier.
    Transient,
    /// In the transient tier, and this hit made it hot.
    Promoted,
    /// On the disk.
    Spilled,
    /// Nowhere: it has to be decoded.
    Absent,
}

/// What becomes of a group that leaves memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is to be written to the disk. [`Policy::lost`] says where that failed.
    Write,
    /// It is on the disk already.
    Kept,
    /// The disk tier is full: it is gone.
    Drop,
}

/// A group that leaves memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted<K> {
    /// Which one.
    pub key: K,
    /// Where it goes.
    pub fate: Fate,
}

/// A group that comes into memory.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<K> {
    /// Which one.
    pub key: K,
    /// What it takes.
    pub bytes: u64,
    /// Whether a warm set holds it, so that it is never spilled.
    pub warm: bool,
}

/// What is known of a group in the transient tier.
#[derive(Debug)]
struct Entry {
    bytes: u64,
    warm: bool,
    hits: u32,
    /// When it was last of use, as a number in [`Policy::order`].
    used: u64,
}

/// The three tiers.
#[derive(Debug)]
pub struct Policy<K> {
    limits: Limits,
    hot: HashMap<K, u64>,
    transient: HashMap<K, Entry>,
    /// Transient groups, the least recently used first.
    order: BTreeMap<u64, K>,
    spilled: HashMap<K, u64>,
    hot_bytes: u64,
    transient_bytes: u64,
    spilled_bytes: u64,
    clock: u64,
    guards: u32,
}

impl<K: Copy + Eq + Hash> Policy<K> {
    /// Empty tiers.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            hot: HashMap::new(),
            transient: HashMap::new(),
            order: BTreeMap::new(),
            spilled: HashMap::new(),
            hot_bytes: 0,
            transient_bytes: 0,
            spilled_bytes: 0,
            clock: 0,
            guards: 0,
        }
    }

    /// Looks for a group. Under pressure one transient group goes first, the least recently used of the others; none within
    /// the guard.
    pub fn access(&mut self, key: K, pressed: bool, out: &mut Vec<Evicted<K>>) -> Found {
        if pressed && self.guards == 0 {
            self.relieve(key, out);
        }
        if self.hot.contains_key(&key) {
            return Found::Hot;
        }
        let now = self.tick();
        let Some(entry) = self.transient.get_mut(&key) else {
            return if self.spilled.contains_key(&key) { Found::Spilled } else { Found::Absent };
        };
        entry.hits += 1;
        let (hits, bytes) = (entry.hits, entry.bytes);
        self.order.remove(&std::mem::replace(&mut entry.used, now));
        self.order.insert(now, key);
        if hits < self.limits.promotion_hits || self.hot_bytes + bytes > self.limits.hot {
            return Found::Transient;
        }
        self.remove_transient(key);
        self.hot.insert(key, bytes);
        self.hot_bytes += bytes;
        Found::Promoted
    }

    /// Takes a group into the transient tier. The least recently used ones go until it fits, unless the guard is held. One
    /// that would not fit beside the hot ones goes at once.
    pub fn insert(&mut self, arrival: Arrival<K>, out: &mut Vec<Evicted<K>>) {
        let Arrival { key, bytes, warm } = arrival;
        if self.is_resident(key) {
            return;
        }
        if self.guards == 0 {
            if self.hot_bytes.saturating_add(bytes) > self.limits.capacity {
                return out.push(self.evicted(key, bytes, warm));
            }
            self.shrink(self.limits.capacity - bytes, out);
        }
        let used = self.tick();
        self.transient.insert(key, Entry { bytes, warm, hits: 0, used });
        self.order.insert(used, key);
        self.transient_bytes += bytes;
    }

    /// Begins a time in which nothing is evicted. It may be begun again within.
    pub fn enter(&mut self) {
        self.guards += 1;
    }

    /// Ends what [`enter`](Self::enter) began. Behind the outermost, what exceeds the capacity goes.
    pub fn leave(&mut self, out: &mut Vec<Evicted<K>>) {
        self.guards = self.guards.saturating_sub(1);
        if self.guards == 0 {
            self.shrink(self.limits.capacity, out);
        }
    }

    /// A group is not on the disk: it could not be written, or not be read.
    pub fn lost(&mut self, key: K) {
        self.spilled_bytes -= self.spilled.remove(&key).unwrap_or(0);
    }

    /// A group is not in memory: what it was mapped from is damaged.
    pub fn forget(&mut self, key: K) {
        self.remove_transient(key);
        self.hot_bytes -= self.hot.remove(&key).unwrap_or(0);
    }

    /// Whether a group is in memory.
    pub fn is_resident(&self, key: K) -> bool {
        self.hot.contains_key(&key) || self.transient.contains_key(&key)
    }

    /// Whether a group would find room without another one going.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.resident_bytes().saturating_add(bytes) <= self.limits.capacity
    }

    /// Whether a group is on the disk.
    pub fn is_spilled(&self, key: K) -> bool {
        self.spilled.contains_key(&key)
    }

    /// The group that would go first.
    pub fn oldest(&self) -> Option<K> {
        self.order.first_key_value().map(|(_, &key)| key)
    }

    /// From here on hot groups leave room for one of so many bytes.
    pub fn reserve(&mut self, bytes: u64) {
        self.limits.hot = self.limits.hot.min(self.limits.capacity.saturating_sub(bytes));
    }

    /// Whether nothing is evicted now.
    pub fn is_guarded(&self) -> bool {
        self.guards > 0
    }

    /// Bytes in memory.
    pub fn resident_bytes(&self) -> u64 {
        self.hot_bytes + self.transient_bytes
    }

    /// Groups that are hot, transient, and on the disk.
    pub fn counts(&self) -> [usize; 3] {
        [self.hot.len(), self.transient.len(), self.spilled.len()]
    }

    /// Evicts one group other than `spared`.
    fn relieve(&mut self, spared: K, out: &mut Vec<Evicted<K>>) {
        if let Some(key) = self.order.values().copied().find(|&key| key != spared) {
            self.evict(key, out);
        }
    }

    /// Evicts transient groups until `room` is not exceeded.
    fn shrink(&mut self, room: u64, out: &mut Vec<Evicted<K>>) {
        while self.resident_bytes() > room
            && let Some((_, &key)) = self.order.first_key_value()
        {
            self.evict(key, out);
        }
    }

    fn evict(&mut self, key: K, out: &mut Vec<Evicted<K>>) {
        if let Some(Entry { bytes, warm, .. }) = self.remove_transient(key) {
            out.push(self.evicted(key, bytes, warm));
        }
    }

    fn evicted(&mut self, key: K, bytes: u64, warm: bool) -> Evicted<K> {
        let fate = if warm || self.spilled.contains_key(&key) {
            Fate::Kept
        } else if self.spilled_bytes.saturating_add(bytes) > self.limits.spill {
            Fate::Drop
        } else {
            self.spilled.insert(key, bytes);
            self.spilled_bytes += bytes;
            Fate::Write
        };
        Evicted { key, fate }
    }

    fn remove_transient(&mut self, key: K) -> Option<Entry> {
        let entry = self.transient.remove(&key)?;
        self.order.remove(&entry.used);
        self.transient_bytes -= entry.bytes;
        Some(entry)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}
