//! Ratings from results, and the snapshot of them that builds take their buckets from.
//!
//! Elo with a start of 1500 and K = 32, game by game; a draw is half a win. Agents and decks are rated alike, each among
//! their own. A card has the mean of the decks that hold it, weighted by their games.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns::UNKNOWN_BUCKET;

const START: f64 = 1500.0;
const K: f64 = 32.0;
/// Below this many games a rating says nothing.
const FEWEST_GAMES: u64 = 5;
const BUCKETS: usize = 10;

/// Where an agent or a deck stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The rating.
    pub elo: f64,
    /// Games won so far.
    pub wins: u64,
    /// Games lost.
    pub losses: u64,
    /// Games drawn.
    pub draws: u64,
}

impl Default for Standing {
    fn default() -> Self {
        Self { elo: START, wins: 0, losses: 0, draws: 0 }
    }
}

impl Standing {
    /// Games so far.
    pub fn games(&self) -> u64 {
        self.wins + self.losses + self.draws
    }
}

/// A game, as ratings see it.
#[derive(Debug, Clone, Copy)]
pub struct Game<'a> {
    /// Rewards of both sides; the greater wins.
    pub rewards: [f64; 2],
    /// Names of both sides.
    pub names: [&'a str; 2],
    /// Deck hashes of both sides.
    pub decks: [&'a str; 2],
}

/// Ratings up to some game. Games are played in the order of date, then episode id.
#[derive(Debug, Default)]
pub struct Ratings {
    agents: Table,
    decks: Table,
    /// Distinct cards of the decks, ascending.
    cards: BTreeMap<String, Vec<i32>>,
}

/// Standings by name.
type Table = BTreeMap<String, Standing>;

/// A rating, as a snapshot holds it. Fields ascend by name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rating {
    /// Decile by rank, 0 the strongest; 10 where too few games were played.
    pub bucket: i32,
    /// The rating.
    pub elo: f64,
    /// Games that it is made from.
    pub games: u64,
}

/// Ratings at some time: agents by name, cards by id, decks by hash. Keys ascend, so that the same ratings have the same
/// bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// By name.
    pub agents: BTreeMap<String, Rating>,
    /// By id, in decimal.
    pub cards: BTreeMap<String, Rating>,
    /// By hash.
    pub decks: BTreeMap<String, Rating>,
}

impl Ratings {
    /// Goes on from where an agent stood.
    pub fn resume_agent(&mut self, name: &str, standing: Standing) {
        self.agents.insert(name.into(), standing);
    }

    /// Goes on from where a deck stood.
    pub fn resume_deck(&mut self, hash: &str, standing: Standing) {
        self.decks.insert(hash.into(), standing);
    }

    /// Says which cards a deck holds.
    pub fn know_deck(&mut self, hash: &str, cards: impl IntoIterator<Item = i32>) {
        let mut cards: Vec<i32> = cards.into_iter().collect();
        cards.sort_unstable();
        cards.dedup();
        self.cards.insert(hash.into(), cards);
    }

    /// Rates a game.
    pub fn play(&mut self, game: &Game<'_>) {
        let [a, b] = game.rewards;
        let score = if a > b {
            1.0
        } else if a < b {
            0.0
        } else {
            0.5
        };
        rate(&mut self.agents, game.names, score);
        rate(&mut self.decks, game.decks, score);
    }

    /// Where an agent stands.
    pub fn agent(&self, name: &str) -> Standing {
        self.agents.get(name).copied().unwrap_or_default()
    }

    /// Where a deck stands.
    pub fn deck(&self, hash: &str) -> Standing {
        self.decks.get(hash).copied().unwrap_or_default()
    }

    /// All ratings, in buckets.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            agents: named(&self.agents),
            cards: in_buckets(self.card_ratings())
                .into_iter()
                .map(|(id, rating)| (id.to_string(), rating))
                .collect(),
            decks: named(&self.decks),
        }
    }

    /// Means over decks in the order of their hashes, which settles the last bit.
    fn card_ratings(&self) -> Vec<(i32, f64, u64)> {
        let mut sums: BTreeMap<i32, (f64, u64)> = BTreeMap::new();
        for (hash, standing) in &self.decks {
            for &card in self.cards.get(hash).into_iter().flatten() {
                let (sum, games) = sums.entry(card).or_default();
                *sum += standing.elo * standing.games() as f64;
                *games += standing.games();
            }
        }
        let rated = sums.into_iter().filter(|(_, (_, games))| *games > 0);
        rated.map(|(card, (sum, games))| (card, sum / games as f64, games)).collect()
    }
}

/// Moves the ratings of both sides. Who plays against itself wins and loses, and stays where it is.
fn rate(table: &mut Table, names: [&str; 2], score: f64) {
    let [elo0, elo1] = names.map(|name| table.get(name).copied().unwrap_or_default().elo);
    let expected = 1.0 / (1.0 + libm::pow(10.0, (elo1 - elo0) / 400.0));
    let gain = if names[0] == names[1] { 0.0 } else { K * (score - expected) };
    for (name, gain, score) in [(names[0], gain, score), (names[1], -gain, 1.0 - score)] {
        if !table.contains_key(name) {
            table.insert(name.into(), Standing::default());
        }
        let Some(standing) = table.get_mut(name) else { continue };
        standing.elo += gain;
        standing.wins += u64::from(score > 0.5);
        standing.losses += u64::from(score < 0.5);
        standing.draws += u64::from(score == 0.5);
    }
}

fn named(table: &Table) -> BTreeMap<String, Rating> {
    let standings = table.iter().filter(|(_, standing)| standing.games() > 0);
    in_buckets(standings.map(|(name, standing)| (name.clone(), standing.elo, standing.games())).collect())
}

/// Deciles among those with enough games, ties by key.
fn in_buckets<K: Ord + Clone>(mut rated: Vec<(K, f64, u64)>) -> BTreeMap<K, Rating> {
    rated.sort_by(|(a, elo_a, _), (b, elo_b, _)| elo_b.total_cmp(elo_a).then_with(|| a.cmp(b)));
    let ranked = rated.iter().filter(|(_, _, games)| *games >= FEWEST_GAMES).count();
    let (mut rank, mut all) = (0, BTreeMap::new());
    for (key, elo, games) in rated {
        let mut bucket = UNKNOWN_BUCKET;
        if games >= FEWEST_GAMES {
            bucket = (rank * BUCKETS / ranked) as i32;
            rank += 1;
        }
        all.insert(key, Rating { bucket, elo, games });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game<'a>(names: [&'a str; 2], rewards: [f64; 2]) -> Game<'a> {
        Game { rewards, names, decks: ["d", "e"] }
    }

    #[test]
    fn a_win_between_equals_moves_16() {
        let mut ratings = Ratings::default();
        ratings.play(&game(["a", "b"], [1.0, -1.0]));
        assert_eq!((ratings.agent("a").elo, ratings.agent("b").elo), (1516.0, 1484.0));
        // and a draw moves the stronger down
        ratings.play(&game(["a", "b"], [0.0, 0.0]));
        assert!(ratings.agent("a").elo < 1516.0);
        assert_eq!(ratings.agent("a"), Standing { draws: 1, wins: 1, ..ratings.agent("a") });
        assert_eq!(ratings.deck("e").losses, 1);
    }

    #[test]
    fn who_plays_against_itself_stays() {
        let mut ratings = Ratings::default();
        ratings.play(&game(["a", "a"], [1.0, 0.0]));
        assert_eq!(ratings.agent("a"), Standing { elo: 1500.0, wins: 1, losses: 1, draws: 0 });
    }

    #[test]
    fn deciles_go_by_rank_and_ties_by_name() {
        let rated = |n: i32| (0..n).map(|i| (i, 1500.0, 5)).chain([(1000, 3000.0, 4)]).collect();
        let buckets = in_buckets(rated(20));
        let of = |id: i32| buckets[&id].bucket;
        assert_eq!((of(0), of(1), of(2), of(19), of(1000)), (0, 0, 1, 9, UNKNOWN_BUCKET));
        assert_eq!(in_buckets(rated(3)).values().map(|r| r.bucket).collect::<Vec<_>>(), [0, 3, 6, 10]);
    }

    #[test]
    fn a_card_has_the_mean_of_its_decks_by_games() {
        let mut ratings = Ratings::default();
        ratings.know_deck("d", [7, 7, 8]);
        ratings.know_deck("e", [8]);
        ratings.resume_deck("d", Standing { elo: 1600.0, wins: 3, losses: 0, draws: 0 });
        ratings.resume_deck("e", Standing { elo: 1400.0, wins: 0, losses: 0, draws: 1 });
        let cards = ratings.snapshot().cards;
        assert_eq!((cards["7"].elo, cards["7"].games), (1600.0, 3));
        assert_eq!((cards["8"].elo, cards["8"].games), (1550.0, 4));
    }
}
