//! Holds the file of a day to its manifest, without looking at its rows.

use std::fs::File;
use std::io;
use std::path::Path;

use super::manifest::Manifest;
use super::read::Day;
use crate::formats::parquet;
use crate::state::digest::Digest;

/// Why a file is not the day that its manifest records.
#[derive(Debug, thiserror::Error)]
pub enum DayFault {
    /// It cannot be read, or has other columns.
    #[error(transparent)]
    Parquet(#[from] parquet::Error),
    /// It can be read, and is another file than the one that was recorded.
    #[error("{what} is not what the manifest records")]
    Unlike {
        /// What differs.
        what: &'static str,
        /// What the file has.
        found: String,
        /// What the manifest records.
        expected: String,
    },
}

impl From<io::Error> for DayFault {
    fn from(error: io::Error) -> Self {
        Self::Parquet(error.into())
    }
}

/// Opens a day and holds its schema, digest, fingerprint and row groups to the manifest.
pub fn check_day(path: &Path, manifest: &Manifest) -> Result<Day<File>, DayFault> {
    let unlike = |what, found: &dyn ToString, expected: &dyn ToString| {
        Err(DayFault::Unlike { what, found: found.to_string(), expected: expected.to_string() })
    };
    let mut file = File::open(path)?;
    let day = Day::open(file.try_clone()?)?;
    day.check_schema()?;
    let digest = Digest::of_file(&mut file)?;
    if digest != manifest.parquet_sha256 {
        return unlike("the SHA-256", &digest, &manifest.parquet_sha256);
    }
    let stated = day.footer().pairs().find(|(key, _)| *key == "fingerprint").map_or("", |(_, text)| text);
    if stated != manifest.fingerprint.as_str() {
        return unlike("the fingerprint in the footer", &stated, &manifest.fingerprint);
    }
    let groups: Vec<u64> =
        (0..day.footer().groups()).map(|group| day.footer().group_rows(group) as u64).collect();
    if groups != manifest.row_groups {
        let text = |groups: &[u64]| format!("{groups:?}");
        return unlike("the number of rows", &text(&groups), &text(&manifest.row_groups));
    }
    Ok(day)
}
