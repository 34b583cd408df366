//! What a builder asks: the three features of each attack of a decision.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Engine;
use super::draw::Seed;
use super::frame::{Look, Reply, Request};
use super::hidden::Hidden;
use super::library::Version;
use super::process::{Ended, Process};
use super::state::State;
use super::trial::Sums;
use super::view::Observation;
use super::{Counts, Fault};

/// What the engine may take for a decision. Most take a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Decisions of an episode that may upset the engine, before the rest of it is left alone.
const UPSETS: u32 = 2;

/// KO rate, expected prizes / 6, and P(win).
pub type Features = [f32; 3];

/// A decision, as the side that makes it knows it.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    /// The episode's id.
    pub episode: i64,
    /// Index of the step.
    pub step: u32,
    /// The side that decides.
    pub side: u8,
    /// Version of the engine; `None` for one that nobody knows.
    pub version: Option<Version>,
    /// The observation, as the replay has it.
    pub observation: &'a str,
    /// Indices of the options that are attacks.
    pub attacks: &'a [usize],
    /// The side's own 60 cards.
    pub deck: &'a [i32],
    /// Serials and ids of the opponent's cards that it has seen so far in this round, wherever they are now.
    pub revealed: &'a [(i32, i32)],
}

/// Looks ahead, on one thread. Workers are started when they are needed first.
#[derive(Debug)]
pub struct LookAhead {
    engine: Option<Engine>,
    determinisations: u32,
    workers: BTreeMap<Version, Process>,
    /// The episode at hand, and how often it upset the engine.
    episode: Option<i64>,
    upsets: u32,
    counts: Counts,
}

/// Look-aheads for a pool of threads, each lent to one of them at a time.
#[derive(Debug)]
pub struct LookAheads {
    engine: Option<(Engine, u32)>,
    idle: Mutex<Vec<LookAhead>>,
}

impl LookAheads {
    /// Look-aheads with an engine and a number of determinisations, or with none.
    pub fn new(engine: Option<(Engine, u32)>) -> Self {
        Self { engine, idle: Mutex::default() }
    }

    /// Lends one for some work, which is best a whole episode.
    pub fn lend<T>(&self, work: impl FnOnce(&mut LookAhead) -> T) -> T {
        let start = || match &self.engine {
            Some((engine, determinisations)) => LookAhead::start(engine, *determinisations),
            None => LookAhead::off(),
        };
        let mut look = self.idle().pop().unwrap_or_else(start);
        let done = work(&mut look);
        self.idle().push(look);
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<LookAhead>> {
        // whoever panicked had none in hand that lies here
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an observation shows, and the engine's record of it.
fn read(observation: &str) -> Option<(Observation, State)> {
    let mut observation: Observation = serde_json::from_str(observation).ok()?;
    let state = State::try_from(observation.search_begin_input.take()?).ok()?;
    Some((observation, state))
}

/// Why a decision was not tried.
enum Untried {
    Failed(Fault),
    Skipped,
}

impl LookAhead {
    /// Looks ahead with an engine, in `determinisations` ways in which the hidden cards may lie.
    pub fn start(engine: &Engine, determinisations: u32) -> Self {
        Self { engine: Some(engine.clone()), determinisations, ..Self::off() }
    }

    /// Has no engine, and only counts the attacks that there are.
    pub fn off() -> Self {
        let (workers, counts) = (BTreeMap::new(), Counts::default());
        Self { engine: None, determinisations: 0, workers, episode: None, upsets: 0, counts }
    }

    /// Numbers of the worker processes that run.
    pub fn workers(&self) -> impl Iterator<Item = u32> {
        self.workers.values().map(Process::id)
    }

    /// What was counted since the last time.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Features of each attack; `None` for one without a valid trial. The decisions of an episode come one after the
    /// other.
    pub fn look(&mut self, decision: &Decision<'_>) -> Vec<Option<Features>> {
        let attacks = decision.attacks.len();
        if self.episode.replace(decision.episode) != Some(decision.episode) {
            self.upsets = 0;
        }
        self.counts.eligible += attacks as u64;
        if self.engine.is_none() || attacks == 0 {
            return vec![None; attacks];
        }
        match self.ask(decision) {
            Ok(sums) => {
                sums.iter().for_each(|sums| self.count(sums));
                return sums.iter().map(Sums::features).collect();
            }
            Err(Untried::Failed(fault)) => {
                self.counts.failed_trials.add(fault, attacks as u64 * u64::from(self.determinisations));
            }
            Err(Untried::Skipped) => self.counts.skipped += attacks as u64,
        }
        vec![None; attacks]
    }

    fn ask(&mut self, decision: &Decision<'_>) -> Result<Vec<Sums>, Untried> {
        if self.upsets >= UPSETS {
            return Err(Untried::Skipped);
        }
        let &Decision { episode, step, side, version, observation, attacks, deck, revealed } = decision;
        let version = version.ok_or(Untried::Failed(Fault::NoLibrary))?;
        let (expected, state) = read(observation).ok_or(Untried::Failed(Fault::BadState))?;
        let hidden =
            Hidden::new(&expected, side, deck, revealed).ok_or(Untried::Failed(Fault::CountMismatch))?;
        let (seed, determinisations) = (Seed { episode, step, side }, self.determinisations);
        let look = Look { seed, determinisations, state, expected, hidden, attacks: attacks.to_vec() };
        let answer = self.worker(version).and_then(|worker| {
            match worker.ask(&Request::Look(Box::new(look)), PATIENCE)? {
                Reply::Looked(sums) if sums.len() == attacks.len() => Ok(sums),
                _ => Err(Ended::Crash("the worker's answer is to another question".into())),
            }
        });
        answer.map_err(|ended| Untried::Failed(self.upset(decision, version, &ended)))
    }

    fn worker(&mut self, version: Version) -> Result<&mut Process, Ended> {
        match self.workers.entry(version) {
            Entry::Occupied(worker) => Ok(worker.into_mut()),
            Entry::Vacant(none) => {
                let engine = self.engine.as_ref();
                let command = engine.map(|engine| engine.command(version));
                let command = command.ok_or_else(|| Ended::Crash("there is no engine".into()))?;
                Ok(none.insert(Process::start(command)?))
            }
        }
    }

    /// Puts an end to the worker that this decision was too much for.
    fn upset(&mut self, decision: &Decision<'_>, version: Version, ended: &Ended) -> Fault {
        self.workers.remove(&version);
        self.upsets += 1;
        let Decision { episode, step, side, .. } = decision;
        let rest = if self.upsets == UPSETS { "; nor does the rest of the episode" } else { "" };
        tracing::warn!("episode {episode}, step {step}, side {side} gets no look-ahead{rest}: {ended}");
        match ended {
            Ended::Timeout(_) => Fault::Timeout,
            Ended::Crash(_) => Fault::Crash,
        }
    }

    fn count(&mut self, sums: &Sums) {
        self.counts.valid_trials += u64::from(sums.valid);
        self.counts.failed_trials += &sums.failed;
        self.counts.computed += u64::from(sums.valid > 0);
        self.counts.zero_results += u64::from(sums.features() == Some([0.0; 3]));
    }
}
