//! The position: 96 bytes, all used. A board byte a square, two hands, the side to move.
//!
//! Bytes 0–80 are the squares from 9a down each file to 1i, 81–87 Black's hand and 88–94 White's (P L N S G B R),
//! byte 95 the side to move. A board byte is 0xFF where empty, else the kind (K R B G S N L P, then +R +B +S +N
//! +L +P) with bit 4 set for White. Specification: "What packed holds".

pub mod play;
pub mod sfen;

use std::fmt;

/// Bytes of a position.
pub const PACKED_LEN: usize = 96;
/// Squares of the board.
pub const SQUARES: usize = 81;
/// Kinds that a hand holds.
pub const HAND_KINDS: usize = 7;
/// Letters of a hand, in its order.
pub const HAND_LETTERS: [u8; HAND_KINDS] = *b"PLNSGBR";

pub(crate) const EMPTY: u8 = 0xFF;
pub(crate) const WHITE: u8 = 0x10;
pub(crate) const KING: u8 = 0;
/// Unpromoted kinds in the order of the board byte.
pub(crate) const KIND_LETTERS: [u8; 8] = *b"KRBGSNLP";
/// Unpromoted kinds of kinds 8–13.
pub(crate) const PROMOTED_FROM: [u8; 6] = [1, 2, 4, 5, 6, 7];
/// Hand index of an unpromoted kind; the king's is never used.
pub(crate) const HAND_OF_KIND: [u8; 8] = [u8::MAX, 6, 5, 4, 3, 2, 1, 0];
/// How many of each kind a set has, in hand order.
pub(crate) const SET: [u8; HAND_KINDS] = [18, 4, 4, 4, 4, 2, 2];

const KINDS: u8 = 14;
const HANDS: usize = SQUARES;
const SIDE: usize = PACKED_LEN - 1;

/// Whose piece or turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Sente, who moves up the board.
    Black = 0,
    /// Gote.
    White = 1,
}

/// A position that satisfies the layout ([`defect`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packed([u8; PACKED_LEN]);

/// Why 96 bytes are no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PackedDefect {
    /// A square holds no piece's byte.
    #[error("square {name} holds the byte {byte:#04x}", name = square_name(*square))]
    Square {
        /// Square index.
        square: u8,
        /// What stands there.
        byte: u8,
    },
    /// A side has no king, or more than one.
    #[error("{side:?} has {found} kings where 1 is expected")]
    Kings {
        /// Whose kings.
        side: Side,
        /// How many.
        found: u8,
    },
    /// A hand holds more of a kind than a set has.
    #[error("{side:?}'s hand holds {found} {kind} where {most} at most exist")]
    Hand {
        /// Whose hand.
        side: Side,
        /// Letter of the kind.
        kind: char,
        /// Pieces held.
        found: u8,
        /// Pieces of a set.
        most: u8,
    },
    /// The side to move is neither 0 nor 1.
    #[error("the side to move is {0} where 0 or 1 is expected")]
    Side(u8),
}

impl Packed {
    /// Takes bytes that satisfy the layout.
    pub fn new(bytes: [u8; PACKED_LEN]) -> Result<Self, PackedDefect> {
        match defect(&bytes) {
            None => Ok(Self(bytes)),
            Some(defect) => Err(defect),
        }
    }

    /// The bytes as they stand in a record.
    pub fn bytes(&self) -> &[u8; PACKED_LEN] {
        &self.0
    }

    /// Side to move.
    pub fn side(&self) -> Side {
        side_to_move(&self.0)
    }

    /// Pieces on the board, kings included.
    pub fn pieces(&self) -> usize {
        self.0[..SQUARES].iter().filter(|&&byte| byte != EMPTY).count()
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({self})")
    }
}

/// Side to move of 96 bytes.
pub fn side_to_move(packed: &[u8; PACKED_LEN]) -> Side {
    if packed[SIDE] == 0 { Side::Black } else { Side::White }
}

/// Whether bytes violate the layout: a board byte, a hand's maximum, the side byte, one king a side.
#[inline]
pub fn defect(bytes: &[u8; PACKED_LEN]) -> Option<PackedDefect> {
    let (mut wrong, mut black, mut white) = (0u8, 0u8, 0u8);
    for &byte in &bytes[..SQUARES] {
        wrong |= u8::from(byte != EMPTY && byte & !WHITE >= KINDS);
        black += u8::from(byte == KING);
        white += u8::from(byte == KING | WHITE);
    }
    for hand in bytes[HANDS..SIDE].chunks_exact(HAND_KINDS) {
        for (&held, &most) in hand.iter().zip(&SET) {
            wrong |= u8::from(held > most);
        }
    }
    (wrong != 0 || black != 1 || white != 1 || bytes[SIDE] > 1).then(|| name_defect(bytes, black, white))
}

#[cold]
fn name_defect(bytes: &[u8; PACKED_LEN], black: u8, white: u8) -> PackedDefect {
    let is_wrong = |byte: u8| byte != EMPTY && byte & !WHITE >= KINDS;
    if let Some(square) = bytes[..SQUARES].iter().position(|&byte| is_wrong(byte)) {
        return PackedDefect::Square { square: square as u8, byte: bytes[square] };
    }
    for (hand, side) in bytes[HANDS..SIDE].chunks_exact(HAND_KINDS).zip([Side::Black, Side::White]) {
        if let Some(i) = (0..HAND_KINDS).find(|&i| hand[i] > SET[i]) {
            let kind = char::from(HAND_LETTERS[i]);
            return PackedDefect::Hand { side, kind, found: hand[i], most: SET[i] };
        }
    }
    match (black, white) {
        (1, 1) => PackedDefect::Side(bytes[SIDE]),
        (1, found) => PackedDefect::Kings { side: Side::White, found },
        (found, _) => PackedDefect::Kings { side: Side::Black, found },
    }
}

/// Name of a square, file first: `9a` is 0, `1i` is 80.
pub fn square_name(square: u8) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{}{}", 9 - square / 9, char::from(b'a' + square % 9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_each_part_of_the_layout() {
        let start = sfen::START.parse::<Packed>().unwrap().0;
        let refuses = |at: usize, byte: u8, text: &str| {
            let mut bytes = start;
            bytes[at] = byte;
            let message = Packed::new(bytes).unwrap_err().to_string();
            assert!(message.contains(text), "{message}");
        };
        assert_eq!(defect(&start), None);
        refuses(0, 0x0e, "square 9a holds the byte 0x0e");
        refuses(80, 0x2d, "square 1i holds the byte 0x2d");
        refuses(40, 0x00, "Black has 2 kings");
        refuses(36, 0xff, "White has 0 kings");
        refuses(81, 19, "Black's hand holds 19 P where 18");
        refuses(94, 3, "White's hand holds 3 R where 2");
        refuses(95, 2, "side to move is 2");
    }
}
