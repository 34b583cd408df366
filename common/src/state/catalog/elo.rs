//! Ratings day by day. They follow from the recorded episodes alone, in whatever order days were recorded: whoever
//! records a day also rates all days from it on, in the same transaction.

use std::collections::BTreeMap;

use rusqlite::{Row, Transaction, params};

use super::CatalogError;
use super::values::{signed, text, unsigned};
use crate::formats::decisions::columns::UNKNOWN_BUCKET;
use crate::formats::decisions::elo::{Game, Rating, Ratings, Snapshot, Standing};

/// Games of a day in the order that they count in. An episode counts on the first day that it is recorded on, as the first
/// of its archive; also where it has no rows.
const GAMES: &str = "
    SELECT e.reward0, e.reward1, a0.name, a1.name, d0.hash, d1.hash
    FROM episodes e JOIN agents a0 ON a0.id = e.agent0_id JOIN agents a1 ON a1.id = e.agent1_id
      JOIN decks d0 ON d0.id = e.deck0_id JOIN decks d1 ON d1.id = e.deck1_id
    WHERE e.day_id = ? AND e.episode_id IS NOT NULL AND e.reward0 IS NOT NULL AND e.reward1 IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM episodes o
        WHERE o.episode_id = e.episode_id AND (o.day_id, o.id) < (e.day_id, e.id)
          AND o.reward0 IS NOT NULL AND o.reward1 IS NOT NULL AND o.agent0_id IS NOT NULL AND o.deck0_id IS NOT NULL)
    ORDER BY e.episode_id";

/// Rates all days from one on.
pub(super) fn rate_from(change: &Transaction<'_>, day: i32) -> Result<(), CatalogError> {
    for table in ["agent_elo_daily", "deck_elo_daily", "card_elo_daily"] {
        let days = "(SELECT id FROM days WHERE id >= ?)";
        change.execute(&format!("DELETE FROM {table} WHERE day_id IN {days}"), [day])?;
    }
    let mut ratings = before(change, day)?;
    let mut days = change.prepare("SELECT id FROM days WHERE id >= ? ORDER BY id")?;
    let days = days.query_map([day], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i32>>>()?;
    for day in days {
        let mut games = change.prepare(GAMES)?;
        let mut rows = games.query([day])?;
        while let Some(row) = rows.next()? {
            ratings.play(&Game {
                rewards: [row.get(0)?, row.get(1)?],
                names: [text(row, 2)?, text(row, 3)?],
                decks: [text(row, 4)?, text(row, 5)?],
            });
        }
        write(change, day, &ratings)?;
    }
    Ok(())
}

/// Ratings before a day: of each agent and deck, the last ones.
fn before(change: &Transaction<'_>, day: i32) -> Result<Ratings, CatalogError> {
    let mut ratings = Ratings::default();
    let mut each = |table: &str,
                    key: &str,
                    daily: &str,
                    id: &str,
                    resume: fn(&mut Ratings, &str, Standing)| {
        let last = format!(
            "SELECT t.{key}, r.elo, r.wins, r.losses, r.draws FROM {table} t CROSS JOIN {daily} r
             ON r.{id} = t.id AND r.day_id =
               (SELECT l.day_id FROM {daily} l WHERE l.{id} = t.id AND l.day_id < ? ORDER BY l.day_id DESC LIMIT 1)"
        );
        let mut last = change.prepare(&last)?;
        let mut rows = last.query([day])?;
        while let Some(row) = rows.next()? {
            resume(&mut ratings, text(row, 0)?, standing(row)?);
        }
        Ok::<_, CatalogError>(())
    };
    each("agents", "name", "agent_elo_daily", "agent_id", Ratings::resume_agent)?;
    each("decks", "hash", "deck_elo_daily", "deck_id", Ratings::resume_deck)?;
    let all = "SELECT d.hash, c.card_id FROM decks d JOIN deck_cards c ON c.deck_id = d.id";
    let mut all = change.prepare(all)?;
    let mut cards: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let hash = text(row, 0)?;
        match cards.get_mut(hash) {
            Some(cards) => cards.push(row.get(1)?),
            None => drop(cards.insert(hash.into(), vec![row.get(1)?])),
        }
    }
    cards.into_iter().for_each(|(hash, cards)| ratings.know_deck(&hash, cards));
    Ok(ratings)
}

fn standing(row: &Row<'_>) -> rusqlite::Result<Standing> {
    Ok(Standing {
        elo: row.get("elo")?,
        wins: unsigned(row, "wins")?,
        losses: unsigned(row, "losses")?,
        draws: unsigned(row, "draws")?,
    })
}

/// Writes where those stand who are named on a day.
fn write(change: &Transaction<'_>, day: i32, ratings: &Ratings) -> Result<(), CatalogError> {
    let snapshot = ratings.snapshot();
    let mut agents: Vec<(i64, String, Standing)> = named(change, day, "agents", "name", "agent")?
        .into_iter()
        .map(|(id, name)| {
            let standing = ratings.agent(&name);
            (id, name, standing)
        })
        .collect();
    agents.sort_by(|(_, a, x), (_, b, y)| y.elo.total_cmp(&x.elo).then_with(|| a.cmp(b)));
    let mut insert = change.prepare("INSERT INTO agent_elo_daily VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for (place, (id, name, Standing { elo, wins, losses, draws })) in (1i64..).zip(&agents) {
        let (wins, losses, draws) = (signed(*wins), signed(*losses), signed(*draws));
        let bucket = bucket(snapshot.agents.get(name));
        insert.execute(params![id, day, elo, wins + losses + draws, wins, losses, draws, bucket, place])?;
    }
    let mut insert = change.prepare("INSERT INTO deck_elo_daily VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    for (id, hash) in named(change, day, "decks", "hash", "deck")? {
        let Standing { elo, wins, losses, draws } = ratings.deck(&hash);
        let (wins, losses, draws) = (signed(wins), signed(losses), signed(draws));
        let bucket = bucket(snapshot.decks.get(&hash));
        insert.execute(params![id, day, elo, wins + losses + draws, wins, losses, draws, bucket])?;
    }
    write_cards(change, day, &snapshot)
}

/// Agents or decks that the episodes of a day name: id, and name or hash.
fn named(
    change: &Transaction<'_>,
    day: i32,
    table: &str,
    key: &str,
    side: &str,
) -> Result<Vec<(i64, String)>, CatalogError> {
    let mut named = change.prepare(&format!(
        "SELECT id, {key} FROM {table} WHERE id IN (
           SELECT {side}0_id FROM episodes WHERE day_id = ?1 UNION SELECT {side}1_id FROM episodes WHERE day_id = ?1)"
    ))?;
    Ok(named.query_map([day], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
}

fn write_cards(change: &Transaction<'_>, day: i32, snapshot: &Snapshot) -> Result<(), CatalogError> {
    let mut cards = change.prepare(
        "SELECT DISTINCT c.card_id FROM deck_elo_daily r JOIN deck_cards c ON c.deck_id = r.deck_id WHERE r.day_id = ?",
    )?;
    let cards = cards.query_map([day], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i32>>>()?;
    let mut insert = change.prepare("INSERT INTO card_elo_daily VALUES (?, ?, ?, ?, ?)")?;
    for card in cards {
        // where none of its decks was ever rated it has none
        let Some(rating) = snapshot.cards.get(&card.to_string()) else { continue };
        insert.execute(params![card, day, rating.elo, signed(rating.games), rating.bucket])?;
    }
    Ok(())
}

fn bucket(rating: Option<&Rating>) -> i32 {
    rating.map_or(UNKNOWN_BUCKET, |rating| rating.bucket)
}
