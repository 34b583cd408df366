//! Runs of the RLE/bit-packed hybrid, which levels and dictionary indices are written in. The parser is ours, since
//! parquet2's panics on a cut varint and reads short input as zeros.

pub(super) type Checked<T> = Result<T, &'static str>;

/// Equal values from this many on are a run of their own.
const LEAST_REPEAT: usize = 16;
/// Packed values that are written at once, so that a long stretch of them needs no memory.
const MOST_PACKED: usize = 1 << 12;

/// Writes values of `bits` bits, 1 to 16.
#[derive(Debug)]
pub(super) struct HybridWriter {
    out: Vec<u8>,
    bits: usize,
    packed: Vec<u32>,
    repeat: (u32, usize),
}

impl HybridWriter {
    /// Writes behind what `out` holds.
    pub(super) fn new(out: Vec<u8>, bits: usize) -> Self {
        Self { out, bits, packed: vec![], repeat: (0, 0) }
    }

    /// Appends `n` times `value`.
    pub(super) fn push(&mut self, value: u32, n: usize) {
        if value == self.repeat.0 {
            self.repeat.1 += n;
        } else if n > 0 {
            self.settle();
            self.repeat = (value, n);
        }
    }

    /// What was written.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.settle();
        self.flush(self.packed.len());
        self.out
    }

    fn settle(&mut self) {
        let (value, n) = std::mem::take(&mut self.repeat);
        let fill = self.packed.len().next_multiple_of(8) - self.packed.len();
        if n < LEAST_REPEAT + fill {
            self.packed.extend(std::iter::repeat_n(value, n));
            if self.packed.len() >= MOST_PACKED {
                self.flush(self.packed.len() / 8 * 8);
            }
            return;
        }
        self.packed.extend(std::iter::repeat_n(value, fill));
        self.flush(self.packed.len());
        varint(&mut self.out, ((n - fill) as u64) << 1);
        self.out.extend_from_slice(&value.to_le_bytes()[..self.bits.div_ceil(8)]);
    }

    /// Writes the first `n` packed values; a last group of less than eight is padded.
    fn flush(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        varint(&mut self.out, (n.div_ceil(8) as u64) << 1 | 1);
        for eight in self.packed[..n].chunks(8) {
            let word = eight.iter().rev().fold(0u128, |word, &value| word << self.bits | u128::from(value));
            self.out.extend_from_slice(&word.to_le_bytes()[..self.bits]);
        }
        self.packed.drain(..n);
    }
}

pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A run: one value again and again, or packed bits.
pub(super) enum Run<'a> {
    Repeat(u32),
    Packed(&'a [u8]),
}

/// Calls `each` with runs that add up to exactly `n` values of `bits` bits; the last packed run may be padded.
pub(super) fn runs<'a>(
    mut block: &'a [u8],
    bits: usize,
    n: usize,
    mut each: impl FnMut(Run<'a>, usize) -> Checked<()>,
) -> Checked<()> {
    if bits == 0 {
        return each(Run::Repeat(0), n);
    }
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
            let (value, rest) = block.split_at_checked(bits.div_ceil(8)).ok_or("its runs are cut off")?;
            block = rest;
            let value = value.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
            (Run::Repeat(value), head >> 1)
        };
        if len == 0 || len > left {
            return Err("it has a run of a wrong length");
        }
        each(run, len)?;
        left -= len;
    }
    Ok(())
}

/// Unpacks value `8 * eight` of a packed run and the seven behind it; what is cut off reads as 0.
pub(super) fn unpack(packed: &[u8], bits: usize, eight: usize) -> [u32; 8] {
    let from = packed.get(eight * bits..).unwrap_or_default();
    let from = &from[..from.len().min(bits)];
    let mask = u64::MAX >> (64 - bits);
    if let (8, Some(bytes)) = (bits, from.first_chunk::<8>()) {
        return bytes.map(u32::from);
    }
    if bits <= 8 {
        let word = match from.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => from.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        return std::array::from_fn(|i| (word >> (i * bits) & mask) as u32);
    }
    let mut bytes = [0; 40];
    bytes[..from.len()].copy_from_slice(from);
    std::array::from_fn(|i| {
        let at = i * bits;
        let word = bytes[at / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        (word >> (at % 8) & mask) as u32
    })
}

fn take_varint(block: &mut &[u8]) -> Checked<usize> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = block.split_first().ok_or("its runs are cut off")?;
        *block = rest;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("it has a run of a wrong length")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(block: &[u8], bits: usize, n: usize) -> Checked<Vec<u32>> {
        let mut out = vec![];
        runs(block, bits, n, |run, len| {
            match run {
                Run::Repeat(value) => out.extend(std::iter::repeat_n(value, len)),
                Run::Packed(packed) => {
                    out.extend((0..len.div_ceil(8)).flat_map(|eight| unpack(packed, bits, eight)).take(len));
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn the_example_of_the_format_is_packed_from_the_lowest_bit() {
        let mut writer = HybridWriter::new(vec![], 3);
        (0..8).for_each(|value| writer.push(value, 1));
        assert_eq!(writer.finish(), [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    proptest! {
        #[test]
        fn runs_come_back(bits in 1usize..=16, pushed in proptest::collection::vec((any::<u16>(), 0usize..60), 0..300)) {
            let mut writer = HybridWriter::new(vec![], bits);
            let mut expected = vec![];
            for (value, n) in pushed {
                let value = u32::from(value) & ((1 << bits) - 1);
                writer.push(value, n);
                expected.extend(std::iter::repeat_n(value, n));
            }
            prop_assert_eq!(read(&writer.finish(), bits, expected.len()), Ok(expected));
        }

        #[test]
        fn no_bytes_panic(block in proptest::collection::vec(any::<u8>(), 0..64), bits in 0usize..=32, n in 0usize..500) {
            let _ = read(&block, bits, n);
        }
    }
}
