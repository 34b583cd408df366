//! The column table: names, types, lengths and padding of a decision day. `docs/formats/decision-day.md` explains each.

use Kind::{F32, I8, I32, I64, Text};
use Pad::{MinusOne, OwnIndex, Ten, Zero};
use Part::{Aux, Label, MetaBucket, Option, ScalarState, Sequence, State};

/// Options a decision is stored with; what it offers beyond is cut.
pub const MAX_OPTIONS: usize = 192;
/// The action behind the options: no further pick.
pub const SUBMIT: usize = MAX_OPTIONS;
/// Floats that describe an option.
pub const OPTION_ATTRS: usize = 36;
/// Floats that describe a unit.
pub const UNIT_ATTRS: usize = 24;
/// Units of a side: the active one, then the bench.
pub const UNITS: usize = 9;
/// Names of the types of options, by the number in `opt_verb`.
pub const OPTION_NAMES: [&str; 17] = [
    "number",
    "yes",
    "no",
    "card",
    "tool card",
    "energy card",
    "energy",
    "play",
    "attach",
    "evolve",
    "ability",
    "discard",
    "retreat",
    "attack",
    "end",
    "skill",
    "special condition",
];
/// The bucket of what has no rating.
pub const UNKNOWN_BUCKET: i32 = 10;

/// Type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Eight bits, signed.
    I8,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
    /// A float of 32 bits.
    F32,
    /// UTF-8.
    Text,
}

/// What fills a list behind its last used slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pad {
    /// 0.
    Zero,
    /// −1.
    MinusOne,
    /// 10, the unknown bucket.
    Ten,
    /// The number of the slot.
    OwnIndex,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// State in one value.
    ScalarState,
    /// State in slots.
    State,
    /// What can be chosen.
    Option,
    /// Ratings of cards.
    MetaBucket,
    /// What was chosen, and how the game ended.
    Label,
    /// Auxiliary targets.
    Aux,
    /// Where the row belongs.
    Sequence,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Length of its lists; `None` where a row has one value.
    pub list: std::option::Option<usize>,
    /// What it is for.
    pub part: Part,
    /// What fills its lists.
    pub pad: Pad,
    /// Whether the last slot stands apart from the others, and is no padding.
    pub apart: bool,
}

impl Column {
    /// Slots that padding fills from the end on.
    pub fn ragged_len(&self) -> usize {
        self.list.map_or(1, |len| len - usize::from(self.apart))
    }
}

const fn scalar(name: &'static str, kind: Kind, part: Part) -> Column {
    Column { name, kind, list: None, part, pad: Zero, apart: false }
}

const fn list(name: &'static str, kind: Kind, len: usize, part: Part, pad: Pad) -> Column {
    Column { name, kind, list: Some(len), part, pad, apart: false }
}

const fn list_apart(name: &'static str, kind: Kind, len: usize, part: Part, pad: Pad) -> Column {
    Column { name, kind, list: Some(len), part, pad, apart: true }
}

/// All columns, in file order.
pub const COLUMNS: [Column; 90] = [
    // scalar state
    scalar("select_type", I32, ScalarState),
    scalar("select_context", I32, ScalarState),
    scalar("day_index_norm", F32, ScalarState),
    scalar("opponent_agent_bucket", I32, ScalarState),
    scalar("opponent_deck_bucket", I32, ScalarState),
    // state
    list("cls_scalars", F32, 19, State, Zero),
    list("effect_id", I32, 2, State, Zero),
    list("effect_mask", F32, 2, State, Zero),
    list("self_deck_id", I32, 60, State, Zero),
    list("self_deck_mask", F32, 60, State, Zero),
    list("self_deck_flag", F32, 60, State, Zero),
    list("opp_deck_id", I32, 60, State, Zero),
    list("opp_deck_mask", F32, 60, State, Zero),
    list("opp_deck_flag", F32, 60, State, Zero),
    list("self_prize_id", I32, 6, State, Zero),
    list("self_prize_mask", F32, 6, State, Zero),
    list("opp_prize_id", I32, 6, State, Zero),
    list("opp_prize_mask", F32, 6, State, Zero),
    list("self_hand_id", I32, 30, State, Zero),
    list("self_hand_mask", F32, 30, State, Zero),
    list("opp_hand_id", I32, 30, State, Zero),
    list("opp_hand_mask", F32, 30, State, Zero),
    list("opp_hand_flag", F32, 30, State, Zero),
    list("self_discard_id", I32, 60, State, Zero),
    list("self_discard_mask", F32, 60, State, Zero),
    list("opp_discard_id", I32, 60, State, Zero),
    list("opp_discard_mask", F32, 60, State, Zero),
    list("stadium_id", I32, 2, State, Zero),
    list("stadium_mask", F32, 2, State, Zero),
    list("self_unit_top_id", I32, 9, State, Zero),
    list("self_unit_preevo_id", I32, 18, State, Zero),
    list("self_unit_tool_id", I32, 36, State, Zero),
    list("self_unit_energy_id", I32, 36, State, Zero),
    list("self_unit_attr", F32, 216, State, Zero),
    list("self_unit_mask", F32, 9, State, Zero),
    list("opp_unit_top_id", I32, 9, State, Zero),
    list("opp_unit_preevo_id", I32, 18, State, Zero),
    list("opp_unit_tool_id", I32, 36, State, Zero),
    list("opp_unit_energy_id", I32, 36, State, Zero),
    list("opp_unit_attr", F32, 216, State, Zero),
    list("opp_unit_mask", F32, 9, State, Zero),
    // option
    list("opt_attr", F32, 6912, Option, Zero),
    list("opt_verb", I32, 192, Option, Zero),
    list("opt_src_pos", I32, 192, Option, MinusOne),
    list("opt_tgt_pos", I32, 192, Option, MinusOne),
    list("opt_src_card", I32, 192, Option, Zero),
    list("opt_tgt_card", I32, 192, Option, Zero),
    list("opt_attack_id", I32, 192, Option, Zero),
    list_apart("action_mask", F32, 193, Option, Zero),
    list_apart("opt_group", I32, 193, Option, OwnIndex),
    // meta bucket
    list("self_deck_meta_bucket", I32, 60, MetaBucket, Ten),
    list("opp_deck_meta_bucket", I32, 60, MetaBucket, Ten),
    list("self_hand_meta_bucket", I32, 30, MetaBucket, Ten),
    list("opp_hand_meta_bucket", I32, 30, MetaBucket, Ten),
    list("self_discard_meta_bucket", I32, 60, MetaBucket, Ten),
    list("opp_discard_meta_bucket", I32, 60, MetaBucket, Ten),
    list("self_unit_top_meta_bucket", I32, 9, MetaBucket, Ten),
    list("self_unit_preevo_meta_bucket", I32, 18, MetaBucket, Ten),
    list("self_unit_tool_meta_bucket", I32, 36, MetaBucket, Ten),
    list("self_unit_energy_meta_bucket", I32, 36, MetaBucket, Ten),
    list("opp_unit_top_meta_bucket", I32, 9, MetaBucket, Ten),
    list("opp_unit_preevo_meta_bucket", I32, 18, MetaBucket, Ten),
    list("opp_unit_tool_meta_bucket", I32, 36, MetaBucket, Ten),
    list("opp_unit_energy_meta_bucket", I32, 36, MetaBucket, Ten),
    list("self_prize_meta_bucket", I32, 6, MetaBucket, Ten),
    list("opp_prize_meta_bucket", I32, 6, MetaBucket, Ten),
    list("stadium_meta_bucket", I32, 2, MetaBucket, Ten),
    list("effect_meta_bucket", I32, 2, MetaBucket, Ten),
    // label
    scalar("y", I32, Label),
    scalar("is_attack", I8, Label),
    scalar("outcome", I8, Label),
    scalar("reward", F32, Label),
    scalar("is_self", I8, Label),
    // aux
    scalar("aux_ko", I8, Aux),
    scalar("aux_prize_delta", F32, Aux),
    scalar("aux_terminal", I8, Aux),
    scalar("aux_return", F32, Aux),
    scalar("aux_valid", I8, Aux),
    // sequence
    scalar("episode_id", I64, Sequence),
    scalar("side", I8, Sequence),
    scalar("step_id", I32, Sequence),
    scalar("decision_id", I32, Sequence),
    scalar("substep", I8, Sequence),
    scalar("new_episode", I8, Sequence),
    scalar("terminal", I8, Sequence),
    scalar("day_id", I32, Sequence),
    scalar("player_name", Text, Sequence),
    scalar("opponent_name", Text, Sequence),
    scalar("player_deck_hash", Text, Sequence),
    scalar("opponent_deck_hash", Text, Sequence),
];

/// Number of a column that is known by its name when the code is compiled.
#[must_use]
pub const fn column(name: &str) -> usize {
    let mut at = 0;
    while at < COLUMNS.len() {
        if same(COLUMNS[at].name.as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("no column has this name")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Number of a column that was named from outside.
pub fn find(name: &str) -> std::option::Option<usize> {
    COLUMNS.iter().position(|column| column.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_row_has_41718_bytes_beside_its_texts() {
        let width = |column: &Column| {
            let value = match column.kind {
                I8 => 1,
                I32 | F32 => 4,
                I64 => 8,
                Text => 0,
            };
            value * column.list.unwrap_or(1)
        };
        assert_eq!(COLUMNS.iter().map(width).sum::<usize>(), 41_718);
    }

    #[test]
    fn every_list_of_card_ids_has_its_buckets() {
        let ids: Vec<&Column> =
            COLUMNS.iter().filter(|column| column.list.is_some() && column.name.ends_with("_id")).collect();
        let of_cards = ids.iter().filter(|column| column.part == State);
        let mut count = 0;
        for ids in of_cards {
            let buckets = ids.name.replace("_id", "_meta_bucket");
            let buckets = &COLUMNS[find(&buckets).unwrap()];
            assert_eq!((buckets.list, buckets.pad), (ids.list, Ten), "{}", ids.name);
            count += 1;
        }
        assert_eq!(count, 18);
    }
}
