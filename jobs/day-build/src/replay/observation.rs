//! What a side sees when it must answer.

use std::fmt;
use std::marker::PhantomData;

use common::formats::decisions::columns::MAX_OPTIONS;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::Number;

/// An observation.
#[derive(Debug, Deserialize)]
pub(crate) struct Observation {
    #[serde(default)]
    pub(crate) select: Option<Select>,
    /// What happened since the side's last observation.
    #[serde(default)]
    pub(crate) logs: Option<Vec<Log>>,
    #[serde(default)]
    pub(crate) current: Option<Current>,
}

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Select {
    #[serde(rename = "type")]
    pub(crate) kind: i32,
    pub(crate) context: i32,
    pub(crate) min_count: i64,
    pub(crate) max_count: i64,
    #[serde(default)]
    pub(crate) remain_damage_counter: Option<f64>,
    #[serde(default)]
    pub(crate) remain_energy_cost: Option<f64>,
    pub(crate) option: Capped<Choice, MAX_OPTIONS>,
    #[serde(default)]
    pub(crate) deck: Option<Vec<Option<Card>>>,
    #[serde(default)]
    pub(crate) context_card: Option<Card>,
    #[serde(default)]
    pub(crate) effect: Option<Card>,
}

/// One of the options. Which fields it has depends on its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Choice {
    #[serde(rename = "type")]
    pub(crate) kind: i32,
    #[serde(default)]
    pub(crate) area: Option<i32>,
    #[serde(default)]
    pub(crate) index: Option<i32>,
    #[serde(default)]
    pub(crate) player_index: Option<i32>,
    #[serde(default)]
    pub(crate) tool_index: Option<i32>,
    #[serde(default)]
    pub(crate) energy_index: Option<i32>,
    #[serde(default)]
    pub(crate) count: Option<i32>,
    #[serde(default)]
    pub(crate) number: Option<i32>,
    #[serde(default)]
    pub(crate) in_play_area: Option<i32>,
    #[serde(default)]
    pub(crate) in_play_index: Option<i32>,
    #[serde(default)]
    pub(crate) attack_id: Option<i32>,
    #[serde(default)]
    pub(crate) card_id: Option<i32>,
    #[serde(default)]
    pub(crate) serial: Option<i32>,
    #[serde(default)]
    pub(crate) special_condition_type: Option<i32>,
}

/// The first `N` elements of a list, and how many it has.
#[derive(Debug)]
pub(crate) struct Capped<T, const N: usize> {
    pub(crate) first: Vec<T>,
    pub(crate) len: usize,
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for Capped<T, N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct CappedVisitor<T, const N: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for CappedVisitor<T, N> {
            type Value = Capped<T, N>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Capped<T, N>, A::Error> {
                let mut first = vec![];
                while first.len() < N {
                    match seq.next_element()? {
                        Some(element) => first.push(element),
                        None => return Ok(Capped { len: first.len(), first }),
                    }
                }
                let mut len = first.len();
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    len += 1;
                }
                Ok(Capped { first, len })
            }
        }
        from.deserialize_seq(CappedVisitor(PhantomData))
    }
}

/// Something that happened.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Log {
    #[serde(rename = "type")]
    pub(crate) kind: i32,
    #[serde(default)]
    pub(crate) player_index: Option<i32>,
    #[serde(default)]
    pub(crate) card_id: Option<i32>,
    #[serde(default)]
    pub(crate) serial: Option<i32>,
    #[serde(default)]
    pub(crate) card_id_target: Option<i32>,
    #[serde(default)]
    pub(crate) serial_target: Option<i32>,
    #[serde(default)]
    pub(crate) card_id_active: Option<i32>,
    #[serde(default)]
    pub(crate) serial_active: Option<i32>,
    #[serde(default)]
    pub(crate) card_id_bench: Option<i32>,
    #[serde(default)]
    pub(crate) serial_bench: Option<i32>,
    #[serde(default)]
    pub(crate) from_area: Option<i32>,
    #[serde(default)]
    pub(crate) to_area: Option<i32>,
}

impl Log {
    /// Every card that the entry names, as id and serial.
    pub(crate) fn cards(&self) -> impl Iterator<Item = (i32, i32)> {
        let named = [
            self.card_id.zip(self.serial),
            self.card_id_target.zip(self.serial_target),
            self.card_id_active.zip(self.serial_active),
            self.card_id_bench.zip(self.serial_bench),
        ];
        named.into_iter().flatten()
    }
}

/// The table, as the side sees it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Current {
    #[serde(default)]
    pub(crate) turn: Number,
    #[serde(default)]
    pub(crate) turn_action_count: f64,
    #[serde(default)]
    pub(crate) first_player: Number,
    #[serde(default)]
    pub(crate) supporter_played: bool,
    #[serde(default)]
    pub(crate) stadium_played: bool,
    #[serde(default)]
    pub(crate) energy_attached: bool,
    #[serde(default)]
    pub(crate) retreated: bool,
    #[serde(default)]
    pub(crate) stadium: Vec<Card>,
    #[serde(default)]
    pub(crate) looking: Option<Vec<Option<Card>>>,
    pub(crate) players: [Player; 2],
    #[serde(default)]
    pub(crate) round: Option<i64>,
}

impl Current {
    /// The game of the episode, from 1.
    pub(crate) fn round(&self) -> i64 {
        self.round.filter(|&round| round != 0).unwrap_or(1)
    }
}

/// A side of the table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Player {
    /// The active unit; null while it lies face down.
    pub(crate) active: Vec<Option<Unit>>,
    pub(crate) bench: Vec<Option<Unit>>,
    pub(crate) deck_count: i64,
    pub(crate) discard: Vec<Option<Card>>,
    /// Null where a card lies face down.
    #[serde(default)]
    pub(crate) prize: Option<Vec<Option<Card>>>,
    pub(crate) hand_count: i64,
    /// Of the side that looks. What stands here of the other side is never read.
    #[serde(default)]
    pub(crate) hand: Option<Vec<Option<Card>>>,
    #[serde(default)]
    pub(crate) poisoned: bool,
    #[serde(default)]
    pub(crate) burned: bool,
    #[serde(default)]
    pub(crate) asleep: bool,
    #[serde(default)]
    pub(crate) paralyzed: bool,
    #[serde(default)]
    pub(crate) confused: bool,
    #[serde(default)]
    pub(crate) win: Option<i64>,
}

impl Player {
    /// The face-up units, active first.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.active.iter().chain(&self.bench).flatten()
    }
}

/// A card; its serial tells copies apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Card {
    pub(crate) id: i32,
    #[serde(default)]
    pub(crate) serial: Option<i32>,
    #[serde(default)]
    pub(crate) player_index: Option<i32>,
}

/// A Pokémon in play, with all that lies on and under it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unit {
    pub(crate) id: i32,
    #[serde(default)]
    pub(crate) serial: Option<i32>,
    #[serde(default)]
    pub(crate) hp: f32,
    #[serde(default)]
    pub(crate) max_hp: f32,
    #[serde(default)]
    pub(crate) appear_this_turn: bool,
    #[serde(default)]
    pub(crate) energies: Vec<i32>,
    #[serde(default)]
    pub(crate) energy_cards: Vec<Option<Card>>,
    #[serde(default)]
    pub(crate) tools: Vec<Option<Card>>,
    #[serde(default)]
    pub(crate) pre_evolution: Vec<Option<Card>>,
}

impl Unit {
    /// Itself, what it evolved from, energies, tools: id and serial.
    pub(crate) fn cards(&self) -> impl Iterator<Item = (i32, Option<i32>)> {
        let attached = self.pre_evolution.iter().chain(&self.energy_cards).chain(&self.tools).flatten();
        std::iter::once((self.id, self.serial)).chain(attached.map(|card| (card.id, card.serial)))
    }
}
