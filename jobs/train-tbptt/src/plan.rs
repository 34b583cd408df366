//! The order of training, known in advance: which decisions of which lanes make up each micro-batch.
//!
//! An epoch visits all lanes in an order that the seed decides. Row groups are shuffled, and lanes within a few
//! neighbouring ones, so that few row groups are in use at a time. A micro-batch takes up to `chunk` decisions of each
//! lane that is under way, and starts new ones, until `rows` are reached; at least one lane is in it, since a chunk is
//! never split.

use serde::{Deserialize, Serialize};

use crate::config::Train;
use crate::data::Lanes;
use crate::random::Random;

/// Row groups whose lanes are mixed.
const MIXED: usize = 4;

/// Decisions of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) lane: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Whether the lane goes on behind it.
    pub(crate) unfinished: bool,
}

/// A micro-batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Micro {
    pub(crate) chunks: Vec<Chunk>,
    /// How many of them, the first ones, go on with the first lanes under way; the others start.
    pub(crate) carried: usize,
}

/// Where an order stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cursor {
    /// Epochs that are over.
    pub(crate) epoch: u32,
    /// Lanes of this one that have been started.
    pub(crate) started: usize,
    /// Lanes under way, and the next decision of each. Their memories are kept in the same order.
    pub(crate) active: Vec<(u32, u32)>,
}

/// Makes micro-batches.
#[derive(Debug, Clone)]
pub(crate) struct Planner<'a> {
    lanes: &'a Lanes,
    /// Lanes that take part, in the order of their rows.
    part: &'a [u32],
    rows: usize,
    chunk: u32,
    /// `None` keeps the order of rows.
    seed: Option<u64>,
    order: Vec<u32>,
    cursor: Cursor,
}

impl<'a> Planner<'a> {
    /// The order of training, from a cursor on.
    pub(crate) fn train(lanes: &'a Lanes, part: &'a [u32], config: &Train, cursor: Cursor) -> Self {
        Self::new(lanes, part, config, Some(config.seed), cursor)
    }

    /// All lanes once, in the order of their rows.
    pub(crate) fn once(lanes: &'a Lanes, part: &'a [u32], config: &Train) -> Self {
        Self::new(lanes, part, config, None, Cursor::default())
    }

    fn new(lanes: &'a Lanes, part: &'a [u32], config: &Train, seed: Option<u64>, cursor: Cursor) -> Self {
        let chunk = u32::try_from(config.chunk).unwrap_or(u32::MAX);
        let mut planner = Self { lanes, part, rows: config.rows, chunk, seed, order: vec![], cursor };
        planner.order = planner.order();
        planner
    }

    /// Where it stands.
    pub(crate) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Whether the epoch is over.
    pub(crate) fn is_over(&self) -> bool {
        self.cursor.active.is_empty() && self.cursor.started == self.order.len()
    }

    /// Goes on with the next epoch.
    pub(crate) fn next_epoch(&mut self) {
        self.cursor = Cursor { epoch: self.cursor.epoch + 1, ..Cursor::default() };
        self.order = self.order();
    }

    /// Up to `most` micro-batches, which make up an update; none when the epoch is over.
    pub(crate) fn window(&mut self, most: usize) -> Vec<Micro> {
        std::iter::from_fn(|| self.micro()).take(most).collect()
    }

    /// Updates that are left of this epoch and those behind it, up to `epochs` in all.
    pub(crate) fn updates_left(&self, epochs: u32, accumulate: usize) -> u64 {
        let (mut ahead, mut updates) = (self.clone(), 0);
        while ahead.cursor.epoch < epochs {
            while !ahead.window(accumulate).is_empty() {
                updates += 1;
            }
            ahead.next_epoch();
        }
        updates
    }

    fn micro(&mut self) -> Option<Micro> {
        let mut budget = self.rows;
        let mut chunks = vec![];
        let mut carried = 0;
        while let Some(&(lane, from)) = self.cursor.active.get(carried) {
            match self.take(lane, from, &mut budget, chunks.is_empty()) {
                Some(chunk) => chunks.push(chunk),
                None => break,
            }
            carried += 1;
        }
        if carried == self.cursor.active.len() {
            while let Some(&lane) = self.order.get(self.cursor.started) {
                match self.take(lane, 0, &mut budget, chunks.is_empty()) {
                    Some(chunk) => chunks.push(chunk),
                    None => break,
                }
                self.cursor.started += 1;
            }
        }
        self.cursor.active.drain(..carried);
        let unfinished = chunks.iter().filter(|chunk| chunk.unfinished);
        self.cursor.active.extend(unfinished.map(|chunk| (chunk.lane, chunk.to)));
        (!chunks.is_empty()).then_some(Micro { chunks, carried })
    }

    /// The next chunk of a lane, where it fits; the first one always does.
    fn take(&self, lane: u32, from: u32, budget: &mut usize, first: bool) -> Option<Chunk> {
        let len = self.lanes.all()[lane as usize].len;
        let to = from.saturating_add(self.chunk).min(len);
        let rows = self.lanes.rows(lane, from, to).len();
        if rows > *budget && !first {
            return None;
        }
        *budget = budget.saturating_sub(rows);
        Some(Chunk { lane, from, to, unfinished: to < len })
    }

    /// Lanes in the order of this epoch.
    fn order(&self) -> Vec<u32> {
        let Some(seed) = self.seed else { return self.part.to_vec() };
        let group = |&lane: &u32| {
            let lane = &self.lanes.all()[lane as usize];
            (lane.dataset, lane.group)
        };
        let mut groups: Vec<&[u32]> = self.part.chunk_by(|a, b| group(a) == group(b)).collect();
        let mut random = Random::new(&[seed, u64::from(self.cursor.epoch)]);
        random.shuffle(&mut groups);
        let mut order = Vec::with_capacity(self.part.len());
        for mixed in groups.chunks(MIXED) {
            let mut lanes = mixed.concat();
            random.shuffle(&mut lanes);
            order.extend(lanes);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::lanes::tests::lanes;

    fn config(rows: usize, chunk: usize) -> Train {
        Train { rows, chunk, ..Train::default() }
    }

    #[test]
    fn every_decision_comes_once_and_in_its_order() {
        let lanes = lanes(&[(1, &[1; 9]), (1, &[2; 4]), (2, &[5]), (3, &[1; 3]), (4, &[1, 7, 1])]);
        let part = [0, 1, 2, 3, 4];
        let config = config(8, 3);
        for epoch in 0..4 {
            let cursor = Cursor { epoch, ..Cursor::default() };
            let mut planner = Planner::train(&lanes, &part, &config, cursor);
            let mut next = [0; 5];
            while let [micro] = &planner.window(1)[..] {
                let rows: usize =
                    micro.chunks.iter().map(|chunk| lanes.rows(chunk.lane, chunk.from, chunk.to).len()).sum();
                assert!(rows <= 8 || micro.chunks.len() == 1);
                for chunk in &micro.chunks {
                    assert!(chunk.from < chunk.to && chunk.to - chunk.from <= 3);
                    assert_eq!(chunk.from, std::mem::replace(&mut next[chunk.lane as usize], chunk.to));
                    assert_eq!(chunk.unfinished, chunk.to < lanes.all()[chunk.lane as usize].len);
                }
            }
            assert_eq!(next, [9, 4, 1, 3, 3]);
        }
    }

    #[test]
    fn it_goes_on_from_any_cursor() {
        let lanes = lanes(&[(1, &[1; 9]), (1, &[2; 4]), (2, &[5]), (3, &[1; 3]), (4, &[1, 7, 1])]);
        let (part, config) = ([0, 1, 2, 3, 4], config(8, 3));
        let mut straight = Planner::train(&lanes, &part, &config, Cursor::default());
        loop {
            let mut resumed = Planner::train(&lanes, &part, &config, straight.cursor().clone());
            assert_eq!(resumed.updates_left(3, 2), straight.updates_left(3, 2));
            let window = straight.window(2);
            assert_eq!(resumed.window(2), window);
            if window.is_empty() {
                break;
            }
        }
        straight.next_epoch();
        assert_eq!(straight.cursor(), &Cursor { epoch: 1, ..Cursor::default() });
    }

    #[test]
    fn epochs_and_seeds_have_orders_of_their_own() {
        let of: Vec<(i64, &[u32])> = (0..30).map(|episode| (episode, &[1_u32][..])).collect();
        let lanes = lanes(&of);
        let part: Vec<u32> = (0..30).collect();
        let order = |seed, epoch| {
            let config = Train { seed, ..config(8, 3) };
            Planner::train(&lanes, &part, &config, Cursor { epoch, ..Cursor::default() }).order
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
    }
}
