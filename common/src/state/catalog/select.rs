//! Selections: which rows of which days a trainer reads, in one query over the catalog and none over the files.

use rusqlite::{Row, params};
use serde::Serialize;

use super::values::{digest, unreadable, unsigned};
use super::{Catalog, CatalogError};
use crate::formats::decisions::Date;
use crate::state::digest::Digest;

/// Which days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// All that are present.
    All,
    /// The last ones that are present.
    Last(u32),
    /// Those from one day to another, both included. Where the two are one day, it must be there.
    Spans(Vec<(Date, Date)>),
}

/// What is to be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Which days.
    pub days: Chosen,
    /// Only episodes of which both players are among this many best of the day.
    pub top_elo: Option<u32>,
    /// Whole episodes of a day, until they have at least this many rows.
    pub max_rows_per_day: Option<u64>,
}

/// Rows to read, day by day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selection {
    /// Rows of all days.
    pub rows: u64,
    /// Episodes of all days.
    pub episodes: u64,
    /// The days, in order.
    pub days: Vec<SelectedDay>,
}

/// What is read of a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectedDay {
    /// The day.
    pub date: Date,
    /// Absolute path of its Parquet file.
    pub path: String,
    /// Digest of the file.
    pub sha256: Digest,
    /// Revision of its columns.
    pub schema_version: u32,
    /// Revision of its encoder.
    pub encoder_version: String,
    /// Digest of its card files.
    pub card_catalog_sha256: Digest,
    /// Whether the auxiliary targets are there.
    pub aux_targets: bool,
    /// Rows that are read.
    pub rows: u64,
    /// Row groups that hold them, in order.
    pub row_groups: Vec<u64>,
    /// The rows, in the file's order.
    pub ranges: Vec<Range>,
    /// Their episodes in the order of selection: under `top_elo` by descending sum of both ratings, else by id.
    pub episodes: Vec<SelectedEpisode>,
}

/// Adjacent rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The first, counted from the start of the file.
    pub first_row: u64,
    /// How many.
    pub rows: u64,
}

/// An episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SelectedEpisode {
    /// Its number.
    pub episode_id: i64,
    /// Its first row, counted from the start of the file.
    pub first_row: u64,
    /// Its rows.
    pub rows: u64,
    /// The row group that holds the first.
    pub row_group_first: u64,
    /// The row group that holds the last.
    pub row_group_last: u64,
}

/// Why nothing can be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A day that was asked for is not there.
    #[error("the catalog has no day {0} that is present")]
    NoDay(Date),
    /// None is there.
    #[error("the catalog has none of these days")]
    NoDays,
    /// Days that must not be mixed.
    #[error("the days differ in their {what}")]
    Mixed {
        /// What they differ in.
        what: &'static str,
        /// A day, and what it has.
        one: String,
        /// Another.
        other: String,
    },
}

impl From<rusqlite::Error> for SelectError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Catalog(error.into())
    }
}

impl Catalog {
    /// Selects rows.
    pub fn select(&self, wanted: &Wanted) -> Result<Selection, SelectError> {
        let mut query = self.db.prepare(&sql(wanted))?;
        let spans = match &wanted.days {
            Chosen::Spans(spans) => spans.iter().map(|(from, to)| [from.days(), to.days()]).collect(),
            _ => vec![],
        };
        let last = if let Chosen::Last(n) = wanted.days { n } else { 0 };
        let most = wanted.max_rows_per_day.and_then(|most| i64::try_from(most).ok()).unwrap_or(i64::MAX);
        let spans = serde_json::to_string(&spans).unwrap_or_default();
        let mut rows = query.query(params![spans, last, wanted.top_elo.unwrap_or(0), most])?;
        let mut days: Vec<SelectedDay> = vec![];
        while let Some(row) = rows.next()? {
            let day = day(row)?;
            if days.last().is_none_or(|last| last.date != day.date) {
                days.push(day);
            }
            if let (Some(last), Some(episode)) = (days.last_mut(), episode(row)?) {
                last.episodes.push(episode);
            }
        }
        days.iter_mut().for_each(SelectedDay::sum_up);
        check(&days, wanted)?;
        let rows = days.iter().map(|day| day.rows).sum();
        let episodes = days.iter().map(|day| day.episodes.len() as u64).sum();
        Ok(Selection { rows, episodes, days })
    }
}

/// The query. Every chosen day has a row, also where nothing of it is picked. CROSS JOIN keeps SQLite to the order that is
/// written: from the days to their episodes, and from those to the ratings of their players.
pub(super) fn sql(wanted: &Wanted) -> String {
    let days = match wanted.days {
        Chosen::All => "true",
        Chosen::Last(_) => {
            "d.id IN (SELECT day_id FROM datasets WHERE day_id IS NOT NULL AND state = 'present'
                      ORDER BY day_id DESC LIMIT (SELECT last FROM asked))"
        }
        Chosen::Spans(_) => {
            "EXISTS (SELECT 1 FROM json_each((SELECT spans FROM asked)) WHERE d.id BETWEEN value ->> 0 AND value ->> 1)"
        }
    };
    let (strength, rated) = match wanted.top_elo {
        None => ("0", ""),
        Some(_) => (
            "r0.elo + r1.elo",
            "CROSS JOIN agent_elo_daily r0 ON r0.agent_id = e.agent0_id AND r0.day_id = e.day_id
               AND r0.place <= (SELECT top FROM asked)
             CROSS JOIN agent_elo_daily r1 ON r1.agent_id = e.agent1_id AND r1.day_id = e.day_id
               AND r1.place <= (SELECT top FROM asked)",
        ),
    };
    format!(
        "WITH asked (spans, last, top, most) AS (VALUES (?1, ?2, ?3, ?4)), chosen AS MATERIALIZED (
           SELECT d.id AS day_id, d.date, t.id AS dataset_id, t.path, t.sha256, t.schema_version, t.encoder_version,
             t.card_catalog_sha256, t.aux_targets
           FROM days d JOIN datasets t ON t.day_id = d.id
           WHERE t.kind = 'decisions' AND t.state = 'present' AND {days}
         ), candidates AS (
           SELECT e.day_id, e.episode_id, e.first_row, e.rows0 + e.rows1 AS rows, e.row_group_first, e.row_group_last,
             {strength} AS strength
           FROM chosen c CROSS JOIN episodes e ON e.day_id = c.day_id AND e.status = 'used' {rated}
         ), picked AS (
           SELECT *, row_number() OVER picks AS pick, sum(rows) OVER picks - rows AS before
           FROM candidates
           WINDOW picks AS (PARTITION BY day_id ORDER BY strength DESC, episode_id ROWS UNBOUNDED PRECEDING)
         )
         SELECT c.*, p.episode_id, p.first_row, p.rows, p.row_group_first, p.row_group_last
         FROM chosen c LEFT JOIN picked p ON p.day_id = c.day_id AND p.before < (SELECT most FROM asked)
         ORDER BY c.day_id, p.pick"
    )
}

fn day(row: &Row<'_>) -> rusqlite::Result<SelectedDay> {
    let date: Result<Date, String> = row.get::<_, String>("date")?.parse();
    Ok(SelectedDay {
        date: date.map_err(|what| unreadable(std::io::Error::other(what)))?,
        path: row.get("path")?,
        sha256: digest(row, "sha256")?,
        schema_version: row.get("schema_version")?,
        encoder_version: row.get("encoder_version")?,
        card_catalog_sha256: digest(row, "card_catalog_sha256")?,
        aux_targets: row.get("aux_targets")?,
        rows: 0,
        row_groups: vec![],
        ranges: vec![],
        episodes: vec![],
    })
}

fn episode(row: &Row<'_>) -> rusqlite::Result<Option<SelectedEpisode>> {
    let Some(episode_id) = row.get("episode_id")? else { return Ok(None) };
    Ok(Some(SelectedEpisode {
        episode_id,
        first_row: unsigned(row, "first_row")?,
        rows: unsigned(row, "rows")?,
        row_group_first: unsigned(row, "row_group_first")?,
        row_group_last: unsigned(row, "row_group_last")?,
    }))
}

impl SelectedDay {
    /// Tells rows, row groups and ranges from the episodes.
    fn sum_up(&mut self) {
        let mut episodes = self.episodes.clone();
        episodes.sort_unstable_by_key(|episode| episode.first_row);
        for SelectedEpisode { first_row, rows, row_group_first, row_group_last, .. } in episodes {
            self.rows += rows;
            let next = self.row_groups.last().map_or(0, |last| last + 1);
            self.row_groups.extend(row_group_first.max(next)..=row_group_last);
            match self.ranges.last_mut() {
                Some(last) if last.first_row + last.rows == first_row => last.rows += rows,
                _ => self.ranges.push(Range { first_row, rows }),
            }
        }
    }
}

/// Refuses days that are not there, and such as must not be mixed.
fn check(days: &[SelectedDay], wanted: &Wanted) -> Result<(), SelectError> {
    if let Chosen::Spans(spans) = &wanted.days {
        let named = spans.iter().filter(|(from, to)| from == to);
        let there = |date| days.iter().any(|day| day.date == date);
        if let Some(&(date, _)) = named.into_iter().find(|(date, _)| !there(*date)) {
            return Err(SelectError::NoDay(date));
        }
    }
    if days.is_empty() {
        return Err(SelectError::NoDays);
    }
    alike(days, "card catalog", |day| day.card_catalog_sha256.as_str())?;
    alike(days, "encoder version", |day| &day.encoder_version)
}

fn alike(
    days: &[SelectedDay],
    what: &'static str,
    of: impl Fn(&SelectedDay) -> &str,
) -> Result<(), SelectError> {
    let said = |day: &SelectedDay| format!("{}: {}", day.date, of(day));
    match days.windows(2).find(|pair| of(&pair[0]) != of(&pair[1])) {
        Some(pair) => Err(SelectError::Mixed { what, one: said(&pair[0]), other: said(&pair[1]) }),
        None => Ok(()),
    }
}
