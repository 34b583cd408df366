//! Rows as flat columns.

use crate::formats::mpk1::PACKED_LEN;

/// Rows in flat columns; the candidates of row `i` are `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Positions, 96 bytes each.
    pub packed: Vec<u8>,
    /// Lowest move number that the position was reached at.
    pub ply: Vec<u16>,
    /// Mean outcome for the side to move.
    pub value_z: Vec<f32>,
    /// Mean search value for the side to move.
    pub value_q: Vec<f32>,
    /// Searches folded into the row.
    pub weight: Vec<u32>,
    /// Bounds of the candidate lists, from 0.
    pub offsets: Vec<u32>,
    /// Moves, ascending within a row.
    pub mv: Vec<u16>,
    /// Policy; sums to 1 within a row.
    pub prob: Vec<f32>,
    /// Mean centipawns, for the side to move; `None` where the policy comes from visits.
    pub cp: Vec<Option<i16>>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            packed: vec![],
            ply: vec![],
            value_z: vec![],
            value_q: vec![],
            weight: vec![],
            offsets: vec![0],
            mv: vec![],
            prob: vec![],
            cp: vec![],
        }
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ply.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ply.is_empty()
    }

    /// Position of a row.
    pub fn board(&self, row: usize) -> &[u8; PACKED_LEN] {
        &self.packed.as_chunks().0[row]
    }

    /// Candidates of a row, as a range into the candidate columns.
    pub fn candidates(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.packed.clear();
        self.ply.clear();
        self.value_z.clear();
        self.value_q.clear();
        self.weight.clear();
        self.mv.clear();
        self.prob.clear();
        self.cp.clear();
        self.offsets.truncate(1);
    }

    /// Appends rows of another block.
    pub fn extend(&mut self, from: &Self, rows: std::ops::Range<usize>) {
        let candidates = from.offsets[rows.start] as usize..from.offsets[rows.end] as usize;
        let (base, first) = (self.mv.len() as u32, candidates.start as u32);
        self.packed.extend_from_slice(&from.packed[rows.start * PACKED_LEN..rows.end * PACKED_LEN]);
        self.ply.extend_from_slice(&from.ply[rows.clone()]);
        self.value_z.extend_from_slice(&from.value_z[rows.clone()]);
        self.value_q.extend_from_slice(&from.value_q[rows.clone()]);
        self.weight.extend_from_slice(&from.weight[rows.clone()]);
        self.offsets.extend(from.offsets[rows.start + 1..=rows.end].iter().map(|&end| end - first + base));
        self.mv.extend_from_slice(&from.mv[candidates.clone()]);
        self.prob.extend_from_slice(&from.prob[candidates.clone()]);
        self.cp.extend_from_slice(&from.cp[candidates]);
    }

    /// Whether the columns have the lengths of each other, with a candidate at least in every row.
    pub(super) fn is_consistent(&self) -> bool {
        let (n, candidates) = (self.len(), self.mv.len());
        self.packed.len() == n * PACKED_LEN
            && [self.value_z.len(), self.value_q.len(), self.weight.len()] == [n; 3]
            && [self.prob.len(), self.cp.len()] == [candidates; 2]
            && self.offsets.len() == n + 1
            && self.offsets[0] == 0
            && self.offsets[n] as usize == candidates
            && self.offsets.is_sorted_by(|a, b| a < b)
    }
}
