//! The look-ahead with the real engine, on real games. Needs what is not part of this project:
//!
//! ```text
//! FOLDLINE_TEST_ENGINE=WHEEL FOLDLINE_TEST_REPLAYS=DIR cargo test --release --test suite -- --ignored engine_real
//! ```
//!
//! `WHEEL` is that of kaggle-environments 1.33.2, `DIR` holds archives of replays.

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use day_build::engine::{Counts, Decision, Engine, Features, LookAhead, Trust, Version};
use serde_json::Value;

const DETERMINISATIONS: u32 = 8;

/// Type of an option that is an attack.
const ATTACK: i64 = 13;

/// A decision with an attack among its options.
struct Case {
    episode: i64,
    version: Option<Version>,
    step: u32,
    side: u8,
    observation: Value,
    attacks: Vec<usize>,
    deck: Vec<i32>,
    /// What was answered.
    answer: Vec<usize>,
    /// What was seen first when the turn was over, or last.
    after: Value,
}

impl Case {
    fn look(&self, look: &mut LookAhead) -> Vec<Option<Features>> {
        let Self { episode, version, step, side, observation, attacks, deck, .. } = self;
        let (episode, version, step, side) = (*episode, *version, *step, *side);
        let observation = &observation.to_string();
        look.look(&Decision { episode, version, step, side, observation, attacks, deck, revealed: &[] })
    }

    /// Whether the opponent has lost a Pokémon in this turn.
    fn is_ko(&self) -> bool {
        let opponent =
            |observation: &Value| observation["current"]["players"][usize::from(1 - self.side)].clone();
        let serials = |cards: &Value| -> Vec<i64> {
            cards.as_array().unwrap().iter().filter_map(|card| card["serial"].as_i64()).collect()
        };
        let (before, after) = (opponent(&self.observation), opponent(&self.after));
        let gone = serials(&after["discard"]);
        [&before["active"], &before["bench"]]
            .into_iter()
            .flat_map(serials)
            .any(|serial| gone.contains(&serial))
    }
}

fn engine() -> Engine {
    let package = std::env::var_os("FOLDLINE_TEST_ENGINE").expect("FOLDLINE_TEST_ENGINE names the engine");
    Engine::open(&PathBuf::from(package), Trust::Known).unwrap().with_worker(env!("CARGO_BIN_EXE_job"))
}

/// All decisions with attacks, of an archive.
fn cases(archive: &str) -> Vec<Case> {
    let folder = std::env::var_os("FOLDLINE_TEST_REPLAYS").expect("FOLDLINE_TEST_REPLAYS names a folder");
    let mut archive = zip::ZipArchive::new(File::open(PathBuf::from(folder).join(archive)).unwrap()).unwrap();
    let mut cases = vec![];
    for index in 0..archive.len() {
        let member = archive.by_index(index).unwrap();
        let episode = member.name().unwrap().trim_end_matches(".json").parse().unwrap();
        cases.extend(cases_of(episode, &serde_json::from_reader(member).unwrap()));
    }
    cases
}

fn cases_of(episode: i64, replay: &Value) -> Vec<Case> {
    let version = Version::of(replay["configuration"]["version"].as_i64());
    let steps = replay["steps"].as_array().unwrap();
    let is_fresh = |entry: &&Value| entry["status"] == "ACTIVE" && !entry["observation"]["select"].is_null();
    let turn = |observation: &Value| observation["current"]["turn"].as_i64();
    let mut cases = vec![];
    for (step, sides) in steps.iter().enumerate().skip(1) {
        let later = || steps[step + 1..].iter().flat_map(|sides| sides.as_array().unwrap()).filter(is_fresh);
        for (side, entry) in sides.as_array().unwrap().iter().enumerate().filter(|(_, entry)| is_fresh(entry))
        {
            let observation = &entry["observation"];
            let options = observation["select"]["option"].as_array().unwrap().iter().enumerate();
            let attacks: Vec<usize> =
                options.filter(|(_, option)| option["type"] == ATTACK).map(|(index, _)| index).collect();
            let is_over = |entry: &&Value| turn(&entry["observation"]) > turn(observation);
            let after = later()
                .find(is_over)
                .or_else(|| later().next_back())
                .map_or(&Value::Null, |entry| &entry["observation"]);
            let answer = serde_json::from_value(
                steps.get(step + 1).map_or(Value::Null, |next| next[side]["action"].clone()),
            );
            if !attacks.is_empty() {
                cases.push(Case {
                    episode,
                    version,
                    step: step as u32,
                    side: side as u8,
                    observation: observation.clone(),
                    attacks,
                    deck: serde_json::from_value(steps[1][side]["action"].clone()).unwrap(),
                    answer: answer.unwrap_or_default(),
                    after: after.clone(),
                });
            }
        }
    }
    cases
}

/// Features of all cases, in the order that they are asked for.
fn look<'a>(cases: impl IntoIterator<Item = &'a Case>) -> (Vec<Vec<Option<Features>>>, Counts) {
    let mut look = LookAhead::start(&engine(), DETERMINISATIONS);
    let features = cases.into_iter().map(|case| case.look(&mut look)).collect();
    (features, look.take_counts())
}

/// Attacks that were chosen: features, and whether a Pokémon of the opponent was gone when the turn was over.
fn chosen<'a>(
    cases: &'a [Case],
    features: &'a [Vec<Option<Features>>],
) -> impl Iterator<Item = (Features, bool)> {
    cases.iter().zip(features).filter_map(|(case, features)| {
        let attack = case.attacks.iter().position(|attack| case.answer == [*attack])?;
        let features = features[attack]?;
        (!case.after.is_null()).then(|| (features, case.is_ko()))
    })
}

const VERSION_1: [&str; 3] = ["2026-06-20.zip", "2026-11-20.zip", "2026-11-21.zip"];
const VERSION_2: &str = "2026-11-23.zip";

fn all(archives: &[&str]) -> Vec<Case> {
    archives.iter().flat_map(|archive| cases(archive)).collect()
}

/// The figures that this way of looking ahead is held to. `zero_results` depends on how the cards are dealt.
#[test]
#[ignore = "needs the engine and replays"]
fn real_games_give_what_was_measured() {
    for (archives, eligible, zero_results) in [(&VERSION_1[..], 2578, 1723), (&[VERSION_2], 443, 333)] {
        let cases = all(archives);
        let start = Instant::now();
        let (features, counts) = look(&cases);
        println!("{} decisions, {:?} each", cases.len(), start.elapsed() / cases.len() as u32);
        let trials = eligible * u64::from(DETERMINISATIONS);
        let Counts { computed, skipped, valid_trials, failed_trials, .. } = &counts;
        assert_eq!((counts.eligible, *computed, *skipped, *valid_trials), (eligible, eligible, 0, trials));
        assert_eq!((counts.zero_results, failed_trials.total()), (zero_results, 0));
        // the order does not count, nor does who asks
        let (mut again, _) = look(cases.iter().rev());
        again.reverse();
        assert_eq!(again, features);
        let in_range = |feature: &f32| (0.0..=1.0).contains(feature);
        assert!(features.iter().flatten().flatten().flatten().all(in_range));
    }
}

/// What was foreseen is what came. A rate between is an attack that asks chance.
#[test]
#[ignore = "needs the engine and replays"]
fn attacks_do_what_was_foreseen() {
    let cases = all(&VERSION_1);
    let (features, _) = look(&cases);
    let (mut never, mut sometimes, mut always) = ([0, 0], [0, 0], [0, 0]);
    for ([rate, ..], is_ko) in chosen(&cases, &features) {
        let counts = match rate {
            0.0 => &mut never,
            1.0 => &mut always,
            _ => &mut sometimes,
        };
        counts[usize::from(is_ko)] += 1;
    }
    println!("[no KO, KO] by rate: 0 {never:?}, between {sometimes:?}, 1 {always:?}");
    assert!(never[0] > 400 && always[1] > 300);
    // an attack may fail by a coin that our few trials did not see fall so
    assert!(never[1] == 0 && always[0] <= 5);
}

/// A record that is damaged, or of the other version, costs its own decision or episode, and no other.
#[test]
#[ignore = "needs the engine and replays"]
fn damage_costs_its_own_episode() {
    let cases = all(&VERSION_1[1..2]);
    let (features, _) = look(&cases);
    let episodes = [cases[0].episode + 3, cases[0].episode + 7];
    let mut damaged = all(&VERSION_1[1..2]);
    for (number, case) in damaged.iter_mut().enumerate().filter(|(_, case)| episodes.contains(&case.episode))
    {
        if case.episode == episodes[0] {
            case.version = Some(Version::V2);
        } else {
            let mut record = case.observation["search_begin_input"].as_str().unwrap().to_owned();
            let place = record.len() * (1 + number % 7) / 9;
            record.replace_range(place..place + 3, "zA9");
            case.observation["search_begin_input"] = record.into();
        }
    }
    let (found, counts) = look(&damaged);
    println!("{counts:?}");
    for ((case, found), expected) in cases.iter().zip(&found).zip(&features) {
        assert!(found == expected || episodes.contains(&case.episode), "{}", case.episode);
    }
    assert!(counts.skipped > 0 && !counts.reproducible());
    let tried = counts.valid_trials + counts.failed_trials.total();
    assert_eq!(tried, (counts.eligible - counts.skipped) * u64::from(DETERMINISATIONS));
}

/// A worker needs no more memory after many trials than after a few.
#[test]
#[ignore = "needs the engine and replays"]
#[cfg(target_os = "linux")]
fn memory_stays() {
    let cases = all(&VERSION_1[..2]);
    let mut look = LookAhead::start(&engine(), DETERMINISATIONS);
    let mut passes = (0..4).map(|_| {
        cases.iter().for_each(|case| _ = case.look(&mut look));
        resident(&look)
    });
    let first = passes.next().unwrap();
    let last = passes.last().unwrap();
    println!("{first} kB after a pass, {last} kB after four");
    assert!(last <= first + 256);
    assert!(look.take_counts().valid_trials > 20_000);
}

/// kB of memory that the workers of a look-ahead take.
#[cfg(target_os = "linux")]
fn resident(look: &LookAhead) -> u64 {
    let of = |worker: u32| {
        let status = fs_err::read_to_string(format!("/proc/{worker}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    look.workers().map(of).sum()
}
