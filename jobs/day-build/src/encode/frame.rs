//! What a decision saw, as slots: zones, units, scalars, options.

use std::iter::repeat_n;

use common::formats::decisions::columns::{UNIT_ATTRS, UNITS};
use common::formats::decisions::manifest::Counts;
use common::formats::decisions::{COLUMNS, Cell, Group, column};

use super::options::Options;
use super::tracker::{Tracker, public};
use super::{Encoder, LookAhead};
use crate::game::Decision;
use crate::replay::{Card, Current, Player, Unit};

/// Length of cls_scalars, and where the number of picks stands in it.
const SCALARS: usize = 19;
const PICKED: usize = 17;
/// Picks that the scalar is measured by.
const PICKS: f64 = 5.0;

/// Slots of a decision.
pub(super) struct Frame {
    scalars: [f32; SCALARS],
    zones: Vec<Slots>,
    units: [Units; 2],
    options: Options,
}

/// Where the columns of a zone lie.
struct ZoneColumns {
    ids: usize,
    mask: usize,
    flag: Option<usize>,
    buckets: usize,
}

const ZONES: [ZoneColumns; 10] = [
    zone("effect_id", "effect_mask", None, "effect_meta_bucket"),
    zone("self_deck_id", "self_deck_mask", Some(column("self_deck_flag")), "self_deck_meta_bucket"),
    zone("opp_deck_id", "opp_deck_mask", Some(column("opp_deck_flag")), "opp_deck_meta_bucket"),
    zone("self_prize_id", "self_prize_mask", None, "self_prize_meta_bucket"),
    zone("opp_prize_id", "opp_prize_mask", None, "opp_prize_meta_bucket"),
    zone("self_hand_id", "self_hand_mask", None, "self_hand_meta_bucket"),
    zone("opp_hand_id", "opp_hand_mask", Some(column("opp_hand_flag")), "opp_hand_meta_bucket"),
    zone("self_discard_id", "self_discard_mask", None, "self_discard_meta_bucket"),
    zone("opp_discard_id", "opp_discard_mask", None, "opp_discard_meta_bucket"),
    zone("stadium_id", "stadium_mask", None, "stadium_meta_bucket"),
];

const fn zone(ids: &str, mask: &str, flag: Option<usize>, buckets: &str) -> ZoneColumns {
    ZoneColumns { ids: column(ids), mask: column(mask), flag, buckets: column(buckets) }
}

/// Slots of a zone, as far as they are used.
#[derive(Default)]
struct Slots {
    ids: Vec<i32>,
    mask: Vec<f32>,
    flag: Vec<f32>,
    buckets: Vec<i32>,
}

impl Slots {
    fn push(&mut self, id: Option<i32>, flag: bool) {
        self.ids.push(id.unwrap_or(0));
        self.mask.push(f32::from(u8::from(id.is_some())));
        self.flag.push(f32::from(u8::from(flag)));
    }
}

/// Where the columns of a side's units lie.
struct UnitColumns {
    /// The unit itself, what it evolved from, tools, energies; ids and buckets.
    cards: [(usize, usize); 4],
    attr: usize,
    mask: usize,
}

const UNIT_COLUMNS: [UnitColumns; 2] = [
    UnitColumns {
        cards: [
            (column("self_unit_top_id"), column("self_unit_top_meta_bucket")),
            (column("self_unit_preevo_id"), column("self_unit_preevo_meta_bucket")),
            (column("self_unit_tool_id"), column("self_unit_tool_meta_bucket")),
            (column("self_unit_energy_id"), column("self_unit_energy_meta_bucket")),
        ],
        attr: column("self_unit_attr"),
        mask: column("self_unit_mask"),
    },
    UnitColumns {
        cards: [
            (column("opp_unit_top_id"), column("opp_unit_top_meta_bucket")),
            (column("opp_unit_preevo_id"), column("opp_unit_preevo_meta_bucket")),
            (column("opp_unit_tool_id"), column("opp_unit_tool_meta_bucket")),
            (column("opp_unit_energy_id"), column("opp_unit_energy_meta_bucket")),
        ],
        attr: column("opp_unit_attr"),
        mask: column("opp_unit_mask"),
    },
];
/// Slots of a unit for what it evolved from, for tools, for energies.
const ATTACHED: [usize; 3] = [2, 4, 4];

/// Units of a side.
#[derive(Default)]
struct Units {
    ids: [Vec<i32>; 4],
    buckets: [Vec<i32>; 4],
    attr: Vec<f32>,
    mask: Vec<f32>,
}

/// What a frame is made from.
pub(super) struct Scene<'a> {
    pub(super) encoder: &'a Encoder<'a>,
    pub(super) decision: &'a Decision<'a>,
    pub(super) counts: &'a mut Counts,
}

impl Scene<'_> {
    /// The id that a card is stored with: a card that the catalog does not hold is unknown.
    pub(super) fn id(&mut self, id: i32) -> i32 {
        if self.encoder.cards.knows(id) {
            return id;
        }
        self.counts.unknown_cards += 1;
        self.encoder.cards.unknown()
    }

    /// A card that may lie face down.
    pub(super) fn face(&mut self, card: Option<&Card>) -> i32 {
        card.map_or(self.encoder.cards.unknown(), |card| self.id(card.id))
    }
}

impl Frame {
    /// Looks at a decision before any pick.
    pub(super) fn of(
        encoder: &Encoder<'_>,
        decision: &Decision,
        tracker: &Tracker,
        deck: &[i32],
        ahead: &LookAhead,
        counts: &mut Counts,
    ) -> Self {
        let mut scene = Scene { encoder, decision, counts };
        let mut zones = vec![
            effects(&mut scene),
            own_deck(&mut scene, deck),
            their_deck(&mut scene, tracker),
            pile(&mut scene, decision.me().prize.as_deref(), 6),
            pile(&mut scene, decision.foe().prize.as_deref(), 6),
            pile(&mut scene, decision.me().hand.as_deref(), 30),
            their_hand(&mut scene, tracker),
            pile(&mut scene, Some(&decision.me().discard), 60),
            pile(&mut scene, Some(&decision.foe().discard), 60),
            stadium(&mut scene),
        ];
        let mut units = [decision.me(), decision.foe()]
            .map(|player| units(&mut scene, player, tracker, std::ptr::eq(player, decision.me())));
        let options = Options::of(&mut scene, ahead);
        for zone in &mut zones {
            zone.buckets = zone.ids.iter().map(|&id| encoder.ratings.card(id)).collect();
        }
        for side in &mut units {
            let bucket = |ids: &Vec<i32>| ids.iter().map(|&id| encoder.ratings.card(id)).collect();
            side.buckets = side.ids.each_ref().map(bucket);
        }
        Self { scalars: scalars(encoder, decision), zones, units, options }
    }

    /// Writes the columns of the state and of the options for a row after `picks`.
    pub(super) fn write(&self, picks: &[usize], out: &mut Group) {
        let mut scalars = self.scalars;
        scalars[PICKED] = (picks.len() as f64 / PICKS).min(1.0) as f32;
        out.push(const { column("cls_scalars") }, Cell::F32s(&scalars));
        for (at, slots) in ZONES.iter().zip(&self.zones) {
            out.push(at.ids, Cell::I32s(&slots.ids));
            out.push(at.mask, Cell::F32s(&slots.mask));
            if let Some(flag) = at.flag {
                out.push(flag, Cell::F32s(&slots.flag));
            }
            out.push(at.buckets, Cell::I32s(&slots.buckets));
        }
        for (at, units) in UNIT_COLUMNS.iter().zip(&self.units) {
            for ((ids, buckets), i) in at.cards.iter().zip(0..) {
                out.push(*ids, Cell::I32s(&units.ids[i]));
                out.push(*buckets, Cell::I32s(&units.buckets[i]));
            }
            out.push(at.attr, Cell::F32s(&units.attr));
            out.push(at.mask, Cell::F32s(&units.mask));
        }
        self.options.write(picks, out);
    }
}

/// Cards in their order, cut to the slots there are; null lies face down.
fn pile(scene: &mut Scene<'_>, cards: Option<&[Option<Card>]>, slots: usize) -> Slots {
    let mut pile = Slots::default();
    for card in cards.unwrap_or_default().iter().take(slots) {
        pile.push(Some(scene.face(card.as_ref())), false);
    }
    pile
}

/// What is being carried out, and the card it is about.
fn effects(scene: &mut Scene<'_>) -> Slots {
    let mut slots = Slots::default();
    let select = &scene.decision.select;
    for card in [select.effect, select.context_card] {
        let id = card.map(|card| scene.id(card.id));
        slots.push(id, false);
    }
    slots
}

/// Ours, then theirs.
fn stadium(scene: &mut Scene<'_>) -> Slots {
    let mut ids = [None; 2];
    let decision = scene.decision;
    for card in &decision.current.stadium {
        ids[usize::from(card.player_index != Some(decision.side as i32))] = Some(scene.id(card.id));
    }
    let mut slots = Slots::default();
    ids.into_iter().for_each(|id| slots.push(id, false));
    slots
}

/// Our deck in the order of the answer. Of k copies of which m are somewhere else than in deck and prizes, the first m
/// cannot be drawn any more.
fn own_deck(scene: &mut Scene<'_>, deck: &[i32]) -> Slots {
    let mut gone = gone_from_deck(scene.decision);
    let mut slots = Slots::default();
    for &card in deck.iter().take(60) {
        let at = gone.iter().position(|&id| id == card);
        if let Some(at) = at {
            gone.swap_remove(at);
        }
        let id = scene.id(card);
        slots.push(Some(id), at.is_none());
    }
    slots
}

/// Our cards that are neither in the deck nor prizes: in hand, in play, discarded, the stadium, looked at, being used.
fn gone_from_deck(decision: &Decision) -> Vec<i32> {
    let (me, us) = (decision.me(), decision.side as i32);
    let select = &decision.select;
    let ours = |card: &&Card| card.player_index == Some(us);
    let lying = me.hand.iter().flatten().chain(&me.discard).flatten();
    let looked_at = decision.current.looking.iter().flatten().flatten();
    let placed = lying.chain(decision.current.stadium.iter()).chain(looked_at).filter(ours);
    let mut cards: Vec<(i32, Option<i32>)> = me.units().flat_map(Unit::cards).collect();
    cards.extend(placed.map(|card| (card.id, card.serial)));
    // a card that is being used lies nowhere else, unless it is one of the deck that may be chosen
    for card in [select.effect, select.context_card].iter().flatten().filter(ours) {
        let in_deck = select.deck.iter().flatten().flatten().any(|there| there.serial == card.serial);
        if !in_deck && cards.iter().all(|&(_, serial)| serial != card.serial) {
            cards.push((card.id, card.serial));
        }
    }
    cards.into_iter().map(|(id, _)| id).collect()
}

/// Sixty cards: those that were seen, by first sight, then unknown ones.
fn their_deck(scene: &mut Scene<'_>, tracker: &Tracker) -> Slots {
    let open: Vec<i32> = public(scene.decision).map(|(_, serial)| serial).collect();
    let mut slots = Slots::default();
    for &(serial, id) in tracker.revealed() {
        let id = scene.id(id);
        slots.push(Some(id), !open.contains(&serial));
    }
    let unknown = scene.encoder.cards.unknown();
    for _ in tracker.revealed().len()..60 {
        slots.push(Some(unknown), true);
    }
    slots
}

/// Known cards, then unknown ones, as many as the hand holds.
fn their_hand(scene: &mut Scene<'_>, tracker: &Tracker) -> Slots {
    let count = usize::try_from(scene.decision.foe().hand_count).unwrap_or(0).min(30);
    let mut slots = Slots::default();
    for held in tracker.held().iter().take(count) {
        let id = scene.id(held.id);
        slots.push(Some(id), held.certain);
    }
    let unknown = scene.encoder.cards.unknown();
    for _ in slots.ids.len()..count {
        slots.push(Some(unknown), false);
    }
    slots
}

fn units(scene: &mut Scene<'_>, player: &Player, tracker: &Tracker, ours: bool) -> Units {
    let mut out = Units::default();
    // the active slot is there when nobody stands in it
    let active = player.active.first().map(Option::as_ref);
    let bench = player.bench.iter().map(Option::as_ref).map(Some);
    for (slot, unit) in std::iter::once(active).chain(bench).take(UNITS).enumerate() {
        out.mask.push(f32::from(u8::from(unit.is_some())));
        let top = match unit {
            None => 0,
            Some(None) => scene.encoder.cards.unknown(),
            Some(Some(unit)) => scene.id(unit.id),
        };
        out.ids[0].push(top);
        let unit = unit.flatten();
        let attached: [&[Option<Card>]; 3] = match unit {
            Some(unit) => [&unit.pre_evolution, &unit.tools, &unit.energy_cards],
            None => [&[]; 3],
        };
        for ((ids, slots), cards) in out.ids[1..].iter_mut().zip(ATTACHED).zip(attached) {
            let end = ids.len() + slots;
            ids.extend(cards.iter().take(slots).map(|card| scene.face(card.as_ref())));
            ids.resize(end, 0);
        }
        match unit {
            Some(unit) => {
                let status = (slot == 0).then_some(player);
                let used = ours && tracker.used_ability(unit.serial);
                out.attr.extend_from_slice(&attributes(scene.encoder, unit, status, used));
            }
            None => out.attr.extend(repeat_n(0.0, UNIT_ATTRS)),
        }
    }
    out
}

/// hp / maxHp · maxHp / 500 · energies of each of twelve types / 4 · energies / 12 · poisoned, burned, asleep, paralyzed,
/// confused (of the active unit) · appeared this turn · Tera · ability used · defence buff / 200.
fn attributes(encoder: &Encoder<'_>, unit: &Unit, status: Option<&Player>, used: bool) -> [f32; UNIT_ATTRS] {
    let flag = |on: bool| f32::from(u8::from(on));
    let mut out = [0.0; UNIT_ATTRS];
    out[0] = if unit.max_hp > 0.0 { (unit.hp / unit.max_hp).clamp(0.0, 1.0) } else { 0.0 };
    out[1] = (unit.max_hp / 500.0).clamp(0.0, 1.0);
    for &energy in &unit.energies {
        if let Some(bin) = usize::try_from(energy).ok().filter(|&bin| bin < 12) {
            out[2 + bin] += 0.25;
        }
    }
    out[2..14].iter_mut().for_each(|bin| *bin = bin.min(MOST_ENERGIES / 4.0));
    out[14] = (unit.energies.len() as f32).min(MOST_ENERGIES) / 12.0;
    if let Some(player) = status {
        let Player { poisoned, burned, asleep, paralyzed, confused, .. } = player;
        for (out, &on) in out[15..20].iter_mut().zip([poisoned, burned, asleep, paralyzed, confused]) {
            *out = flag(on);
        }
    }
    out[20] = flag(unit.appear_this_turn);
    out[21] = flag(encoder.cards.is_tera(unit.id));
    out[22] = flag(used);
    out[23] = (encoder.effects.buff(unit.cards().map(|(id, _)| id)).defence / 200.0).min(1.0);
    out
}

/// Energies that a deck can bring to a unit.
const MOST_ENERGIES: f32 = 60.0;

/// Turn, table and question in 19 numbers, each from 0 to 1; the number of picks is left at 0.
fn scalars(encoder: &Encoder<'_>, decision: &Decision) -> [f32; SCALARS] {
    let (now, select, me, foe) = (&decision.current, &decision.select, decision.me(), decision.foe());
    let flag = |on: bool| f64::from(u8::from(on));
    let count = |n: i64, of: f64| n as f64 / of;
    let prizes = |player: &Player| player.prize.as_ref().map_or(0.0, |row| row.len() as f64 / 6.0);
    let values = [
        count(now.turn.0.unwrap_or(0), 50.0),
        now.turn_action_count / 20.0,
        flag(now.first_player.0 == Some(decision.side as i64)),
        flag(now.supporter_played),
        flag(now.stadium_played),
        flag(now.energy_attached),
        flag(now.retreated),
        count(me.deck_count, 60.0),
        count(foe.deck_count, 60.0),
        prizes(me),
        prizes(foe),
        count(me.hand_count, 12.0),
        count(foe.hand_count, 12.0),
        select.remain_damage_counter.unwrap_or(0.0) / 20.0,
        select.remain_energy_cost.unwrap_or(0.0) / 5.0,
        count(select.min_count, 5.0),
        count(select.max_count, 5.0),
        0.0,
        offence(encoder, decision),
    ];
    values.map(|value| value.clamp(0.0, 1.0) as f32)
}

/// What our active unit's attacks gain in our own turn, in hundreds of damage.
fn offence(encoder: &Encoder<'_>, decision: &Decision) -> f64 {
    let now: &Current = &decision.current;
    let first = now.first_player.0 == Some(decision.side as i64);
    let ours = now.turn.0.is_some_and(|turn| turn > 0 && (turn % 2 == 1) == first);
    let Some(active) = decision.me().active.first().and_then(Option::as_ref).filter(|_| ours) else {
        return 0.0;
    };
    let stadium = now.stadium.iter().map(|card| card.id);
    let buff = encoder.effects.buff(active.cards().map(|(id, _)| id).chain(stadium));
    f64::from(buff.offence) / 100.0
}

const _: () = {
    // ids, masks and buckets of a zone belong together
    let mut at = 0;
    while at < ZONES.len() {
        let (ids, mask) = (COLUMNS[ZONES[at].ids].list, COLUMNS[ZONES[at].mask].list);
        assert!(matches!((ids, mask), (Some(a), Some(b)) if a == b));
        at += 1;
    }
};
