//! USI text of a move: `7g7f`, `8h2b+`, `P*5e`.

use std::fmt;

use super::super::packed::{HAND_LETTERS, square_name};
use super::Move16;

/// Why text is no USI move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UsiError {
    /// Declarations such as `resign`, `win` or `0000` are not moves.
    #[error("it is not a move")]
    NotAMove,
    /// A square that the board does not have.
    #[error("a square lies outside of the board")]
    Square,
    /// A drop of a king, a promoted piece or a lower-case letter.
    #[error("it drops something that no hand holds (P L N S G B R)")]
    Dropped,
    /// A drop with a `+`.
    #[error("it drops a piece and promotes it")]
    PromotingDrop,
    /// Origin and destination are one square.
    #[error("it goes nowhere")]
    Nowhere,
}

impl Move16 {
    /// Reads a USI move.
    #[inline]
    pub fn from_usi(text: &str) -> Result<Self, UsiError> {
        let square = |file: u8, rank: u8| match (file, rank) {
            (b'1'..=b'9', b'a'..=b'i') => Ok((b'9' - file) * 9 + (rank - b'a')),
            _ => Err(UsiError::Square),
        };
        match *text.as_bytes() {
            [piece, b'*', file, rank] => match HAND_LETTERS.iter().position(|&letter| letter == piece) {
                Some(hand) => Ok(Self::drop(hand as u8, square(file, rank)?)),
                None => Err(UsiError::Dropped),
            },
            [_, b'*', _, _, b'+'] => Err(UsiError::PromotingDrop),
            [f0, r0, f1, r1] if f0.is_ascii_digit() && f1.is_ascii_digit() => {
                Self::on_board(square(f0, r0)?, square(f1, r1)?, false)
            }
            [f0, r0, f1, r1, b'+'] => Self::on_board(square(f0, r0)?, square(f1, r1)?, true),
            _ => Err(UsiError::NotAMove),
        }
    }

    fn on_board(from: u8, to: u8, promote: bool) -> Result<Self, UsiError> {
        if from == to { Err(UsiError::Nowhere) } else { Ok(Self::step(from, to, promote)) }
    }
}

impl fmt::Display for Move16 {
    /// USI text; the bare number in hexadecimal where this is no move.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.defect().is_some() {
            return write!(f, "{:#06x}", self.0);
        }
        let to = square_name(self.to_square());
        match (self.from_square(), self.dropped()) {
            (Some(from), _) => {
                write!(f, "{}{to}{}", square_name(from), if self.is_promote() { "+" } else { "" })
            }
            (None, hand) => write!(f, "{}*{to}", char::from(HAND_LETTERS[usize::from(hand.unwrap_or(0))])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_there_and_back() {
        for text in ["7g7f", "8h2b+", "P*5e", "R*1i", "G*9a", "1a9i", "B*3c"] {
            assert_eq!(Move16::from_usi(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_move() {
        let refuses = |text, error| assert_eq!(Move16::from_usi(text), Err(error), "{text}");
        refuses("resign", UsiError::NotAMove);
        refuses("win", UsiError::NotAMove);
        refuses("", UsiError::NotAMove);
        refuses("0000", UsiError::Square);
        refuses("0g7f", UsiError::Square);
        refuses("7g7j", UsiError::Square);
        refuses("7g7g", UsiError::Nowhere);
        refuses("K*5e", UsiError::Dropped);
        refuses("p*5e", UsiError::Dropped);
        refuses("P*5e+", UsiError::PromotingDrop);
        refuses("7g7f=", UsiError::NotAMove);
        refuses("７g7f", UsiError::NotAMove);
    }
}
