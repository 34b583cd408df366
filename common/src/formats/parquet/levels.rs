//! Repetition and definition levels: runs of the RLE/bit-packed hybrid, with a length before them.

use super::hybrid::{Checked, HybridWriter, Run, runs, varint};

/// Lists from this length on have their repetition levels in runs, shorter ones in packed bits.
const LONG_LIST: usize = 32;

/// Appends `n` equal levels of `value`.
pub fn push_repeated(out: &mut Vec<u8>, value: u8, n: usize) {
    sized(out, |out| {
        varint(out, (n as u64) << 1);
        out.push(value);
    });
}

/// Appends `n` levels of one bit: 0 at each of the ascending `zeros`, 1 elsewhere.
pub fn push_flags(out: &mut Vec<u8>, n: usize, zeros: impl Iterator<Item = usize>) {
    let eights = n.div_ceil(8);
    sized(out, |out| {
        varint(out, (eights as u64) << 1 | 1);
        let start = out.len();
        out.resize(start + eights, 0xff);
        zeros.for_each(|at| out[start + at / 8] &= !(1 << (at % 8)));
    });
}

/// Appends levels of two bits.
pub fn push_two_bits(out: &mut Vec<u8>, levels: &[u8]) {
    let eights = levels.len().div_ceil(8);
    sized(out, |out| {
        varint(out, (eights as u64) << 1 | 1);
        let end = out.len() + 2 * eights;
        out.extend(levels.chunks(4).map(|four| four.iter().rev().fold(0, |byte, level| byte << 2 | level)));
        out.resize(end, 0);
    });
}

/// Appends the repetition levels of `rows` lists of `len` entries each.
pub fn push_lists(out: &mut Vec<u8>, rows: usize, len: usize) {
    if len < LONG_LIST {
        return push_flags(out, rows * len, (0..rows).map(|row| row * len));
    }
    sized(out, |out| {
        let mut levels = HybridWriter::new(std::mem::take(out), 1);
        for _ in 0..rows {
            levels.push(0, 1);
            levels.push(1, len - 1);
        }
        *out = levels.finish();
    });
}

fn sized(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
}

/// Splits a level block, with its four-byte length, off a page.
pub(super) fn take<'a>(page: &mut &'a [u8]) -> Checked<&'a [u8]> {
    let (len, rest) = page.split_first_chunk::<4>().ok_or("its levels are cut off")?;
    let (block, rest) =
        rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or("its levels are cut off")?;
    *page = rest;
    Ok(block)
}

/// Appends the positions of the lists that start among `n` repetition levels, counted from `at`.
pub(super) fn list_starts(block: &[u8], n: usize, mut at: u32, starts: &mut Vec<u32>) -> Checked<()> {
    runs(block, 1, n, |run, len| {
        let end = at + len as u32;
        match run {
            Run::Repeat(0) => starts.extend(at..end),
            Run::Repeat(1) => {}
            Run::Repeat(_) => return Err("it has a repetition level past 1"),
            Run::Packed(bytes) => {
                for (first, eight) in (at..).step_by(64).zip(bytes.chunks(8)) {
                    let mut word = [0xff; 8];
                    word[..eight.len()].copy_from_slice(eight);
                    let mut zeros = !u64::from_le_bytes(word);
                    while zeros != 0 && first + zeros.trailing_zeros() < end {
                        starts.push(first + zeros.trailing_zeros());
                        zeros &= zeros - 1;
                    }
                }
            }
        }
        at = end;
        Ok(())
    })
}

/// Holds `n` repetition levels, the first of which is entry `at` of the column, to lists of `len` entries.
pub(super) fn fixed_lists(block: &[u8], n: usize, len: usize, mut at: usize) -> Checked<()> {
    let wrong = Err("it has a list of another length");
    runs(block, 1, n, |run, count| {
        let from = at % len;
        at += count;
        match run {
            Run::Repeat(0) if len == 1 || (from == 0 && count == 1) => Ok(()),
            Run::Repeat(1) if from > 0 && from + count <= len => Ok(()),
            Run::Repeat(_) => wrong,
            Run::Packed(bytes) => {
                let mut slot = from;
                for (i, &byte) in bytes.iter().enumerate() {
                    let bits = (count - 8 * i).min(8);
                    if slot > 0 && slot + 8 <= len && bits == 8 {
                        // most bytes lie within a list
                        if byte != 0xff {
                            return wrong;
                        }
                        slot += 8;
                    } else {
                        for bit in 0..bits {
                            if (byte >> bit & 1 == 0) != (slot == 0) {
                                return wrong;
                            }
                            slot = if slot + 1 == len { 0 } else { slot + 1 };
                        }
                    }
                    slot %= len;
                }
                Ok(())
            }
        }
    })
}

/// Appends runs of present and absent values and counts the present. A level is `max` where the value is there,
/// or `null` where it may be absent; any other is an error.
pub(super) fn presence(
    block: &[u8],
    n: usize,
    max: u32,
    null: Option<u32>,
    out: &mut Vec<(bool, usize)>,
) -> Checked<usize> {
    let bits = (32 - max.leading_zeros()) as usize;
    let mut present = 0;
    let mut add = |level: u32, len: usize| {
        let there = level == max;
        if !there && Some(level) != null {
            return Err("it has a null or an empty list");
        }
        present += if there { len } else { 0 };
        match out.last_mut() {
            Some(last) if last.0 == there => last.1 += len,
            _ => out.push((there, len)),
        }
        Ok(())
    };
    runs(block, bits, n, |run, len| match run {
        Run::Repeat(level) => add(level, len),
        Run::Packed(bytes) => (0..len).try_for_each(|i| {
            let (byte, shift) = (i * bits / 8, i * bits % 8);
            let next = bytes.get(byte + 1).copied().unwrap_or(0);
            add(u32::from(u16::from_le_bytes([bytes[byte], next]) >> shift) & ((1 << bits) - 1), 1)
        }),
    })?;
    Ok(present)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn list_starts_come_back(lengths in proptest::collection::vec(1usize..20, 1..200)) {
            let mut starts = vec![0u32];
            lengths.iter().for_each(|len| starts.push(starts[starts.len() - 1] + *len as u32));
            let total = starts.pop().unwrap() as usize;
            let mut block = vec![];
            push_flags(&mut block, total, starts.iter().map(|&at| at as usize));
            let mut found = vec![];
            list_starts(take(&mut &block[..]).unwrap(), total, 0, &mut found).unwrap();
            prop_assert_eq!(found, starts);
        }

        #[test]
        fn lists_of_one_length_are_told_from_others(len in 1usize..200, rows in 1usize..50, flip in any::<usize>()) {
            let (mut block, n) = (vec![], len * rows);
            push_lists(&mut block, rows, len);
            prop_assert_eq!(fixed_lists(take(&mut &block[..]).unwrap(), n, len, 0), Ok(()));
            let mut packed = vec![];
            push_flags(&mut packed, n, (0..rows).map(|row| row * len));
            prop_assert_eq!(fixed_lists(take(&mut &packed[..]).unwrap(), n, len, 0), Ok(()));
            packed.clear();
            let flip = flip % n;
            push_flags(&mut packed, n, (0..n).filter(|&at| (at % len == 0) != (at == flip)));
            prop_assert!(fixed_lists(take(&mut &packed[..]).unwrap(), n, len, 0).is_err());
        }

        #[test]
        fn two_bit_levels_come_back(levels in proptest::collection::vec(1u8..=2, 1..300)) {
            let mut block = vec![];
            push_two_bits(&mut block, &levels);
            let mut runs = vec![];
            let present = presence(take(&mut &block[..]).unwrap(), levels.len(), 2, Some(1), &mut runs).unwrap();
            let flat: Vec<u8> = runs.iter().flat_map(|&(on, n)| vec![if on { 2 } else { 1 }; n]).collect();
            prop_assert_eq!(present, levels.iter().filter(|&&level| level == 2).count());
            prop_assert_eq!(flat, levels);
        }

        #[test]
        fn no_bytes_panic(block in proptest::collection::vec(any::<u8>(), 0..64), n in 0usize..500, max in 1u32..8) {
            let _ = list_starts(&block, n, 0, &mut vec![]);
            let _ = fixed_lists(&block, n, max as usize, n);
            let _ = presence(&block, n, max, Some(max - 1), &mut vec![]);
        }
    }
}
