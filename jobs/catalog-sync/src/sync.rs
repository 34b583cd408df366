//! `sync`: the sets below folders into the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, emit, stop};
use common::state::catalog::{Catalog, SetRow, State};
use common::state::output::folder_of;
use serde::Serialize;

use crate::cli::SyncArgs;
use crate::discover::{Found, discover};
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
    std::fs::create_dir_all(folder_of(path)).in_file(path)?;
    let mut catalog = Catalog::create(path).in_file(path)?;
    let known: BTreeMap<String, SetRow> =
        catalog.sets().in_file(path)?.into_iter().map(|set| (set.path.clone(), set)).collect();
    let (mut report, mut seen, mut failures) = (SyncReport::default(), BTreeSet::new(), vec![]);
    for folder in &args.folders {
        let folder = folder.canonicalize().in_file(folder)?;
        let found = discover(&folder)?;
        let mut progress = common.progress("sync", "sets", Some(found.sets.len() as u64));
        for set_path in &found.sets {
            stop::check()?;
            progress.add(1);
            let name = text(set_path);
            let recorded = known.get(&name);
            seen.insert(name.clone());
            if recorded.is_some_and(|set| set.state == State::Present && !args.deep && is_as_recorded(set)) {
                report.unchanged += 1;
                continue;
            }
            match look(set_path) {
                Ok(set) if recorded == Some(&set) => report.unchanged += 1,
                Ok(set) => {
                    if !common.dry_run {
                        catalog.put_set(&set).in_file(path)?;
                    }
                    *(if recorded.is_some() { &mut report.updated } else { &mut report.added }) += 1;
                }
                Err(failure) => {
                    let state = if failure.exit() == Exit::Missing { State::Missing } else { State::Damaged };
                    if !common.dry_run {
                        catalog.mark_set(&name, state).in_file(path)?;
                    }
                    report.leave_out(name, &failure);
                    failures.push(failure);
                }
            }
        }
        failures.extend(strays(&found, &mut report));
        let below = |name: &str| std::path::Path::new(name).starts_with(&folder);
        for name in known.keys().filter(|name| below(name) && !seen.contains(*name)) {
            let gone = common.dry_run || catalog.mark_set(name, State::Missing).in_file(path)?;
            report.missing += u64::from(gone);
        }
    }
    emit(common, &report)?;
    let left_out = report.left_out.len();
    match failures.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(Failure::bad_data(format!(
            "{left_out} files are left out of the catalog; the first: {first}"
        ))
        .in_file(path)
        .hint("the rest is synced")),
    }
}

/// Shards that no set names.
fn strays(found: &Found, report: &mut SyncReport) -> Vec<Failure> {
    let named: BTreeSet<_> = found
        .sets
        .iter()
        .filter_map(|path| Some((path, common::formats::folded::Set::read(path).ok()?)))
        .flat_map(|(path, set)| set.shards.into_iter().map(move |shard| folder_of(path).join(shard.file)))
        .collect();
    let stray = |path: &std::path::PathBuf| {
        let failure = Failure::bad_data("no set names this shard").in_file(path);
        report.leave_out(text(path), &failure);
        failure
    };
    found.shards.iter().filter(|path| !named.contains(*path)).map(stray).collect()
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
