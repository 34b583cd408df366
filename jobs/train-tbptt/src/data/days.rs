//! Days that are trained on together: each is what its manifest says, and all were made with the same conventions.

use std::fs::File;
use std::path::{Path, PathBuf};

use common::formats::decisions::columns::column;
use common::formats::decisions::manifest::{Effects, Manifest, manifest_path};
use common::formats::decisions::{COLUMNS, Date, Day};
use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::digest::Digest;
use common::state::output::folder_of;
use common::state::stat::Stat;
use serde::{Deserialize, Serialize};

use crate::schema;

/// Targets that must be there.
const AUX: [usize; 5] = [
    column("aux_valid"),
    column("aux_ko"),
    column("aux_prize_delta"),
    column("aux_terminal"),
    column("aux_return"),
];
/// What was chosen.
const LABELS: [usize; 1] = [column("y")];

/// What a checkpoint depends on beside its weights. Days, checkpoints and agents of different ones do not mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provenance {
    /// Whether look-ahead features are there.
    pub(crate) would_ko: bool,
    /// The effects table, if one was used.
    pub(crate) effects: Option<Effects>,
    /// Revision of the encoder.
    pub(crate) encoder_version: String,
    /// Digest of the card files.
    pub(crate) card_catalog_sha256: Digest,
    /// The id of a card that is not known.
    pub(crate) unknown_card: i32,
    /// Readings of the auxiliary targets.
    pub(crate) aux_contract_version: u32,
}

/// A day that is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Used {
    /// Where it was.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) sha256: Digest,
    /// Rows of it.
    pub(crate) rows: u64,
}

/// Open days.
#[derive(Debug)]
pub(crate) struct Days {
    pub(crate) days: Vec<OpenDay>,
    pub(crate) provenance: Provenance,
}

/// An open day.
#[derive(Debug)]
pub(crate) struct OpenDay {
    pub(crate) used: Used,
    /// What the file was known by before its digest was taken.
    pub(crate) stat: Stat,
    pub(crate) day: Day<File>,
    /// First row of each row group, and the number of rows behind the last.
    pub(crate) starts: Vec<u64>,
}

impl Days {
    /// Opens days and holds each to its manifest: no days at all, or a missing one, is exit 5; a missing column is exit
    /// 3; other content than the manifest records is exit 8; days that were made differently are exit 4.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let (mut days, mut provenance) = (vec![], None::<(Provenance, PathBuf)>);
        for path in paths {
            let (day, from) = OpenDay::open(path)?;
            if let Some((first, there)) = &provenance {
                first.hold(&from, &there.display().to_string()).map_err(|failure| failure.in_file(path))?;
            } else {
                provenance = Some((from, path.clone()));
            }
            days.push(day);
        }
        let (provenance, _) =
            provenance.ok_or_else(|| Failure::new(Exit::Missing, "no days are selected"))?;
        Ok(Self { days, provenance })
    }

    /// What is used of them.
    pub(crate) fn used(&self) -> Vec<Used> {
        self.days.iter().map(|day| day.used.clone()).collect()
    }
}

impl Provenance {
    /// Refuses another one by what differs (exit 4); `whose` is where this one is from.
    pub(crate) fn hold(&self, other: &Self, whose: &str) -> Result<(), Failure> {
        let differing = |name: &str, expected: String, found: String| {
            if expected == found {
                return Ok(());
            }
            let failure = Failure::new(Exit::Mixed, format!("{name} differs")).found(found, &expected);
            Err(failure
                .hint(format!("{expected:?} is that of {whose}; what was made differently does not mix")))
        };
        let text = |what: &Option<Effects>| {
            what.as_ref().map_or("none".into(), |effects| effects.sha256.to_string())
        };
        differing("would_ko", self.would_ko.to_string(), other.would_ko.to_string())?;
        differing("the effects table", text(&self.effects), text(&other.effects))?;
        differing("the encoder's version", self.encoder_version.clone(), other.encoder_version.clone())?;
        let digest = |provenance: &Self| provenance.card_catalog_sha256.to_string();
        differing("the card catalog", digest(self), digest(other))?;
        differing("the unknown card's id", self.unknown_card.to_string(), other.unknown_card.to_string())?;
        let version = |provenance: &Self| provenance.aux_contract_version.to_string();
        differing("the auxiliary targets' contract", version(self), version(other))
    }
}

impl OpenDay {
    fn open(path: &Path) -> Result<(Self, Provenance), Failure> {
        let mut file = File::open(path).in_file(path)?;
        let stat = Stat::from(&file.metadata().in_file(path)?);
        let manifest_file = manifest_of(path)?;
        let manifest = Manifest::read(&manifest_file).in_file(&manifest_file)?;
        let sha256 = Digest::of_file(&mut file).in_file(path)?;
        if sha256 != manifest.parquet_sha256 {
            return Err(Failure::new(Exit::Unlike, "the day is not what its manifest records")
                .found(&sha256, &manifest.parquet_sha256)
                .hint("build the day anew, or fetch it again")
                .in_file(path));
        }
        let day = Day::open(file).in_file(path)?;
        let columns = schema::input_columns().into_iter().chain(AUX).chain(LABELS);
        day.project(columns.map(|at| COLUMNS[at].name)).in_file(path)?;
        let mut starts = vec![0];
        for group in 0..day.footer().groups() {
            starts.push(starts[group] + day.footer().group_rows(group) as u64);
        }
        let provenance = Provenance {
            would_ko: manifest.would_ko.enabled,
            effects: manifest.effects,
            encoder_version: manifest.encoder_version,
            card_catalog_sha256: manifest.card_catalog_sha256,
            unknown_card: manifest.unknown_card,
            aux_contract_version: manifest.aux_contract_version,
        };
        let used = Used { path: path.into(), sha256, rows: day.rows() };
        Ok((Self { used, stat, day, starts }, provenance))
    }
}

/// The manifest beside a day.
fn manifest_of(path: &Path) -> Result<PathBuf, Failure> {
    let date: Option<Date> =
        path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
    let date = date.ok_or_else(|| Failure::usage("no day: it is named DATE.parquet").in_file(path))?;
    Ok(manifest_path(folder_of(path), date))
}
