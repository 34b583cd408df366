//! What a choice costs that knows verbs alone: a verb among those on offer by how often it was chosen in training, then
//! any of its options.

use common::formats::decisions::columns::{COLUMNS, SUBMIT, column};
use common::formats::decisions::{Data, Group};
use common::process::Failure;
use common::process::failure::InFile;

use crate::data::{Days, Lanes};
use crate::schema::VERBS;

/// Verbs, and SUBMIT behind them.
const KINDS: usize = VERBS + 1;
const READ: [usize; 3] = [column("y"), column("opt_verb"), column("action_mask")];

/// Mean cross-entropy, in nats, over the rows of `held_out`, of frequencies over those of `train`.
pub(crate) fn verb_frequency(
    days: &Days,
    lanes: &Lanes,
    train: &[u32],
    held_out: &[u32],
) -> Result<f64, Failure> {
    // every verb counts once, so that none is impossible
    let mut counts = [1.0; KINDS];
    each_row(days, lanes, train, |choice| counts[choice.label] += 1.0)?;
    let (mut sum, mut rows) = (0.0, 0_u32);
    each_row(days, lanes, held_out, |choice| {
        sum += choice.cost(&counts);
        rows += 1;
    })?;
    Ok(sum / f64::from(rows.max(1)))
}

/// A row: what was chosen, and how many options of each kind there were.
#[derive(Debug, Clone, Copy)]
struct Choice {
    label: usize,
    offered: [u32; KINDS],
}

impl Choice {
    fn cost(&self, counts: &[f64; KINDS]) -> f64 {
        let all: f64 = (0..KINDS).filter(|&kind| self.offered[kind] > 0).map(|kind| counts[kind]).sum();
        libm::log(all * f64::from(self.offered[self.label].max(1)) / counts[self.label])
    }

    /// `None` where a number is out of its range.
    fn of(labels: &[i32], group: &Group, row: usize) -> Option<Self> {
        let (Some(Data::I32s(verbs)), Some(Data::F32s(mask))) = (group.get(READ[1]), group.get(READ[2]))
        else {
            return None;
        };
        let kind = |action: usize| match action {
            SUBMIT => Some(VERBS),
            _ => usize::try_from(verbs.get(&COLUMNS[READ[1]], row, action)).ok().filter(|&verb| verb < VERBS),
        };
        let mut offered = [0; KINDS];
        for (action, _) in mask.row(row).iter().enumerate().filter(|&(_, &legal)| legal != 0.0) {
            offered[kind(action)?] += 1;
        }
        offered[VERBS] += u32::from(mask.apart.get(row).is_some_and(|&legal| legal != 0.0));
        let label = usize::try_from(labels[row]).ok().filter(|&action| action <= SUBMIT)?;
        Some(Self { label: kind(label)?, offered })
    }
}

fn each_row(days: &Days, lanes: &Lanes, part: &[u32], mut each: impl FnMut(&Choice)) -> Result<(), Failure> {
    let key = |&lane: &u32| {
        let lane = &lanes.all()[lane as usize];
        (lane.dataset, lane.group)
    };
    for here in part.chunk_by(|a, b| key(a) == key(b)) {
        let (dataset, group) = key(&here[0]);
        let day = &days.days[dataset as usize];
        let path = &day.used.path;
        let projection = day.day.project(READ.map(|at| COLUMNS[at].name)).in_file(path)?;
        let rows = day.day.read(group as usize, &projection).in_file(path)?;
        let Some(Data::I32(labels)) = rows.get(READ[0]) else { continue };
        for &lane in here {
            let len = lanes.rows(lane, 0, lanes.all()[lane as usize].len).len();
            let first = (lanes.row(lane, 0).row - day.starts[group as usize]) as usize;
            for row in first..first + len {
                let choice = Choice::of(labels, &rows, row).ok_or_else(|| {
                    Failure::bad_data(format!("row {row} of row group {group} has a verb out of range"))
                        .in_file(path)
                })?;
                each(&choice);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Games;

    #[test]
    fn a_verb_by_its_frequency_then_any_of_its_options() {
        let mut offered = [0; KINDS];
        (offered[3], offered[7], offered[VERBS]) = (4, 1, 1);
        let mut counts = [1.0; KINDS];
        (counts[3], counts[7], counts[5]) = (6.0, 1.0, 100.0);
        let cost = |label| Choice { label, offered }.cost(&counts);
        assert!((cost(3) - libm::log(8.0 * 4.0 / 6.0)).abs() < 1e-12);
        assert!((cost(VERBS) - libm::log(8.0)).abs() < 1e-12);
    }

    #[test]
    fn it_is_better_than_chance_on_real_games() {
        let games = Games::of("2026-11-21");
        let all: Vec<u32> = (0..games.lanes.all().len() as u32).collect();
        let (train, held_out) = all.split_at(100);
        let cost = verb_frequency(&games.days, &games.lanes, train, held_out).unwrap();
        assert!(cost > 0.5 && cost < 1.6, "{cost}");
    }
}
