//! Lanes: the decisions of one side in one round of one episode, in their order. A lane lies in one row group.

use std::ops::Range;

use common::formats::decisions::columns::column;
use common::formats::decisions::{COLUMNS, Data, Group};
use common::process::Failure;
use common::process::failure::InFile;

use super::{Days, Row};

/// A lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Number of its day.
    pub(crate) dataset: u32,
    /// Its row group.
    pub(crate) group: u32,
    /// Its first row in the day.
    pub(crate) first: u64,
    /// Its episode.
    pub(crate) episode: i64,
    /// Number of its decisions.
    pub(crate) len: u32,
    /// Its first decision among all lanes' starts.
    starts: usize,
}

/// All lanes of some days, in the order of their rows.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// Of each lane: where its decisions start, counted from its first row, and behind them its number of rows.
    starts: Vec<u32>,
}

/// Columns that tell lanes apart.
const READ: [usize; 5] =
    [column("episode_id"), column("side"), column("decision_id"), column("substep"), column("new_episode")];

impl Lanes {
    /// Finds the lanes of days. Rows that are out of order are refused (exit 3).
    pub(crate) fn of(days: &Days) -> Result<Self, Failure> {
        let mut all = Self::default();
        for (dataset, day) in (0..).zip(&days.days) {
            let path = &day.used.path;
            let projection = day.day.project(READ.map(|at| COLUMNS[at].name)).in_file(path)?;
            for group in 0..day.day.footer().groups() {
                let rows = day.day.read(group, &projection).in_file(path)?;
                let place = (dataset, group as u32, day.starts[group]);
                all.add(&rows, place).map_err(|failure| failure.in_file(path))?;
            }
        }
        Ok(all)
    }

    /// Adds the lanes of a row group; `place` is its dataset, its number, and its first row in the day.
    fn add(&mut self, group: &Group, place: (u32, u32, u64)) -> Result<(), Failure> {
        let keys = keys(group)?;
        let mut from = 0;
        while from < keys.len() {
            let more =
                keys[from + 1..].iter().take_while(|key| !key.starts && key.lane() == keys[from].lane());
            let to = from + 1 + more.count();
            self.push(&keys[from..to], place, from)?;
            from = to;
        }
        Ok(())
    }

    /// Adds a lane, which starts at row `from` of its group.
    fn push(&mut self, keys: &[Key], place: (u32, u32, u64), from: usize) -> Result<(), Failure> {
        let (dataset, group, first) = place;
        let first = first + from as u64;
        let starts = self.starts.len();
        for (row, key) in keys.iter().enumerate() {
            let follows = match row.checked_sub(1).map(|before| &keys[before]) {
                None => key.substep == 0,
                Some(before) if key.decision == before.decision => {
                    i32::from(key.substep) == i32::from(before.substep) + 1
                }
                Some(before) => key.decision > before.decision && key.substep == 0,
            };
            if !follows {
                return Err(Failure::bad_data(format!("row {} is out of order", first + row as u64))
                    .found(
                        format!("decision {}, substep {}", key.decision, key.substep),
                        "decisions in their order, and their substeps from 0 on",
                    )
                    .hint("`day-build verify` tells more"));
            }
            if key.substep == 0 {
                self.starts.push(row as u32);
            }
        }
        let len = (self.starts.len() - starts) as u32;
        self.starts.push(keys.len() as u32);
        self.lanes.push(Lane { dataset, group, first, episode: keys[0].episode, len, starts });
        Ok(())
    }

    /// The lanes.
    pub(crate) fn all(&self) -> &[Lane] {
        &self.lanes
    }

    /// Rows of the decisions `from..to` of a lane, counted from the lane's first row.
    pub(crate) fn rows(&self, lane: u32, from: u32, to: u32) -> Range<u32> {
        let first = self.lanes[lane as usize].starts;
        self.starts[first + from as usize]..self.starts[first + to as usize]
    }

    /// Row `at` of a lane, in its day.
    pub(crate) fn row(&self, lane: u32, at: u32) -> Row {
        let Lane { dataset, first, .. } = self.lanes[lane as usize];
        Row { dataset, row: first + u64::from(at) }
    }
}

/// What tells a row's lane, and its place in it.
#[derive(Debug, Clone, Copy)]
struct Key {
    episode: i64,
    side: i8,
    decision: i32,
    substep: i8,
    starts: bool,
}

impl Key {
    fn lane(&self) -> (i64, i8) {
        (self.episode, self.side)
    }
}

fn keys(group: &Group) -> Result<Vec<Key>, Failure> {
    let [episodes, sides, decisions, substeps, starts] = READ.map(|at| group.get(at));
    let (
        Some(Data::I64(episodes)),
        Some(Data::I8(sides)),
        Some(Data::I32(decisions)),
        Some(Data::I8(substeps)),
        Some(Data::I8(starts)),
    ) = (episodes, sides, decisions, substeps, starts)
    else {
        return Err(Failure::bad_data("a row group lacks the columns that tell lanes apart"));
    };
    let key = |row: usize| Key {
        episode: episodes[row],
        side: sides[row],
        decision: decisions[row],
        substep: substeps[row],
        starts: starts[row] != 0,
    };
    Ok((0..group.rows()).map(key).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Lanes by hand: per lane its episode and the rows of each decision.
    pub(crate) fn lanes(of: &[(i64, &[u32])]) -> Lanes {
        let mut all = Lanes::default();
        let mut first = 0;
        for &(episode, decisions) in of {
            let keys: Vec<Key> = (0..)
                .zip(decisions)
                .flat_map(|(decision, &rows)| {
                    (0..rows as i8).map(move |substep| Key {
                        episode,
                        side: 0,
                        decision,
                        substep,
                        starts: decision == 0 && substep == 0,
                    })
                })
                .collect();
            all.push(&keys, (0, 0, first), 0).unwrap();
            first += keys.len() as u64;
        }
        all
    }

    #[test]
    fn a_lane_knows_its_decisions() {
        let lanes = lanes(&[(7, &[1, 3]), (8, &[2])]);
        assert_eq!(
            lanes.all().iter().map(|lane| (lane.episode, lane.len)).collect::<Vec<_>>(),
            [(7, 2), (8, 1)]
        );
        assert_eq!((lanes.rows(0, 0, 2), lanes.rows(0, 1, 2), lanes.rows(1, 0, 1)), (0..4, 1..4, 0..2));
        assert_eq!(lanes.row(1, 1), Row { dataset: 0, row: 5 });
    }

    #[test]
    fn rows_out_of_order_are_refused() {
        let key = |decision, substep| Key { episode: 1, side: 0, decision, substep, starts: false };
        let push = |keys: &[Key]| Lanes::default().push(keys, (0, 0, 0), 0);
        assert!(push(&[key(0, 0), key(0, 1), key(1, 0)]).is_ok());
        for keys in
            [[key(0, 1), key(0, 2)], [key(0, 0), key(0, 2)], [key(0, 0), key(1, 1)], [key(1, 0), key(0, 0)]]
        {
            assert!(push(&keys).is_err(), "{keys:?}");
        }
    }
}
