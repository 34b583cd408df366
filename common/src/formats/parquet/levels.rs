//! Repetition and definition levels: runs of the RLE/bit-packed hybrid, with a length before them.
//! The parser is ours, since parquet2's panics on a cut varint and reads short input as zeros.

type Checked<T> = Result<T, &'static str>;

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

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
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

enum Run<'a> {
    Repeat(u32),
    Packed(&'a [u8]),
}

/// Calls `each` with runs that add up to exactly `n` levels of `bits` bits; the last packed run may be padded.
fn runs<'a>(
    mut block: &'a [u8],
    bits: usize,
    n: usize,
    mut each: impl FnMut(Run<'a>, usize) -> Checked<()>,
) -> Checked<()> {
    let mut left = n;
    while left > 0 {
        let head = take_varint(&mut block)?;
        let (run, len) = if head & 1 == 1 {
            // a writer may leave out the padding of the last run
            let bytes = (head >> 1).saturating_mul(bits).min(block.len());
            let packed;
            (packed, block) = block.split_at(bytes);
            (Run::Packed(packed), (packed.len() * 8 / bits).min(left))
        } else {
            let (&value, rest) = block.split_first().ok_or("its levels are cut off")?;
            block = rest;
            (Run::Repeat(u32::from(value)), head >> 1)
        };
        if len == 0 || len > left {
            return Err("its levels have a run of a wrong length");
        }
        each(run, len)?;
        left -= len;
    }
    Ok(())
}

fn take_varint(block: &mut &[u8]) -> Checked<usize> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = block.split_first().ok_or("its levels are cut off")?;
        *block = rest;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("its levels have a run of a wrong length")
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
            let _ = presence(&block, n, max, Some(max - 1), &mut vec![]);
        }
    }
}
