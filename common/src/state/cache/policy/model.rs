//! The policy as one would say it, in lists that are searched from end to end, and random traces on which both must agree.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Arrival, Evicted, Fate, Found, Limits, Policy};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    key: u8,
    bytes: u64,
    warm: bool,
    hits: u32,
}

/// Lists in order: the hot ones as they became so, the transient ones with the most recently used last.
#[derive(Debug)]
struct Model {
    limits: Limits,
    hot: Vec<Group>,
    transient: Vec<Group>,
    spilled: Vec<(u8, u64)>,
    guards: u32,
}

impl Model {
    fn resident(&self) -> u64 {
        self.hot.iter().chain(&self.transient).map(|group| group.bytes).sum()
    }

    fn evict(&mut self, group: Group) -> Evicted<u8> {
        self.transient.retain(|other| other.key != group.key);
        let there = group.warm || self.spilled.iter().any(|&(key, _)| key == group.key);
        let full =
            self.spilled.iter().map(|&(_, bytes)| bytes).sum::<u64>() + group.bytes > self.limits.spill;
        let fate = match (there, full) {
            (true, _) => Fate::Kept,
            (false, true) => Fate::Drop,
            (false, false) => {
                self.spilled.push((group.key, group.bytes));
                Fate::Write
            }
        };
        Evicted { key: group.key, fate }
    }

    fn access(&mut self, key: u8, pressed: bool, out: &mut Vec<Evicted<u8>>) -> Found {
        if pressed && self.guards == 0 {
            let oldest = self.transient.iter().find(|group| group.key != key).copied();
            out.extend(oldest.map(|oldest| self.evict(oldest)));
        }
        if self.hot.iter().any(|group| group.key == key) {
            return Found::Hot;
        }
        let Some(at) = self.transient.iter().position(|group| group.key == key) else {
            let there = self.spilled.iter().any(|&(spilled, _)| spilled == key);
            return if there { Found::Spilled } else { Found::Absent };
        };
        let mut group = self.transient.remove(at);
        group.hits += 1;
        let hot: u64 = self.hot.iter().map(|group| group.bytes).sum();
        if group.hits >= self.limits.promotion_hits && hot + group.bytes <= self.limits.hot {
            self.hot.push(Group { hits: 0, ..group });
            return Found::Promoted;
        }
        self.transient.push(group);
        Found::Transient
    }

    fn insert(&mut self, Arrival { key, bytes, warm }: Arrival<u8>, out: &mut Vec<Evicted<u8>>) {
        if self.hot.iter().chain(&self.transient).any(|group| group.key == key) {
            return;
        }
        let group = Group { key, bytes, warm, hits: 0 };
        if self.guards == 0 {
            if self.hot.iter().map(|group| group.bytes).sum::<u64>() + bytes > self.limits.capacity {
                let evicted = self.evict(group);
                return out.push(evicted);
            }
            while self.resident() + bytes > self.limits.capacity {
                let oldest = self.evict(self.transient[0]);
                out.push(oldest);
            }
        }
        self.transient.push(group);
    }

    fn leave(&mut self, out: &mut Vec<Evicted<u8>>) {
        self.guards = self.guards.saturating_sub(1);
        while self.guards == 0 && self.resident() > self.limits.capacity && !self.transient.is_empty() {
            let oldest = self.evict(self.transient[0]);
            out.push(oldest);
        }
    }

    fn lost(&mut self, key: u8) {
        self.spilled.retain(|&(spilled, _)| spilled != key);
    }

    fn forget(&mut self, key: u8) {
        self.hot.retain(|group| group.key != key);
        self.transient.retain(|group| group.key != key);
    }
}

#[derive(Debug, Clone)]
enum Event {
    Access(u8, bool),
    Insert(u8, u64, bool),
    Enter,
    Leave,
    Lost(u8),
    Forget(u8),
}

fn event() -> impl Strategy<Value = Event> {
    let key = || 0u8..12;
    prop_oneof![
        8 => (key(), prop::bool::weighted(0.2)).prop_map(|(key, pressed)| Event::Access(key, pressed)),
        6 => (key(), 1u64..50, prop::bool::weighted(0.1)).prop_map(|(key, bytes, warm)| Event::Insert(key, bytes, warm)),
        1 => Just(Event::Enter),
        1 => Just(Event::Leave),
        1 => key().prop_map(Event::Lost),
        1 => key().prop_map(Event::Forget),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    (40u64..200, 0u64..=100, 1u32..4, 0u64..200).prop_map(|(capacity, share, promotion_hits, spill)| Limits {
        capacity,
        hot: capacity * share / 100,
        promotion_hits,
        spill,
    })
}

/// The transient tier in its exact order; the others as sets.
fn dump(policy: &Policy<u8>) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let sorted = |mut keys: Vec<u8>| {
        keys.sort_unstable();
        keys
    };
    let transient = policy.order.values().copied().collect();
    (
        sorted(policy.hot.keys().copied().collect()),
        transient,
        sorted(policy.spilled.keys().copied().collect()),
    )
}

fn dump_model(model: &Model) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut hot: Vec<u8> = model.hot.iter().map(|group| group.key).collect();
    let mut spilled: Vec<u8> = model.spilled.iter().map(|&(key, _)| key).collect();
    hot.sort_unstable();
    spilled.sort_unstable();
    (hot, model.transient.iter().map(|group| group.key).collect(), spilled)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn policy_and_model_agree(limits in limits(), trace in vec(event(), 0..200)) {
        let mut policy = Policy::new(limits);
        let mut model = Model { limits, hot: vec![], transient: vec![], spilled: vec![], guards: 0 };
        for event in trace {
            let (mut evicted, mut expected) = (vec![], vec![]);
            let guarded = policy.is_guarded();
            let leaving = matches!(event, Event::Leave);
            match event {
                Event::Access(key, pressed) => {
                    let found = policy.access(key, pressed, &mut evicted);
                    prop_assert_eq!(found, model.access(key, pressed, &mut expected));
                    prop_assert!(evicted.len() <= 1);
                    if found == Found::Hot || found == Found::Transient {
                        prop_assert!(evicted.iter().all(|gone| gone.key != key));
                    }
                }
                Event::Insert(key, bytes, warm) => {
                    policy.insert(Arrival { key, bytes, warm }, &mut evicted);
                    model.insert(Arrival { key, bytes, warm }, &mut expected);
                    prop_assert!(guarded || policy.resident_bytes() <= limits.capacity.max(model.resident()));
                }
                Event::Enter => {
                    policy.enter();
                    model.guards += 1;
                }
                Event::Leave => {
                    policy.leave(&mut evicted);
                    model.leave(&mut expected);
                }
                Event::Lost(key) => {
                    policy.lost(key);
                    model.lost(key);
                }
                Event::Forget(key) => {
                    policy.forget(key);
                    model.forget(key);
                }
            }
            prop_assert_eq!(&evicted, &expected);
            prop_assert_eq!(dump(&policy), dump_model(&model));
            prop_assert_eq!(policy.resident_bytes(), model.resident());
            prop_assert!(policy.hot_bytes <= limits.hot, "hot takes more than its share");
            prop_assert!(policy.spilled_bytes <= limits.spill, "the disk takes more than its cap");
            prop_assert!(!guarded || leaving || evicted.is_empty(), "evicted within the guard");
            prop_assert!(policy.is_guarded() || policy.resident_bytes() <= limits.capacity);
        }
    }
}

#[test]
fn an_access_under_pressure_evicts_exactly_one() {
    let limits = Limits { capacity: 100, hot: 60, promotion_hits: 2, spill: 1000 };
    let (mut policy, mut out) = (Policy::new(limits), vec![]);
    for key in 0..4u8 {
        policy.insert(Arrival { key, bytes: 20, warm: false }, &mut out);
    }
    assert_eq!(policy.access(0, true, &mut out), Found::Transient);
    assert_eq!(out, [Evicted { key: 1, fate: Fate::Write }]);
    assert_eq!(policy.access(0, false, &mut out), Found::Promoted);
    policy.access(0, true, &mut out);
    policy.access(0, true, &mut out);
    policy.access(0, true, &mut out);
    // the hot one stays when nothing else is left
    assert_eq!(out.iter().map(|gone| gone.key).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(policy.counts(), [1, 0, 3]);
}

#[test]
fn within_the_guard_nothing_goes_and_behind_it_the_oldest() {
    let limits = Limits { capacity: 50, hot: 30, promotion_hits: 2, spill: 0 };
    let (mut policy, mut out) = (Policy::new(limits), vec![]);
    policy.enter();
    policy.enter();
    for key in 0..4u8 {
        policy.insert(Arrival { key, bytes: 20, warm: false }, &mut out);
        policy.access(9, true, &mut out);
    }
    policy.leave(&mut out);
    assert_eq!((out.len(), policy.resident_bytes()), (0, 80));
    policy.leave(&mut out);
    assert_eq!(out, [0, 1].map(|key| Evicted { key, fate: Fate::Drop }));
}
