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
/// [`Choice::kind`] of an attack.
const ATTACK: i32 = 13;

/// What a side sees, and what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// What is asked.
    pub select: Option<Select>,
    /// What is seen.
    pub current: Option<Current>,
}

/// A choice between options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Select {
    /// Kind of the question.
    #[serde(rename = "type")]
    pub kind: i32,
    /// What the question is about.
    pub context: i32,
    /// Options that are picked at least.
    pub min_count: i32,
    /// Options that are picked at most.
    pub max_count: i32,
    /// The options.
    #[serde(rename = "option")]
    pub options: Vec<Choice>,
    /// The side's deck, where it looks through it.
    pub deck: Option<Vec<Option<Card>>>,
}

/// An option.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the engine's own names, most of them on a few kinds of options only")]
pub struct Choice {
    #[serde(rename = "type")]
    pub kind: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub player_index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_play_area: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_play_index: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<i32>,
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Current {
    /// Turn, from 0 for the set-up.
    pub turn: i32,
    /// The side that sees this.
    pub your_index: i32,
    /// −1 while the game runs, else the winner, or 2 for a draw.
    pub result: i32,
    /// The stadium in play, if any.
    pub stadium: Vec<Card>,
    /// Cards being looked at.
    pub looking: Option<Vec<Option<Card>>>,
    /// Both sides.
    pub players: [Player; 2],
}

/// A side of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Player {
    /// The active Pokémon; null while it is face down.
    pub active: Vec<Option<Pokemon>>,
    /// The benched ones.
    pub bench: Vec<Pokemon>,
    /// Cards in the deck.
    pub deck_count: usize,
    /// The discard pile.
    pub discard: Vec<Card>,
    /// Prizes left; null while face down.
    pub prize: Vec<Option<Card>>,
    /// Cards in the hand.
    pub hand_count: usize,
    /// The hand, where it is one's own.
    pub hand: Option<Vec<Card>>,
    /// A special condition of the active Pokémon, as are the four that follow.
    pub poisoned: bool,
    /// See `poisoned`.
    pub burned: bool,
    /// See `poisoned`.
    pub asleep: bool,
    /// See `poisoned`.
    pub paralyzed: bool,
    /// See `poisoned`.
    pub confused: bool,
}

/// A card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// Its id in the catalog.
    pub id: i32,
    /// Its number in this game, which no other card has.
    pub serial: i32,
    /// The side whose deck it is of.
    pub player_index: i32,
}

/// A Pokémon in play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pokemon {
    /// Its top card's id in the catalog.
    pub id: i32,
    /// Its top card's number in this game.
    pub serial: i32,
    /// The side whose deck its top card is of.
    pub player_index: i32,
    /// Hit points left.
    pub hp: i32,
    /// Hit points when whole.
    pub max_hp: i32,
    /// Energy it provides.
    pub energies: Vec<i32>,
    /// Energy cards attached.
    pub energy_cards: Vec<Card>,
    /// Tools attached.
    pub tools: Vec<Card>,
    /// The cards it evolved from.
    pub pre_evolution: Vec<Card>,
}

impl Observation {
    /// Indices of the options that are attacks.
    pub fn attacks(&self) -> impl Iterator<Item = usize> {
        let options = self.select.iter().flat_map(|select| &select.options);
        options.enumerate().filter(|(_, option)| option.kind == ATTACK).map(|(index, _)| index)
    }

    /// Whether the engine's root shows what this observation shows. Prizes are the one difference: the engine shows
    /// them, a replay does not.
    pub(super) fn equals_root(&self, root: &Self) -> bool {
        let without_prizes = |observation: &Self| {
            let mut observation = observation.clone();
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
