//! `elo`: ratings by the games before a day, from scans alone, so that they exist before any day is built.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use common::formats::decisions::elo::{Game, Ratings};
use common::formats::decisions::scan::{Episode, RATED, Scan};
use common::formats::decisions::{Date, elo};
use common::formats::folded::set::to_json;
use common::process::failure::InFile;
use common::process::{Action, Common, Exit, Failure, Made, Place, stop};
use common::state::output::write_whole;
use common::state::store::record::{Keep, Parameters};
use serde::{Deserialize, Serialize};

use crate::cli::EloArgs;

/// What of a snapshot is counted; nothing that names the day, which decides only which scans are read.
#[derive(Serialize, Deserialize)]
struct EloReport {
    scans: usize,
    games: u64,
    /// Episodes that count already, on an earlier day.
    duplicates: u64,
    agents: usize,
    decks: usize,
    cards: usize,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &EloArgs) -> Result<(), Failure> {
    let scans = scans_before(&args.scans, args.before)?;
    let action = Action {
        parameters: Parameters::new(),
        inputs: scans.iter().map(|(_, path)| ("scan", path.clone())).collect(),
        place: Place::File(&args.output),
        keep: Keep::Dataset,
    };
    let mut done = action.obtain(common, |at| {
        let (report, snapshot) = rate(&scans)?;
        if !common.dry_run {
            write_whole(at, to_json(&snapshot).as_bytes()).in_file(at)?;
        }
        Ok(Made::new(report, vec![at.into()]))
    })?;
    done.place(common)?;
    done.emit(common, &done.value)
}

/// Scans of earlier days, in order. A folder without any scan is a mistake; one without earlier ones is not.
fn scans_before(folder: &Path, before: Date) -> Result<Vec<(Date, PathBuf)>, Failure> {
    let mut scans = vec![];
    for entry in std::fs::read_dir(folder).in_file(folder)? {
        let path = entry.in_file(folder)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let date = name.strip_suffix(".scan.json").and_then(|stem| stem.parse::<Date>().ok());
        scans.extend(date.map(|date| (date, path.clone())));
    }
    if scans.is_empty() {
        return Err(Failure::new(Exit::Missing, "there is no DATE.scan.json")
            .in_file(folder)
            .hint("`day-build scan ZIP... -o DIR` writes one a day"));
    }
    scans.retain(|(date, _)| *date < before);
    scans.sort();
    Ok(scans)
}

fn rate(scans: &[(Date, PathBuf)]) -> Result<(EloReport, elo::Snapshot), Failure> {
    let (mut ratings, mut seen) = (Ratings::default(), HashSet::new());
    let (mut games, mut duplicates) = (0, 0);
    for (date, path) in scans {
        stop::check()?;
        let scan = Scan::read(path).in_file(path)?;
        if scan.date != *date {
            return Err(Failure::bad_data("the scan is of another day").in_file(path).found(scan.date, date));
        }
        let mut episodes = rated(&scan).map_err(|what| Failure::bad_data(what).in_file(path))?;
        episodes.sort_by_key(|(id, _)| *id);
        for (hash, cards) in &scan.decks {
            ratings.know_deck(hash, cards.iter().copied());
        }
        for (id, game) in episodes {
            if seen.insert(id) {
                ratings.play(&game);
                games += 1;
            } else {
                duplicates += 1;
            }
        }
    }
    let snapshot = ratings.snapshot();
    let (agents, decks, cards) = (snapshot.agents.len(), snapshot.decks.len(), snapshot.cards.len());
    Ok((EloReport { scans: scans.len(), games, duplicates, agents, decks, cards }, snapshot))
}

/// Games of a scan, by their episodes.
fn rated(scan: &Scan) -> Result<Vec<(i64, Game<'_>)>, String> {
    let lacks = |episode: &Episode| format!("{:?} lacks its id, rewards, names or decks", episode.member);
    let rated = scan.episodes.iter().filter(|episode| episode.status == RATED);
    rated.map(|episode| game(scan, episode).ok_or_else(|| lacks(episode))).collect()
}

fn game<'a>(scan: &Scan, episode: &'a Episode) -> Option<(i64, Game<'a>)> {
    let game = Game {
        rewards: episode.rewards?,
        names: episode.names.as_ref()?.each_ref().map(String::as_str),
        decks: episode.decks.as_ref()?.each_ref().map(|deck| deck.as_str()),
    };
    let known = game.decks.iter().all(|deck| scan.decks.contains_key(*deck));
    known.then_some((episode.episode_id?, game))
}

impl fmt::Display for EloReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scans, games, duplicates, agents, decks, cards } = self;
        writeln!(f, "{games} games of {scans} days: {agents} agents, {decks} decks, {cards} cards")?;
        if *duplicates > 0 {
            writeln!(f, "  {duplicates} episodes count already, on an earlier day")?;
        }
        Ok(())
    }
}
