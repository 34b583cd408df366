//! Tokens of the model's input, as `opt_src_pos` and `opt_tgt_pos` number them.

/// No token.
pub(super) const NONE: i32 = -1;

/// Areas of the table, by their numbers in a replay.
pub(super) mod area {
    pub(in super::super) const DECK: i32 = 1;
    pub(in super::super) const HAND: i32 = 2;
    pub(in super::super) const DISCARD: i32 = 3;
    pub(in super::super) const ACTIVE: i32 = 4;
    pub(in super::super) const BENCH: i32 = 5;
    pub(in super::super) const PRIZE: i32 = 6;
    pub(in super::super) const STADIUM: i32 = 7;
    pub(in super::super) const LOOKING: i32 = 12;
}

/// First token of a zone of ours and of the opponent, and its slots.
pub(super) struct Zone {
    first: [i32; 2],
    slots: i32,
}

const PRIZE: Zone = Zone { first: [123, 129], slots: 6 };
const HAND: Zone = Zone { first: [135, 165], slots: 30 };
const DISCARD: Zone = Zone { first: [195, 255], slots: 60 };
const ACTIVE: Zone = Zone { first: [319, 328], slots: 1 };
const BENCH: Zone = Zone { first: [320, 329], slots: 8 };

/// First of the two stadium tokens: ours, then theirs.
const STADIUM: i32 = 315;

/// Token of slot `index` of an area; `foe` is 1 for the opponent's. `None` where the area has no tokens or not as many.
pub(super) fn position(area: i32, foe: usize, index: i32) -> Option<i32> {
    let zone = match area {
        area::PRIZE => PRIZE,
        area::HAND => HAND,
        area::DISCARD => DISCARD,
        area::ACTIVE => ACTIVE,
        area::BENCH => BENCH,
        _ => return None,
    };
    (0..zone.slots).contains(&index).then(|| zone.first[foe] + index)
}

/// Token of a stadium.
pub(super) fn stadium(foe: usize) -> i32 {
    STADIUM + foe as i32
}
