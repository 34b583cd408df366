//! `sync`: the sets and days below folders into the catalog.

mod days;
mod sets;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use common::formats::decisions::Date;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, conclude, stop};
use common::state::catalog::{Catalog, CatalogError, State};
use common::state::output::folder_of;
use serde::Serialize;

use crate::cli::SyncArgs;
use crate::discover::discover;
use crate::look::text;

#[derive(Serialize, Default)]
struct SyncReport {
    /// Sets and days that are recorded now, and were not before.
    added: u64,
    /// Those that were recorded otherwise.
    updated: u64,
    /// Those that are as recorded.
    unchanged: u64,
    /// Those that were recorded below these folders, and are gone.
    missing: u64,
    /// Days some of whose episodes stand in the file of another day too, and are read from there.
    elsewhere: Vec<Elsewhere>,
    /// What was left out, and why.
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct Elsewhere {
    date: Date,
    episodes: u64,
}

#[derive(Serialize)]
struct LeftOut {
    path: String,
    error: String,
    #[serde(skip)]
    exit: Exit,
}

/// Runs the verb. What fails its check is left out and the rest is synced; the exit code says so.
pub(crate) fn run(common: &Common, args: &SyncArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let catalog = open(path, common.dry_run)?;
    let sets = sets::Known::read(catalog.as_ref()).in_file(path)?;
    let days = days::Known::read(catalog.as_ref()).in_file(path)?;
    let report = SyncReport::default();
    let mut sync = Sync { common, args, catalog, report, seen: BTreeSet::new(), sets, days };
    for folder in &args.folders {
        sync.folder(&folder.canonicalize().in_file(folder)?)?;
    }
    sync.tell_elsewhere()?;
    let report = sync.report;
    let failure = report.failure(path);
    conclude(common, &report, failure)
}

/// The catalog to write to. A dry run only reads it, and makes none.
fn open(path: &Path, dry_run: bool) -> Result<Option<Catalog>, Failure> {
    if !dry_run {
        std::fs::create_dir_all(folder_of(path)).in_file(path)?;
        return Catalog::create(path).in_file(path).map(Some);
    }
    match Catalog::open(path) {
        Err(CatalogError::Missing) => Ok(None),
        catalog => catalog.in_file(path).map(Some),
    }
}

/// A sync under way.
struct Sync<'a> {
    common: &'a Common,
    args: &'a SyncArgs,
    /// None where a dry run found none.
    catalog: Option<Catalog>,
    report: SyncReport,
    /// Sets and days that were looked at, also below another of the folders.
    seen: BTreeSet<String>,
    sets: sets::Known,
    days: days::Known,
}

impl Sync<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let found = discover(folder)?;
        let total = found.sets.len() + found.days.len();
        let mut progress = self.common.progress("sync", "sets and days", Some(total as u64));
        for path in &found.sets {
            stop::check()?;
            if self.seen.insert(text(path)) {
                self.set(path)?;
            }
            progress.add(1);
        }
        for place in &found.days {
            stop::check()?;
            if self.seen.insert(text(&place.parquet())) {
                self.day(place)?;
            }
            progress.add(1);
        }
        for (path, failure) in &found.left_out {
            self.report.leave_out(text(path), failure);
        }
        self.unnamed_shards(&found.shards);
        self.unnamed_days(&found.unnamed_days)?;
        self.gone(folder)
    }

    /// Marks what was recorded below a folder and is not there.
    fn gone(&mut self, folder: &Path) -> Result<(), Failure> {
        let known = self.sets.paths().chain(self.days.paths());
        let below = known.filter(|name| Path::new(name).starts_with(folder));
        // what was not looked at may be there all the same: below a hidden folder, or an unreadable one
        let gone = below.filter(|name| matches!(Path::new(name).try_exists(), Ok(false)));
        for name in gone.cloned().collect::<Vec<_>>() {
            if self.seen.insert(name.clone()) {
                self.report.missing += u64::from(self.mark(&name, State::Missing)?);
            }
        }
        Ok(())
    }

    /// Marks a set or a day; says whether it was not marked before.
    fn mark(&mut self, name: &str, state: State) -> Result<bool, Failure> {
        if self.common.dry_run {
            let known = self.sets.state(name).or_else(|| self.days.state(name));
            return Ok(known.is_some_and(|known| known != state));
        }
        let Some(catalog) = &mut self.catalog else { return Ok(false) };
        let marked = catalog.mark_set(name, state).and_then(|set| Ok(set | catalog.mark_day(name, state)?));
        marked.in_file(&self.args.catalog.catalog)
    }

    /// Marks what a check refused, and reports it.
    fn refuse(&mut self, name: String, failure: &Failure) -> Result<(), Failure> {
        match failure.exit() {
            Exit::Missing => self.mark(&name, State::Missing)?,
            Exit::BadData | Exit::Unlike => self.mark(&name, State::Damaged)?,
            _ => false,
        };
        self.report.leave_out(name, failure);
        Ok(())
    }
}

impl SyncReport {
    fn leave_out(&mut self, path: String, failure: &Failure) {
        tracing::warn!("left out: {path}");
        self.left_out.push(LeftOut { path, error: failure.to_string(), exit: failure.exit() });
    }

    /// Exit code 4 where nothing is wrong with the files but that they do not go together.
    fn failure(&self, catalog: &Path) -> Option<Failure> {
        let first = self.left_out.iter().find(|file| file.exit != Exit::Mixed);
        let (first, exit) = match first {
            Some(first) => (first, Exit::BadData),
            None => (self.left_out.first()?, Exit::Mixed),
        };
        let n = self.left_out.len();
        let what = format!("{n} files are left out of the catalog; the first: {}", first.error);
        Some(Failure::new(exit, what).in_file(catalog).hint("the rest is synced"))
    }
}

impl fmt::Display for SyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, updated, unchanged, missing, elsewhere, left_out } = self;
        writeln!(
            f,
            "{added} added, {updated} updated, {unchanged} unchanged, {missing} missing, {} left out",
            left_out.len()
        )?;
        for Elsewhere { date, episodes } in elsewhere {
            writeln!(f, "{date}: {episodes} episodes are read from the file of another day")?;
        }
        left_out.iter().try_for_each(|file| writeln!(f, "{}", file.error.trim_end()))
    }
}
