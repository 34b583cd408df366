//! Rows of row groups into a batch. Every number that becomes an index is held to its range, so that damaged data is an
//! error with its row, never a fault in the model.

use std::sync::Arc;

use common::formats::decisions::columns::{MAX_OPTIONS, OPTION_ATTRS, SUBMIT, UNIT_ATTRS, UNITS, column};
use common::formats::decisions::{COLUMNS, Data, Group, Lists, Word};
use common::process::Failure;

use super::{Floats, HostBatch, Ints, Shape};
use crate::schema::{
    ATTACKS, BAG, BUCKETS, CARD_TOKENS, CARDS, CLS_SCALARS, HEAD, OPTION_BUCKETS, Place, RAW, SCRATCH,
    SELECT_CONTEXTS, SELECT_TYPES, SIDES, STATE_STEP, UNIT_TOKENS, VERBS, ZONES, card_type, place, unit_type,
};

/// A row of a row group, and the lane whose memory it reads.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) group: Arc<Group>,
    pub(crate) row: usize,
    pub(crate) lane: usize,
    /// Whether the memory behind this row is the one that is kept: the last substep of its decision.
    pub(crate) last: bool,
}

/// Puts rows together. `lanes` memories are carried along. Without `compact` every token and option has its place.
pub(crate) fn fill(rows: &[Source], lanes: usize, compact: bool) -> Result<HostBatch, Failure> {
    let views = views(rows)?;
    let kept = Kept::of(&views, compact)?;
    let shape = Shape {
        lanes,
        rows: rows.len(),
        cards: kept.cards.len(),
        units: kept.units.len(),
        options: kept.options,
    };
    let mut batch = HostBatch::new(shape);
    fill_lanes(&mut batch, rows);
    fill_scalars(&mut batch, &views)?;
    fill_cards(&mut batch, &views, &kept)?;
    fill_units(&mut batch, &views, &kept)?;
    fill_options(&mut batch, &views, &kept)?;
    fill_labels(&mut batch, &views)?;
    Ok(batch)
}

/// A row with its columns at hand, by their number in [`COLUMNS`].
struct View<'a> {
    columns: Arc<Vec<Option<&'a Data>>>,
    row: usize,
}

fn views(rows: &[Source]) -> Result<Vec<View<'_>>, Failure> {
    let mut views: Vec<View<'_>> = Vec::with_capacity(rows.len());
    let mut last: Option<&Arc<Group>> = None;
    for Source { group, row, .. } in rows {
        let columns = match views.last() {
            Some(view) if last.is_some_and(|last| Arc::ptr_eq(last, group)) => Arc::clone(&view.columns),
            _ => Arc::new((0..COLUMNS.len()).map(|at| group.get(at)).collect()),
        };
        last = Some(group);
        if *row >= group.rows() {
            return Err(Failure::bad_data(format!("a row group has no row {row}")));
        }
        views.push(View { columns, row: *row });
    }
    Ok(views)
}

impl<'a> View<'a> {
    fn get(&self, at: usize) -> Result<&'a Data, Failure> {
        self.columns.get(at).copied().flatten().ok_or_else(|| self.refuse(at, "it is not there"))
    }

    /// Why a column of this row cannot be.
    fn refuse(&self, at: usize, what: impl std::fmt::Display) -> Failure {
        Failure::bad_data(format!("column {}: {what}", COLUMNS[at].name)).at(format!("row {}", self.row))
    }

    fn i32s(&self, at: usize) -> Result<&'a Lists<i32>, Failure> {
        match self.get(at)? {
            Data::I32s(lists) => Ok(lists),
            _ => Err(self.refuse(at, "it has another type")),
        }
    }

    fn f32s(&self, at: usize) -> Result<&'a Lists<f32>, Failure> {
        match self.get(at)? {
            Data::F32s(lists) => Ok(lists),
            _ => Err(self.refuse(at, "it has another type")),
        }
    }

    /// Used slots.
    fn ints(&self, at: usize) -> Result<&'a [i32], Failure> {
        Ok(self.i32s(at)?.row(self.row))
    }

    /// Used slots.
    fn floats(&self, at: usize) -> Result<&'a [f32], Failure> {
        Ok(self.f32s(at)?.row(self.row))
    }

    /// A value that is a whole number from 0 to below `len`.
    fn below(&self, at: usize, len: usize) -> Result<i32, Failure> {
        let value = match self.get(at)? {
            Data::I32(all) => all[self.row],
            Data::I8(all) => i32::from(all[self.row]),
            _ => return Err(self.refuse(at, "it has another type")),
        };
        self.hold(at, value, len)
    }

    fn float(&self, at: usize) -> Result<f32, Failure> {
        match self.get(at)? {
            Data::F32(all) => Ok(all[self.row]),
            Data::I8(all) => Ok(f32::from(all[self.row])),
            _ => Err(self.refuse(at, "it has another type")),
        }
    }

    fn hold(&self, at: usize, value: i32, len: usize) -> Result<i32, Failure> {
        if (0..len as i32).contains(&value) {
            return Ok(value);
        }
        Err(self.refuse(at, "a value is out of range").found(value, format!("0 to {}", len - 1)))
    }
}

/// What a batch keeps.
struct Kept {
    /// Card tokens, by their number; ascending.
    cards: Vec<usize>,
    /// Unit tokens.
    units: Vec<usize>,
    options: usize,
    /// Position in the state of each raw position; `None` where it is left out.
    positions: Vec<Option<usize>>,
}

impl Kept {
    fn of(views: &[View<'_>], compact: bool) -> Result<Self, Failure> {
        let (mut cards, mut units) = (vec![!compact; CARD_TOKENS], vec![!compact; UNIT_TOKENS]);
        let mut used = 0;
        for view in views {
            let mut first = 0;
            for zone in &ZONES {
                mark(&mut cards[first..], view.floats(zone.mask)?);
                first += zone.slots;
            }
            for (side, units) in SIDES.iter().zip(units.chunks_mut(UNITS)) {
                mark(units, view.floats(side.mask)?);
            }
            used = used.max(used_options(view)?);
            // what an option refers to stays, whatever its mask says
            for at in [column("opt_src_pos"), column("opt_tgt_pos")] {
                for &raw in view.ints(at)?.iter().filter(|&&raw| raw != -1) {
                    match place(view.hold(at, raw, RAW)? as usize) {
                        Some(Place::Card(token)) => cards[token] = true,
                        Some(Place::Unit(token)) => units[token] = true,
                        _ => {}
                    }
                }
            }
        }
        let options = if compact { used } else { MAX_OPTIONS };
        let options = OPTION_BUCKETS.into_iter().find(|&bucket| bucket >= options).unwrap_or(MAX_OPTIONS);
        fill_up(&mut cards, &mut units);
        Ok(Self::new(&cards, &units, options))
    }

    fn new(cards: &[bool], units: &[bool], options: usize) -> Self {
        let numbers = |kept: &[bool]| -> Vec<usize> { (0..kept.len()).filter(|&at| kept[at]).collect() };
        let (cards, units) = (numbers(cards), numbers(units));
        let at = |list: &[usize], token: usize| list.binary_search(&token).ok();
        let position = |raw: usize| match place(raw)? {
            Place::Head(at) => Some(at),
            Place::Card(token) => Some(HEAD.len() + at(&cards, token)?),
            Place::Unit(token) => Some(HEAD.len() + cards.len() + at(&units, token)?),
        };
        let positions = (0..RAW).map(position).collect();
        Self { cards, units, options, positions }
    }
}

fn mark(kept: &mut [bool], mask: &[f32]) {
    kept.iter_mut().zip(mask).for_each(|(kept, &mask)| *kept |= mask != 0.0);
}

/// Keeps padding too, until the state's length is one of a few.
fn fill_up(cards: &mut [bool], units: &mut [bool]) {
    let kept = cards.iter().chain(units.iter()).filter(|&&kept| kept).count();
    let more = (HEAD.len() + kept).next_multiple_of(STATE_STEP) - (HEAD.len() + kept);
    cards.iter_mut().chain(units).filter(|kept| !**kept).take(more).for_each(|kept| *kept = true);
}

/// Options of a row: up to the last slot that is not padding in some column.
fn used_options(view: &View<'_>) -> Result<usize, Failure> {
    let mut used = view.floats(column("opt_attr"))?.len().div_ceil(OPTION_ATTRS);
    used = used.max(view.floats(column("action_mask"))?.len());
    for at in [
        column("opt_verb"),
        column("opt_src_pos"),
        column("opt_tgt_pos"),
        column("opt_src_card"),
        column("opt_tgt_card"),
        column("opt_attack_id"),
    ] {
        used = used.max(view.ints(at)?.len());
    }
    Ok(used.min(MAX_OPTIONS))
}

fn fill_lanes(batch: &mut HostBatch, rows: &[Source]) {
    let lanes = batch.shape.lanes as i32;
    (0..).zip(batch.ints_mut(Ints::NextMemory)).for_each(|(lane, next)| *next = lane);
    for (at, row) in (0..).zip(rows).filter(|(_, row)| row.last) {
        batch.ints_mut(Ints::NextMemory)[row.lane] = lanes + at;
    }
    batch.ints_mut(Ints::LaneOfRow).iter_mut().zip(rows).for_each(|(lane, row)| *lane = row.lane as i32);
}

fn fill_scalars(batch: &mut HostBatch, views: &[View<'_>]) -> Result<(), Failure> {
    let parts = [
        (Ints::SelectType, column("select_type"), SELECT_TYPES),
        (Ints::SelectContext, column("select_context"), SELECT_CONTEXTS),
        (Ints::AgentBucket, column("opponent_agent_bucket"), BUCKETS),
        (Ints::DeckBucket, column("opponent_deck_bucket"), BUCKETS),
    ];
    for (part, at, len) in parts {
        for (value, view) in batch.ints_mut(part).iter_mut().zip(views) {
            *value = view.below(at, len)?;
        }
    }
    for (day, view) in batch.floats_mut(Floats::Day).iter_mut().zip(views) {
        *day = view.float(column("day_index_norm"))?;
    }
    for (cls, view) in batch.floats_mut(Floats::Cls).chunks_mut(CLS_SCALARS).zip(views) {
        copy(cls, view.floats(column("cls_scalars"))?);
    }
    let tokens = batch.shape.tokens();
    for keys in batch.floats_mut(Floats::Keys).chunks_mut(tokens) {
        keys[..HEAD.len()].fill(1.0);
    }
    Ok(())
}

fn fill_cards(batch: &mut HostBatch, views: &[View<'_>], kept: &Kept) -> Result<(), Failure> {
    let (count, tokens) = (kept.cards.len(), batch.shape.tokens());
    for (token_type, &token) in batch.ints_mut(Ints::CardType).iter_mut().zip(&kept.cards) {
        *token_type = card_type(token) as i32;
    }
    for (row, view) in views.iter().enumerate() {
        let (mut first, mut at) = (0, 0);
        for zone in &ZONES {
            let here = kept.cards[at..].iter().take_while(|&&token| token < first + zone.slots);
            let slots: Vec<usize> = here.map(|token| token - first).collect();
            let (cards, keys) = (row * count + at, row * tokens + HEAD.len() + at);
            let ids = spread(view, zone.id, &slots, CARDS)?;
            batch.ints_mut(Ints::CardId)[cards..cards + slots.len()].copy_from_slice(&ids);
            let buckets = spread(view, zone.bucket, &slots, BUCKETS)?;
            batch.ints_mut(Ints::CardBucket)[cards..cards + slots.len()].copy_from_slice(&buckets);
            pick(&mut batch.floats_mut(Floats::Keys)[keys..], view.floats(zone.mask)?, &slots);
            if let Some(flag) = zone.flag {
                pick(&mut batch.floats_mut(Floats::CardFlag)[cards..], view.floats(flag)?, &slots);
            }
            (first, at) = (first + zone.slots, at + slots.len());
        }
    }
    Ok(())
}

/// Chosen slots of a list, each held to its range.
fn spread(view: &View<'_>, at: usize, slots: &[usize], len: usize) -> Result<Vec<i32>, Failure> {
    let used = view.ints(at)?;
    let padding = |slot| i32::padding(COLUMNS[at].pad, slot);
    let value = |&slot: &usize| view.hold(at, used.get(slot).copied().unwrap_or(padding(slot)), len);
    slots.iter().map(value).collect()
}

/// Chosen slots of a list that 0 pads.
fn pick(out: &mut [f32], used: &[f32], slots: &[usize]) {
    out.iter_mut().zip(slots).for_each(|(out, &slot)| *out = used.get(slot).copied().unwrap_or(0.0));
}

fn copy<T: Copy>(out: &mut [T], used: &[T]) {
    out.iter_mut().zip(used).for_each(|(out, &value)| *out = value);
}

fn fill_units(batch: &mut HostBatch, views: &[View<'_>], kept: &Kept) -> Result<(), Failure> {
    let (count, tokens, first) = (kept.units.len(), batch.shape.tokens(), HEAD.len() + kept.cards.len());
    for (token_type, &token) in batch.ints_mut(Ints::UnitType).iter_mut().zip(&kept.units) {
        *token_type = unit_type(token) as i32;
    }
    for (row, view) in views.iter().enumerate() {
        for (at, &token) in kept.units.iter().enumerate() {
            let (side, unit) = (&SIDES[token / UNITS], token % UNITS);
            let bag = (row * count + at) * BAG;
            let mut slot = bag;
            for (ids, buckets, slots) in side.bag {
                let wanted: Vec<usize> = (unit * slots..(unit + 1) * slots).collect();
                let there = slot..slot + slots;
                let ids = spread(view, ids, &wanted, CARDS)?;
                batch.ints_mut(Ints::BagId)[there.clone()].copy_from_slice(&ids);
                let buckets = spread(view, buckets, &wanted, BUCKETS)?;
                batch.ints_mut(Ints::BagBucket)[there].copy_from_slice(&buckets);
                slot += slots;
            }
            let attrs = &mut batch.floats_mut(Floats::UnitAttr)[(row * count + at) * UNIT_ATTRS..];
            let used = view.floats(side.attr)?;
            copy(&mut attrs[..UNIT_ATTRS], used.get(unit * UNIT_ATTRS..).unwrap_or_default());
            let mask = view.floats(side.mask)?.get(unit).copied().unwrap_or(0.0);
            batch.floats_mut(Floats::Keys)[row * tokens + first + at] = mask;
        }
    }
    Ok(())
}

fn fill_options(batch: &mut HostBatch, views: &[View<'_>], kept: &Kept) -> Result<(), Failure> {
    let Shape { options, .. } = batch.shape;
    let (state, tokens, actions) = (batch.shape.state(), batch.shape.tokens(), batch.shape.actions());
    for (row, view) in views.iter().enumerate() {
        let (first, used) = (row * options, used_options(view)?);
        let scratch = row * tokens + state;
        batch.floats_mut(Floats::Keys)[scratch..scratch + SCRATCH + used].fill(1.0);
        let ends = [
            (Ints::SourceToken, Ints::SourceCard, column("opt_src_pos"), column("opt_src_card")),
            (Ints::TargetToken, Ints::TargetCard, column("opt_tgt_pos"), column("opt_tgt_card")),
        ];
        for (token_part, card_part, positions, cards) in ends {
            let (positions, card_ids) = (view.ints(positions)?, view.ints(cards)?);
            for slot in 0..used {
                let raw = positions.get(slot).and_then(|&raw| usize::try_from(raw).ok());
                match raw.and_then(|raw| kept.positions.get(raw).copied().flatten()) {
                    Some(at) => batch.ints_mut(token_part)[first + slot] = (row * state + at + 1) as i32,
                    None => {
                        let card = card_ids.get(slot).copied().unwrap_or(0);
                        batch.ints_mut(card_part)[first + slot] = view.hold(cards, card, CARDS)?;
                    }
                }
            }
        }
        for (part, at, len) in
            [(Ints::Verb, column("opt_verb"), VERBS), (Ints::Attack, column("opt_attack_id"), ATTACKS)]
        {
            for (out, &value) in batch.ints_mut(part)[first..first + options].iter_mut().zip(view.ints(at)?) {
                *out = view.hold(at, value, len)?;
            }
        }
        let attrs = &mut batch.floats_mut(Floats::OptionAttr)[first * OPTION_ATTRS..];
        copy(&mut attrs[..options * OPTION_ATTRS], view.floats(column("opt_attr"))?);
        fill_actions(batch, view, row * actions, actions)?;
    }
    Ok(())
}

/// Legality and groups of a row's actions, whose last one is SUBMIT.
fn fill_actions(batch: &mut HostBatch, view: &View<'_>, first: usize, actions: usize) -> Result<(), Failure> {
    let mask = column("action_mask");
    let lists = view.f32s(mask)?;
    let legal = &mut batch.floats_mut(Floats::Legal)[first..first + actions];
    let flag = |value: f32| f32::from(u8::from(value != 0.0));
    legal.iter_mut().zip(lists.row(view.row)).for_each(|(legal, &value)| *legal = flag(value));
    legal[actions - 1] = flag(lists.get(&COLUMNS[mask], view.row, SUBMIT));
    let at = column("opt_group");
    let lists = view.i32s(at)?;
    for slot in 0..actions {
        let stored = if slot == actions - 1 { SUBMIT } else { slot };
        let group = view.hold(at, lists.get(&COLUMNS[at], view.row, stored), SUBMIT + 1)?;
        let group = if group as usize == SUBMIT { actions as i32 - 1 } else { group };
        batch.ints_mut(Ints::Group)[first + slot] = group;
    }
    Ok(())
}

fn fill_labels(batch: &mut HostBatch, views: &[View<'_>]) -> Result<(), Failure> {
    let (submit, actions, y) = (batch.shape.options, batch.shape.actions(), column("y"));
    for (row, view) in views.iter().enumerate() {
        let label = view.below(y, SUBMIT + 1)? as usize;
        let label = if label == SUBMIT { submit } else { label };
        if batch.floats(Floats::Legal)[row * actions..][..actions].get(label) != Some(&1.0) {
            let failure = view.refuse(y, "what was chosen is not legal");
            return Err(failure.found(format!("action {label}"), "an action that action_mask allows"));
        }
        batch.ints_mut(Ints::Label)[row] = label as i32;
    }
    let parts = [
        (Floats::AuxValid, column("aux_valid")),
        (Floats::Ko, column("aux_ko")),
        (Floats::PrizeDelta, column("aux_prize_delta")),
        (Floats::Terminal, column("aux_terminal")),
        (Floats::Return, column("aux_return")),
    ];
    for (part, at) in parts {
        for (value, view) in batch.floats_mut(part).iter_mut().zip(views) {
            *value = view.float(at)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use common::formats::decisions::columns::find;
    use common::formats::decisions::{Cell, Day};
    use common::process::Exit;

    use super::*;

    /// A row of real games, of which one column's first value is another.
    fn row_with(name: &str, value: i32) -> Source {
        let day = Day::open(File::open(crate::testing::day("2026-11-23")).unwrap()).unwrap();
        let rows = day.read(0, &day.project_all().unwrap()).unwrap();
        // one that offers several options
        let Some(Data::F32s(mask)) = rows.get(column("action_mask")) else {
            unreachable!("the mask is a list of floats")
        };
        let row = (0..rows.rows()).find(|&row| mask.row(row).len() > 4).unwrap();
        let changed = find(name).unwrap();
        let mut group = Group::whole();
        for (at, (column, data)) in rows.columns().enumerate() {
            let len = column.list.unwrap_or(1);
            match data {
                Data::I8(all) => group.push(at, Cell::I8(if at == changed { value as i8 } else { all[row] })),
                Data::I32(all) => group.push(at, Cell::I32(if at == changed { value } else { all[row] })),
                Data::I64(all) => group.push(at, Cell::I64(all[row])),
                Data::F32(all) => group.push(at, Cell::F32(all[row])),
                Data::Text(all) => group.push(at, Cell::Text(all.row(row))),
                Data::I32s(lists) => {
                    let mut list: Vec<i32> = (0..len).map(|slot| lists.get(column, row, slot)).collect();
                    if at == changed {
                        list[0] = value;
                    }
                    group.push(at, Cell::I32s(&list));
                }
                Data::F32s(lists) => {
                    let list: Vec<f32> = (0..len).map(|slot| lists.get(column, row, slot)).collect();
                    group.push(at, Cell::F32s(&list));
                }
            }
        }
        group.end_row();
        Source { group: Arc::new(group), row: 0, lane: 0, last: true }
    }

    #[test]
    fn what_would_be_an_index_out_of_range_is_refused_by_its_column() {
        let cases = [
            ("select_type", -1),
            ("select_type", 16),
            ("select_context", 64),
            ("opponent_agent_bucket", 11),
            ("self_deck_id", 2048),
            ("self_deck_id", -1),
            ("self_deck_meta_bucket", 11),
            ("self_unit_top_id", 2048),
            ("opp_unit_energy_id", i32::MIN),
            ("opt_verb", 17),
            ("opt_src_pos", 337),
            ("opt_src_pos", -2),
            ("opt_tgt_pos", i32::MAX),
            ("opt_attack_id", 2048),
            ("opt_group", 193),
            ("y", 193),
            ("y", -1),
            ("y", 191),
        ];
        for compact in [true, false] {
            assert!(fill(&[row_with("day_index_norm", 0)], 1, compact).is_ok());
            for (name, value) in cases {
                let failure = fill(&[row_with(name, value)], 1, compact).unwrap_err();
                assert_eq!(failure.exit(), Exit::BadData, "{name}");
                assert!(failure.to_string().contains(name), "{failure}");
            }
        }
        let beyond = Source { row: 1, ..row_with("y", 0) };
        assert_eq!(fill(&[beyond], 1, true).unwrap_err().exit(), Exit::BadData);
    }
}
