//! `sync`: the sets below folders into the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use common::formats::folded::Set;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, conclude, stop};
use common::state::catalog::{Catalog, CatalogError, SetRow, ShardRow, State};
use common::state::output::folder_of;
use serde::Serialize;

use crate::cli::SyncArgs;
use crate::discover::discover;
use crate::look::{is_as_recorded, look, text};

#[derive(Serialize, Default)]
struct SyncReport {
    /// Sets that are recorded now, and were not before.
    added: u64,
    /// Sets that were recorded otherwise.
    updated: u64,
    /// Sets that are as recorded.
    unchanged: u64,
    /// Sets that were recorded below these folders, and are gone.
    missing: u64,
    /// What was left out, and why.
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct LeftOut {
    path: String,
    error: String,
}

/// Runs the verb. A set that fails its check is left out and the rest is synced; the exit code says so.
pub(crate) fn run(common: &Common, args: &SyncArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let mut catalog = open(path, common.dry_run)?;
    let sets = catalog.as_ref().map_or(Ok(vec![]), Catalog::sets).in_file(path)?;
    let owned = |set: &SetRow| {
        let (owner, shards) = (set.path.clone(), set.shards.clone());
        shards.into_iter().map(move |shard| (shard.path, owner.clone()))
    };
    let owners = sets.iter().flat_map(owned).collect();
    let known = sets.into_iter().map(|set| (set.path.clone(), set)).collect();
    let (report, seen, named) = (SyncReport::default(), BTreeSet::new(), BTreeSet::new());
    let mut sync = Sync { common, args, catalog: &mut catalog, known: &known, report, owners, seen, named };
    for folder in &args.folders {
        sync.folder(&folder.canonicalize().in_file(folder)?)?;
    }
    let report = sync.report;
    let failure = report.left_out.first().map(|first| {
        let n = report.left_out.len();
        let what = format!("{n} files are left out of the catalog; the first: {}", first.error);
        Failure::bad_data(what).in_file(path).hint("the rest is synced")
    });
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
    catalog: &'a mut Option<Catalog>,
    /// What was recorded before, by path.
    known: &'a BTreeMap<String, SetRow>,
    report: SyncReport,
    /// The set that each recorded shard belongs to.
    owners: BTreeMap<String, String>,
    /// Sets that were looked at, also below another of the folders.
    seen: BTreeSet<String>,
    /// Shards that they name.
    named: BTreeSet<String>,
}

impl Sync<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let found = discover(folder)?;
        let mut progress = self.common.progress("sync", "sets", Some(found.sets.len() as u64));
        for path in &found.sets {
            stop::check()?;
            if self.seen.insert(text(path)) {
                self.set(path)?;
            }
            progress.add(1);
        }
        for (path, failure) in &found.left_out {
            self.report.leave_out(text(path), failure);
        }
        for path in &found.shards {
            if !self.named.insert(text(path)) {
                continue;
            }
            self.report.leave_out(text(path), &Failure::bad_data("no set names this shard").in_file(path));
        }
        let below = |name: &&String| Path::new(name).starts_with(folder);
        for name in self.known.keys().filter(below) {
            // what was not looked at may be there all the same: below a hidden folder, or an unreadable one
            if !matches!(Path::new(name).try_exists(), Ok(false)) || !self.seen.insert(name.clone()) {
                continue;
            }
            self.report.missing += u64::from(self.mark(name, State::Missing)?);
        }
        Ok(())
    }

    /// Brings one set up to date.
    fn set(&mut self, path: &Path) -> Result<(), Failure> {
        let name = text(path);
        let recorded = self.known.get(&name);
        let usable = recorded.filter(|set| set.state == State::Present && !self.args.deep);
        if let Some(set) = usable.filter(|set| is_as_recorded(set)) {
            self.named.extend(set.shards.iter().map(|shard| shard.path.clone()));
            self.report.unchanged += 1;
            return Ok(());
        }
        match look(path).and_then(|set| self.alone(set)) {
            Ok(set) => {
                self.named.extend(set.shards.iter().map(|shard| shard.path.clone()));
                let count = match recorded {
                    None => &mut self.report.added,
                    Some(recorded) if *recorded == set => &mut self.report.unchanged,
                    Some(_) => &mut self.report.updated,
                };
                *count += 1;
                if recorded != Some(&set) && !self.common.dry_run {
                    let put = self.catalog.as_mut().map_or(Ok(()), |catalog| catalog.put_set(&set));
                    put.in_file(&self.args.catalog.catalog)?;
                }
            }
            Err(failure) => {
                if let Ok(set) = Set::read(path) {
                    self.named
                        .extend(set.shards.iter().map(|shard| text(&folder_of(path).join(&shard.file))));
                }
                match failure.exit() {
                    Exit::Missing => self.mark(&name, State::Missing)?,
                    Exit::BadData | Exit::Unlike => self.mark(&name, State::Damaged)?,
                    _ => false,
                };
                self.report.leave_out(name, &failure);
            }
        }
        Ok(())
    }

    /// Refuses a set that names a shard of another set that is there: every file is recorded once.
    fn alone(&self, set: SetRow) -> Result<SetRow, Failure> {
        let taken = |shard: &ShardRow| {
            let owner = self.owners.get(&shard.path).filter(|owner| **owner != set.path);
            self.named.contains(&shard.path) || owner.is_some_and(|owner| Path::new(owner).exists())
        };
        match set.shards.iter().find(|shard| taken(shard)) {
            Some(shard) => Err(Failure::usage("another set names this shard too").at(&shard.path)),
            None => Ok(set),
        }
    }

    /// Marks a set; says whether it was not marked before.
    fn mark(&mut self, name: &str, state: State) -> Result<bool, Failure> {
        if self.common.dry_run {
            return Ok(self.known.get(name).is_some_and(|set| set.state != state));
        }
        let marked = self.catalog.as_mut().map_or(Ok(false), |catalog| catalog.mark_set(name, state));
        marked.in_file(&self.args.catalog.catalog)
    }
}

impl SyncReport {
    fn leave_out(&mut self, path: String, failure: &Failure) {
        tracing::warn!("left out: {path}");
        self.left_out.push(LeftOut { path, error: failure.to_string() });
    }
}

impl fmt::Display for SyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, updated, unchanged, missing, left_out } = self;
        writeln!(
            f,
            "{added} added, {updated} updated, {unchanged} unchanged, {missing} missing, {} left out",
            left_out.len()
        )?;
        left_out.iter().try_for_each(|file| writeln!(f, "{}", file.error.trim_end()))
    }
}
