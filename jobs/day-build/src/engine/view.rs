//! An observation, seen for what the look-ahead needs of it. Replays and the engine's answers have the same shape.

use serde::{Deserialize, Serialize};

/// [`Select::kind`] of a turn's free choice.
pub(super) const MAIN: i32 = 0;
/// [`Select::kind`] of yes or no.
pub(super) const YES_NO: i32 = 9;
/// [`Select::context`] of cards that go to the hand, prizes too.
pub(super) const TO_HAND: i32 = 7;
/// [`Select::context`] of a coin that the caller throws.
pub(super) const COIN: i32 = 46;

/// What a side sees, and what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Observation {
    /// What is asked.
    pub(super) select: Option<Select>,
    /// What is seen.
    pub(super) current: Option<Current>,
    /// The engine's record of the game, which replays have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) search_begin_input: Option<String>,
}

/// A choice between options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Select {
    /// Kind of the question.
    #[serde(rename = "type")]
    pub(super) kind: i32,
    /// What the question is about.
    pub(super) context: i32,
    /// Options that are picked at least.
    pub(super) min_count: i32,
    /// Options that are picked at most.
    pub(super) max_count: i32,
    /// The options.
    #[serde(rename = "option")]
    pub(super) options: Vec<Choice>,
    /// The side's deck, where it looks through it.
    pub(super) deck: Option<Vec<Option<Card>>>,
}

/// An option. Most fields stand at a few kinds of options only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Choice {
    #[serde(rename = "type")]
    pub(super) kind: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attack_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) area: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) player_index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_play_area: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_play_index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) card_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) serial: Option<i32>,
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Current {
    /// Turn, from 0 for the set-up.
    pub(super) turn: i32,
    /// The side that sees this.
    pub(super) your_index: i32,
    /// −1 while the game runs, else the winner, or 2 for a draw.
    pub(super) result: i32,
    /// The stadium in play, if any.
    pub(super) stadium: Vec<Card>,
    /// Cards being looked at.
    pub(super) looking: Option<Vec<Option<Card>>>,
    /// Both sides.
    pub(super) players: [Player; 2],
}

/// A side of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Player {
    /// The active Pokémon; null while it is face down.
    pub(super) active: Vec<Option<Pokemon>>,
    /// The benched ones.
    pub(super) bench: Vec<Pokemon>,
    /// Cards in the deck.
    pub(super) deck_count: usize,
    /// The discard pile.
    pub(super) discard: Vec<Card>,
    /// Prizes left; null while face down.
    pub(super) prize: Vec<Option<Card>>,
    /// Cards in the hand.
    pub(super) hand_count: usize,
    /// The hand, where it is one's own.
    pub(super) hand: Option<Vec<Card>>,
    /// A special condition of the active Pokémon, as are the four that follow.
    pub(super) poisoned: bool,
    /// See `poisoned`.
    pub(super) burned: bool,
    /// See `poisoned`.
    pub(super) asleep: bool,
    /// See `poisoned`.
    pub(super) paralyzed: bool,
    /// See `poisoned`.
    pub(super) confused: bool,
}

/// A card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Card {
    /// Its id in the catalog.
    pub(super) id: i32,
    /// Its number in this game, which no other card has.
    pub(super) serial: i32,
    /// The side whose deck it is of.
    pub(super) player_index: i32,
}

/// A Pokémon in play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pokemon {
    /// Its top card's id in the catalog.
    pub(super) id: i32,
    /// Its top card's number in this game.
    pub(super) serial: i32,
    /// The side whose deck its top card is of.
    pub(super) player_index: i32,
    /// Hit points left.
    pub(super) hp: i32,
    /// Hit points when whole.
    pub(super) max_hp: i32,
    /// Energy it provides.
    pub(super) energies: Vec<i32>,
    /// Energy cards attached.
    pub(super) energy_cards: Vec<Card>,
    /// Tools attached.
    pub(super) tools: Vec<Card>,
    /// The cards it evolved from.
    pub(super) pre_evolution: Vec<Card>,
}

impl Observation {
    /// Whether the engine's root shows what this observation shows. Prizes are the one difference: the engine shows
    /// them, a replay does not.
    pub(super) fn equals_root(&self, root: &Self) -> bool {
        let without_prizes = |observation: &Self| {
            let mut observation = Self { search_begin_input: None, ..observation.clone() };
            let players = observation.current.iter_mut().flat_map(|current| &mut current.players);
            players.for_each(|player| player.prize.fill(None));
            observation
        };
        without_prizes(self) == without_prizes(root)
    }
}

impl Player {
    /// The Pokémon in play that lie face up.
    pub(super) fn in_play(&self) -> impl Iterator<Item = &Pokemon> {
        self.active.iter().flatten().chain(&self.bench)
    }

    /// All cards on this side of the table that can be seen.
    fn cards(&self) -> impl Iterator<Item = Card> {
        let hand = self.hand.iter().flatten();
        let lying = hand.chain(&self.discard).chain(self.prize.iter().flatten()).copied();
        lying.chain(self.in_play().flat_map(Pokemon::cards))
    }
}

impl Pokemon {
    fn cards(&self) -> impl Iterator<Item = Card> {
        let top = Card { id: self.id, serial: self.serial, player_index: self.player_index };
        let below = self.energy_cards.iter().chain(&self.tools).chain(&self.pre_evolution).copied();
        std::iter::once(top).chain(below)
    }
}

impl Observation {
    /// All cards that can be seen, whosever they are. A card may come twice.
    pub(super) fn cards(&self) -> impl Iterator<Item = Card> {
        let deck = self.select.iter().flat_map(|select| &select.deck).flatten().flatten();
        let table = self.current.iter().flat_map(|current| {
            let looking = current.looking.iter().flatten().flatten();
            let shared = current.stadium.iter().chain(looking).copied();
            current.players.iter().flat_map(Player::cards).chain(shared)
        });
        table.chain(deck.copied())
    }
}
