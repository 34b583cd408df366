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

use day_build::engine::view::Observation;
use day_build::engine::{Counts, Decision, Engine, Features, LookAhead, Trust, Version};
use serde_json::Value;

const DETERMINISATIONS: u32 = 8;

/// A decision with an attack among its options.
struct Case {
    episode: i64,
    version: Option<Version>,
    step: u32,
    side: u8,
    state: String,
    observation: Observation,
    deck: Vec<i32>,
    /// What was answered.
    answer: Vec<u64>,
    /// What was seen first when the turn was over.
    after: Option<Observation>,
}

impl Case {
    fn decision(&self) -> Decision<'_> {
        let Self { episode, version, step, side, state, observation, deck, .. } = self;
        let (episode, version, step, side) = (*episode, *version, *step, *side);
        Decision { episode, version, step, side, state, observation, deck, revealed: &[] }
    }

    /// Whether the opponent has lost a Pokémon in this turn.
    fn is_ko(&self) -> Option<bool> {
        let opponent = |observation: &Observation| {
            let current = observation.current.as_ref()?;
            Some(current.players[usize::from(1 - self.side)].clone())
        };
        let (before, after) = (opponent(&self.observation)?, opponent(self.after.as_ref()?)?);
        let targets = before.active.iter().flatten().chain(&before.bench).map(|pokemon| pokemon.serial);
        Some(targets.into_iter().any(|serial| after.discard.iter().any(|card| card.serial == serial)))
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
    let turn = |entry: &Value| entry["observation"]["current"]["turn"].as_i64();
    let after = |step: usize, now: Option<i64>| {
        let is_over = |entry: &&Value| {
            let ended = entry["observation"]["current"]["result"].as_i64().is_some_and(|result| result >= 0);
            ended || entry["status"] == "ACTIVE" && turn(entry) > now
        };
        let mut entries = steps[step + 1..].iter().flat_map(|sides| sides.as_array().unwrap());
        let entry = entries.find(is_over)?;
        serde_json::from_value(entry["observation"].clone()).ok()
    };
    let mut cases = vec![];
    for (step, sides) in steps.iter().enumerate().skip(1) {
        for side in 0..2u8 {
            let entry = &sides[usize::from(side)];
            let observed = &entry["observation"];
            if entry["status"] != "ACTIVE" || observed["select"].is_null() {
                continue;
            }
            let observation: Observation = serde_json::from_value(observed.clone()).unwrap();
            if observation.attacks().next().is_none() {
                continue;
            }
            let numbers = |action: &Value| serde_json::from_value(action.clone()).unwrap_or_default();
            let deck: Vec<u64> = numbers(&steps[1][usize::from(side)]["action"]);
            cases.push(Case {
                episode,
                version,
                step: step as u32,
                side,
                state: observed["search_begin_input"].as_str().unwrap().to_owned(),
                observation,
                deck: deck.into_iter().map(|id| id as i32).collect(),
                answer: steps
                    .get(step + 1)
                    .map(|next| numbers(&next[usize::from(side)]["action"]))
                    .unwrap_or_default(),
                after: after(step, turn(entry)),
            });
        }
    }
    cases
}

/// Features of all cases, in the order that they are asked for.
fn look<'a>(cases: impl IntoIterator<Item = &'a Case>) -> (Vec<Vec<Option<Features>>>, Counts) {
    let mut look = LookAhead::start(&engine(), DETERMINISATIONS);
    let features = cases.into_iter().map(|case| look.look(&case.decision())).collect();
    (features, look.take_counts())
}

/// Attacks that were chosen: features, and whether a Pokémon of the opponent was gone when the turn was over.
fn chosen<'a>(
    cases: &'a [Case],
    features: &'a [Vec<Option<Features>>],
) -> impl Iterator<Item = (Features, bool)> {
    cases.iter().zip(features).filter_map(|(case, features)| {
        let [answer] = *case.answer else { return None };
        Some(((*features.get(answer as usize)?)?, case.is_ko()?))
    })
}

const VERSION_1: [&str; 3] = ["2026-06-20.zip", "2026-11-20.zip", "2026-11-21.zip"];
const VERSION_2: &str = "2026-11-23.zip";

fn all(archives: &[&str]) -> Vec<Case> {
    archives.iter().flat_map(|archive| cases(archive)).collect()
}

/// The figures that this way of looking ahead is held to. `zero_result` depends on how the cards are dealt.
#[test]
#[ignore = "needs the engine and replays"]
fn real_games_give_what_was_measured() {
    for (archives, eligible, zero_result) in [(&VERSION_1[..], 2578, 1723), (&[VERSION_2], 443, 333)] {
        let cases = all(archives);
        let start = Instant::now();
        let (features, counts) = look(&cases);
        println!("{} decisions, {:?} each", cases.len(), start.elapsed() / cases.len() as u32);
        let trials = eligible * u64::from(DETERMINISATIONS);
        let Counts { computed, skipped, valid_trials, failed_trials, .. } = &counts;
        assert_eq!((counts.eligible, *computed, *skipped, *valid_trials), (eligible, eligible, 0, trials));
        assert_eq!((counts.zero_result, failed_trials.total()), (zero_result, 0));
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
            let place = case.state.len() * (1 + number % 7) / 9;
            case.state.replace_range(place..place + 3, "zA9");
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
        cases.iter().for_each(|case| _ = look.look(&case.decision()));
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
