//! What holds of every row, and from a row to the next.

use std::collections::HashSet;

use common::formats::decisions::columns::{MAX_OPTIONS, OPTION_ATTRS, SUBMIT, UNIT_ATTRS, UNKNOWN_BUCKET};
use common::formats::decisions::{COLUMNS, Column, Data, Group, Kind, Part, Word, column};

use super::inspect::RowView;

/// Greatest token of the model's input.
const LAST_TOKEN: f64 = 336.0;
/// Greatest id of an attack.
const LAST_ATTACK: f64 = 2047.0;

/// Rules across the row groups of a day.
pub(super) struct Rules {
    unknown_card: i32,
    day_id: i32,
    episodes: HashSet<i64>,
    last: Option<Key>,
}

/// Where a row belongs.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    episode: i64,
    side: i64,
    decision: i64,
    substep: i64,
    step: i64,
}

impl Rules {
    pub(super) fn new(unknown_card: i32, day_id: i32) -> Self {
        Self { unknown_card, day_id, episodes: HashSet::new(), last: None }
    }

    /// Episodes so far.
    pub(super) fn episodes(&self) -> u64 {
        self.episodes.len() as u64
    }

    /// Checks a row group; says which row breaks which rule.
    pub(super) fn check(&mut self, group: &Group) -> Result<(), String> {
        for (column, data) in group.columns() {
            self.ranges(column, data)?;
        }
        // an episode does not go on in the next row group
        self.last = None;
        for row in 0..group.rows() {
            self.row(&RowView { group, row }).map_err(|what| format!("row {row} of a row group: {what}"))?;
        }
        Ok(())
    }

    /// Holds every value to its range. Padding lies within it.
    fn ranges(&self, column: &Column, data: &Data) -> Result<(), String> {
        let wrong = |row: usize, slot: usize, value: f64, (low, high): (f64, f64)| {
            let place = if column.list.is_some() { format!(", slot {slot}") } else { String::new() };
            format!("row {row} of a row group: {}{place} is {value}, outside of {low} to {high}", column.name)
        };
        let single = |values: &mut dyn Iterator<Item = f64>| {
            let range = self.range(column, 0);
            let outside = |(_, value): &(usize, f64)| !(range.0..=range.1).contains(value);
            match values.enumerate().find(outside) {
                Some((row, value)) => Err(wrong(row, 0, value, range)),
                None => Ok(()),
            }
        };
        match data {
            Data::I8(all) => single(&mut all.iter().map(|&value| value.into())),
            Data::I32(all) => single(&mut all.iter().map(|&value| value.into())),
            Data::F32(all) => single(&mut all.iter().map(|&value| value.into())),
            Data::I64(_) | Data::Text(_) => Ok(()),
            Data::I32s(lists) => self.slots(column, lists, f64::from, wrong),
            Data::F32s(lists) => self.slots(column, lists, f64::from, wrong),
        }
    }

    fn slots<T: Word>(
        &self,
        column: &Column,
        lists: &common::formats::decisions::Lists<T>,
        number: impl Fn(T) -> f64,
        wrong: impl Fn(usize, usize, f64, (f64, f64)) -> String,
    ) -> Result<(), String> {
        for row in 0..lists.offsets.len().saturating_sub(1) {
            let apart = lists.apart.get(row).map(|&value| (column.ragged_len(), value));
            for (slot, value) in lists.row(row).iter().copied().enumerate().chain(apart) {
                let (value, range) = (number(value), self.range(column, slot));
                if !(range.0..=range.1).contains(&value) {
                    return Err(wrong(row, slot, value, range));
                }
            }
        }
        Ok(())
    }

    /// Least and greatest value.
    fn range(&self, column: &Column, slot: usize) -> (f64, f64) {
        let name = column.name;
        let cards = (0.0, f64::from(self.unknown_card));
        match name {
            "select_type" | "select_context" | "opt_verb" => (f64::from(i32::MIN), f64::from(i32::MAX)),
            "opponent_agent_bucket" | "opponent_deck_bucket" => (0.0, f64::from(UNKNOWN_BUCKET)),
            "opt_attr" => option_attr(slot % OPTION_ATTRS),
            "self_unit_attr" | "opp_unit_attr" => unit_attr(slot % UNIT_ATTRS),
            "opt_src_pos" | "opt_tgt_pos" => (-1.0, LAST_TOKEN),
            "opt_src_card" | "opt_tgt_card" => cards,
            "opt_attack_id" => (0.0, LAST_ATTACK),
            "opt_group" => (0.0, slot as f64),
            "y" => (0.0, SUBMIT as f64),
            "outcome" => (-1.0, 1.0),
            "reward" => (-2.0, 2.0),
            "aux_prize_delta" => (-12.0, 12.0),
            "aux_return" => (-1e6, 1e6),
            "step_id" | "decision_id" => (0.0, f64::from(i32::MAX)),
            "substep" => (0.0, 127.0),
            "day_id" => (f64::from(self.day_id), f64::from(self.day_id)),
            _ if column.part == Part::MetaBucket => (0.0, f64::from(UNKNOWN_BUCKET)),
            _ if column.kind == Kind::I32 => cards,
            _ => (0.0, 1.0),
        }
    }

    fn row(&mut self, row: &RowView<'_>) -> Result<(), String> {
        self.order(row)?;
        let mask = const { column("action_mask") };
        let y = row.int(const { column("y") }, 0) as usize;
        if row.float(mask, y) != 1.0 {
            return Err(format!("its label {y} is not legal"));
        }
        for slot in 0..=SUBMIT {
            if !matches!(row.float(mask, slot), 0.0 | 1.0) {
                return Err(format!("action_mask is neither 0 nor 1 in slot {slot}"));
            }
        }
        for slot in 0..MAX_OPTIONS {
            let first = row.int(const { column("opt_group") }, slot) as usize;
            if row.int(const { column("opt_group") }, first) != first as i64 {
                return Err(format!("opt_group names option {first}, which is no first one"));
            }
        }
        let (terminal, aux) = (const { column("terminal") }, const { column("aux_terminal") });
        if row.int(terminal, 0) != row.int(aux, 0) {
            return Err("terminal is not aux_terminal".into());
        }
        masks(row)
    }

    /// Rows of an episode stand together, side 0 first, in the order of decisions and their substeps.
    fn order(&mut self, row: &RowView<'_>) -> Result<(), String> {
        let int = |column| row.int(column, 0);
        let key = Key {
            episode: int(const { column("episode_id") }),
            side: int(const { column("side") }),
            decision: int(const { column("decision_id") }),
            substep: int(const { column("substep") }),
            step: int(const { column("step_id") }),
        };
        let begins = int(const { column("new_episode") }) == 1;
        let last = self.last.replace(key).filter(|last| last.episode == key.episode);
        let Some(last) = last else {
            let new = self.episodes.insert(key.episode);
            return match (new, begins) {
                (false, _) => Err(format!("episode {} is not in one piece", key.episode)),
                (_, false) => Err("it is the first of an episode and does not say so".into()),
                _ => Ok(()),
            };
        };
        let follows = if key.side != last.side {
            key.side > last.side && begins
        } else if key.decision != last.decision {
            key.decision > last.decision && key.step > last.step
        } else {
            key.substep > last.substep && key.step == last.step && !begins
        };
        if follows { Ok(()) } else { Err("it does not follow the row before".into()) }
    }
}

/// An id stands only where its mask is 1.
fn masks(row: &RowView<'_>) -> Result<(), String> {
    const PAIRS: [(usize, usize); 12] = [
        (column("effect_id"), column("effect_mask")),
        (column("self_deck_id"), column("self_deck_mask")),
        (column("opp_deck_id"), column("opp_deck_mask")),
        (column("self_prize_id"), column("self_prize_mask")),
        (column("opp_prize_id"), column("opp_prize_mask")),
        (column("self_hand_id"), column("self_hand_mask")),
        (column("opp_hand_id"), column("opp_hand_mask")),
        (column("self_discard_id"), column("self_discard_mask")),
        (column("opp_discard_id"), column("opp_discard_mask")),
        (column("stadium_id"), column("stadium_mask")),
        (column("self_unit_top_id"), column("self_unit_mask")),
        (column("opp_unit_top_id"), column("opp_unit_mask")),
    ];
    for (ids, mask) in PAIRS {
        for slot in 0..COLUMNS[ids].list.unwrap_or(0) {
            let (id, there) = (row.int(ids, slot), row.float(mask, slot));
            if (id != 0) != (there == 1.0) || !matches!(there, 0.0 | 1.0) {
                return Err(format!(
                    "{} is {id} in slot {slot} where its mask is {there}",
                    COLUMNS[ids].name
                ));
            }
        }
    }
    Ok(())
}

fn option_attr(at: usize) -> (f64, f64) {
    match at {
        0 => (-200.0, 200.0),
        1 => (-1000.0, 1000.0),
        2 => (0.0, 200.0),
        4 => (0.0, 12.0),
        _ => (0.0, 1.0),
    }
}

fn unit_attr(at: usize) -> (f64, f64) {
    match at {
        2..14 => (0.0, 15.0),
        14 => (0.0, 5.0),
        _ => (0.0, 1.0),
    }
}
