//! A day as it is named on a command line: by its Parquet file or by its manifest.

use std::fs::File;
use std::path::{Path, PathBuf};

use common::formats::decisions::manifest::{Manifest, manifest_path, parquet_path};
use common::formats::decisions::{Date, Day};
use common::process::Failure;
use common::process::failure::InFile;
use common::state::output::folder_of;

/// An open day and its manifest.
pub(super) struct DayFile {
    pub(super) parquet: PathBuf,
    pub(super) manifest_file: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) day: Day<File>,
}

impl DayFile {
    pub(super) fn open(named: &Path) -> Result<Self, Failure> {
        let date = date_of(named)?;
        let folder = folder_of(named);
        let (parquet, manifest_file) = (parquet_path(folder, date), manifest_path(folder, date));
        let manifest = Manifest::read(&manifest_file).in_file(&manifest_file)?;
        let day = Day::open(File::open(&parquet).in_file(&parquet)?).in_file(&parquet)?;
        Ok(Self { parquet, manifest_file, manifest, day })
    }
}

fn date_of(named: &Path) -> Result<Date, Failure> {
    let name = named.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".parquet").or(name.strip_suffix(".manifest.json"));
    stem.and_then(|stem| stem.parse().ok()).ok_or_else(|| {
        Failure::usage("no day: it is named DATE.parquet or DATE.manifest.json").in_file(named)
    })
}
