//! `YYYY-MM-DD.manifest.json`: where a day came from, and what is in it. It is written after the Parquet file, and makes
//! the day.

mod check;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::date::Date;
use super::look_ahead::WouldKo;
use super::schema::SCHEMA_VERSION;
use crate::state::digest::Digest;

/// What the file says it is.
pub const FORMAT: &str = "foldline decision day";
/// Readings of the auxiliary targets, the reward and the outcome of draws.
pub const AUX_CONTRACT: u32 = 1;
/// Status of a member that has rows.
pub const USED: &str = "used";
/// All statuses of members.
pub const STATUSES: [&str; 8] =
    [USED, "draw", "no_reward", "malformed", "illegal_label", "timeout", "duplicate", "no_rows"];

/// A day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Revision of the columns.
    pub schema_version: u32,
    /// The day.
    pub date: Date,
    /// Days since 1970-01-01.
    pub day_id: i32,
    /// Name of the archive, without a folder.
    pub source_zip: String,
    /// Digest of the archive.
    pub source_sha256: Digest,
    /// Bytes of the Parquet file.
    pub parquet_bytes: u64,
    /// Digest of the Parquet file.
    pub parquet_sha256: Digest,
    /// Digest of all that the Parquet file was made from: archive, encoder, cards, ratings, effects, parameters.
    pub fingerprint: Digest,
    /// Rows.
    pub rows: u64,
    /// Episodes that have rows.
    pub episodes: u64,
    /// Rows of each row group.
    pub row_groups: Vec<u64>,
    /// Episodes without rows, by reason.
    pub episode_failures: BTreeMap<String, u64>,
    /// What was met while building.
    pub counts: Counts,
    /// Revision of the encoder.
    pub encoder_version: String,
    /// Digest of the card files.
    pub card_catalog_sha256: Digest,
    /// The id of a card that is not known: the highest card id plus one.
    pub unknown_card: i32,
    /// Digest of the ratings; `None` where every bucket is unknown.
    pub elo_sha256: Option<Digest>,
    /// Columns of the effects table and its digest; `None` where effects are 0.
    pub effects: Option<Effects>,
    /// Whether the auxiliary targets are there.
    pub aux_targets: bool,
    /// Which readings they follow.
    pub aux_contract_version: u32,
    /// The look-ahead features.
    pub would_ko: WouldKo,
    /// Parameters of the build.
    pub build_config: BuildConfig,
    /// Whether another build gives the same bytes: no time-out cut anything.
    pub reproducible: bool,
    /// Length of each list column; 1 where a row has one value.
    pub columns: BTreeMap<String, usize>,
    /// Members of the archive in their order; those that are no JSON files are left out.
    pub members: Vec<Member>,
    /// Cards of every deck that a member was played with, ascending, by hash.
    pub decks: BTreeMap<String, Vec<i32>>,
    /// When it was written.
    pub written_at: String,
}

/// What was met while building; of the episodes that have rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Decisions.
    pub decisions: u64,
    /// Rows whose answer is to pick no further.
    pub submit_rows: u64,
    /// Decisions that were answered with nothing.
    pub empty_answers: u64,
    /// Most options of a decision.
    pub max_options: u64,
    /// Options beyond the slots.
    pub options_cut: u64,
    /// Rows whose answer was cut.
    pub rows_label_cut: u64,
    /// Decisions whose auxiliary targets could not be read.
    pub aux_invalid_decisions: u64,
    /// Options of types that this encoder does not know.
    pub unknown_options: u64,
    /// Log entries of types that this encoder does not know.
    pub unknown_logs: u64,
    /// Cards that the catalog does not hold.
    pub unknown_cards: u64,
    /// Attacks that the catalog does not hold.
    pub unknown_attacks: u64,
    /// Members of the archive that are no JSON files.
    pub ignored_members: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.submit_rows += other.submit_rows;
        self.empty_answers += other.empty_answers;
        self.max_options = self.max_options.max(other.max_options);
        self.options_cut += other.options_cut;
        self.rows_label_cut += other.rows_label_cut;
        self.aux_invalid_decisions += other.aux_invalid_decisions;
        self.unknown_options += other.unknown_options;
        self.unknown_logs += other.unknown_logs;
        self.unknown_cards += other.unknown_cards;
        self.unknown_attacks += other.unknown_attacks;
        self.ignored_members += other.ignored_members;
    }
}

/// The effects table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// Digest of the file.
    pub sha256: Digest,
    /// Names of its effect flags, in the order of their features.
    pub flags: Vec<String>,
}

/// Parameters that shape a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildConfig {
    /// Whether look-ahead was asked for.
    pub would_ko: bool,
    /// Determinisations of a look-ahead.
    pub wk_nvar: u32,
    /// Whether rows of both sides are there.
    pub both_sides: bool,
    /// Names that are ours.
    pub self_aliases: Vec<String>,
    /// Episodes of a row group.
    pub flush: u32,
    /// Seconds that an episode may take.
    pub ep_timeout: u64,
    /// Whether drawn episodes have rows.
    pub keep_draws: bool,
    /// The first day of the competition.
    pub competition_start: Option<Date>,
}

/// A member of the archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// `used`, or the reason why it has no rows.
    pub status: String,
    /// What is wrong with it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The episode, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<i64>,
    /// Steps of the episode.
    pub steps: u64,
    /// Rewards of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<[f64; 2]>,
    /// Names of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<[String; 2]>,
    /// Deck hashes of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decks: Option<[Digest; 2]>,
    /// Rows of both sides.
    pub rows: [u64; 2],
    /// First row in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_row: Option<u64>,
    /// The row group that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_group: Option<u64>,
}

/// Why a file is not the manifest of a day.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It says something else.
    #[error("not the manifest of a decision day: {0}")]
    NoDay(String),
    /// It is of another revision.
    #[error("a decision day of schema {0} where {SCHEMA_VERSION} is read")]
    Version(u32),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Manifest {
    /// Reads the file, and holds it to itself.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            schema_version: u32,
        }
        let (bytes, bad) =
            (std::fs::read(path)?, |error: serde_json::Error| ManifestError::NoDay(error.to_string()));
        let head: Head = serde_json::from_slice(&bytes).map_err(bad)?;
        if head.format != FORMAT {
            return Err(ManifestError::NoDay(format!(
                "it is {:?} where {FORMAT:?} is expected",
                head.format
            )));
        }
        if head.schema_version != SCHEMA_VERSION {
            return Err(ManifestError::Version(head.schema_version));
        }
        let manifest: Self = serde_json::from_slice(&bytes).map_err(bad)?;
        check::check(&manifest).map_err(ManifestError::NoDay)?;
        Ok(manifest)
    }
}

/// What a deck is known by: SHA-256 of its ascending ids, in decimal, between commas.
pub fn deck_hash(ascending: &[i32]) -> Digest {
    let text: Vec<String> = ascending.iter().map(i32::to_string).collect();
    Digest::of(text.join(",").as_bytes())
}

/// Where the Parquet file of a day lies.
pub fn parquet_path(folder: &Path, date: Date) -> PathBuf {
    folder.join(format!("{date}.parquet"))
}

/// Where the manifest of a day lies.
pub fn manifest_path(folder: &Path, date: Date) -> PathBuf {
    folder.join(format!("{date}.manifest.json"))
}
