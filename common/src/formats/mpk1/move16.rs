//! move16, a move in two bytes that needs no move generator to be read.
//!
//! `to` in bits 0–6, origin in bits 7–13, promotion in bit 14, bit 15 clear. A drop's origin is 81 + the hand
//! index of the piece, in the order P L N S G B R. Squares are numbered by file, from 9a = 0 to 1i = 80.

pub mod usi;

use super::packed::SQUARES;

/// Origin of a drop of hand index 0.
const DROP: u16 = 81;
/// Largest origin: a rook drop.
const LAST_ORIGIN: u16 = 87;

/// A packed move. The value may be anything; [`defect`](Self::defect) tells whether it is a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move16(pub u16);

/// Why a u16 is no move16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoveDefect {
    /// Bit 15 is set.
    #[error("bit 15 is set")]
    Bit15,
    /// No such destination square.
    #[error("its destination is {0}, past square 80")]
    To(u16),
    /// No such origin.
    #[error("its origin is {0}, past a rook drop's 87")]
    From(u16),
    /// A drop that is flagged as promoting.
    #[error("it drops a piece and promotes it")]
    PromotingDrop,
}

impl Move16 {
    /// A move of the piece on `from`.
    pub fn step(from: u8, to: u8, promote: bool) -> Self {
        Self(u16::from(to) | u16::from(from) << 7 | u16::from(promote) << 14)
    }

    /// A drop of the piece at `hand` in the order P L N S G B R.
    pub fn drop(hand: u8, to: u8) -> Self {
        Self(u16::from(to) | (DROP + u16::from(hand)) << 7)
    }

    /// Destination square.
    pub fn to_square(self) -> u8 {
        (self.0 & 0x7f) as u8
    }

    /// Origin square; `None` for a drop.
    pub fn from_square(self) -> Option<u8> {
        (self.origin() < DROP).then_some(self.origin() as u8)
    }

    /// Hand index of the dropped piece; `None` for a move on the board.
    pub fn dropped(self) -> Option<u8> {
        self.origin().checked_sub(DROP).map(|hand| hand as u8)
    }

    /// Whether the piece promotes.
    pub fn is_promote(self) -> bool {
        self.0 & 1 << 14 != 0
    }

    /// Whether this cannot be a move: a record read at the wrong offset usually ends here.
    #[inline]
    pub fn defect(self) -> Option<MoveDefect> {
        let (to, origin) = (self.0 & 0x7f, self.origin());
        if self.0 & 1 << 15 != 0 {
            Some(MoveDefect::Bit15)
        } else if to >= SQUARES as u16 {
            Some(MoveDefect::To(to))
        } else if origin > LAST_ORIGIN {
            Some(MoveDefect::From(origin))
        } else if origin >= DROP && self.is_promote() {
            Some(MoveDefect::PromotingDrop)
        } else {
            None
        }
    }

    fn origin(self) -> u16 {
        self.0 >> 7 & 0x7f
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_bit_arithmetic() {
        let push = Move16::step(20, 19, true);
        assert_eq!(push.0, 1 << 14 | 20 << 7 | 19);
        assert_eq!((push.from_square(), push.to_square(), push.is_promote()), (Some(20), 19, true));
        let drop = Move16::drop(4, 80);
        assert_eq!(drop.0, 85 << 7 | 80);
        assert_eq!((drop.from_square(), drop.dropped(), drop.is_promote()), (None, Some(4), false));
    }

    #[test]
    fn ranges_narrower_than_their_fields() {
        assert_eq!(Move16(1 << 15).defect(), Some(MoveDefect::Bit15));
        assert_eq!(Move16(81).defect(), Some(MoveDefect::To(81)));
        assert_eq!(Move16(88 << 7).defect(), Some(MoveDefect::From(88)));
        assert_eq!(Move16(81 << 7 | 1 << 14).defect(), Some(MoveDefect::PromotingDrop));
        assert_eq!(Move16(87 << 7 | 80).defect(), None);
    }
}
