//! `scan`: results, names and decks of archives.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use common::formats::decisions::scan::{Episode, FORMAT, RATED, Scan, VERSION, scan_path};
use common::formats::folded::set::to_json;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered, pool};
use common::process::{Action, Common, Failure, Made, Obtained, Place, stop};
use common::state::digest::Digest;
use common::state::output::write_whole;
use common::state::store::record::{self, Keep};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::archive::{Archive, Entry};
use crate::build::day_of;
use crate::cli::ScanArgs;
use crate::examine::text;
use crate::game::{Facts, Opened, Reason};

#[derive(Serialize)]
struct ScanReport {
    days: Vec<Scanned>,
}

#[derive(Serialize)]
struct Scanned {
    #[serde(serialize_with = "path_text")]
    scan: PathBuf,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Clone, Serialize, Deserialize)]
struct Counts {
    planned: bool,
    rated: u64,
    decks: usize,
    left_out: BTreeMap<String, u64>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ScanArgs) -> Result<(), Failure> {
    let mut targets = vec![];
    for archive in &args.archives {
        targets.push(scan_path(&args.output, day_of(archive)?));
    }
    let (mut report, mut scans) = (ScanReport { days: vec![] }, vec![]);
    for (archive, target) in args.archives.iter().zip(&targets) {
        stop::check()?;
        let scan = obtain(common, archive, target)?;
        report.days.push(Scanned { scan: target.clone(), counts: scan.value.clone() });
        scans.push(scan);
    }
    Obtained::emit_all(&scans, common, &report)
}

/// Scans an archive, or finds its scan in the store, and puts it into place.
fn obtain<'a>(common: &Common, archive: &Path, target: &'a Path) -> Result<Obtained<'a, Counts>, Failure> {
    let action = Action {
        parameters: record::parameters([("source_zip", json!(file_name(archive)))]),
        inputs: vec![("archive", archive.into())],
        place: Place::File(target),
        keep: Keep::Dataset,
    };
    let mut done = action.obtain(common, |at| {
        let scan = scan(common, archive)?;
        if !common.dry_run {
            write_whole(at, to_json(&scan).as_bytes()).in_file(at)?;
        }
        Ok(Made::new(Counts::of(&scan, common.dry_run), vec![at.into()]))
    })?;
    done.place(common)?;
    Ok(done)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Counts {
    fn of(scan: &Scan, planned: bool) -> Self {
        let mut left_out = BTreeMap::new();
        for episode in scan.episodes.iter().filter(|episode| episode.status != RATED) {
            *left_out.entry(episode.status.clone()).or_insert(0) += 1;
        }
        let rated = scan.episodes.len() as u64 - left_out.values().sum::<u64>();
        Self { planned, rated, decks: scan.decks.len(), left_out }
    }
}

fn scan(common: &Common, path: &Path) -> Result<Scan, Failure> {
    let date = day_of(path)?;
    let archive = Archive::open(path)?;
    let mut file = std::fs::File::open(path).in_file(path)?;
    let source_sha256 = Digest::of_file(&mut file).in_file(path)?;
    let entries: Vec<&Entry> = archive.entries().iter().filter(|entry| entry.is_episode()).collect();
    let mut progress = common.progress("scan", "episodes", Some(entries.len() as u64));
    let (mut episodes, mut decks, mut rated) = (vec![], BTreeMap::new(), HashSet::new());
    let work = |entry: &'_ &Entry| (entry.name.clone(), look(&archive, entry));
    let threads = common.threads();
    pool(threads)?.in_place_scope(|scope| {
        for (member, (facts, failed)) in ordered(scope, entries.iter(), ahead(threads, u64::MAX), &work) {
            stop::check()?;
            progress.add(1);
            let failed = match facts.id {
                Some(id) if rated.contains(&id) => Some(Reason::Duplicate),
                _ => failed,
            };
            if failed.is_none() {
                rated.extend(facts.id);
                for deck in facts.decks.iter().flatten() {
                    decks.insert(deck.hash.to_string(), deck.ascending());
                }
            }
            episodes.push(Episode {
                member,
                status: failed.map_or(RATED, |reason| reason.name()).into(),
                episode_id: facts.id,
                steps: facts.steps,
                rewards: facts.rewards,
                names: facts.names,
                decks: facts.decks.map(|decks| decks.map(|deck| deck.hash)),
            });
        }
        stop::check()
    })?;
    let source_zip = file_name(path);
    Ok(Scan { format: FORMAT.into(), version: VERSION, date, source_zip, source_sha256, episodes, decks })
}

/// What is known of an episode, and why it does not count. A draw does.
fn look(archive: &Archive, entry: &Entry) -> (Facts, Option<Reason>) {
    let mut facts = Facts::default();
    let opened = text(archive, entry, None)
        .and_then(|text| Opened::open(entry.stem(), &text, true, &mut facts).map(|_| ()));
    let reason = match opened {
        Err(reason) => Some(reason),
        Ok(()) if facts.decks.is_none() || facts.names.is_none() => {
            Some(Reason::Malformed("no two decks or names".into()))
        }
        Ok(()) => None,
    };
    (facts, reason)
}

impl fmt::Display for ScanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Scanned { scan, counts: Counts { planned, rated, decks, left_out } } in &self.days {
            let planned = if *planned { " (planned, not written)" } else { "" };
            writeln!(f, "{}{planned}: {rated} episodes with {decks} decks", scan.display())?;
            left_out.iter().try_for_each(|(reason, n)| writeln!(f, "  {n} left out: {reason}"))?;
        }
        Ok(())
    }
}
