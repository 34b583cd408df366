//! Observations made by hand: option and select types, and situations, that the bundled games do not have.

use common::formats::decisions::columns::{MAX_OPTIONS, SUBMIT};
use common::formats::decisions::manifest::Counts;
use common::formats::decisions::{COLUMNS, Data, Date, Group};
use serde_json::{Value, json};

use super::{Encoder, Tracker};
use crate::cards::Catalog;
use crate::effects::Effects;
use crate::elo::Ratings;
use crate::game::{Decision, Facts, Opened, Reason};

/// Cards 1 to 9, of which 5 is a Tera Pokémon; the unknown card is 10.
fn catalog() -> Catalog {
    let cards: String = (1..10).map(|id| format!("{id}\tcard {id}\t{}\n", u8::from(id == 5))).collect();
    Catalog::of(&cards, "7\tHit\t70\t1,0\t0\n8\tTalk\t0\t\t1\n")
}

fn card(id: i32, serial: i32, player: i32) -> Value {
    json!({"id": id, "serial": serial, "playerIndex": player})
}

fn unit(id: i32, serial: i32, player: i32) -> Value {
    json!({"id": id, "serial": serial, "playerIndex": player, "hp": 50, "maxHp": 100, "appearThisTurn": false,
        "energies": [], "energyCards": [], "tools": [], "preEvolution": []})
}

fn player(hand: Value) -> Value {
    json!({"active": [], "bench": [], "benchMax": 5, "deckCount": 40, "discard": [], "prize": [null, null, null, null, null, null],
        "handCount": hand.as_array().map_or(0, Vec::len), "hand": hand, "poisoned": false, "burned": false, "asleep": false,
        "paralyzed": false, "confused": false})
}

/// A MAIN select of side 0 that can only end the turn.
fn observation() -> Value {
    json!({
        "select": {"type": 0, "context": 0, "minCount": 1, "maxCount": 1, "remainDamageCounter": 0, "remainEnergyCost": 0,
            "option": [{"type": 14}], "deck": null, "contextCard": null, "effect": null},
        "logs": [],
        "current": {"turn": 1, "turnActionCount": 0, "yourIndex": 0, "firstPlayer": 0, "supporterPlayed": false,
            "stadiumPlayed": false, "energyAttached": false, "retreated": false, "result": -1, "stadium": [], "looking": null,
            "players": [player(json!([])), player(json!(null))]},
    })
}

/// An episode in which side 0 sees these, one after the other, and answers so.
fn episode(seen: &[(Value, Value)]) -> Value {
    let idle = json!({"action": [], "reward": 0, "info": {}, "observation": {}, "status": "INACTIVE"});
    let deck: Vec<i32> = (0..60).map(|i| i % 9 + 1).collect();
    let entry = |action: &Value, observation: &Value| json!({"action": action, "observation": observation, "status": "ACTIVE"});
    let mut steps = vec![json!([idle, idle])];
    let mut action = json!(deck);
    for (observation, answer) in seen {
        let other =
            if steps.len() == 1 { json!({"action": deck, "status": "INACTIVE"}) } else { idle.clone() };
        steps.push(json!([entry(&action, observation), other]));
        action = answer.clone();
    }
    steps.push(json!([{"action": action, "status": "DONE"}, idle]));
    json!({"steps": steps, "rewards": [1, -1], "info": {"EpisodeId": 5, "TeamNames": ["us", "them"]}})
}

/// Rows of an episode, or why it has none.
fn rows_with(seen: &[(Value, Value)], effects: &Effects) -> Result<(Rows, Counts), Reason> {
    let text = episode(seen).to_string();
    let mut facts = Facts::default();
    let opened = Opened::open("5.json", text.as_bytes(), false, &mut facts)?;
    let decisions = opened.decisions(&facts, None)?;
    let (cards, ratings) = (catalog(), Ratings::default());
    let date: Date = "2026-11-21".parse().expect("a date");
    let encoder = Encoder {
        cards: &cards,
        ratings: &ratings,
        effects,
        date,
        start: None,
        self_aliases: &[],
        self_only: false,
    };
    let mut group = Group::whole();
    let mut ahead = |_: &Decision<'_>, _: &Tracker| vec![Some([0.5, 0.25, 0.125])];
    let (_, counts) = encoder.episode(&facts, &decisions, &mut ahead, None, &mut group)?;
    assert!(group.is_whole());
    Ok((Rows(group), counts))
}

fn rows(seen: &[(Value, Value)]) -> Rows {
    rows_with(seen, &Effects::default()).expect("rows").0
}

struct Rows(Group);

impl Rows {
    fn at(&self, name: &str, row: usize, slot: usize) -> f64 {
        let at = common::formats::decisions::columns::find(name).expect("a column");
        match self.0.get(at) {
            Some(Data::I8(all)) => all[row].into(),
            Some(Data::I32(all)) => all[row].into(),
            Some(Data::F32(all)) => all[row].into(),
            Some(Data::I32s(lists)) => lists.get(&COLUMNS[at], row, slot).into(),
            Some(Data::F32s(lists)) => lists.get(&COLUMNS[at], row, slot).into(),
            other => panic!("no numbers: {other:?}"),
        }
    }

    #[track_caller]
    fn holds(&self, row: usize, wanted: &[(&str, usize, f64)]) {
        for &(name, slot, value) in wanted {
            let found = self.at(name, row, slot);
            assert!((found - value).abs() < 1e-6, "{name}[{slot}] of row {row} is {found}, wanted {value}");
        }
    }
}

/// A select of these options over a board with one of everything.
fn asked(kind: i32, options: Value) -> Value {
    let mut seen = observation();
    let mut active = unit(5, 1, 0);
    active["tools"] = json!([card(3, 2, 0)]);
    active["energies"] = json!([1, 1, 99]);
    active["energyCards"] = json!([card(1, 3, 0), card(1, 4, 0)]);
    seen["current"]["players"][0]["active"] = json!([active]);
    seen["current"]["players"][1]["active"] = json!([unit(6, 61, 1)]);
    seen["current"]["players"][1]["bench"] = json!([unit(7, 62, 1)]);
    seen["select"]["type"] = json!(kind);
    seen["select"]["option"] = options;
    seen
}

#[test]
fn attached_cards_refer_to_their_unit() {
    let options = json!([
        {"type": 4, "area": 4, "index": 0, "playerIndex": 0, "toolIndex": 0},
        {"type": 5, "area": 4, "index": 0, "playerIndex": 0, "energyIndex": 0},
        {"type": 5, "area": 4, "index": 0, "playerIndex": 0, "energyIndex": 1},
        {"type": 5, "area": 5, "index": 0, "playerIndex": 1, "energyIndex": 0},
        {"type": 11, "area": 4, "index": 0},
    ]);
    // select types 2 and 3: attached card, card or attached card
    for kind in [2, 3] {
        rows(&[(asked(kind, options.clone()), json!([2]))]).holds(
            0,
            &[
                ("select_type", 0, kind.into()),
                ("opt_src_pos", 0, 319.0), // our active
                ("opt_src_pos", 2, 319.0),
                ("opt_src_pos", 3, 329.0), // their bench[0]
                ("opt_src_pos", 4, 319.0), // DISCARD is of ours
                ("opt_group", 2, 2.0),     // two equal energies of one unit are never merged
                ("opt_tgt_pos", 2, -1.0),
                ("self_unit_attr", 3, 0.5), // two energies of type 1; type 99 has no bin
                ("self_unit_attr", 14, 0.25), // and counts as the third
                ("self_unit_attr", 21, 1.0), // card 5 is Tera
                ("opp_unit_attr", 21, 0.0),
                ("self_unit_tool_id", 0, 3.0),
            ],
        );
    }
}

#[test]
fn attacks_evolutions_and_conditions_are_selected() {
    // select type 6: attacks, here of another unit
    let attacks = asked(
        6,
        json!([{"type": 13, "attackId": 7}, {"type": 13, "attackId": 8}, {"type": 13, "attackId": 9}]),
    );
    let (attack_rows, counts) = rows_with(&[(attacks, json!([1]))], &Effects::default()).expect("rows");
    attack_rows.holds(
        0,
        &[
            ("opt_attack_id", 0, 7.0),
            ("opt_attr", 2, 0.2), // 70 / 350
            ("opt_attr", 4, 0.4), // two energies / 5
            ("opt_attr", 5, 0.0),
            ("opt_attr", 36 + 4, 0.0), // costs nothing
            ("opt_attr", 36 + 5, 1.0),
            ("opt_attack_id", 2, 9.0), // not in the catalog: no numbers
            ("opt_attr", 72 + 2, 0.0),
            ("is_attack", 0, 0.0), // no MAIN select
            ("opt_attr", 11, 0.5), // the look-ahead of option 0
            ("opt_attr", 13, 0.125),
            ("opt_attr", 36 + 11, 0.0), // of option 1 there is none
        ],
    );
    assert_eq!(counts.unknown_attacks, 1);
    // select type 7: an evolution from the hand
    let mut evolve = asked(7, json!([{"type": 9, "area": 2, "index": 1, "inPlayArea": 4, "inPlayIndex": 0}]));
    evolve["current"]["players"][0]["hand"] = json!([card(1, 8, 0), card(2, 9, 0)]);
    rows(&[(evolve, json!([0]))]).holds(0, &[("opt_src_pos", 0, 136.0), ("opt_tgt_pos", 0, 319.0)]);
    // select type 10: special conditions
    let options: Vec<Value> = (0..6).map(|i| json!({"type": 16, "specialConditionType": i})).collect();
    let conditions = rows(&[(asked(10, json!(options)), json!([4]))]);
    for i in 0..5 {
        conditions.holds(0, &[("opt_attr", 36 * i + 6 + i, 1.0), ("opt_src_pos", i, -1.0)]);
    }
    conditions.holds(0, &[("opt_attr", 36 * 5 + 11, 0.0), ("opt_group", 4, 4.0)]);
}

#[test]
fn what_has_no_slot_is_told_by_its_card() {
    let hand: Vec<Value> = (0..32).map(|i| card(i % 9 + 1, 100 + i, 0)).collect();
    let options = json!([
        {"type": 7, "index": 29}, {"type": 7, "index": 30}, {"type": 7, "index": 31},
        {"type": 3, "area": 1, "index": 0, "playerIndex": 0},
        {"type": 3, "area": 1, "index": 0, "playerIndex": 1},
        {"type": 3, "area": 11, "index": 0, "playerIndex": 1},
        {"type": 3, "area": 2, "index": -1, "playerIndex": 0},
    ]);
    let mut seen = asked(0, options);
    seen["current"]["players"][0]["hand"] = json!(hand);
    seen["current"]["players"][0]["handCount"] = json!(32);
    rows(&[(seen, json!([0]))]).holds(
        0,
        &[
            ("opt_src_pos", 0, 164.0),
            ("opt_src_pos", 1, -1.0), // the hand has 30 slots
            ("opt_src_card", 1, 4.0), // hand[30]
            ("opt_src_card", 2, 5.0),
            ("opt_src_card", 3, 10.0), // a deck that cannot be seen
            ("opt_src_card", 4, 10.0),
            ("opt_src_card", 5, 0.0), // a player is no card
            ("opt_src_card", 6, 10.0),
            ("self_hand_id", 29, 3.0),
            ("cls_scalars", 11, 1.0), // 32 / 12, clamped
        ],
    );
}

/// Options beyond the slots are cut and counted; a row whose answer was cut is dropped and counted.
#[test]
fn more_options_than_slots() {
    let options: Vec<Value> = (0..200).map(|i| json!({"type": 0, "number": i})).collect();
    let mut seen = asked(8, json!(options));
    seen["select"]["maxCount"] = json!(3);
    let (rows, counts) = rows_with(&[(seen, json!([195, 3]))], &Effects::default()).expect("rows");
    // the first pick was cut; the second and the SUBMIT behind it are there
    assert_eq!(
        (rows.0.rows(), counts.options_cut, counts.rows_label_cut, counts.max_options),
        (2, 8, 1, 200)
    );
    rows.holds(
        0,
        &[
            ("y", 0, 3.0),
            ("substep", 0, 1.0),
            ("new_episode", 0, 1.0), // the first row that is there
            ("action_mask", MAX_OPTIONS - 1, 1.0),
            ("action_mask", 3, 1.0),
            ("opt_attr", 36 * 191 + 1, 191.0),
        ],
    );
    rows.holds(1, &[("y", 0, SUBMIT as f64), ("action_mask", 3, 0.0), ("new_episode", 0, 0.0)]);
}

#[test]
fn unknown_types_are_counted_and_stop_nothing() {
    let mut seen = asked(11, json!([{"type": 17, "flavour": 1}, {"type": 17, "flavour": 2}, {"type": 14}]));
    seen["logs"] =
        json!([{"type": 24, "playerIndex": 1, "cardId": 9, "serial": 99}, {"type": 23, "playerIndex": 1}]);
    seen["current"]["players"][0]["discard"] = json!([card(4000, 7, 0)]);
    let (rows, counts) = rows_with(&[(seen, json!([1]))], &Effects::default()).expect("rows");
    assert_eq!((counts.unknown_options, counts.unknown_logs, counts.unknown_cards), (2, 1, 1));
    rows.holds(
        0,
        &[
            ("opt_verb", 1, 17.0),
            ("opt_group", 1, 1.0), // nobody knows what its fields mean
            ("self_discard_id", 0, 10.0),
            ("opp_deck_id", 2, 10.0), // what an unknown entry names was not revealed: 6 and 7 stand in play
            ("opp_deck_id", 1, 7.0),
        ],
    );
}

#[test]
fn answers_that_are_none_drop_the_episode() {
    for answer in [json!(null), json!([1]), json!([0, 0]), json!([]), json!([-1]), json!("x"), json!([0.0])] {
        let reason = rows_with(&[(observation(), answer.clone())], &Effects::default()).err();
        assert!(matches!(reason, Some(Reason::IllegalLabel(_))), "{answer}: {reason:?}");
    }
    let mut blind = observation();
    blind["current"]["players"][0]["hand"] = json!(null);
    assert!(matches!(rows_with(&[(blind, json!([0]))], &Effects::default()), Err(Reason::Malformed(_))));
    assert!(matches!(rows_with(&[], &Effects::default()), Err(Reason::NoRows | Reason::Malformed(_))));
}

/// What is not readable has no targets, and does not stop the episode.
#[test]
fn targets_of_an_unreadable_turn_are_invalid() {
    let mut seen = observation();
    seen["current"]["turn"] = json!(null);
    let (rows, counts) = rows_with(&[(seen, json!([0]))], &Effects::default()).expect("rows");
    assert_eq!(counts.aux_invalid_decisions, 1);
    let zero = ["aux_valid", "aux_ko", "aux_prize_delta", "aux_terminal", "aux_return", "terminal"];
    zero.iter().for_each(|name| rows.holds(0, &[(name, 0, 0.0)]));
}

/// A prize that an attack takes shows only at the next turn: it counts for the whole turn before, and to whom it belongs.
#[test]
fn prizes_count_to_the_end_of_the_turn() {
    let at = |turn: i64, ours: usize, theirs: usize| {
        let mut seen = observation();
        seen["current"]["turn"] = json!(turn);
        seen["current"]["players"][0]["prize"] = json!(vec![Value::Null; ours]);
        seen["current"]["players"][1]["prize"] = json!(vec![Value::Null; theirs]);
        (seen, json!([0]))
    };
    let rows = rows(&[at(1, 6, 6), at(1, 6, 6), at(3, 5, 6), at(5, 5, 4)]);
    for (row, (ko, delta, reward)) in
        [(1.0, 1.0, 0.0), (1.0, 1.0, 1.0 / 6.0), (0.0, -2.0, -2.0 / 6.0), (0.0, 0.0, 1.0)]
            .into_iter()
            .enumerate()
    {
        let terminal = if row == 3 { 1.0 } else { 0.0 };
        rows.holds(
            row,
            &[
                ("aux_ko", 0, ko),
                ("aux_prize_delta", 0, delta),
                ("reward", 0, reward),
                ("aux_terminal", 0, terminal),
            ],
        );
    }
    rows.holds(0, &[("aux_return", 0, 1.0 - 1.0 / 6.0)]);
}

/// Log entries of the opponent's hand, and what is known of it then.
#[test]
fn the_opponents_hand() {
    let to_hand = |id: i32, serial: i32| json!({"type": 6, "playerIndex": 1, "cardId": id, "serial": serial, "fromArea": 1, "toArea": 2});
    let hidden = |from: i32, to: i32| json!({"type": 7, "playerIndex": 1, "fromArea": from, "toArea": to});
    let with = |logs: Vec<Value>, count: usize| {
        let mut seen = observation();
        seen["logs"] = json!(logs);
        seen["current"]["players"][1]["handCount"] = json!(count);
        (seen, json!([0]))
    };
    let draw = json!({"type": 5, "playerIndex": 1});
    let rows = rows(&[
        with(vec![draw.clone(), to_hand(2, 71), to_hand(3, 72)], 3),
        // one of three leaves unseen: it may be any of them
        with(vec![hidden(2, 3)], 2),
        // 3 is seen on the table
        with(vec![json!({"type": 10, "playerIndex": 1, "cardId": 3, "serial": 72}), draw.clone()], 2),
        // all go into the deck, and as many come
        with(vec![hidden(2, 1), hidden(2, 1), draw.clone(), draw.clone(), to_hand(4, 73)], 3),
        // attached by an attack, not from the hand
        with(
            vec![
                json!({"type": 15, "playerIndex": 1, "cardId": 6, "serial": 61, "attackId": 7}),
                json!({"type": 11, "playerIndex": 1, "cardId": 1, "serial": 80, "cardIdTarget": 6, "serialTarget": 61}),
            ],
            3,
        ),
    ]);
    let wanted: [&[(f64, f64)]; 5] = [
        &[(2.0, 1.0), (3.0, 1.0), (10.0, 0.0)],
        &[(2.0, 0.0), (3.0, 0.0)],
        &[(2.0, 0.0), (10.0, 0.0)],
        &[(4.0, 1.0), (10.0, 0.0), (10.0, 0.0)],
        &[(4.0, 1.0), (10.0, 0.0), (10.0, 0.0)],
    ];
    for (row, hand) in wanted.into_iter().enumerate() {
        for (slot, &(id, flag)) in hand.iter().enumerate() {
            rows.holds(row, &[("opp_hand_id", slot, id), ("opp_hand_flag", slot, flag)]);
        }
        rows.holds(row, &[("opp_hand_mask", hand.len(), 0.0)]);
    }
    // every one of them stands in the opponent's deck, in the order of first sight
    rows.holds(
        4,
        &[
            ("opp_deck_id", 0, 2.0),
            ("opp_deck_id", 1, 3.0),
            ("opp_deck_id", 2, 4.0),
            ("opp_deck_id", 5, 10.0),
        ],
    );
}

/// An ability that was used counts until the turn ends, and for its unit alone.
#[test]
fn abilities_count_for_their_turn() {
    let at = |turn: i64| {
        let mut seen = asked(0, json!([{"type": 10, "area": 5, "index": 0}, {"type": 14}]));
        seen["current"]["turn"] = json!(turn);
        seen["current"]["players"][0]["bench"] = json!([unit(4, 9, 0)]);
        seen
    };
    let rows = rows(&[(at(1), json!([0])), (at(1), json!([1])), (at(3), json!([1]))]);
    rows.holds(0, &[("self_unit_attr", 24 + 22, 0.0)]);
    rows.holds(1, &[("self_unit_attr", 24 + 22, 1.0), ("self_unit_attr", 22, 0.0)]);
    rows.holds(2, &[("self_unit_attr", 24 + 22, 0.0)]);
}

/// With an effects table: flags of attacks, and buffs of our turn and of units.
#[test]
fn effects_come_from_their_table() {
    let table =
        "kind\tid\tvariable\toffence\tdefence\theals\tdraws\nattack\t7\t1\t\t\t0\t1\ncard\t3\t\t30\t20\t\t\n";
    let effects = Effects::of(table);
    let seen = asked(0, json!([{"type": 13, "attackId": 7}]));
    let (rows, _) = rows_with(&[(seen.clone(), json!([0]))], &effects).expect("rows");
    rows.holds(
        0,
        &[
            ("opt_attr", 3, 1.0),
            ("opt_attr", 15, 0.0),
            ("opt_attr", 16, 1.0),
            ("cls_scalars", 18, 0.3), // tool 3 on our active
            ("self_unit_attr", 23, 0.1),
            ("opp_unit_attr", 23, 0.0),
        ],
    );
    let mut theirs = seen;
    theirs["current"]["turn"] = json!(2);
    let (rows, _) = rows_with(&[(theirs, json!([0]))], &effects).expect("rows");
    rows.holds(0, &[("cls_scalars", 18, 0.0), ("self_unit_attr", 23, 0.1)]);
}
