//! The cards that a side does not see, and one way they may lie.
//!
//! The engine's record of a game holds no hidden card; whoever asks supplies them. One's own are known up to their
//! order: the 60 of the deck without those in sight. Of the opponent's, only those that it has shown are known.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::draw::{Draw, Purpose};
use super::view::{Card, Observation};

/// Cards of a deck.
const DECK: usize = 60;
/// Numbers that a list has room for. The engine is told no length and reads as many as its record asks for.
const ROOM: usize = 64;
/// Basic energy, the card that stands for what is not known of the opponent. The engine takes it everywhere.
pub(super) const FILLER: i32 = 3;

/// A list that the engine reads.
pub(super) type List = [i32; ROOM];

/// The six lists of a determinisation. The last card of a deck is its top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) my_deck: List,
    pub(super) my_prizes: List,
    pub(super) opp_deck: List,
    pub(super) opp_prizes: List,
    pub(super) opp_hand: List,
    pub(super) opp_active: List,
}

/// What is hidden from a side, as far as it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hidden {
    /// One's own hidden cards, in no order.
    pool: Vec<i32>,
    /// The opponent's hidden cards that it has shown, in no order.
    shown: Vec<i32>,
    my_prizes: Vec<Option<i32>>,
    opp_prizes: Vec<Option<i32>>,
    opp_deck: usize,
    opp_hand: usize,
    /// A Pokémon, for an active one that lies face down.
    pokemon: i32,
}

impl Hidden {
    /// What a side does not see. `deck` is its own 60 cards, `revealed` are serials and ids of the opponent's that it
    /// has seen so far, some of which it may see now. `None` where the cards do not add up.
    pub(super) fn new(
        observation: &Observation,
        side: u8,
        deck: &[i32],
        revealed: &[(i32, i32)],
    ) -> Option<Self> {
        let current = observation.current.as_ref()?;
        let own = usize::from(side);
        let (me, opponent) = (current.players.get(own)?, current.players.get(own ^ 1)?);

        let mut pool = deck.to_vec();
        let mut seen = BTreeSet::new();
        for card in observation.cards() {
            let player = usize::try_from(card.player_index).ok()?;
            if seen.insert((player, card.serial)) && player == own {
                pool.swap_remove(pool.iter().position(|&id| id == card.id)?);
            }
        }
        pool.sort_unstable();

        let is_hidden = |&&(serial, _): &&(i32, i32)| seen.insert((own ^ 1, serial));
        let mut shown: Vec<i32> = revealed.iter().filter(is_hidden).map(|&(_, id)| id).collect();
        shown.sort_unstable();
        let looked_through = observation.select.as_ref().is_some_and(|select| select.deck.is_some());
        let ids = |prizes: &[Option<Card>]| prizes.iter().map(|card| card.map(|card| card.id)).collect();
        let hidden = Self {
            pool,
            shown,
            my_prizes: ids(&me.prize),
            opp_prizes: ids(&opponent.prize),
            opp_deck: opponent.deck_count,
            opp_hand: opponent.hand_count,
            pokemon: me.in_play().next()?.id,
        };
        let my_deck = if looked_through { 0 } else { me.deck_count };
        let adds_up = deck.len() == DECK
            && usize::try_from(current.your_index) == Ok(own)
            && my_deck <= DECK
            && hidden.pool.len() == my_deck + face_down(&hidden.my_prizes)
            && hidden.opp_deck.max(hidden.opp_hand).max(hidden.opp_prizes.len()) <= DECK
            && hidden.shown.len() <= hidden.opp_places();
        adds_up.then_some(hidden)
    }

    /// Places of the opponent's hidden cards.
    fn opp_places(&self) -> usize {
        self.opp_deck + self.opp_hand + face_down(&self.opp_prizes)
    }

    /// One way the hidden cards may lie.
    pub(super) fn deal(&self, draw: &Draw) -> Lists {
        let mut mine = self.pool.clone();
        draw.shuffle(Purpose::OwnCards, &mut mine);
        let mut mine = mine.into_iter();
        let mut theirs = self.shown.clone();
        theirs.resize(self.opp_places(), FILLER);
        draw.shuffle(Purpose::OpponentCards, &mut theirs);
        let mut theirs = theirs.into_iter();
        Lists {
            my_prizes: prizes(&self.my_prizes, &mut mine),
            my_deck: list(mine),
            opp_prizes: prizes(&self.opp_prizes, &mut theirs),
            opp_hand: list(theirs.by_ref().take(self.opp_hand)),
            opp_deck: list(theirs),
            opp_active: [self.pokemon; ROOM],
        }
    }
}

fn face_down(prizes: &[Option<i32>]) -> usize {
    prizes.iter().filter(|prize| prize.is_none()).count()
}

/// Prizes in their order; those that lie face down come from `cards`.
fn prizes(prizes: &[Option<i32>], cards: &mut impl Iterator<Item = i32>) -> List {
    list(prizes.iter().map_while(|prize| prize.or_else(|| cards.next())))
}

/// A list, filled up with cards that the engine takes but does not need.
fn list(ids: impl Iterator<Item = i32>) -> List {
    let mut list = [FILLER; ROOM];
    list.iter_mut().zip(ids).for_each(|(place, id)| *place = id);
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::draw::Seed;
    use super::*;

    const ACTIVE: i32 = 700;

    fn card(id: i32, serial: i32, player: i32) -> Value {
        json!({"id": id, "serial": serial, "playerIndex": player})
    }

    /// Side 1 to choose: its active Pokémon with an energy, three cards in hand, one of four prizes face up; a stadium
    /// of its own; 49 cards in the deck. The opponent has 5 prizes, 4 cards in hand and 50 in its deck.
    fn observation() -> Value {
        let conditions = json!({"poisoned": false, "burned": false, "asleep": false, "paralyzed": false, "confused": false});
        let side = |fields: Value| {
            let mut side = conditions.clone();
            side.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            side
        };
        let pokemon = |id, serial, player, energy: &[Value]| {
            json!({"id": id, "serial": serial, "playerIndex": player, "hp": 60, "maxHp": 60, "energies": [3],
                "energyCards": energy, "tools": [], "preEvolution": []})
        };
        let me =
            side(json!({"active": [pokemon(ACTIVE, 61, 1, &[card(5, 62, 1)])], "bench": [], "deckCount": 49,
            "discard": [card(20, 63, 1)], "prize": [null, card(21, 64, 1), null, null], "handCount": 3,
            "hand": [card(22, 65, 1), card(22, 66, 1), card(23, 67, 1)]}));
        let opponent = side(json!({"active": [pokemon(800, 1, 0, &[])], "bench": [], "deckCount": 50,
            "discard": [], "prize": [null, null, null, null, null], "handCount": 4, "hand": null}));
        json!({"select": {"type": 0, "context": 0, "minCount": 1, "maxCount": 1, "deck": null,
                "option": [{"type": 13, "attackId": 1}, {"type": 14}]},
            "current": {"turn": 3, "yourIndex": 1, "result": -1, "stadium": [card(24, 68, 1)], "looking": null,
                "players": [opponent, me]}})
    }

    fn view(value: &Value) -> Observation {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// The cards in sight, and 52 that are told apart by their ids.
    fn deck() -> Vec<i32> {
        [ACTIVE, 5, 20, 21, 22, 22, 23, 24].into_iter().chain(100..152).collect()
    }

    fn revealed(serials: std::ops::Range<i32>) -> Vec<(i32, i32)> {
        serials.map(|serial| (serial, 900 + serial)).collect()
    }

    #[test]
    fn every_hidden_card_lies_in_one_place() {
        let hidden = Hidden::new(&view(&observation()), 1, &deck(), &revealed(1..4)).unwrap();
        let draw = |index| Seed { episode: 1, step: 2, side: 1 }.draw(index);
        let lists = hidden.deal(&draw(0));
        assert_eq!(lists.my_prizes[1], 21);
        let mut mine = [&lists.my_deck[..49], &lists.my_prizes[..1], &lists.my_prizes[2..4]].concat();
        mine.sort_unstable();
        assert_eq!(mine, (100..152).collect::<Vec<_>>());
        let theirs = [&lists.opp_deck[..50], &lists.opp_hand[..4], &lists.opp_prizes[..5]].concat();
        let known: BTreeSet<i32> = theirs.iter().copied().filter(|&id| id != FILLER).collect();
        // the one with serial 1 is in sight
        assert_eq!(known, BTreeSet::from([902, 903]));
        assert_eq!(theirs.iter().filter(|&&id| id == FILLER).count(), 57);
        assert_eq!(lists.opp_active, [ACTIVE; ROOM]);
        assert_eq!(lists, hidden.deal(&draw(0)));
        assert_ne!(lists, hidden.deal(&draw(1)));
    }

    #[test]
    fn a_deck_that_is_looked_through_is_not_hidden() {
        let mut value = observation();
        value["select"]["deck"] = (100..149).map(|id| card(id, id, 1)).collect();
        let lists = Hidden::new(&view(&value), 1, &deck(), &[]).unwrap();
        let lists = lists.deal(&Seed { episode: 1, step: 2, side: 1 }.draw(0));
        let mut prizes = [lists.my_prizes[0], lists.my_prizes[2], lists.my_prizes[3]];
        prizes.sort_unstable();
        assert_eq!(prizes, [149, 150, 151]);
    }

    #[test]
    fn cards_that_do_not_add_up_are_refused() {
        type Change = fn(&mut Value);
        let changes: [Change; 9] = [
            |value| value["current"]["players"][1]["deckCount"] = 48.into(),
            |value| value["current"]["players"][1]["deckCount"] = u64::MAX.into(),
            |value| value["current"]["players"][1]["prize"] = json!([null]),
            |value| value["current"]["players"][1]["hand"][0]["id"] = 9999.into(),
            |value| value["current"]["players"][0]["deckCount"] = 61.into(),
            |value| value["current"]["players"][0]["handCount"] = u64::MAX.into(),
            |value| value["current"]["players"][1]["active"] = json!([null]),
            |value| value["current"]["yourIndex"] = 0.into(),
            |value| value["current"] = Value::Null,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut value = observation();
            change(&mut value);
            assert_eq!(Hidden::new(&view(&value), 1, &deck(), &[]), None, "change {index}");
        }
        let observation = view(&observation());
        assert_eq!(Hidden::new(&observation, 0, &deck(), &[]), None);
        assert_eq!(Hidden::new(&observation, 7, &deck(), &[]), None);
        assert_eq!(Hidden::new(&observation, 1, &deck()[1..], &[]), None);
        assert!(Hidden::new(&observation, 1, &deck(), &revealed(2..61)).is_some());
        assert_eq!(Hidden::new(&observation, 1, &deck(), &revealed(2..62)), None);
    }

    proptest! {
        /// Whatever the numbers of an observation are, it is refused or every card is dealt once.
        #[test]
        fn any_counts_are_dealt_or_refused(
            counts in [48usize..51, 0..64, 0..64],
            deck in prop::collection::vec(1..5, 52),
            (player, known, index) in (-1..3i32, 0..64i32, any::<u32>()),
        ) {
            let mut value = observation();
            value["current"]["players"][1]["deckCount"] = counts[0].into();
            value["current"]["players"][0]["deckCount"] = counts[1].into();
            value["current"]["players"][0]["handCount"] = counts[2].into();
            value["current"]["players"][1]["hand"][0]["playerIndex"] = player.into();
            let deck: Vec<i32> = [ACTIVE, 5, 20, 21, 22, 22, 23, 24].into_iter().chain(deck).collect();
            if let Some(hidden) = Hidden::new(&view(&value), 1, &deck, &revealed(2..2 + known)) {
                let lists = hidden.deal(&Seed { episode: 1, step: 2, side: 1 }.draw(index));
                let mut dealt = [&lists.my_deck[..counts[0]], &lists.my_prizes[..1], &lists.my_prizes[2..4]].concat();
                dealt.extend([ACTIVE, 5, 20, 21, 22, 23, 24]);
                dealt.extend((player == 1).then_some(22));
                let mut whole = deck.clone();
                dealt.sort_unstable();
                whole.sort_unstable();
                prop_assert_eq!(dealt, whole);
            }
        }
    }
}
