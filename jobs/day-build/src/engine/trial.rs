//! One trial: a way the hidden cards may lie, an attack, and what becomes of it before the turn ends.
//!
//! ```text
//! root = begin(record, deal, coins thrown by us); refused unless it shows what the observation shows
//! s = step(root, attack)
//! while the game runs, in the same turn, and s asks for more than the turn's free choice:
//!     a coin                                  coin k of this determinisation, in every branch the same
//!     one's own choice of a single option     each of up to 8, and none where that is allowed; the best counts
//!     anything else                           the first options, as few as are allowed
//! ```
//!
//! Anything else is cards to the hand (prizes too: which one is a matter of chance), what the opponent chooses, and
//! choices of several options.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::draw::Draw;
use super::hidden::Lists;
use super::state::State;
use super::view::{COIN, Current, MAIN, Observation, Player, Select, TO_HAND, YES_NO};
use super::{FailedTrials, Fault};

/// Steps on one path. A turn that takes more gives no result: an effect may go on for ever.
const DEPTH: u32 = 64;
/// Steps of a trial after which nothing is tried any more: the first options are taken.
const STEPS: u32 = 64;
/// Options that are tried of one choice.
const BRANCHES: i32 = 8;

/// A game that can be looked ahead in, from one root at a time.
pub(super) trait Search {
    /// The root: the game as the record has it, its hidden cards as dealt. Coins are asked for.
    fn begin(&mut self, state: &State, lists: &Lists) -> Option<Node>;
    /// The node behind these picks. The one before stays as it is.
    fn step(&mut self, node: i64, picks: &[i32]) -> Option<Node>;
    /// Forgets all nodes.
    fn end(&mut self);
}

/// A place in a game.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: i64,
    pub(super) observation: Observation,
}

/// What an attack came to. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    win: bool,
    prizes: usize,
    ko: bool,
}

/// What all trials of an attack came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) valid: u32,
    pub(super) ko: u32,
    pub(super) prizes: u32,
    pub(super) wins: u32,
    pub(super) failed: FailedTrials,
}

/// Tries each of the attacks once with the hidden cards as dealt; `sums` are theirs.
pub(super) fn determinisation(
    search: &mut impl Search,
    state: &State,
    expected: &Observation,
    lists: &Lists,
    draw: &Draw,
    attacks: &[usize],
    sums: &mut [Sums],
) {
    let root = match search.begin(state, lists) {
        None => Err(Fault::BeginError),
        Some(root) if !expected.equals_root(&root.observation) => Err(Fault::RootMismatch),
        Some(root) => Root::new(&root).ok_or(Fault::RootMismatch),
    };
    for (&attack, sums) in attacks.iter().zip(sums) {
        let outcome = root.as_ref().map_err(|&fault| fault).and_then(|root| {
            let mut trial = Trial { search, root, draw, steps: 0 };
            let node = trial.step(root.id, &[attack as i32])?;
            trial.follow(node, 1, 0)
        });
        sums.add(outcome);
    }
    search.end();
}

/// What is known of the root once and for all.
struct Root {
    id: i64,
    turn: i32,
    me: i32,
    prizes: usize,
    /// The opponent's Pokémon in play, by their numbers.
    targets: BTreeSet<i32>,
}

impl Root {
    fn new(node: &Node) -> Option<Self> {
        let current = node.observation.current.as_ref()?;
        let (me, opponent) = sides(current, current.your_index)?;
        let targets = opponent.in_play().map(|pokemon| pokemon.serial).collect();
        Some(Self {
            id: node.id,
            turn: current.turn,
            me: current.your_index,
            prizes: me.prize.len(),
            targets,
        })
    }

    fn outcome(&self, current: &Current) -> Option<Outcome> {
        let (me, opponent) = sides(current, self.me)?;
        let in_play = |serial: i32| opponent.in_play().any(|pokemon| pokemon.serial == serial);
        let gone =
            |serial: i32| opponent.discard.iter().any(|card| card.serial == serial) && !in_play(serial);
        Some(Outcome {
            win: current.result == self.me,
            prizes: self.prizes.saturating_sub(me.prize.len()),
            ko: self.targets.iter().any(|&serial| gone(serial)),
        })
    }
}

/// A side of the table, and the other.
fn sides(current: &Current, side: i32) -> Option<(&Player, &Player)> {
    let [first, second] = &current.players;
    match side {
        0 => Some((first, second)),
        1 => Some((second, first)),
        _ => None,
    }
}

struct Trial<'a, S> {
    search: &'a mut S,
    root: &'a Root,
    draw: &'a Draw,
    steps: u32,
}

/// How a select is answered.
enum Answer {
    Picks(Vec<i32>),
    BestOf(Vec<Vec<i32>>),
}

impl<S: Search> Trial<'_, S> {
    fn step(&mut self, node: i64, picks: &[i32]) -> Result<Node, Fault> {
        self.steps += 1;
        self.search.step(node, picks).ok_or(Fault::StepError)
    }

    /// Follows a node to the end of the turn. `depth` steps and `coins` coins lie behind it.
    fn follow(&mut self, mut node: Node, mut depth: u32, mut coins: u32) -> Result<Outcome, Fault> {
        loop {
            let current = node.observation.current.as_ref().ok_or(Fault::StepError)?;
            let select = node.observation.select.as_ref();
            let asks = |select: &&Select| {
                current.result == -1 && current.turn == self.root.turn && select.kind != MAIN
            };
            let Some(select) = select.filter(asks) else {
                return self.root.outcome(current).ok_or(Fault::StepError);
            };
            if depth == DEPTH {
                return Err(Fault::StepLimit);
            }
            match self.answer(select, current.your_index == self.root.me, &mut coins) {
                Answer::Picks(picks) => node = self.step(node.id, &picks)?,
                Answer::BestOf(branches) => return self.best(node.id, &branches, depth, coins),
            }
            depth += 1;
        }
    }

    fn answer(&self, select: &Select, is_mine: bool, coins: &mut u32) -> Answer {
        if (select.kind, select.context) == (YES_NO, COIN) {
            *coins += 1;
            return Answer::Picks(vec![self.draw.coin(*coins - 1)]);
        }
        let options = i32::try_from(select.options.len()).unwrap_or(i32::MAX);
        let is_tried = is_mine && select.max_count == 1 && select.context != TO_HAND && self.steps < STEPS;
        if !is_tried {
            return Answer::Picks((0..select.min_count.min(options)).collect());
        }
        let none = (select.min_count == 0).then(Vec::new);
        Answer::BestOf((0..options.min(BRANCHES)).map(|option| vec![option]).chain(none).collect())
    }

    fn best(&mut self, node: i64, branches: &[Vec<i32>], depth: u32, coins: u32) -> Result<Outcome, Fault> {
        let mut best = None;
        for picks in branches {
            let next = self.step(node, picks)?;
            best = best.max(Some(self.follow(next, depth + 1, coins)?));
        }
        best.ok_or(Fault::StepError)
    }
}

impl Sums {
    fn add(&mut self, outcome: Result<Outcome, Fault>) {
        match outcome {
            Ok(Outcome { win, prizes, ko }) => {
                self.valid += 1;
                self.ko += u32::from(ko);
                self.prizes += prizes as u32;
                self.wins += u32::from(win);
            }
            Err(fault) => self.failed.add(fault, 1),
        }
    }

    /// KO rate, expected prizes / 6, and P(win); `None` without a valid trial.
    pub(super) fn features(&self) -> Option<[f32; 3]> {
        let valid = f64::from(self.valid);
        let mean = |sum: u32, most: f64| (f64::from(sum) / (valid * most)).min(1.0) as f32;
        (self.valid > 0).then(|| [mean(self.ko, 1.0), mean(self.prizes, 6.0), mean(self.wins, 1.0)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::draw::Seed;
    use super::*;

    const ME: i32 = 1;
    const OPPONENT: i32 = 0;
    /// The turn's free choice comes again, and nothing is won.
    const OVER: [i32; 4] = [0, 0, 0, 0];

    /// A game that is a function of the picks behind the root.
    struct Game<F> {
        play: F,
        /// The picks that lead to each node.
        paths: Vec<Vec<Vec<i32>>>,
        /// The most nodes there were.
        most: usize,
    }

    impl<F: Fn(&[Vec<i32>]) -> Option<Observation>> Game<F> {
        fn new(play: F) -> Self {
            Self { play, paths: vec![], most: 0 }
        }

        fn enter(&mut self, path: Vec<Vec<i32>>) -> Option<Node> {
            let observation = (self.play)(&path)?;
            self.paths.push(path);
            self.most = self.most.max(self.paths.len());
            Some(Node { id: self.paths.len() as i64 - 1, observation })
        }
    }

    impl<F: Fn(&[Vec<i32>]) -> Option<Observation>> Search for Game<F> {
        fn begin(&mut self, _: &State, _: &Lists) -> Option<Node> {
            assert!(self.paths.is_empty(), "the determinisation before was not ended");
            self.enter(vec![])
        }

        fn step(&mut self, node: i64, picks: &[i32]) -> Option<Node> {
            let mut path = self.paths[node as usize].clone();
            path.push(picks.to_vec());
            self.enter(path)
        }

        fn end(&mut self) {
            self.paths.clear();
        }
    }

    /// What a side sees after an attack: the winner or −1, prizes taken, Pokémon gone, the turns that have passed.
    fn seen(asked: i32, select: Value, [result, prizes, gone, turns]: [i32; 4]) -> Observation {
        let side = |active: &[i32], discard: &[i32], prizes: i32| {
            let pokemon = |serial| {
                json!({"id": 700, "serial": serial, "playerIndex": 0, "hp": 60, "maxHp": 60, "energies": [],
                    "energyCards": [], "tools": [], "preEvolution": []})
            };
            let card = |serial| json!({"id": 700, "serial": serial, "playerIndex": 0});
            json!({"active": active.iter().map(pokemon).collect::<Vec<_>>(), "bench": [], "deckCount": 40,
                "discard": discard.iter().map(card).collect::<Vec<_>>(), "prize": vec![Value::Null; prizes as usize],
                "handCount": 0, "hand": null, "poisoned": false, "burned": false, "asleep": false,
                "paralyzed": false, "confused": false})
        };
        let opponent = if gone == 0 { side(&[61, 62], &[60], 6) } else { side(&[62], &[60, 61], 6) };
        let current = json!({"turn": 5 + turns, "yourIndex": asked, "result": result - 1, "stadium": [],
            "looking": null, "players": [opponent, side(&[1], &[], 6 - prizes)]});
        serde_json::from_value(json!({"select": select, "current": current})).unwrap()
    }

    fn select(kind: i32, context: i32, counts: [i32; 2], options: usize) -> Value {
        json!({"type": kind, "context": context, "minCount": counts[0], "maxCount": counts[1], "deck": null,
            "option": vec![json!({"type": 3}); options]})
    }

    /// The end of the turn.
    fn end(outcome: [i32; 4]) -> Option<Observation> {
        Some(seen(OPPONENT, select(MAIN, 0, [1, 1], 3), outcome))
    }

    /// A question within the turn.
    fn ask(asked: i32, kind: i32, context: i32, counts: [i32; 2], options: usize) -> Option<Observation> {
        Some(seen(asked, select(kind, context, counts, options), OVER))
    }

    fn root() -> Option<Observation> {
        Some(seen(ME, select(MAIN, 0, [1, 1], 2), OVER))
    }

    fn draw() -> Draw {
        Seed { episode: 1, step: 2, side: ME as u8 }.draw(0)
    }

    /// One trial of a game, after the attack that is option 1.
    fn play(after: impl Fn(&[Vec<i32>]) -> Option<Observation>) -> (Sums, usize) {
        let mut game = Game::new(|path: &[Vec<i32>]| match path {
            [] => root(),
            [attack, after_attack @ ..] => {
                assert_eq!(*attack, [1]);
                after(after_attack)
            }
        });
        let sums = run(&mut game, &root().unwrap());
        (sums, game.most)
    }

    fn run(game: &mut impl Search, expected: &Observation) -> Sums {
        let state = State::try_from("A".repeat(64)).unwrap();
        let list = [3; 64];
        let (my_deck, my_prizes, opp_deck, opp_prizes, opp_hand, opp_active) =
            (list, list, list, list, list, list);
        let lists = Lists { my_deck, my_prizes, opp_deck, opp_prizes, opp_hand, opp_active };
        let mut sums = [Sums::default()];
        determinisation(game, &state, expected, &lists, &draw(), &[1], &mut sums);
        let [sums] = sums;
        sums
    }

    fn won(valid: u32, ko: u32, prizes: u32, wins: u32) -> Sums {
        Sums { valid, ko, prizes, wins, failed: FailedTrials::default() }
    }

    fn fault(fault: Fault) -> Sums {
        let mut sums = Sums::default();
        sums.failed.add(fault, 1);
        sums
    }

    #[test]
    fn what_counts_is_what_the_turn_ends_with() {
        let cases = [
            (end([0, 0, 0, 1]), won(1, 0, 0, 0)),
            (end([0, 1, 1, 1]), won(1, 1, 1, 0)),
            (end([0, 1, 0, 0]), won(1, 0, 1, 0)),
            (end([1 + ME, 2, 1, 0]), won(1, 1, 2, 1)),
            (end([1 + OPPONENT, 0, 0, 0]), won(1, 0, 0, 0)),
            (end([3, 0, 0, 0]), won(1, 0, 0, 0)),
            // a question of the next turn, or of a game that is over, is none of ours
            (Some(seen(ME, select(1, 0, [1, 1], 2), [0, 0, 0, 1])), won(1, 0, 0, 0)),
            (Some(seen(ME, select(1, 0, [1, 1], 0), [1 + ME, 0, 0, 0])), won(1, 0, 0, 1)),
            (None, fault(Fault::StepError)),
            (
                Some(Observation { select: None, current: None, search_begin_input: None }),
                fault(Fault::StepError),
            ),
        ];
        for (index, (after, expected)) in cases.into_iter().enumerate() {
            assert_eq!(play(|_| after.clone()).0, expected, "case {index}");
        }
    }

    #[test]
    fn of_ones_own_choices_the_best_counts() {
        // of ten options the last two are not tried; winning goes before prizes, those before a KO
        let outcome = |pick: &[i32]| match pick {
            [2] => end([0, 0, 1, 1]),
            [3] => end([0, 3, 0, 1]),
            [8 | 9] => end([1 + ME, 6, 1, 1]),
            _ => end([0, 0, 0, 1]),
        };
        let choice = |path: &[Vec<i32>]| path.first().map_or(ask(ME, 1, 0, [1, 1], 10), |pick| outcome(pick));
        assert_eq!(play(choice), (won(1, 0, 3, 0), 10));
        let winning = |path: &[Vec<i32>]| match path {
            [pick] if *pick == [4] => end([1 + ME, 0, 0, 1]),
            path => choice(path),
        };
        assert_eq!(play(winning).0, won(1, 0, 0, 1));
        let none = |path: &[Vec<i32>]| match path {
            [] => ask(ME, 1, 0, [0, 1], 2),
            [pick] if pick.is_empty() => end([0, 1, 1, 1]),
            _ => end(OVER),
        };
        assert_eq!(play(none).0, won(1, 1, 1, 0));
    }

    #[test]
    fn all_other_choices_are_the_first_options() {
        let cases = [
            (ask(ME, 1, TO_HAND, [1, 1], 6), vec![0]),
            (ask(OPPONENT, 1, 0, [1, 1], 3), vec![0]),
            (ask(OPPONENT, 1, 0, [0, 1], 3), vec![]),
            (ask(ME, 1, 0, [2, 3], 5), vec![0, 1]),
            (ask(ME, 1, 0, [0, 2], 5), vec![]),
            (ask(ME, 1, 0, [3, 3], 2), vec![0, 1]),
        ];
        for (asked, expected) in cases {
            let (sums, nodes) = play(|path| match path {
                [] => asked.clone(),
                [pick] if *pick == expected => end([0, 1, 1, 1]),
                _ => None,
            });
            assert_eq!((sums, nodes), (won(1, 1, 1, 0), 3), "{asked:?}");
        }
    }

    #[test]
    fn coins_fall_alike_in_every_branch() {
        let heads_and_tails: Vec<Vec<i32>> = (0..4).map(|coin| vec![draw().coin(coin)]).collect();
        let (sums, _) = play(|path| {
            let coins: Vec<_> =
                path.iter().enumerate().filter(|(place, _)| *place != 1).map(|(_, pick)| pick).collect();
            match path.len() {
                1 => ask(ME, 1, 0, [1, 1], 3),
                0..=4 => ask([ME, OPPONENT][path.len() % 2], YES_NO, COIN, [1, 1], 2),
                _ => {
                    assert!(coins.into_iter().eq(&heads_and_tails), "{path:?}");
                    end([0, 1, 1, 1])
                }
            }
        });
        assert_eq!(sums, won(1, 1, 1, 0));
    }

    #[test]
    fn an_endless_turn_gives_no_result() {
        assert_eq!(play(|_| ask(OPPONENT, 1, 0, [1, 1], 2)), (fault(Fault::StepLimit), 65));
        let long = |length: usize| {
            play(
                move |path| {
                    if path.len() < length { ask(OPPONENT, 1, 0, [1, 1], 2) } else { end([0, 1, 1, 1]) }
                },
            )
            .0
        };
        assert_eq!(long(63), won(1, 1, 1, 0));
        assert_eq!(long(64), fault(Fault::StepLimit));
    }

    /// With three options each time and ten times in a row, trying everything would take 88,000 steps.
    #[test]
    fn not_everything_is_tried() {
        let (sums, nodes) =
            play(|path| if path.len() < 10 { ask(ME, 1, 0, [1, 1], 3) } else { end([0, 1, 1, 1]) });
        assert_eq!(sums, won(1, 1, 1, 0));
        assert!((65..200).contains(&nodes), "{nodes}");
    }

    #[test]
    fn the_root_is_what_the_side_sees() {
        let mut expected = root().unwrap();
        let mut game = Game::new(|path: &[Vec<i32>]| if path.is_empty() { root() } else { end(OVER) });
        assert_eq!(run(&mut game, &expected), won(1, 0, 0, 0));
        // prizes are seen by the engine alone, not by the side
        let prizes = &mut expected.current.as_mut().unwrap().players[0].prize;
        prizes[2] = Some(super::super::view::Card { id: 1, serial: 9, player_index: 0 });
        assert_eq!(run(&mut game, &expected), won(1, 0, 0, 0));
        expected.current.as_mut().unwrap().players[0].prize.pop();
        assert_eq!(run(&mut game, &expected), fault(Fault::RootMismatch));
        let mut refuses = Game::new(|_: &[Vec<i32>]| None);
        assert_eq!(run(&mut refuses, &expected), fault(Fault::BeginError));
    }

    #[test]
    fn features_are_means_of_valid_trials() {
        assert_eq!(Sums::default().features(), None);
        let sums = Sums { failed: fault(Fault::StepError).failed, ..won(8, 6, 12, 1) };
        assert_eq!(sums.features(), Some([0.75, 0.25, 0.125]));
    }
}
