//! `verify`: a day is held to its manifest, and every row to the rules.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;

use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, emit, stop};
use common::state::digest::Digest;
use serde::Serialize;

use super::day_file::DayFile;
use super::rules::Rules;
use crate::cli::VerifyArgs;

#[derive(Serialize)]
struct VerifyReport {
    days: Vec<Verified>,
}

#[derive(Serialize)]
struct Verified {
    #[serde(serialize_with = "path_text")]
    day: PathBuf,
    rows: u64,
    episodes: u64,
    /// Whether every row was read.
    deep: bool,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<(), Failure> {
    let mut report = VerifyReport { days: vec![] };
    for named in &args.days {
        let file = DayFile::open(named)?;
        let deep = !args.shallow;
        check_file(&file)?;
        if deep {
            check_rows(common, &file)?;
        }
        let (rows, episodes) = (file.manifest.rows, file.manifest.episodes);
        report.days.push(Verified { day: file.parquet, rows, episodes, deep });
    }
    emit(common, &report)
}

/// Digest, size, schema, footer and row groups.
fn check_file(file: &DayFile) -> Result<(), Failure> {
    let DayFile { parquet, manifest, day, .. } = file;
    let unlike = |what: &str, found: &dyn fmt::Display, expected: &dyn fmt::Display| {
        let what = format!("{what} is not what the manifest records");
        Err(Failure::new(Exit::Unlike, what).in_file(parquet).found(found, expected))
    };
    day.check_schema().in_file(parquet)?;
    let mut bytes = File::open(parquet).in_file(parquet)?;
    let digest = Digest::of_file(&mut bytes).in_file(parquet)?;
    if digest != manifest.parquet_sha256 {
        return unlike("the SHA-256", &digest, &manifest.parquet_sha256);
    }
    let stated = day.footer().pairs().find(|(key, _)| *key == "fingerprint").map_or("", |(_, text)| text);
    if stated != manifest.fingerprint.to_string() {
        return unlike("the fingerprint in the footer", &stated, &manifest.fingerprint);
    }
    let groups: Vec<u64> =
        (0..day.footer().groups()).map(|group| day.footer().group_rows(group) as u64).collect();
    if groups != manifest.row_groups || groups.iter().sum::<u64>() != manifest.rows {
        return unlike("the number of rows", &format!("{groups:?}"), &format!("{:?}", manifest.row_groups));
    }
    Ok(())
}

fn check_rows(common: &Common, file: &DayFile) -> Result<(), Failure> {
    let DayFile { parquet, manifest_file, manifest, day } = file;
    let projection = day.project_all().in_file(parquet)?;
    let mut rules = Rules::new(manifest.unknown_card, manifest.day_id);
    let mut progress = common.progress("verify", "rows", Some(manifest.rows));
    for group in 0..day.footer().groups() {
        stop::check()?;
        let rows = day.read(group, &projection).in_file(parquet)?;
        rules.check(&rows).map_err(|what| {
            Failure::bad_data(what).at(format!("{}, row group {group}", parquet.display()))
        })?;
        progress.add(rows.rows() as u64);
    }
    if rules.episodes() != manifest.episodes {
        return Err(Failure::new(Exit::Unlike, "the number of episodes is not what the manifest records")
            .in_file(manifest_file)
            .found(rules.episodes(), manifest.episodes));
    }
    Ok(())
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Verified { day, rows, episodes, deep } in &self.days {
            let depth = if *deep { "every row" } else { "digests and footers" };
            writeln!(f, "ok  {}  {rows} rows of {episodes} episodes; {depth}", day.display())?;
        }
        Ok(())
    }
}
