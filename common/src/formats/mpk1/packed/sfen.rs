//! SFEN text of a position: `board side hand move-number`, without the leading word `sfen`.

mod scan;

use std::fmt;
use std::str::FromStr;

use super::{
    EMPTY, HAND_KINDS, HAND_LETTERS, HAND_OF_KIND, HANDS, KIND_LETTERS, KING, PACKED_LEN, PROMOTED_FROM,
    Packed, SET, SIDE, SQUARES, Side, WHITE,
};

/// The initial position.
pub const START: &str = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

/// Why text is no SFEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SfenError {
    /// The leading word of the USI protocol, which a corpus column does not carry.
    #[error("it starts with the word `sfen`")]
    LeadingWord,
    /// Not four fields with one space between them.
    #[error("it has {0} fields where 4 are expected: board, side, hand, move number")]
    Fields(usize),
    /// The board does not have nine ranks.
    #[error("its board has {0} ranks where 9 are expected")]
    Ranks(usize),
    /// A rank does not have nine files.
    #[error("rank {} of its board does not have 9 files", char::from(b'a' + *.0))]
    Files(u8),
    /// A letter that names no piece, or a `+` before a piece that does not promote.
    #[error("rank {} of its board holds something that is no piece", char::from(b'a' + *.0))]
    Piece(u8),
    /// Neither `b` nor `w`.
    #[error("its side to move is neither `b` nor `w`")]
    Side,
    /// A hand that is not counts and letters.
    #[error("its hand is not `-` or letters of P L N S G B R with a count before each")]
    Hand,
    /// More pieces of a kind than a set has, board and hands together.
    #[error("it has {found} {kind} where {most} at most exist")]
    TooMany {
        /// Letter of the kind.
        kind: char,
        /// Pieces counted.
        found: usize,
        /// Pieces of a set.
        most: u8,
    },
    /// A side has no king, or more than one.
    #[error("{side:?} has {found} kings where 1 is expected")]
    Kings {
        /// Whose kings.
        side: Side,
        /// How many.
        found: usize,
    },
    /// The move number is not a number from 1.
    #[error("its move number is not a number from 1 to 65536")]
    MoveNumber,
}

/// What an SFEN states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sfen {
    /// The position.
    pub packed: Packed,
    /// Move number, 1 at the start of a game.
    pub move_number: u32,
}

impl FromStr for Packed {
    type Err = SfenError;

    fn from_str(text: &str) -> Result<Self, SfenError> {
        Ok(text.parse::<Sfen>()?.packed)
    }
}

impl FromStr for Sfen {
    type Err = SfenError;

    #[inline]
    fn from_str(text: &str) -> Result<Self, SfenError> {
        scan::scan(text.as_bytes()).map_or_else(|| parse(text), Ok)
    }
}

/// Reads an SFEN field by field and names what is wrong with it; [`scan`] is the fast way for those that are right.
#[cold]
fn parse(text: &str) -> Result<Sfen, SfenError> {
    let mut fields = text.split(' ');
    let (Some(board), Some(side), Some(hand), Some(number), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        let leading = text.starts_with("sfen");
        return Err(if leading {
            SfenError::LeadingWord
        } else {
            SfenError::Fields(text.split(' ').count())
        });
    };
    let mut census = Census::default();
    let mut bytes = [0; PACKED_LEN];
    bytes[..SQUARES].fill(EMPTY);
    place_board(board.as_bytes(), &mut bytes, &mut census)?;
    bytes[SIDE] = match side {
        "b" => Side::Black as u8,
        "w" => Side::White as u8,
        _ => return Err(SfenError::Side),
    };
    place_hands(hand.as_bytes(), &mut bytes, &mut census)?;
    census.check()?;
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    let move_number = number.parse().ok().filter(|&n| digits && (1..=1 << 16).contains(&n));
    Ok(Sfen { packed: Packed(bytes), move_number: move_number.ok_or(SfenError::MoveNumber)? })
}

/// Pieces counted, promoted ones as what they were.
#[derive(Default)]
struct Census {
    kinds: [usize; HAND_KINDS],
    kings: [usize; 2],
}

impl Census {
    fn check(&self) -> Result<(), SfenError> {
        for (i, (&found, &most)) in self.kinds.iter().zip(&SET).enumerate() {
            if found > usize::from(most) {
                return Err(SfenError::TooMany { kind: char::from(HAND_LETTERS[i]), found, most });
            }
        }
        for (side, found) in [Side::Black, Side::White].into_iter().zip(self.kings) {
            if found != 1 {
                return Err(SfenError::Kings { side, found });
            }
        }
        Ok(())
    }
}

/// Kind and colour of a letter; `None` where it names no piece.
const PIECES: [Option<(u8, u8)>; 256] = {
    let mut table = [None; 256];
    let mut kind = 0;
    while kind < KIND_LETTERS.len() {
        let letter = KIND_LETTERS[kind];
        table[letter as usize] = Some((kind as u8, 0));
        table[letter.to_ascii_lowercase() as usize] = Some((kind as u8, WHITE));
        kind += 1;
    }
    table
};

/// Promoted kind of an unpromoted one; kings and golds have none.
const fn promoted(kind: u8) -> Option<u8> {
    let mut i = 0;
    while i < PROMOTED_FROM.len() {
        if PROMOTED_FROM[i] == kind {
            return Some(8 + i as u8);
        }
        i += 1;
    }
    None
}

/// [`promoted`] as a table.
pub(super) const PROMOTED: [Option<u8>; 8] = {
    let mut table = [None; 8];
    let mut kind = 0;
    while kind < 8 {
        table[kind] = promoted(kind as u8);
        kind += 1;
    }
    table
};

fn place_board(board: &[u8], bytes: &mut [u8; PACKED_LEN], census: &mut Census) -> Result<(), SfenError> {
    let (mut rank, mut file, mut plus) = (0u8, 0usize, false);
    for &letter in board {
        match letter {
            _ if rank > 8 => break,
            b'1'..=b'9' if !plus => file += usize::from(letter - b'0'),
            b'+' if !plus => plus = true,
            b'/' if file == 9 && !plus => (rank, file) = (rank + 1, 0),
            b'/' => return Err(SfenError::Files(rank)),
            _ => {
                let (kind, colour) = PIECES[usize::from(letter)].ok_or(SfenError::Piece(rank))?;
                let shown =
                    if plus { PROMOTED[usize::from(kind)].ok_or(SfenError::Piece(rank))? } else { kind };
                if file > 8 {
                    return Err(SfenError::Files(rank));
                }
                bytes[file * 9 + usize::from(rank)] = shown | colour;
                if kind == KING {
                    census.kings[usize::from(colour != 0)] += 1;
                } else {
                    census.kinds[usize::from(HAND_OF_KIND[usize::from(kind)])] += 1;
                }
                (file, plus) = (file + 1, false);
            }
        }
        if file > 9 {
            return Err(SfenError::Files(rank));
        }
    }
    match rank {
        8 if file == 9 && !plus => Ok(()),
        8 => Err(SfenError::Files(8)),
        _ => Err(SfenError::Ranks(board.split(|&b| b == b'/').count())),
    }
}

fn place_hands(hand: &[u8], bytes: &mut [u8; PACKED_LEN], census: &mut Census) -> Result<(), SfenError> {
    if hand == b"-" {
        return Ok(());
    }
    let mut count = None;
    for &letter in hand {
        if letter.is_ascii_digit() {
            let digit = usize::from(letter - b'0');
            count = Some(count.unwrap_or(0) * 10 + digit).filter(|&n| (1..100).contains(&n));
            count.ok_or(SfenError::Hand)?;
            continue;
        }
        let (kind, colour) =
            PIECES[usize::from(letter)].filter(|&(kind, _)| kind != KING).ok_or(SfenError::Hand)?;
        let index = usize::from(HAND_OF_KIND[usize::from(kind)]);
        let held = &mut bytes[HANDS + index + if colour == 0 { 0 } else { HAND_KINDS }];
        let n = count.take().unwrap_or(1);
        if *held != 0 {
            return Err(SfenError::Hand);
        }
        *held = n as u8;
        census.kinds[index] += n;
    }
    if hand.is_empty() || count.is_some() { Err(SfenError::Hand) } else { Ok(()) }
}

impl fmt::Display for Packed {
    /// Board, side and hands; the move number is not part of a position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rank in 0..9 {
            let mut gap = 0;
            for file in 0..9 {
                let byte = self.0[file * 9 + rank];
                if byte == EMPTY {
                    gap += 1;
                    continue;
                }
                write_gap(f, &mut gap)?;
                let kind = byte & !WHITE;
                if kind >= 8 {
                    f.write_str("+")?;
                }
                let plain = if kind >= 8 { PROMOTED_FROM[usize::from(kind) - 8] } else { kind };
                write_piece(f, KIND_LETTERS[usize::from(plain)], byte & WHITE != 0)?;
            }
            write_gap(f, &mut gap)?;
            f.write_str(if rank < 8 { "/" } else { "" })?;
        }
        f.write_str(if self.side() == Side::Black { " b " } else { " w " })?;
        self.write_hands(f)
    }
}

impl Packed {
    /// Hands in the order that SFEN text is usually written: R B G S N L P, Black first.
    fn write_hands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut any = false;
        for (hand, white) in self.0[HANDS..SIDE].chunks_exact(HAND_KINDS).zip([false, true]) {
            for (&held, &letter) in hand.iter().zip(&HAND_LETTERS).rev().filter(|&(&held, _)| held > 0) {
                any = true;
                if held > 1 {
                    write!(f, "{held}")?;
                }
                write_piece(f, letter, white)?;
            }
        }
        f.write_str(if any { "" } else { "-" })
    }
}

fn write_gap(f: &mut fmt::Formatter<'_>, gap: &mut u8) -> fmt::Result {
    match std::mem::take(gap) {
        0 => Ok(()),
        n => write!(f, "{n}"),
    }
}

fn write_piece(f: &mut fmt::Formatter<'_>, letter: u8, white: bool) -> fmt::Result {
    write!(f, "{}", char::from(if white { letter.to_ascii_lowercase() } else { letter }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_there_and_back() {
        for text in [
            "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -",
            "l+r3g2l/4k4/p1+Pg1pnsp/1P1bp1pn1/1S1B1P1p1/Sp4G2/2NPP1P1P/2KG3R1/L5SNL w 4p",
            "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p",
        ] {
            let text = format!("{text} 7");
            assert_eq!(format!("{} 7", text.parse::<Packed>().unwrap()), text);
            assert_eq!(scan::scan(text.as_bytes()), parse(&text).ok());
        }
    }

    #[test]
    fn refuses_what_is_no_position() {
        let refuses = |text: &str, error| {
            assert_eq!(parse(text), Err(error), "{text}");
            assert_eq!(scan::scan(text.as_bytes()), None, "{text}");
        };
        let with = |from: &str, to: &str| START.replace(from, to);
        refuses(&format!("sfen {START}"), SfenError::LeadingWord);
        refuses(&with(" - 1", " 1"), SfenError::Fields(3));
        refuses(&with("/LNSGKGSNL", ""), SfenError::Ranks(8));
        refuses(&with("b - 1", "b  - 1"), SfenError::Fields(5));
        refuses(&with("/9/9/9/", "/9/9/9/9/"), SfenError::Ranks(10));
        refuses(&with("1r5b1", "1r5b2"), SfenError::Files(1));
        refuses(&with("1r5b1", "1r5b"), SfenError::Files(1));
        refuses(&with("PPPPPPPPP", "PPPPPPPPPP"), SfenError::Files(6));
        refuses(&with("1r5b1", "1x5b1"), SfenError::Piece(1));
        refuses(&with("lnsg", "lns+g"), SfenError::Piece(0));
        refuses(&with(" b ", " B "), SfenError::Side);
        refuses(&with(" - ", " P2 "), SfenError::Hand);
        refuses(&with(" - ", " K "), SfenError::Hand);
        refuses(&with(" - ", " PP "), SfenError::Hand);
        refuses(&with(" - ", " P "), SfenError::TooMany { kind: 'P', found: 19, most: 18 });
        refuses(&with("GKG", "G1G"), SfenError::Kings { side: Side::Black, found: 0 });
        refuses(&with("gkg", "kkg"), SfenError::Kings { side: Side::White, found: 2 });
        refuses(&with("- 1", "- 0"), SfenError::MoveNumber);
        refuses(&with("- 1", "- +1"), SfenError::MoveNumber);
    }

    proptest::proptest! {
        #[test]
        fn the_fast_way_takes_what_the_slow_way_takes(
            cuts in proptest::collection::vec((0usize..80, "[1-9a-zA-Z+/ -]{0,2}"), 1..3)
        ) {
            let mut text = START.replace(" - ", " R2b3p ");
            for (at, with) in cuts {
                let at = at.min(text.len());
                text.replace_range(at..(at + with.len()).min(text.len()), &with);
            }
            proptest::prop_assert_eq!(scan::scan(text.as_bytes()), parse(&text).ok(), "{}", text);
        }
    }
}
