//! Why a row or a game is refused. Every failure here would be silent downstream.

use std::collections::BTreeMap;
use std::path::Path;

use common::formats::mpk1::Defect;
use common::formats::mpk1::move16::usi::UsiError;
use common::formats::mpk1::packed::play::Unplayable;
use common::formats::mpk1::packed::sfen::SfenError;
use common::process::Failure;
use serde::{Deserialize, Serialize};

/// Why a row or a game is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("not a JSON object of this form: {0}")]
    Json(String),
    #[error("{0} is missing or null")]
    Missing(&'static str),
    #[error("the SFEN is refused: {0}")]
    Sfen(SfenError),
    #[error("side is {0:?} where the SFEN says {1:?}")]
    Side(String, &'static str),
    #[error("ply is {0}, outside of 0 to 65535")]
    PlyRange(i64),
    #[error("ply is {ply} where the SFEN's move number {number} makes it {}", number - 1)]
    PlyMismatch { ply: i64, number: u32 },
    #[error("it has no candidates")]
    NoCandidates,
    #[error("{moves} candidates with {scores} scores")]
    Lengths { moves: usize, scores: usize },
    #[error("candidate {0} is null")]
    NullMove(usize),
    #[error("candidate {0} has no score")]
    NullScore(usize),
    #[error("candidate {0} has the score -32768, which means absent")]
    AbsentScore(usize),
    #[error("candidate {index} has the score {cp}, outside of 16 bits")]
    ScoreRange { index: usize, cp: i64 },
    #[error("candidate {index} has the score {cp}, past the mate scale of {scale}")]
    ScoreScale { index: usize, cp: i64, scale: u16 },
    #[error("the root score is {cp}, past {scale}")]
    RootScale { cp: i64, scale: u16 },
    #[error("the result is {0} where -1, 0 or 1 is expected")]
    Result(String),
    #[error("candidate {index}, {text:?}, is refused: {why}")]
    Move { index: usize, text: String, why: UsiError },
    #[error("candidate {index}, {text:?}, cannot be played: {why}")]
    Unplayable { index: usize, text: String, why: Unplayable },
    #[error("candidate {index}, {text:?}, is listed twice")]
    Duplicate { index: usize, text: String },
    #[error("the played move {0:?} is not among the candidates")]
    PlayedMove(String),
    #[error("move {index} of the game, {text:?}, is refused: {why}")]
    GameMove { index: usize, text: String, why: UsiError },
    #[error("move {index} of the game, {text:?}, cannot be played: {why}")]
    GameUnplayable { index: usize, text: String, why: Unplayable },
    #[error("ply {ply} stands where a ply from {from} to {to} is expected")]
    PlyOrder { ply: i64, from: usize, to: usize },
    #[error("candidate {index} has {found} visits, outside of 1 to 4294967295")]
    Visits { index: usize, found: i128 },
    #[error("candidate {index} has the fraction {found} where visits are counted")]
    Fraction { index: usize, found: f64 },
    #[error("candidate {index} has the policy {found}, outside of [0, 1]")]
    Policy { index: usize, found: f64 },
    #[error("the root value is {0}, outside of [-1, 1]")]
    Value(f64),
    #[error("every candidate rounds to nothing at this policy scale")]
    AllRounded,
    #[error("ply {ply}: {refusal}")]
    AtPly { ply: i64, refusal: Box<Refusal> },
    #[error("{0}")]
    Defect(Defect),
}

impl Refusal {
    /// Short name to count by.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Missing(_) => "missing-value",
            Self::Sfen(error) => match error {
                SfenError::LeadingWord => "sfen-leading-word",
                SfenError::Fields(_) => "sfen-fields",
                SfenError::Ranks(_) => "sfen-ranks",
                SfenError::Files(_) => "sfen-files",
                SfenError::Piece(_) => "sfen-piece",
                SfenError::Side => "sfen-side",
                SfenError::Hand => "sfen-hand",
                SfenError::TooMany { .. } => "sfen-too-many",
                SfenError::Kings { .. } => "sfen-kings",
                SfenError::MoveNumber => "sfen-move-number",
            },
            Self::Side(..) => "side-mismatch",
            Self::PlyRange(_) => "ply-range",
            Self::PlyMismatch { .. } => "ply-mismatch",
            Self::NoCandidates => "no-candidates",
            Self::Lengths { .. } => "candidate-lengths",
            Self::NullMove(_) => "candidate-null",
            Self::NullScore(_) => "score-missing",
            Self::AbsentScore(_) => "score-absent-marker",
            Self::ScoreRange { .. } => "score-range",
            Self::ScoreScale { .. } => "score-past-mate-scale",
            Self::RootScale { .. } => "root-past-mate-scale",
            Self::Result(_) => "result",
            Self::Move { why, .. } | Self::GameMove { why, .. } => match why {
                UsiError::NotAMove => "not-a-move",
                UsiError::Square => "square-outside",
                UsiError::Dropped => "drop-piece",
                UsiError::PromotingDrop => "drop-promotes",
                UsiError::Nowhere => "from-equals-to",
            },
            Self::Unplayable { why, .. } | Self::GameUnplayable { why, .. } => match why {
                Unplayable::EmptyOrigin => "from-empty-square",
                Unplayable::NotOwn => "moves-other-side",
                Unplayable::TakesOwn => "takes-own-piece",
                Unplayable::NotInHand => "drop-not-in-hand",
                Unplayable::Occupied => "drop-on-piece",
                Unplayable::Promotion => "promotion",
                Unplayable::TakesKing => "takes-king",
            },
            Self::Duplicate { .. } => "duplicate-move",
            Self::PlayedMove(_) => "played-not-candidate",
            Self::PlyOrder { .. } => "ply-order",
            Self::Visits { .. } => "visits-range",
            Self::Fraction { .. } => "visits-fraction",
            Self::Policy { .. } => "policy-range",
            Self::Value(_) => "value-range",
            Self::AllRounded => "policy-rounds-to-nothing",
            Self::AtPly { refusal, .. } => refusal.name(),
            Self::Defect(_) => "record",
        }
    }
}

impl From<Defect> for Refusal {
    fn from(defect: Defect) -> Self {
        Self::Defect(defect)
    }
}

/// What was refused so far, by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Refusals {
    pub(crate) by_name: BTreeMap<String, u64>,
    #[serde(skip)]
    first: Option<String>,
}

impl Refusals {
    /// Reports a refusal. `unit` is `row`, `line`; numbers are those of a text editor or a table, from 1 for lines.
    pub(crate) fn add(&mut self, unit: &str, number: u64, refusal: &Refusal) {
        let text = format!("{unit} {number}: {refusal}");
        tracing::warn!("refused {} ({})", text, refusal.name());
        self.first.get_or_insert(text);
        *self.by_name.entry(refusal.name().into()).or_default() += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.by_name.values().sum()
    }

    /// The end of a run in which something was refused and nothing may be skipped.
    pub(crate) fn verdict(&self, path: &Path, unit: &str, skip: bool) -> Result<(), Failure> {
        let Some(first) = self.first.as_ref().filter(|_| !skip) else { return Ok(()) };
        let counts: Vec<String> = self.by_name.iter().map(|(name, n)| format!("{n} {name}")).collect();
        let (n, s, are) = if self.total() == 1 { (1, "", "is") } else { (self.total(), "s", "are") };
        let what = format!("{n} {unit}{s} {are} refused, so nothing is written; the first: {first}");
        Err(Failure::bad_data(what)
            .in_file(path)
            .found(counts.join(", "), "none")
            .hint("`--skip-bad` leaves refused rows out; every one is named above unless `--quiet`"))
    }
}
