//! What a decision led to: reward, outcome and the auxiliary targets, all of its round.

use std::collections::BTreeMap;

use crate::game::{Decision, Decisions};
use crate::replay::Player;

/// Prizes that a side starts with.
const PRIZES: i64 = 6;

/// Targets of a decision; they stand on each of its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Targets {
    /// Who won the round.
    pub(super) outcome: i8,
    pub(super) reward: f64,
    /// Whether we took a prize by the end of the turn.
    pub(super) ko: bool,
    /// Prizes taken by us less those taken by the opponent, by the end of the turn.
    pub(super) prize_delta: i64,
    /// The side's last decision of the round.
    pub(super) terminal: bool,
    /// Whether turn and prizes could be read.
    pub(super) valid: bool,
    /// Sum of the rewards from here to the end of the round.
    pub(super) ret: f64,
}

/// When a decision was made, and what prizes were left.
#[derive(Debug, Clone, Copy)]
struct Moment {
    side: usize,
    step: usize,
    turn: Option<i64>,
    /// Of side 0 and of side 1; `None` where a row cannot be read.
    left: Option<[i64; 2]>,
}

impl Moment {
    fn of(decision: &Decision) -> Self {
        let turn = decision.current.turn.0;
        let left = |player: &Player| {
            let row = player.prize.as_ref()?.len() as i64;
            // a row that is not laid out yet has lost none
            Some(if turn == Some(0) && row == 0 { PRIZES } else { row })
        };
        let [a, b] = &decision.current.players;
        let left = turn.and(left(a).zip(left(b))).map(|(a, b)| [a, b]);
        Self { side: decision.side, step: decision.step, turn, left }
    }

    /// Prizes that `side` and its opponent took until `later`: each takes from the own row.
    fn taken(&self, later: &Self, side: usize) -> (i64, i64) {
        let (Some(now), Some(then)) = (self.left, later.left) else { return (0, 0) };
        (now[side] - then[side], now[1 - side] - then[1 - side])
    }
}

/// Targets of all decisions, by side and in their order.
pub(super) fn of(decisions: &Decisions, rewards: [f64; 2]) -> [Vec<Targets>; 2] {
    // (moment, place among the side's decisions), by round, in the order of steps
    let mut rounds: BTreeMap<i64, Vec<(Moment, usize)>> = BTreeMap::new();
    for lane in decisions {
        for (at, decision) in lane.iter().enumerate() {
            rounds.entry(decision.round()).or_default().push((Moment::of(decision), at));
        }
    }
    rounds.values_mut().for_each(|seen| seen.sort_by_key(|(moment, _)| moment.step));
    let outcomes = outcomes(decisions, &rounds, rewards);
    let mut targets = [0, 1].map(|side| vec![None; decisions[side].len()]);
    for (seen, outcome) in rounds.values().zip(outcomes) {
        let ends = ends_of_turns(seen);
        for (side, outcome) in [(0, outcome), (1, -outcome)] {
            let lane: Vec<usize> = (0..seen.len()).filter(|&i| seen[i].0.side == side).collect();
            for (at, of_decision) in of_lane(seen, &lane, &ends, side, outcome) {
                targets[side][at] = Some(of_decision);
            }
        }
    }
    targets.map(|lane| lane.into_iter().flatten().collect())
}

/// Targets of the decisions `lane` among those of a round, last first, and where each stands.
fn of_lane(
    seen: &[(Moment, usize)],
    lane: &[usize],
    ends: &[usize],
    side: usize,
    outcome: i8,
) -> Vec<(usize, Targets)> {
    let (mut next, mut sum, mut out) = (None::<usize>, 0.0, vec![]);
    for &i in lane.iter().rev() {
        let (now, at) = (&seen[i].0, seen[i].1);
        let end = &seen[ends[i]].0;
        let valid = now.turn.is_some() && now.left.is_some() && end.turn.is_some() && end.left.is_some();
        let (took, lost) = now.taken(end, side);
        let reward = match next {
            Some(next) => {
                let (took, lost) = now.taken(&seen[next].0, side);
                (took - lost) as f64 / PRIZES as f64
            }
            None => f64::from(outcome),
        };
        sum += reward;
        let targets = Targets {
            outcome,
            reward,
            ko: took > 0,
            prize_delta: took - lost,
            terminal: next.is_none() && valid,
            valid,
            ret: if valid { sum } else { 0.0 },
        };
        out.push((at, targets));
        next = Some(i);
    }
    out
}

/// For each decision, the first one of a later step that stands in another turn; the last of the round where there is
/// none, which for a decision of the last step is itself.
fn ends_of_turns(seen: &[(Moment, usize)]) -> Vec<usize> {
    let n = seen.len();
    // the first behind `i` with another turn
    let mut other = vec![n; n];
    for i in (0..n.saturating_sub(1)).rev() {
        other[i] = if seen[i + 1].0.turn == seen[i].0.turn { other[i + 1] } else { i + 1 };
    }
    let mut later = vec![n; n];
    for i in (0..n.saturating_sub(1)).rev() {
        later[i] = if seen[i + 1].0.step > seen[i].0.step { i + 1 } else { later[i + 1] };
    }
    let end = |i: usize| match later[i] {
        at if at == n => i,
        at if seen[at].0.turn != seen[i].0.turn => at,
        at if other[at] < n => other[at],
        _ => n - 1,
    };
    (0..n).map(end).collect()
}

/// Outcome of each round for side 0: who gained in wins by the first decision of the next one; in the last, the rewards.
fn outcomes(
    decisions: &Decisions,
    rounds: &BTreeMap<i64, Vec<(Moment, usize)>>,
    rewards: [f64; 2],
) -> Vec<i8> {
    let wins: Vec<[i64; 2]> = rounds
        .values()
        .filter_map(|seen| seen.first())
        .map(|(moment, at)| {
            let [a, b] = &decisions[moment.side][*at].current.players;
            [a.win.unwrap_or(0), b.win.unwrap_or(0)]
        })
        .collect();
    let gained = |pair: &[[i64; 2]]| {
        let [a, b] = [pair[1][0].saturating_sub(pair[0][0]), pair[1][1].saturating_sub(pair[0][1])];
        a.cmp(&b) as i8
    };
    let last = rewards[0].partial_cmp(&rewards[1]).map_or(0, |order| order as i8);
    wins.windows(2).map(gained).chain([last]).collect()
}
