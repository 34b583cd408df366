//! What a side has learned of the other one's cards, from log entries and from what lay open, and which abilities it has
//! used. Everything starts anew with a round.

use crate::game::Decision;
use crate::replay::{Card, Log};

use super::token::area;

/// Cards of a deck.
const DECK: usize = 60;

mod kind {
    pub(super) const TURN_START: i32 = 2;
    pub(super) const TURN_END: i32 = 3;
    pub(super) const DRAW: i32 = 4;
    pub(super) const DRAW_REVERSE: i32 = 5;
    pub(super) const MOVE_CARD: i32 = 6;
    pub(super) const MOVE_CARD_REVERSE: i32 = 7;
    pub(super) const PLAY: i32 = 10;
    pub(super) const ATTACH: i32 = 11;
    pub(super) const EVOLVE: i32 = 12;
    pub(super) const ATTACK: i32 = 15;
    pub(super) const LAST: i32 = 23;
}

const ABILITY: i32 = 10;

/// Whether this encoder knows a type of log entry.
pub(super) fn is_known(kind: i32) -> bool {
    (0..=kind::LAST).contains(&kind)
}

/// A card that the opponent is known to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    serial: i32,
    pub(super) id: i32,
    /// No unseen card has left the hand since.
    pub(super) certain: bool,
}

/// What one side knows.
#[derive(Debug)]
pub(crate) struct Tracker {
    side: usize,
    round: Option<i64>,
    /// The opponent's cards by first sight: serial and id.
    revealed: Vec<(i32, i32)>,
    held: Vec<Held>,
    /// Cards in the opponent's hand, as log entries go by.
    hand: i64,
    /// An attack of this turn is being carried out: what is attached now comes from elsewhere than a hand.
    attacking: bool,
    turn: Option<i64>,
    /// Serials of units whose ability we used this turn.
    abilities: Vec<i32>,
}

impl Tracker {
    pub(super) fn new(side: usize) -> Self {
        let (revealed, held, abilities) = (vec![], vec![], vec![]);
        Self { side, round: None, revealed, held, hand: 0, attacking: false, turn: None, abilities }
    }

    /// The opponent's cards by first sight: serial and id.
    pub(crate) fn revealed(&self) -> &[(i32, i32)] {
        &self.revealed
    }

    /// Known cards of the opponent's hand, the longest known first.
    pub(super) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Whether we used the ability of a unit this turn.
    pub(super) fn used_ability(&self, serial: Option<i32>) -> bool {
        serial.is_some_and(|serial| self.abilities.contains(&serial))
    }

    /// Takes in what a decision shows, before its answer.
    pub(super) fn see(&mut self, decision: &Decision) {
        if self.round != Some(decision.round()) {
            *self = Self { round: Some(decision.round()), ..Self::new(self.side) };
        }
        if self.turn != decision.current.turn.0 {
            self.abilities.clear();
            self.turn = decision.current.turn.0;
        }
        decision.logs.iter().for_each(|log| self.log(log));
        for (id, serial) in shown(decision) {
            self.reveal(id, serial);
            self.held.retain(|held| held.serial != serial);
        }
        self.hand = decision.foe().hand_count;
        let most = usize::try_from(self.hand).unwrap_or(0);
        self.held.drain(..self.held.len().saturating_sub(most));
    }

    /// Takes in the answer.
    pub(super) fn answered(&mut self, decision: &Decision) {
        let picked = decision.label.iter().filter_map(|&pick| decision.select.option.first.get(pick));
        for choice in picked.filter(|choice| choice.kind == ABILITY) {
            let units = match choice.area {
                Some(area::ACTIVE) => &decision.me().active,
                Some(area::BENCH) => &decision.me().bench,
                _ => continue,
            };
            let unit = choice.index.and_then(|index| units.get(usize::try_from(index).ok()?)?.as_ref());
            self.abilities.extend(unit.and_then(|unit| unit.serial));
        }
    }

    fn reveal(&mut self, id: i32, serial: i32) {
        if self.revealed.len() < DECK && self.revealed.iter().all(|&(known, _)| known != serial) {
            self.revealed.push((serial, id));
        }
    }

    fn log(&mut self, log: &Log) {
        match log.kind {
            kind::TURN_START | kind::TURN_END => self.attacking = false,
            kind::ATTACK => self.attacking = true,
            _ => {}
        }
        if !is_known(log.kind) || log.player_index != Some(1 - self.side as i32) {
            return;
        }
        let enters = match log.kind {
            kind::DRAW => true,
            kind::MOVE_CARD => log.to_area == Some(area::HAND),
            _ => false,
        };
        for (id, serial) in log.cards() {
            self.reveal(id, serial);
            self.held.retain(|held| held.serial != serial);
            if enters {
                self.held.push(Held { serial, id, certain: true });
            }
        }
        self.count_hand(log);
    }

    fn count_hand(&mut self, log: &Log) {
        let (from, to) = (log.from_area == Some(area::HAND), log.to_area == Some(area::HAND));
        self.hand += match log.kind {
            kind::DRAW | kind::DRAW_REVERSE => 1,
            kind::MOVE_CARD | kind::MOVE_CARD_REVERSE => i64::from(to) - i64::from(from),
            kind::PLAY => -1,
            kind::ATTACH | kind::EVOLVE if !self.attacking => -1,
            _ => 0,
        };
        if log.kind == kind::MOVE_CARD_REVERSE && from {
            self.held.iter_mut().for_each(|held| held.certain = false);
            if log.to_area == Some(area::DECK) && self.hand <= 0 {
                self.held.clear();
            }
        }
    }
}

/// The opponent's cards that lie open: id and serial. In play, discarded, as prizes, the stadium.
pub(super) fn public(decision: &Decision) -> impl Iterator<Item = (i32, i32)> {
    let (foe, them) = (decision.foe(), 1 - decision.side as i32);
    let units = foe.units().flat_map(|unit| unit.cards());
    let piles =
        foe.discard.iter().chain(foe.prize.iter().flatten()).flatten().map(|card| (card.id, card.serial));
    let stadium = decision.current.stadium.iter().filter(move |card| card.player_index == Some(them));
    let all = units.chain(piles).chain(stadium.map(|card| (card.id, card.serial)));
    all.filter_map(|(id, serial)| Some((id, serial?)))
}

/// The opponent's cards that a decision shows: those that lie open, and those that it is about.
fn shown(decision: &Decision) -> impl Iterator<Item = (i32, i32)> {
    let them = 1 - decision.side as i32;
    let (select, current) = (&decision.select, &decision.current);
    let looked_at = current.looking.iter().flatten().chain(select.deck.iter().flatten()).flatten();
    let about: [&Option<Card>; 2] = [&select.effect, &select.context_card];
    let others = looked_at.chain(about.into_iter().flatten());
    let others = others.filter(move |card| card.player_index == Some(them));
    public(decision).chain(others.filter_map(|card| Some((card.id, card.serial?))))
}
