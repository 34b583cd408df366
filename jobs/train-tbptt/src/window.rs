//! Windows: what an update is made from, put together on the host, ahead of the device and on a thread of its own.

use common::process::Failure;

use crate::batch::{HostBatch, Source, fill};
use crate::config::Train;
use crate::data::{Lanes, Rows};
use crate::loss::Counts;
use crate::plan::{Cursor, Micro, Planner};

/// The micro-batches of an update.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) micros: Vec<Steps>,
    pub(crate) counts: Counts,
    /// Where the plan stands behind it.
    pub(crate) cursor: Cursor,
    /// Whether it is the last one of its epoch.
    pub(crate) ends_epoch: bool,
}

/// A micro-batch: decision after decision.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) micro: Micro,
    pub(crate) steps: Vec<HostBatch>,
}

impl Window {
    /// The next window of a plan, which moves on to its next epoch where this one is over.
    pub(crate) fn next(
        plan: &mut Planner<'_>,
        lanes: &Lanes,
        rows: &mut dyn Rows,
        config: &Train,
    ) -> Result<Self, Failure> {
        let micros = plan.window(config.accumulate);
        let ends_epoch = plan.is_over();
        if ends_epoch {
            plan.next_epoch();
        }
        let mut window = Self::make(micros, lanes, rows, config.compact)?;
        (window.cursor, window.ends_epoch) = (plan.cursor().clone(), ends_epoch);
        Ok(window)
    }

    /// Puts micro-batches together.
    pub(crate) fn make(
        micros: Vec<Micro>,
        lanes: &Lanes,
        rows: &mut dyn Rows,
        compact: bool,
    ) -> Result<Self, Failure> {
        let steps = |micro| Steps::make(micro, lanes, rows, compact);
        let micros = micros.into_iter().map(steps).collect::<Result<Vec<_>, _>>()?;
        let mut counts = Counts::default();
        micros.iter().flat_map(|micro| &micro.steps).for_each(|batch| counts.add(batch));
        Ok(Self { micros, counts, cursor: Cursor::default(), ends_epoch: false })
    }
}

impl Steps {
    /// Step `t` has decision `t` of every chunk that is as long.
    pub(crate) fn make(
        micro: Micro,
        lanes: &Lanes,
        rows: &mut dyn Rows,
        compact: bool,
    ) -> Result<Self, Failure> {
        let most = micro.chunks.iter().map(|chunk| chunk.to - chunk.from).max().unwrap_or(0);
        let (mut wanted, mut ends) = (vec![], vec![]);
        // the lane of each row among the micro-batch's, and whether it is the last of its decision
        let mut marks = vec![];
        for step in 0..most {
            for (lane, chunk) in micro.chunks.iter().enumerate() {
                let decision = chunk.from + step;
                if decision >= chunk.to {
                    continue;
                }
                let here = lanes.rows(chunk.lane, decision, decision + 1);
                for at in here.clone() {
                    wanted.push(lanes.row(chunk.lane, at));
                    marks.push((lane, at + 1 == here.end));
                }
            }
            ends.push(wanted.len());
        }
        let located = rows.gather(&wanted)?;
        let sources = located.into_iter().zip(marks).map(|((group, row), (lane, last))| Source {
            group,
            row,
            lane,
            last,
        });
        let sources: Vec<Source> = sources.collect();
        let mut steps = Vec::with_capacity(ends.len());
        let mut from = 0;
        for to in ends {
            steps.push(fill(&sources[from..to], micro.chunks.len(), compact)?);
            from = to;
        }
        Ok(Self { micro, steps })
    }
}
