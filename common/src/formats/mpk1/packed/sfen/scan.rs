//! Reads the SFEN of a corpus row in one pass with hardly a branch: nearly all are right.

use super::super::{
    EMPTY, HAND_KINDS, HAND_OF_KIND, HANDS, KIND_LETTERS, KING, PACKED_LEN, Packed, SET, SIDE, SQUARES, WHITE,
};
use super::{PROMOTED, Sfen};

/// What a letter of the board does.
#[derive(Clone, Copy)]
struct Step {
    /// What the piece adds to the census.
    count: u64,
    /// Squares to go on, in the order of the board: a file is 9, and a new rank starts at the first file again.
    advance: i32,
    /// Byte to place.
    place: u8,
    /// Ranks that end here.
    rank: u8,
}

/// Census lanes of seven bits: the seven kinds of a hand, then Black's and White's king. A board and two hands that
/// were each held to the set cannot overflow one.
const LANE_BITS: u8 = 7;
const KING_LANE: u8 = HAND_KINDS as u8;
/// Steps of letters behind a `+`.
const PLUS: usize = 256;
/// The advance of a letter that must not stand here: no other letters bring the scan back from there.
const ASTRAY: i32 = 1 << 30;

/// Steps of a letter; from [`PLUS`] on, of a letter behind a `+`.
const STEPS: [Step; 2 * PLUS] = {
    let still = Step { count: 0, advance: 0, place: EMPTY, rank: 0 };
    let mut steps = [Step { advance: ASTRAY, ..still }; 2 * PLUS];
    let mut digit = 1;
    while digit <= 9 {
        steps[b'0' as usize + digit] = Step { advance: 9 * digit as i32, ..still };
        digit += 1;
    }
    steps[b'/' as usize] = Step { advance: 1 - SQUARES as i32, rank: 1, ..still };
    steps[b'+' as usize] = still;
    let mut kind = 0;
    while kind < KIND_LETTERS.len() {
        let mut white = 0;
        while white < 2 {
            let letter = KIND_LETTERS[kind] | white << 5;
            let lane = if kind == KING as usize { KING_LANE + white } else { HAND_OF_KIND[kind] };
            let piece =
                Step { count: 1 << (LANE_BITS * lane), advance: 9, place: kind as u8 | white << 4, ..still };
            steps[letter as usize] = piece;
            if let Some(promoted) = PROMOTED[kind] {
                steps[PLUS + letter as usize] = Step { place: promoted | white << 4, ..piece };
            }
            white += 1;
        }
        kind += 1;
    }
    steps
};

/// Reads an SFEN that is right; `None` for any other.
pub(super) fn scan(text: &[u8]) -> Option<Sfen> {
    let mut bytes = [EMPTY; 256];
    let (mut census, end) = place_board(text, &mut bytes)?;
    let mut packed = *bytes.first_chunk::<PACKED_LEN>()?;
    packed[HANDS..].fill(0);
    let (side, rest) = text[end..].split_first_chunk::<3>()?;
    packed[SIDE] = match side {
        b" b " => 0,
        b" w " => 1,
        _ => return None,
    };
    let rest = place_hands(rest, &mut packed, &mut census)?;
    let number = move_number(rest)?;
    let lane = |lane: u8| (census >> (LANE_BITS * lane)) as u8 & 0x7f;
    let fits = (0..KING_LANE).zip(SET).fold(true, |fits, (i, most)| fits & (lane(i) <= most));
    let kings = lane(KING_LANE) == 1 && lane(KING_LANE + 1) == 1;
    (fits && kings).then_some(Sfen { packed: Packed(packed), move_number: number })
}

/// Places the pieces and gives their census, and where the board ends. A letter is always written where the scan
/// stands: what is no piece leaves an empty square, or falls behind the board. Each rank must end right behind it.
fn place_board(text: &[u8], bytes: &mut [u8; 256]) -> Option<(u64, usize)> {
    let (mut at, mut census, mut rank, mut before, mut end) = (0i64, 0u64, 0u8, 0u8, 0);
    let mut ends = [0i64; 256];
    while let Some(&letter) = text.get(end).filter(|&&letter| letter != b' ') {
        let promoted = if before == b'+' { PLUS } else { 0 };
        let step = &STEPS[promoted + usize::from(letter)];
        ends[usize::from(rank)] = at;
        bytes[at as usize & 0xff] = step.place;
        at += i64::from(step.advance);
        census = census.wrapping_add(step.count);
        rank = rank.wrapping_add(step.rank);
        before = letter;
        end += 1;
    }
    ends[usize::from(rank)] = at;
    let whole =
        ends[..9].iter().zip(SQUARES as i64..).fold(true, |whole, (&end, want)| whole & (end == want));
    (whole && rank == 8 && before != b'+').then_some((census, end))
}

/// Places the hands and gives what stands behind them.
fn place_hands<'a>(text: &'a [u8], packed: &mut [u8; PACKED_LEN], census: &mut u64) -> Option<&'a [u8]> {
    if let Some(rest) = text.strip_prefix(b"- ") {
        return Some(rest);
    }
    let (mut count, mut any) = (0u8, false);
    for (i, &letter) in text.iter().enumerate() {
        match letter {
            b' ' => return (any && count == 0).then_some(&text[i + 1..]),
            b'0'..=b'9' => {
                count = count.checked_mul(10)?.checked_add(letter - b'0')?;
                if count == 0 {
                    return None;
                }
            }
            _ => {
                let step = STEPS[usize::from(letter)];
                let (kind, white) = (usize::from(step.place & !WHITE), usize::from(step.place & WHITE != 0));
                if step.count == 0 || kind == usize::from(KING) {
                    return None;
                }
                let index = usize::from(HAND_OF_KIND[kind]);
                let (held, n) = (&mut packed[HANDS + index + white * HAND_KINDS], count.max(1));
                if *held != 0 || n > SET[index] {
                    return None;
                }
                *held = n;
                *census += step.count * u64::from(n);
                (count, any) = (0, true);
            }
        }
    }
    None
}

fn move_number(digits: &[u8]) -> Option<u32> {
    let number = digits.iter().try_fold(0u32, |number, &digit| match digit {
        b'0'..=b'9' => Some(number * 10 + u32::from(digit - b'0')).filter(|&number| number <= 1 << 16),
        _ => None,
    });
    number.filter(|&number| number > 0)
}
