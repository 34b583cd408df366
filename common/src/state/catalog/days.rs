//! Decision days in the catalog: one dataset a day, and its episodes.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde_json::Value;

use super::values::{digest, json, signed, stat, unreadable, unsigned};
use super::{Catalog, CatalogError, State, elo};
use crate::formats::decisions::Date;
use crate::formats::decisions::manifest::{self, Manifest, USED};
use crate::state::digest::Digest;
use crate::state::stat::Stat;

/// A day, as its dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DayRow {
    /// The day.
    pub date: Date,
    /// Absolute path of its Parquet file.
    pub path: String,
    /// Absolute path of its manifest.
    pub manifest_path: String,
    /// Whether it can be used.
    pub state: State,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: u64,
    /// Digest of the Parquet file.
    pub sha256: Digest,
    /// Revision of the columns.
    pub schema_version: u32,
    /// Revision of the encoder.
    pub encoder_version: String,
    /// Digest of the card files.
    pub card_catalog_sha256: Digest,
    /// Digest of all that the file was made from.
    pub fingerprint: Digest,
    /// Whether the auxiliary targets are there.
    pub aux_targets: bool,
    /// Parameters of the build.
    pub build_config: Value,
    /// The Parquet file.
    #[serde(skip)]
    pub stat: Stat,
    /// The manifest.
    #[serde(skip)]
    pub manifest_stat: Stat,
}

/// A member of a day's archive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    /// Its name.
    pub archive_member: String,
    /// The episode, where it is known.
    pub episode_id: Option<i64>,
    /// `used`, or why no selection has it.
    pub status: String,
    /// What is wrong with it, in words.
    pub why: Option<String>,
    /// Its rows in the file.
    pub rows: u64,
}

/// What became of a day that was to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// It is recorded.
    Done,
    /// Another file is the day's dataset, and stays it.
    Taken(String),
}

impl DayRow {
    /// The row of a day whose files were held to each other.
    pub fn new(manifest: &Manifest, files: [(String, Stat); 2]) -> Self {
        let [(path, stat), (manifest_path, manifest_stat)] = files;
        Self {
            date: manifest.date,
            path,
            manifest_path,
            state: State::Present,
            rows: manifest.rows,
            row_groups: manifest.row_groups.len() as u64,
            sha256: manifest.parquet_sha256.clone(),
            schema_version: manifest.schema_version,
            encoder_version: manifest.encoder_version.clone(),
            card_catalog_sha256: manifest.card_catalog_sha256.clone(),
            fingerprint: manifest.fingerprint.clone(),
            aux_targets: manifest.aux_targets,
            build_config: serde_json::to_value(&manifest.build_config).unwrap_or_default(),
            stat,
            manifest_stat,
        }
    }
}

impl Catalog {
    /// All days, in order.
    pub fn days(&self) -> Result<Vec<DayRow>, CatalogError> {
        let mut days = self.db.prepare(
            "SELECT t.*, d.date FROM days d JOIN datasets t ON t.day_id = d.id
             WHERE t.kind = 'decisions' ORDER BY d.id",
        )?;
        Ok(days.query_map([], day_row)?.collect::<Result<_, _>>()?)
    }

    /// Members of a day's archive, in its order.
    pub fn members(&self, date: Date) -> Result<Vec<Member>, CatalogError> {
        let mut members = self.db.prepare(
            "SELECT archive_member, episode_id, status, why, rows0 + rows1 AS rows FROM episodes
             WHERE day_id = ? ORDER BY id",
        )?;
        let member = |row: &Row<'_>| {
            Ok(Member {
                archive_member: row.get("archive_member")?,
                episode_id: row.get("episode_id")?,
                status: row.get("status")?,
                why: row.get("why")?,
                rows: unsigned(row, "rows")?,
            })
        };
        Ok(members.query_map([date.days()], member)?.collect::<Result<_, _>>()?)
    }

    /// Episodes of a day that have rows in its file, and are read from another day's.
    pub fn elsewhere(&self, date: Date) -> Result<u64, CatalogError> {
        let count = "SELECT count(*) AS n FROM episodes
            WHERE day_id = ? AND status = 'duplicate' AND first_row IS NOT NULL";
        Ok(self.db.query_row(count, [date.days()], |row| unsigned(row, "n"))?)
    }

    /// Records a day with its episodes, agents, decks and all ratings from it on, in one transaction. Where another file
    /// is the day's dataset, `gives_way` is asked whether that one is to be replaced.
    pub fn put_day(
        &mut self,
        day: &DayRow,
        manifest: &Manifest,
        gives_way: impl FnOnce(&str) -> bool,
    ) -> Result<Put, CatalogError> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id = day.date.days();
        let other: Option<String> = change
            .query_row(
                "SELECT path FROM datasets WHERE day_id = ? AND path <> ?",
                params![id, day.path],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(other) = other.filter(|other| !gives_way(other)) {
            return Ok(Put::Taken(other));
        }
        let before = Named::of_day(&change, id)?;
        change.execute("DELETE FROM datasets WHERE day_id = ?", [id])?;
        let dataset = insert_dataset(&change, day, manifest)?;
        insert_episodes(&change, id, dataset, manifest)?;
        let now = manifest.members.iter().filter(|member| member.status == USED);
        settle(&change, before.episodes.iter().copied().chain(now.filter_map(|member| member.episode_id)))?;
        elo::rate_from(&change, id)?;
        before.forget(&change)?;
        tell_ours(&change)?;
        change.commit()?;
        Ok(Put::Done)
    }

    /// Marks the day whose Parquet file has a path, where one is recorded; says whether that was new.
    pub fn mark_day(&mut self, path: &str, state: State) -> Result<bool, CatalogError> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let day: Option<i32> = change
            .query_row(
                "UPDATE datasets SET state = ?2, synced_at = unixepoch()
                 WHERE path = ?1 AND kind = 'decisions' AND state <> ?2 RETURNING day_id",
                params![path, state.name()],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(day) = day {
            settle(&change, Named::of_day(&change, day)?.episodes)?;
        }
        change.commit()?;
        Ok(day.is_some())
    }
}

/// What the rows of a day name.
struct Named {
    /// Episodes with rows.
    episodes: BTreeSet<i64>,
    agents: BTreeSet<i64>,
    decks: BTreeSet<i64>,
}

impl Named {
    fn of_day(db: &Connection, day: i32) -> Result<Self, CatalogError> {
        let all = |column: &str, which: &str| -> rusqlite::Result<BTreeSet<i64>> {
            let sql = format!("SELECT {column} FROM episodes WHERE day_id = ? AND {which} IS NOT NULL");
            db.prepare(&sql)?.query_map([day], |row| row.get(0))?.collect()
        };
        let both = |a: &str, b: &str| Ok::<_, CatalogError>(&all(a, a)? | &all(b, b)?);
        Ok(Self {
            episodes: all("episode_id", "first_row")?,
            agents: both("agent0_id", "agent1_id")?,
            decks: both("deck0_id", "deck1_id")?,
        })
    }

    /// Removes the agents and decks that no episode names any more.
    fn forget(&self, db: &Connection) -> Result<(), CatalogError> {
        for (table, ids, side) in [("agents", &self.agents, "agent"), ("decks", &self.decks, "deck")] {
            let mut delete = db.prepare(&format!(
                "DELETE FROM {table} WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM episodes WHERE {side}0_id = ?1)
                 AND NOT EXISTS (SELECT 1 FROM episodes WHERE {side}1_id = ?1)"
            ))?;
            ids.iter().try_for_each(|id| delete.execute([id]).map(|_| ()))?;
        }
        Ok(())
    }
}

fn insert_dataset(change: &Transaction<'_>, day: &DayRow, manifest: &Manifest) -> Result<i64, CatalogError> {
    let start = manifest.build_config.competition_start;
    change.execute(
        "INSERT INTO days (id, date, competition_day, source_zip, source_sha256) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET (competition_day, source_zip, source_sha256) =
           (excluded.competition_day, excluded.source_zip, excluded.source_sha256)",
        params![
            day.date.days(),
            day.date.to_string(),
            start.map(|start| day.date.days() - start.days() + 1),
            manifest.source_zip,
            manifest.source_sha256.as_str(),
        ],
    )?;
    let (file, beside) = (day.stat, day.manifest_stat);
    change.execute(
        "INSERT INTO datasets (kind, day_id, path, state, schema_version, rows, row_groups, bytes, sha256,
           mtime_ns, ctime_ns, inode, manifest_path, manifest_size, manifest_mtime_ns, manifest_ctime_ns,
           manifest_inode, encoder_version, card_catalog_sha256, fingerprint, aux_targets, build_config, synced_at)
         VALUES ('decisions', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, unixepoch())",
        params![
            day.date.days(),
            day.path,
            day.state.name(),
            day.schema_version,
            signed(day.rows),
            signed(day.row_groups),
            signed(file.size),
            day.sha256.as_str(),
            file.mtime_ns,
            file.ctime_ns,
            signed(file.inode),
            day.manifest_path,
            signed(beside.size),
            beside.mtime_ns,
            beside.ctime_ns,
            signed(beside.inode),
            day.encoder_version,
            day.card_catalog_sha256.as_str(),
            day.fingerprint.as_str(),
            day.aux_targets,
            day.build_config.to_string(),
        ],
    )?;
    Ok(change.last_insert_rowid())
}

/// Inserts the members of a day; those with rows as duplicates, until [`settle`] has seen the other days.
fn insert_episodes(
    change: &Transaction<'_>,
    day: i32,
    dataset: i64,
    manifest: &Manifest,
) -> Result<(), CatalogError> {
    let mut ids = Ids { change, manifest, agents: HashMap::new(), decks: HashMap::new() };
    let mut insert = change.prepare(
        "INSERT INTO episodes (episode_id, day_id, dataset_id, archive_member, status, why, steps, reward0, reward1,
           agent0_id, agent1_id, deck0_id, deck1_id, rows0, rows1, first_row, row_group_first, row_group_last)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for member in &manifest.members {
        let manifest::Member { rows: [rows0, rows1], first_row, row_group, rewards, .. } = member;
        let [agent0, agent1] = ids.agents(member)?;
        let [deck0, deck1] = ids.decks(member)?;
        insert.execute(params![
            member.episode_id,
            day,
            dataset,
            member.name,
            if member.status == USED { "duplicate" } else { &*member.status },
            member.why,
            signed(member.steps),
            rewards.map(|[reward, _]| reward),
            rewards.map(|[_, reward]| reward),
            agent0,
            agent1,
            deck0,
            deck1,
            signed(*rows0),
            signed(*rows1),
            first_row.map(signed),
            row_group.map(signed),
            row_group.map(signed),
        ])?;
    }
    Ok(())
}

/// Ids of agents and decks, which are recorded when they are first met.
struct Ids<'a> {
    change: &'a Transaction<'a>,
    manifest: &'a Manifest,
    agents: HashMap<&'a str, i64>,
    decks: HashMap<&'a str, i64>,
}

impl<'a> Ids<'a> {
    fn agents(&mut self, member: &'a manifest::Member) -> rusqlite::Result<[Option<i64>; 2]> {
        let Some([a, b]) = &member.names else { return Ok([None; 2]) };
        Ok([Some(self.agent(a)?), Some(self.agent(b)?)])
    }

    fn decks(&mut self, member: &'a manifest::Member) -> rusqlite::Result<[Option<i64>; 2]> {
        let Some([a, b]) = &member.decks else { return Ok([None; 2]) };
        Ok([Some(self.deck(a.as_str())?), Some(self.deck(b.as_str())?)])
    }

    fn agent(&mut self, name: &'a str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.agents.get(name) {
            return Ok(id);
        }
        let insert = "INSERT INTO agents (name) VALUES (?1) ON CONFLICT DO NOTHING";
        self.change.prepare(insert)?.execute([name])?;
        let find = "SELECT id FROM agents WHERE name = ?1";
        let id = self.change.prepare(find)?.query_row([name], |row| row.get(0))?;
        self.agents.insert(name, id);
        Ok(id)
    }

    fn deck(&mut self, hash: &'a str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.decks.get(hash) {
            return Ok(id);
        }
        let find = "SELECT id FROM decks WHERE hash = ?1";
        let known = self.change.prepare(find)?.query_row([hash], |row| row.get(0)).optional()?;
        let id = match known {
            Some(id) => id,
            None => self.insert_deck(hash)?,
        };
        self.decks.insert(hash, id);
        Ok(id)
    }

    fn insert_deck(&self, hash: &str) -> rusqlite::Result<i64> {
        let cards = self.manifest.decks.get(hash).map_or(&[][..], Vec::as_slice);
        let insert = "INSERT INTO decks (hash, cards) VALUES (?, ?)";
        self.change.prepare(insert)?.execute(params![hash, signed(cards.len() as u64)])?;
        let id = self.change.last_insert_rowid();
        let insert = "INSERT INTO deck_cards (deck_id, card_id, quantity) VALUES (?, ?, ?)";
        let mut insert = self.change.prepare(insert)?;
        for copies in cards.chunk_by(|a, b| a == b) {
            insert.execute(params![id, copies[0], signed(copies.len() as u64)])?;
        }
        Ok(id)
    }
}

/// Decides which file each of these episodes is read from: the earliest day's that is present.
fn settle(change: &Transaction<'_>, episodes: impl IntoIterator<Item = i64>) -> Result<(), CatalogError> {
    const HOME: &str = "(SELECT o.id FROM episodes o JOIN datasets t ON t.id = o.dataset_id
        WHERE o.episode_id = episodes.episode_id AND o.first_row IS NOT NULL
        ORDER BY t.state <> 'present', o.day_id LIMIT 1)";
    let ids = serde_json::to_string(&episodes.into_iter().collect::<BTreeSet<i64>>()).unwrap_or_default();
    // in this order, since no two may be used at once
    for (from, to, is) in [("used", "duplicate", "<>"), ("duplicate", "used", "=")] {
        change.execute(
            &format!(
                "UPDATE episodes SET status = '{to}' WHERE episode_id IN (SELECT value FROM json_each(?))
                 AND status = '{from}' AND first_row IS NOT NULL AND id {is} {HOME}"
            ),
            [&ids],
        )?;
    }
    Ok(())
}

/// Says of every agent whether a recorded day counts it as ours.
fn tell_ours(change: &Transaction<'_>) -> Result<(), CatalogError> {
    change.execute(
        "WITH ours AS MATERIALIZED (SELECT DISTINCT value AS name
           FROM datasets, json_each(build_config, '$.self_aliases') WHERE kind = 'decisions')
         UPDATE agents SET is_self = NOT is_self WHERE is_self <> (name IN (SELECT name FROM ours))",
        [],
    )?;
    Ok(())
}

fn day_row(row: &Row<'_>) -> rusqlite::Result<DayRow> {
    let date: Result<Date, String> = row.get::<_, String>("date")?.parse();
    Ok(DayRow {
        date: date.map_err(|what| unreadable(std::io::Error::other(what)))?,
        path: row.get("path")?,
        manifest_path: row.get("manifest_path")?,
        state: State::of(&row.get::<_, String>("state")?),
        rows: unsigned(row, "rows")?,
        row_groups: unsigned(row, "row_groups")?,
        sha256: digest(row, "sha256")?,
        schema_version: row.get("schema_version")?,
        encoder_version: row.get("encoder_version")?,
        card_catalog_sha256: digest(row, "card_catalog_sha256")?,
        fingerprint: digest(row, "fingerprint")?,
        aux_targets: row.get("aux_targets")?,
        build_config: json(&row.get::<_, String>("build_config")?)?,
        stat: stat(row, "", "bytes")?,
        manifest_stat: stat(row, "manifest_", "manifest_size")?,
    })
}
