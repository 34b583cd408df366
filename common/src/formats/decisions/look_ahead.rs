//! What the look-ahead did, for a day's manifest. A failed trial is never taken for a zero result.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::state::digest::Digest;

/// Version of the way a trial is played; another one gives other features.
pub const HEURISTIC_VERSION: u32 = 1;

/// The manifest's `would_ko`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WouldKo {
    /// Whether an engine was there. Without one, all features are 0.
    pub enabled: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Version of the way a trial is played.
    pub heuristic_version: u32,
    /// Digests of the engine's libraries, by the engine's version.
    pub engine: BTreeMap<String, Digest>,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Options and trials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Attacks among the options.
    pub eligible: u64,
    /// Those with a valid trial.
    pub computed: u64,
    /// Computed ones whose three features are 0.
    pub zero_results: u64,
    /// Those that were not tried, since their episode had upset the engine before.
    pub skipped: u64,
    /// Trials that gave a result.
    pub valid_trials: u64,
    /// Trials that gave none.
    pub failed_trials: FailedTrials,
}

/// Trials without a result, by reason; every reason is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailedTrials(BTreeMap<Fault, u64>);

/// Why a trial gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The replay names a version of the engine that is not at hand.
    NoLibrary,
    /// The cards of the observation do not add up.
    CountMismatch,
    /// What the replay holds cannot be read, or is no record of a game.
    BadState,
    /// The engine refused the record.
    BeginError,
    /// The record is not of what the observation shows.
    RootMismatch,
    /// The engine refused a choice.
    StepError,
    /// A turn did not end within the limit of steps.
    StepLimit,
    /// The engine did not answer in time.
    Timeout,
    /// The engine's process ended.
    Crash,
}

impl WouldKo {
    /// A build with an engine, whose libraries have these digests by version.
    pub fn on(engine: BTreeMap<String, Digest>, counts: Counts) -> Self {
        Self { enabled: true, reason: None, heuristic_version: HEURISTIC_VERSION, engine, counts }
    }

    /// A build without one.
    pub fn off(reason: impl Display, counts: Counts) -> Self {
        Self { enabled: false, reason: Some(reason.to_string()), ..Self::on(BTreeMap::new(), counts) }
    }
}

impl Counts {
    /// Whether the same inputs give the same features again. What hangs on a clock or a crash may not.
    pub fn reproducible(&self) -> bool {
        self.failed_trials.of(Fault::Timeout) + self.failed_trials.of(Fault::Crash) == 0
    }
}

impl FailedTrials {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Those of one reason.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or_default()
    }

    /// Adds some of one reason.
    pub fn add(&mut self, fault: Fault, trials: u64) {
        *self.0.entry(fault).or_default() += trials;
    }
}

impl Default for FailedTrials {
    fn default() -> Self {
        use Fault as F;
        let before = [F::NoLibrary, F::CountMismatch, F::BadState, F::BeginError, F::RootMismatch];
        let after = [F::StepError, F::StepLimit, F::Timeout, F::Crash];
        Self(before.into_iter().chain(after).map(|fault| (fault, 0)).collect())
    }
}

impl AddAssign<&Self> for FailedTrials {
    fn add_assign(&mut self, other: &Self) {
        other.0.iter().for_each(|(&fault, &trials)| self.add(fault, trials));
    }
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        self.eligible += other.eligible;
        self.computed += other.computed;
        self.zero_results += other.zero_results;
        self.skipped += other.skipped;
        self.valid_trials += other.valid_trials;
        self.failed_trials += &other.failed_trials;
    }
}
