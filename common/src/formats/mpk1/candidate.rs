//! A candidate: a move and what the search said of it, eight bytes.

use std::num::NonZeroU32;

use super::move16::Move16;

/// Bytes of a candidate.
pub const CANDIDATE_LEN: usize = 8;

/// The value of `cp` that no score takes: zero is an even position.
const NO_CP: i16 = i16::MIN;

/// A move with the half of the policy that its producer has: visits of a tree search, or a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The move.
    pub mv: Move16,
    /// Visits of this one search (or its improved policy at a fixed scale); absent is written as 0.
    pub visits: Option<NonZeroU32>,
    /// Centipawns from the header's point of view; absent is written as −32768.
    pub cp: Option<i16>,
}

impl Candidate {
    /// Reads `mv u16 | visits u32 | cp i16`.
    pub fn decode(bytes: &[u8; CANDIDATE_LEN]) -> Self {
        let [m0, m1, v0, v1, v2, v3, c0, c1] = *bytes;
        let cp = i16::from_le_bytes([c0, c1]);
        Self {
            mv: Move16(u16::from_le_bytes([m0, m1])),
            visits: NonZeroU32::new(u32::from_le_bytes([v0, v1, v2, v3])),
            cp: (cp != NO_CP).then_some(cp),
        }
    }

    /// The eight bytes of this candidate. `cp` must not be −32768, which producers refuse.
    pub fn encode(&self) -> [u8; CANDIDATE_LEN] {
        let [m0, m1] = self.mv.0.to_le_bytes();
        let [v0, v1, v2, v3] = self.visits.map_or(0, NonZeroU32::get).to_le_bytes();
        let [c0, c1] = self.cp.unwrap_or(NO_CP).to_le_bytes();
        [m0, m1, v0, v1, v2, v3, c0, c1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_markers_stay_inside_the_codec() {
        let scored = Candidate { mv: Move16(0x0102), visits: None, cp: Some(0) };
        assert_eq!(scored.encode(), [0x02, 0x01, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Candidate::decode(&scored.encode()), scored);
        let visited = Candidate { mv: Move16(1), visits: NonZeroU32::new(799), cp: None };
        assert_eq!(visited.encode(), [1, 0, 0x1f, 0x03, 0, 0, 0x00, 0x80]);
        assert_eq!(Candidate::decode(&visited.encode()), visited);
    }
}
