//! `verify`: a day is held to its manifest, and every row to the rules.

use std::fmt;
use std::path::PathBuf;

use common::formats::decisions::check_day;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, emit, stop};
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
        check_day(&file.parquet, &file.manifest).in_file(&file.parquet)?;
        if deep {
            check_rows(common, &file)?;
        }
        let (rows, episodes) = (file.manifest.rows, file.manifest.episodes);
        report.days.push(Verified { day: file.parquet, rows, episodes, deep });
    }
    emit(common, &report)
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
