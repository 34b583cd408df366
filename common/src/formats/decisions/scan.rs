//! `YYYY-MM-DD.scan.json`: who played whom with what, and how it ended; what ratings are made from. It says nothing that
//! a build needs, so that ratings exist before any day is built.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::date::Date;
use super::manifest::ManifestError;
use crate::state::digest::Digest;

/// What the file says it is.
pub const FORMAT: &str = "foldline replay scan";
/// Revision of the file.
pub const VERSION: u32 = 1;
/// Status of an episode that counts for ratings.
pub const RATED: &str = "rated";

/// Results of an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The day.
    pub date: Date,
    /// Name of the archive, without a folder.
    pub source_zip: String,
    /// Digest of the archive.
    pub source_sha256: Digest,
    /// Members of the archive that are JSON files, in their order.
    pub episodes: Vec<Episode>,
    /// Cards of every deck that a rated episode was played with, ascending, by hash.
    pub decks: BTreeMap<String, Vec<i32>>,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Its name.
    pub member: String,
    /// [`RATED`], or why it does not count: `malformed`, `no_reward`, `duplicate`.
    pub status: String,
    /// The episode, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<i64>,
    /// Steps of the episode.
    pub steps: u64,
    /// Rewards of both sides; equal ones are a draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<[f64; 2]>,
    /// Names of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<[String; 2]>,
    /// Deck hashes of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decks: Option<[Digest; 2]>,
}

impl Scan {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let scan: Self = serde_json::from_slice(&std::fs::read(path)?)
            .map_err(|error| ManifestError::Io(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        if scan.format != FORMAT || scan.version != VERSION {
            let what = format!("it is {} {} where {FORMAT} {VERSION} is expected", scan.format, scan.version);
            return Err(ManifestError::Io(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        Ok(scan)
    }
}

/// Where the scan of a day lies.
pub fn scan_path(folder: &Path, date: Date) -> PathBuf {
    folder.join(format!("{date}.scan.json"))
}
