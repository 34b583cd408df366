//! `scan`: results, names and decks of archives.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use common::formats::decisions::scan::{Episode, FORMAT, RATED, Scan, VERSION, scan_path};
use common::formats::folded::set::to_json;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered, pool};
use common::process::{Common, Failure, emit, stop};
use common::state::digest::Digest;
use common::state::output::write_whole;
use serde::Serialize;

use crate::archive::{Archive, Entry};
use crate::build::day_of;
use crate::cli::ScanArgs;
use crate::examine::text;
use crate::game::{Deck, Facts, Opened, Reason};

#[derive(Serialize)]
struct ScanReport {
    days: Vec<Scanned>,
}

#[derive(Serialize)]
struct Scanned {
    #[serde(serialize_with = "path_text")]
    scan: PathBuf,
    planned: bool,
    rated: u64,
    decks: usize,
    left_out: BTreeMap<String, u64>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ScanArgs) -> Result<(), Failure> {
    let mut report = ScanReport { days: vec![] };
    for archive in &args.archives {
        stop::check()?;
        let scan = scan(common, archive)?;
        let path = scan_path(&args.output, scan.date);
        if !common.dry_run {
            write_whole(&path, to_json(&scan).as_bytes()).in_file(&path)?;
        }
        let mut left_out = BTreeMap::new();
        for episode in scan.episodes.iter().filter(|episode| episode.status != RATED) {
            *left_out.entry(episode.status.clone()).or_insert(0) += 1;
        }
        let rated = scan.episodes.len() as u64 - left_out.values().sum::<u64>();
        let decks = scan.decks.len();
        report.days.push(Scanned { scan: path, planned: common.dry_run, rated, decks, left_out });
    }
    emit(common, &report)
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
                for Deck { cards, hash } in facts.decks.iter().flatten() {
                    let mut cards = cards.clone();
                    cards.sort_unstable();
                    decks.insert(hash.to_string(), cards);
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
    let source_zip = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
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
        for Scanned { scan, planned, rated, decks, left_out } in &self.days {
            let planned = if *planned { " (planned, not written)" } else { "" };
            writeln!(f, "{}{planned}: {rated} episodes with {decks} decks", scan.display())?;
            left_out.iter().try_for_each(|(reason, n)| writeln!(f, "  {n} left out: {reason}"))?;
        }
        Ok(())
    }
}
