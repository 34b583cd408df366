//! An episode as a build reads it: checked in the order that names its failure, and every decision with its answer.

use std::time::Instant;

use common::formats::decisions::manifest::deck_hash;
use common::process::stop;
use common::state::digest::Digest;

use crate::replay::{Answer, Current, Head, Info, Log, Player, Replay, Select};

/// Cards of a deck.
const DECK: usize = 60;

/// Why an episode has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    Malformed(String),
    NoReward,
    Draw,
    Duplicate,
    IllegalLabel(String),
    NoRows,
    Timeout,
    /// No failure of the episode: the job ends.
    Stopped,
}

impl Reason {
    /// Short name to count by.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::NoReward => "no_reward",
            Self::Draw => "draw",
            Self::Duplicate => "duplicate",
            Self::IllegalLabel(_) => "illegal_label",
            Self::NoRows => "no_rows",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
        }
    }

    /// What is wrong, in words.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Malformed(why) | Self::IllegalLabel(why) => Some(why),
            _ => None,
        }
    }
}

/// What is known of an episode, as far as its checks got.
#[derive(Debug, Default, Clone)]
pub(crate) struct Facts {
    pub(crate) id: Option<i64>,
    pub(crate) steps: u64,
    pub(crate) rewards: Option<[f64; 2]>,
    pub(crate) names: Option<[String; 2]>,
    /// Deck answers, and their hashes.
    pub(crate) decks: Option<[Deck; 2]>,
}

/// A deck as it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deck {
    pub(crate) cards: Vec<i32>,
    pub(crate) hash: Digest,
}

impl Deck {
    fn of(answer: &Answer) -> Option<Self> {
        let answer = answer.0.as_ref().filter(|answer| answer.len() == DECK)?;
        let cards: Vec<i32> = answer.iter().map(|&id| i32::try_from(id).ok()).collect::<Option<_>>()?;
        let hash = deck_hash(&in_order(&cards));
        Some(Self { cards, hash })
    }

    /// Its cards, ascending.
    pub(crate) fn ascending(&self) -> Vec<i32> {
        in_order(&self.cards)
    }
}

fn in_order(cards: &[i32]) -> Vec<i32> {
    let mut cards = cards.to_vec();
    cards.sort_unstable();
    cards
}

/// An episode that passed its first checks: whether it is a duplicate can be told now.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    /// The steps, or what is wrong with them.
    replay: Result<Replay<'a>, String>,
}

/// One choice of a side.
#[derive(Debug)]
pub(crate) struct Decision<'a> {
    pub(crate) side: usize,
    pub(crate) step: usize,
    pub(crate) select: Select,
    pub(crate) current: Current,
    pub(crate) logs: Vec<Log>,
    /// What the side sees, as the replay has it, with the engine's own form of the state.
    pub(crate) observation: &'a str,
    /// Numbers of the options that were picked, in their order.
    pub(crate) label: Vec<usize>,
}

impl Decision<'_> {
    pub(crate) fn me(&self) -> &Player {
        &self.current.players[self.side]
    }

    pub(crate) fn foe(&self) -> &Player {
        &self.current.players[1 - self.side]
    }

    pub(crate) fn round(&self) -> i64 {
        self.current.round()
    }
}

/// All decisions of an episode, by side, in order.
pub(crate) type Decisions<'a> = [Vec<Decision<'a>>; 2];

impl<'a> Opened<'a> {
    /// Checks an episode up to the point where its id is known; `facts` are filled as far as that goes. `stem` is its
    /// name without folders.
    pub(crate) fn open(
        stem: &str,
        text: &'a [u8],
        keep_draws: bool,
        facts: &mut Facts,
    ) -> Result<Self, Reason> {
        let (replay, rewards, info) = match serde_json::from_slice::<Replay<'_>>(text) {
            Ok(mut replay) => {
                facts.steps = replay.steps.len() as u64;
                facts.decks =
                    replay.steps.get(1).and_then(|[a, b]| Some([Deck::of(&a.action)?, Deck::of(&b.action)?]));
                let rewards = std::mem::take(&mut replay.rewards);
                let info = std::mem::take(&mut replay.info);
                (Ok(replay), rewards, info)
            }
            // what is wrong within the steps counts after what can be told without them
            Err(error) => match serde_json::from_slice::<Head>(text) {
                Ok(Head { steps: Some(steps), rewards, info }) => {
                    facts.steps = steps.len() as u64;
                    (Err(error.to_string()), rewards, serde_json::from_value(info).unwrap_or_default())
                }
                _ => return Err(Reason::Malformed(error.to_string())),
            },
        };
        facts.names = team_names(&info);
        facts.rewards = Some(read_rewards(&rewards)?);
        let id = episode_id(stem, &info);
        // ratings count draws, so their ids are told too
        facts.id = id.as_ref().ok().copied();
        if facts.rewards.is_some_and(|[a, b]| a == b) && !keep_draws {
            return Err(Reason::Draw);
        }
        id.map(|_| Self { replay })
    }

    /// Version of the engine, where the episode names one.
    pub(crate) fn engine_version(&self) -> Option<i64> {
        self.replay.as_ref().ok().and_then(Replay::engine_version)
    }

    /// Reads what every decision saw, and pairs it with its answer.
    pub(crate) fn decisions(
        &self,
        facts: &Facts,
        deadline: Option<Instant>,
    ) -> Result<Decisions<'a>, Reason> {
        let replay = self.replay.as_ref().map_err(|why| Reason::Malformed(why.clone()))?;
        let malformed = |why: &str| Reason::Malformed(why.to_owned());
        if facts.decks.is_none() {
            return Err(malformed("step 1 does not hold two decks of 60 cards"));
        }
        if facts.names.is_none() {
            return Err(malformed("info.TeamNames does not hold two names"));
        }
        let mut sides = [vec![], vec![]];
        for (side, decisions) in sides.iter_mut().enumerate() {
            for (step, entry) in replay.steps.iter().map(|step| &step[side]).enumerate() {
                on_time(deadline)?;
                let at = |what: &dyn std::fmt::Display| format!("step {step}, side {side}: {what}");
                let seen = entry.observation().map_err(|error| Reason::Malformed(at(&error)))?;
                let Some((seen, select, observation)) =
                    seen.and_then(|(mut seen, text)| seen.select.take().map(|select| (seen, select, text)))
                else {
                    continue;
                };
                let current = seen.current.ok_or_else(|| malformed(&at(&"no current")))?;
                if current.players[side].hand.is_none() {
                    return Err(malformed(&at(&"no hand of the side that looks")));
                }
                // the engine takes the answer with the next step
                let answer = replay.steps.get(step + 1).and_then(|next| next[side].action.0.as_deref());
                let label = legal_label(&select, answer).map_err(|why| Reason::IllegalLabel(at(&why)))?;
                let logs = seen.logs.unwrap_or_default();
                decisions.push(Decision { side, step, select, current, logs, observation, label });
            }
        }
        Ok(sides)
    }
}

/// Whether an episode may go on.
pub(crate) fn on_time(deadline: Option<Instant>) -> Result<(), Reason> {
    stop::check().map_err(|_| Reason::Stopped)?;
    match deadline {
        Some(deadline) if Instant::now() > deadline => Err(Reason::Timeout),
        _ => Ok(()),
    }
}

fn team_names(info: &Info) -> Option<[String; 2]> {
    match info.team_names.as_array()?.as_slice() {
        [a, b] => Some([a.as_str()?.to_owned(), b.as_str()?.to_owned()]),
        _ => None,
    }
}

fn read_rewards(rewards: &serde_json::Value) -> Result<[f64; 2], Reason> {
    let Some([a, b]) = rewards.as_array().map(Vec::as_slice) else { return Err(Reason::NoReward) };
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ if a.is_null() || b.is_null() => Err(Reason::NoReward),
        _ => Err(Reason::Malformed("a reward is no number".into())),
    }
}

/// The number in the member's name, or what the episode itself says.
fn episode_id(stem: &str, info: &Info) -> Result<i64, Reason> {
    let number = stem.strip_suffix(".json").unwrap_or(stem);
    let stated = || match &info.episode_id {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other.as_i64(),
    };
    let named = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let id = if named { number.parse().ok() } else { stated() };
    id.ok_or_else(|| Reason::Malformed("neither its name nor info.EpisodeId is a number".into()))
}

/// The picks of an answer, where they are distinct options and as many as are asked for.
fn legal_label(select: &Select, answer: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let answer = answer.ok_or("it has no answer")?;
    let options = select.option.len;
    let picks: Option<Vec<usize>> =
        answer.iter().map(|&pick| usize::try_from(pick).ok().filter(|&pick| pick < options)).collect();
    let picks = picks.ok_or_else(|| format!("answer {answer:?} of {options} options"))?;
    let count = picks.len() as i64;
    if !(select.min_count..=select.max_count).contains(&count) {
        return Err(format!(
            "{count} picks where {} to {} are asked for",
            select.min_count, select.max_count
        ));
    }
    let mut sorted = picks.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("option {} is picked twice", pair[0])),
        None => Ok(picks),
    }
}
