//! `verify`: the files are held to the catalog, which is left as it is.

use std::fmt;
use std::path::Path;

use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, conclude, stop};
use common::state::catalog::{Catalog, DayRow, SetRow, State};
use common::state::output::folder_of;
use serde::Serialize;

use crate::cli::VerifyArgs;
use crate::discover::Place;
use crate::look::{is_as_recorded, is_day_as_recorded, look, look_at_day};

#[derive(Serialize, Default)]
struct VerifyReport {
    /// Sets and days that are as recorded.
    ok: u64,
    /// Those that are not, and why.
    unlike: Vec<Unlike>,
    #[serde(skip)]
    first: Option<Failure>,
}

#[derive(Serialize)]
struct Unlike {
    path: String,
    error: String,
}

/// Runs the verb. What the catalog records as missing or damaged is passed over.
pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let catalog = Catalog::open(path).in_file(path)?;
    let (mut sets, mut days) = (catalog.sets().in_file(path)?, catalog.days().in_file(path)?);
    sets.retain(|set| set.state == State::Present);
    days.retain(|day| day.state == State::Present);
    let mut progress = common.progress("verify", "sets and days", Some((sets.len() + days.len()) as u64));
    let mut report = VerifyReport::default();
    for set in &sets {
        stop::check()?;
        progress.add(1);
        report.add(&set.path, verify_set(set, args.deep));
    }
    for day in &days {
        stop::check()?;
        progress.add(1);
        report.add(&day.path, verify_day(day, args.deep));
    }
    drop(progress);
    let first = report.first.take();
    conclude(common, &report, first)
}

impl VerifyReport {
    fn add(&mut self, path: &str, verified: Result<(), Failure>) {
        match verified {
            Ok(()) => self.ok += 1,
            Err(failure) => {
                self.unlike.push(Unlike { path: path.into(), error: failure.to_string() });
                self.first.get_or_insert(failure);
            }
        }
    }
}

fn verify_set(set: &SetRow, deep: bool) -> Result<(), Failure> {
    if !deep && is_as_recorded(set) {
        return Ok(());
    }
    let found = look(Path::new(&set.path))?;
    let digests = |set: &SetRow| set.shards.iter().map(|shard| shard.sha256.clone()).collect::<Vec<_>>();
    if digests(&found) == digests(set) && found.conventions == set.conventions {
        return Ok(());
    }
    let text = |set: &SetRow| format!("{} rows of {} records", set.rows, set.records);
    Err(unlike("set", &set.path).found(text(&found), text(set)))
}

fn verify_day(day: &DayRow, deep: bool) -> Result<(), Failure> {
    if !deep && is_day_as_recorded(day) {
        return Ok(());
    }
    let folder = folder_of(Path::new(&day.path)).to_path_buf();
    let (found, _) = look_at_day(&Place { date: day.date, folder })?;
    if found.sha256 == day.sha256 {
        return Ok(());
    }
    Err(unlike("day", &day.path).found(&found.sha256, &day.sha256))
}

fn unlike(kind: &str, path: &str) -> Failure {
    Failure::new(Exit::Unlike, format!("the {kind} is not the one that the catalog records"))
        .at(path)
        .hint("`catalog-sync sync` records it as it is now")
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} sets and days are as recorded, {} are not", self.ok, self.unlike.len())?;
        self.unlike.iter().try_for_each(|unlike| writeln!(f, "{}", unlike.error.trim_end()))
    }
}
