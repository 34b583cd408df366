//! Moves on a position: what a record can be checked for without a move generator, and replaying a game.

use super::sfen::PROMOTED;
use super::{
    EMPTY, HAND_KINDS, HAND_OF_KIND, HANDS, KIND_LETTERS, KING, PROMOTED_FROM, Packed, SIDE, Side, WHITE,
};
use crate::formats::mpk1::Move16;

/// Why a position has no such move. Checks, repetition, nifu and pinned pieces are not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unplayable {
    /// Nothing stands on the origin.
    #[error("it starts on an empty square")]
    EmptyOrigin,
    /// The other side's piece stands on the origin.
    #[error("it moves the other side's piece")]
    NotOwn,
    /// An own piece stands on the destination.
    #[error("it takes an own piece")]
    TakesOwn,
    /// The dropped piece is not in hand.
    #[error("it drops a piece that is not in hand")]
    NotInHand,
    /// A drop onto a piece.
    #[error("it drops onto a piece")]
    Occupied,
    /// A king, a gold or a promoted piece does not promote, and no piece does outside of the zone.
    #[error("it promotes a piece that cannot promote there")]
    Promotion,
    /// A king would be taken.
    #[error("it takes a king")]
    TakesKing,
}

impl Packed {
    /// Whether the move can be made by its pieces and squares alone.
    #[inline]
    pub fn admits(&self, mv: Move16) -> Result<(), Unplayable> {
        let colour = self.mover();
        let target = self.0[usize::from(mv.to_square())];
        let Some(from) = mv.from_square() else {
            return match target {
                EMPTY if self.0[self.hand_slot(mv)] > 0 => Ok(()),
                EMPTY => Err(Unplayable::NotInHand),
                _ => Err(Unplayable::Occupied),
            };
        };
        let piece = self.0[usize::from(from)];
        if piece == EMPTY {
            return Err(Unplayable::EmptyOrigin);
        }
        if piece & WHITE != colour {
            return Err(Unplayable::NotOwn);
        }
        if target != EMPTY && target & WHITE == colour {
            return Err(Unplayable::TakesOwn);
        }
        if target & !WHITE == KING {
            return Err(Unplayable::TakesKing);
        }
        let kind = piece & !WHITE;
        let promotes = PROMOTED.get(usize::from(kind)).is_some_and(Option::is_some)
            && (in_zone(from, colour) || in_zone(mv.to_square(), colour));
        if mv.is_promote() && !promotes { Err(Unplayable::Promotion) } else { Ok(()) }
    }

    /// Makes a move and passes the turn.
    pub fn play(&mut self, mv: Move16) -> Result<(), Unplayable> {
        self.admits(mv)?;
        let (colour, to) = (self.mover(), usize::from(mv.to_square()));
        match mv.from_square() {
            None => {
                let slot = self.hand_slot(mv);
                self.0[slot] -= 1;
                self.0[to] = KIND_OF_HAND[(slot - HANDS) % HAND_KINDS] | colour;
            }
            Some(from) => {
                let taken = self.0[to];
                if taken != EMPTY {
                    let slot = self.hand_base() + usize::from(HAND_OF_KIND[usize::from(unpromoted(taken))]);
                    self.0[slot] += 1;
                }
                let piece = std::mem::replace(&mut self.0[usize::from(from)], EMPTY);
                let promoted = PROMOTED.get(usize::from(piece & !WHITE)).copied().flatten();
                self.0[to] = promoted.filter(|_| mv.is_promote()).map_or(piece, |kind| kind | colour);
            }
        }
        self.0[SIDE] ^= 1;
        Ok(())
    }

    fn mover(&self) -> u8 {
        if self.side() == Side::White { WHITE } else { 0 }
    }

    fn hand_base(&self) -> usize {
        HANDS + if self.side() == Side::White { HAND_KINDS } else { 0 }
    }

    fn hand_slot(&self, mv: Move16) -> usize {
        self.hand_base() + usize::from(mv.dropped().unwrap_or(0))
    }
}

/// Board kind of a hand index.
const KIND_OF_HAND: [u8; HAND_KINDS] = {
    let mut table = [0; HAND_KINDS];
    let mut kind = 1;
    while kind < KIND_LETTERS.len() {
        table[HAND_OF_KIND[kind] as usize] = kind as u8;
        kind += 1;
    }
    table
};

fn unpromoted(piece: u8) -> u8 {
    let kind = piece & !WHITE;
    if kind >= 8 { PROMOTED_FROM[usize::from(kind) - 8] } else { kind }
}

/// Whether a square lies in the three ranks where the colour promotes.
fn in_zone(square: u8, colour: u8) -> bool {
    let rank = square % 9;
    if colour == 0 { rank < 3 } else { rank > 5 }
}

#[cfg(test)]
mod tests {
    use super::super::sfen::START;
    use super::*;

    fn after(start: &str, moves: &str) -> Result<String, Unplayable> {
        let mut position: Packed = start.parse().unwrap();
        moves.split_whitespace().try_for_each(|mv| position.play(Move16::from_usi(mv).unwrap()))?;
        Ok(position.to_string())
    }

    #[test]
    fn plays_captures_promotions_and_drops() {
        let position = after(START, "7g7f 3c3d 8h2b+ 3a2b B*5e").unwrap();
        assert_eq!(position, "lnsgkg1nl/1r5s1/pppppp1pp/6p2/4B4/2P6/PP1PPPPPP/7R1/LNSGKGSNL w b");
    }

    #[test]
    fn refuses_what_pieces_and_squares_forbid() {
        let refuses = |moves: &str, error| assert_eq!(after(START, moves), Err(error), "{moves}");
        refuses("5e5d", Unplayable::EmptyOrigin);
        refuses("3c3d", Unplayable::NotOwn);
        refuses("9i9g", Unplayable::TakesOwn);
        refuses("P*5e", Unplayable::NotInHand);
        refuses("7g7f 3c3d 8h2b+ 3a2b B*9i", Unplayable::Occupied);
        refuses("7g7f+", Unplayable::Promotion);
        refuses("7g7f 3c3d 4i4c+", Unplayable::Promotion);
        refuses("5g5a", Unplayable::TakesKing);
    }
}
