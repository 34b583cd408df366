//! What a decision offers: a verb, what it is done with, what it is done to.

use common::formats::decisions::columns::{MAX_OPTIONS, OPTION_ATTRS, SUBMIT};
use common::formats::decisions::{Cell, Group, column};

use super::LookAhead;
use super::frame::Scene;
use super::token::{self, area};
use crate::cards::MAX_ID;
use crate::replay::{Card, Choice, Unit};

mod kind {
    pub(super) const NUMBER: i32 = 0;
    pub(super) const CARD: i32 = 3;
    pub(super) const TOOL_CARD: i32 = 4;
    pub(super) const ENERGY_CARD: i32 = 5;
    pub(super) const ENERGY: i32 = 6;
    pub(super) const PLAY: i32 = 7;
    pub(super) const ATTACH: i32 = 8;
    pub(super) const EVOLVE: i32 = 9;
    pub(super) const ABILITY: i32 = 10;
    pub(super) const DISCARD: i32 = 11;
    pub(super) const RETREAT: i32 = 12;
    pub(super) const ATTACK: i32 = 13;
    pub(super) const SKILL: i32 = 15;
    pub(super) const SPECIAL_CONDITION: i32 = 16;
    pub(super) const LAST: i32 = 16;
}

/// Where features stand within an option's attributes.
mod attr {
    pub(super) const COUNT: usize = 0;
    pub(super) const NUMBER: usize = 1;
    pub(super) const DAMAGE: usize = 2;
    pub(super) const VARIABLE: usize = 3;
    pub(super) const COST: usize = 4;
    pub(super) const HAS_EFFECT: usize = 5;
    pub(super) const CONDITION: usize = 6;
    pub(super) const LOOK_AHEAD: usize = 11;
    pub(super) const PICKED: usize = 14;
    pub(super) const EFFECTS: usize = 15;
}

const CONDITIONS: usize = 5;
/// Parameters beyond this are no counts of anything in the game.
const MOST: i32 = 1000;

/// Whether this encoder knows a type of option.
pub(super) fn is_known(kind: i32) -> bool {
    (0..=kind::LAST).contains(&kind)
}

/// Options of a decision, as far as there are slots.
pub(super) struct Options {
    attr: Vec<f32>,
    verb: Vec<i32>,
    src: Vec<Place>,
    tgt: Vec<Place>,
    attack: Vec<i32>,
    group: [i32; MAX_OPTIONS + 1],
    min: i64,
    max: i64,
}

/// What an option refers to: a token, or a card without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    token: i32,
    card: i32,
}

const NOWHERE: Place = Place { token: token::NONE, card: 0 };

impl Options {
    pub(super) fn of(scene: &mut Scene<'_>, ahead: &LookAhead) -> Self {
        let select = &scene.decision.select;
        let choices = &select.option.first;
        let (mut attr, mut attack) = (vec![0.0; choices.len() * OPTION_ATTRS], vec![]);
        let (mut src, mut tgt) = (vec![], vec![]);
        for (choice, attr) in choices.iter().zip(attr.chunks_exact_mut(OPTION_ATTRS)) {
            attack.push(describe(scene, choice, attr));
            src.push(source(scene, choice));
            tgt.push(target(scene, choice));
        }
        for (attr, found) in attr.chunks_exact_mut(OPTION_ATTRS).zip(ahead) {
            if let Some(found) = found {
                attr[attr::LOOK_AHEAD..][..found.len()].copy_from_slice(found);
            }
        }
        let (min, max) = (select.min_count, select.max_count);
        Self {
            attr,
            verb: choices.iter().map(|choice| choice.kind).collect(),
            src,
            tgt,
            attack,
            group: groups(scene),
            min,
            max,
        }
    }

    /// Writes the columns of the options for a row after `picks`.
    pub(super) fn write(&self, picks: &[usize], out: &mut Group) {
        let mut attr = self.attr.clone();
        for pick in picks {
            if let Some(attr) = attr.get_mut(pick * OPTION_ATTRS + attr::PICKED) {
                *attr = 1.0;
            }
        }
        out.push(const { column("opt_attr") }, Cell::F32s(&attr));
        out.push(const { column("opt_verb") }, Cell::I32s(&self.verb));
        for (places, token, card) in [
            (&self.src, const { column("opt_src_pos") }, const { column("opt_src_card") }),
            (&self.tgt, const { column("opt_tgt_pos") }, const { column("opt_tgt_card") }),
        ] {
            let tokens: Vec<i32> = places.iter().map(|place| place.token).collect();
            let cards: Vec<i32> = places.iter().map(|place| place.card).collect();
            out.push(token, Cell::I32s(&tokens));
            out.push(card, Cell::I32s(&cards));
        }
        out.push(const { column("opt_attack_id") }, Cell::I32s(&self.attack));
        out.push(const { column("action_mask") }, Cell::F32s(&self.mask(picks)));
        out.push(const { column("opt_group") }, Cell::I32s(&self.group));
    }

    /// 1 where an action is legal after `picks`.
    fn mask(&self, picks: &[usize]) -> [f32; MAX_OPTIONS + 1] {
        let mut mask = [0.0; MAX_OPTIONS + 1];
        let count = picks.len() as i64;
        if count < self.max {
            mask[..self.verb.len()].fill(1.0);
            mask[SUBMIT] = f32::from(u8::from(count >= self.min));
        }
        for &pick in picks {
            if let Some(legal) = mask[..self.verb.len()].get_mut(pick) {
                *legal = 0.0;
            }
        }
        mask
    }
}

/// Fills the attributes and gives the attack's id.
fn describe(scene: &mut Scene<'_>, choice: &Choice, attr: &mut [f32]) -> i32 {
    let flag = |on: bool| f32::from(u8::from(on));
    let parameter = |value: Option<i32>| value.unwrap_or(0).clamp(-MOST, MOST) as f32;
    match choice.kind {
        kind::ENERGY => attr[attr::COUNT] = parameter(choice.count) / 5.0,
        kind::NUMBER => attr[attr::NUMBER] = parameter(choice.number),
        kind::SPECIAL_CONDITION => {
            let condition =
                choice.special_condition_type.and_then(|condition| usize::try_from(condition).ok());
            if let Some(condition) = condition.filter(|&condition| condition < CONDITIONS) {
                attr[attr::CONDITION + condition] = 1.0;
            }
        }
        _ => {}
    }
    let id = choice.attack_id.unwrap_or(0);
    if id == 0 {
        return 0;
    }
    let encoder = scene.encoder;
    let Some(attack) = encoder.cards.attack(id) else {
        scene.counts.unknown_attacks += 1;
        return if (0..=MAX_ID).contains(&id) { id } else { 0 };
    };
    let effect = encoder.effects.attack(id);
    attr[attr::DAMAGE] = attack.damage / 350.0;
    attr[attr::VARIABLE] = flag(effect.variable);
    attr[attr::COST] = attack.cost / 5.0;
    attr[attr::HAS_EFFECT] = flag(attack.has_text);
    for (attr, on) in attr[attr::EFFECTS..].iter_mut().zip(effect.flags) {
        *attr = flag(on);
    }
    id
}

/// What an option is done with.
fn source(scene: &mut Scene<'_>, choice: &Choice) -> Place {
    let us = Some(scene.decision.side as i32);
    match choice.kind {
        kind::CARD | kind::TOOL_CARD | kind::ENERGY_CARD | kind::ENERGY => {
            place(scene, choice.player_index, choice.area, choice.index)
        }
        kind::PLAY => place(scene, us, Some(area::HAND), choice.index),
        kind::ATTACH | kind::EVOLVE | kind::ABILITY | kind::DISCARD => {
            place(scene, us, choice.area, choice.index)
        }
        kind::RETREAT | kind::ATTACK => place(scene, us, Some(area::ACTIVE), Some(0)),
        kind::SKILL => match choice.card_id {
            Some(id) => Place { token: token::NONE, card: scene.id(id) },
            None => NOWHERE,
        },
        _ => NOWHERE,
    }
}

/// What an option is done to.
fn target(scene: &mut Scene<'_>, choice: &Choice) -> Place {
    match choice.kind {
        kind::ATTACH | kind::EVOLVE => {
            place(scene, Some(scene.decision.side as i32), choice.in_play_area, choice.in_play_index)
        }
        _ => NOWHERE,
    }
}

/// The token of a slot; where it has none, the card that lies there.
fn place(scene: &mut Scene<'_>, player: Option<i32>, area: Option<i32>, index: Option<i32>) -> Place {
    let (Some(area), Some(index)) = (area, index) else { return NOWHERE };
    let decision = scene.decision;
    let foe = usize::from(player != Some(decision.side as i32));
    if area == area::STADIUM {
        let stadium = usize::try_from(index).ok().and_then(|index| decision.current.stadium.get(index));
        let theirs = |card: &Card| usize::from(card.player_index != Some(decision.side as i32));
        return stadium.map_or(NOWHERE, |card| Place { token: token::stadium(theirs(card)), card: 0 });
    }
    if let Some(token) = token::position(area, foe, index) {
        return Place { token, card: 0 };
    }
    let has_cards = matches!(
        area,
        area::DECK | area::LOOKING | area::HAND | area::DISCARD | area::ACTIVE | area::BENCH | area::PRIZE
    );
    if !has_cards {
        return NOWHERE;
    }
    let card = match card_at(scene, foe, area, index) {
        Some(id) => scene.id(id),
        None => scene.encoder.cards.unknown(),
    };
    Place { token: token::NONE, card }
}

/// The card in a slot, where it can be seen. What lies in the opponent's hand cannot.
fn card_at(scene: &Scene<'_>, foe: usize, area: i32, index: i32) -> Option<i32> {
    let decision = scene.decision;
    let at = usize::try_from(index).ok()?;
    let player = if foe == 0 { decision.me() } else { decision.foe() };
    let card = |cards: Option<&[Option<Card>]>| cards?.get(at)?.as_ref().map(|card| card.id);
    let unit = |units: &[Option<Unit>]| units.get(at)?.as_ref().map(|unit| unit.id);
    match area {
        area::DECK => card(decision.select.deck.as_deref()),
        area::LOOKING => card(decision.current.looking.as_deref()),
        area::HAND if foe == 0 => card(player.hand.as_deref()),
        area::DISCARD => card(Some(&player.discard)),
        area::PRIZE => card(player.prize.as_deref()),
        area::ACTIVE => unit(&player.active),
        area::BENCH => unit(&player.bench),
        _ => None,
    }
}

/// The first option that each option can be exchanged for: in a single pick, one that is alike but for which copy of a
/// card is meant.
fn groups(scene: &Scene<'_>) -> [i32; MAX_OPTIONS + 1] {
    let mut group = std::array::from_fn(|slot| slot as i32);
    let select = &scene.decision.select;
    if select.max_count != 1 {
        return group;
    }
    let kinds: Vec<(Choice, Option<i32>)> =
        select.option.first.iter().map(|choice| interchangeable(scene, choice)).collect();
    for (slot, kind) in kinds.iter().enumerate() {
        let first = kinds[..slot].iter().position(|earlier| is_known(kind.0.kind) && earlier == kind);
        group[slot] = first.unwrap_or(slot) as i32;
    }
    group
}

/// An option without its serial, with a card instead of its index where that can be seen.
fn interchangeable(scene: &Scene<'_>, choice: &Choice) -> (Choice, Option<i32>) {
    let us = scene.decision.side as i32;
    let (area, player) = match choice.kind {
        kind::PLAY => (Some(area::HAND), us),
        _ => (choice.area, choice.player_index.unwrap_or(us)),
    };
    let copies = [area::HAND, area::DECK, area::DISCARD, area::LOOKING];
    let plain = Choice { serial: None, ..*choice };
    let (Some(area), Some(index)) = (area.filter(|area| copies.contains(area)), choice.index) else {
        return (plain, None);
    };
    match card_at(scene, usize::from(player != us), area, index) {
        Some(card) => (Choice { index: None, ..plain }, Some(card)),
        None => (plain, None),
    }
}
