//! The order of rows: ascending by a keyed pseudo-random function of the position.
//!
//! SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF"), keyed with the
//! seed (8 bytes little-endian, then 8 zero bytes), over the 96 bytes of the position; the 16 bytes of output are
//! compared as bytes, then the positions. For a fixed seed this is one uniform permutation of the whole corpus, and
//! nothing in the order tells how it was made.

use std::hash::Hasher as _;

use common::formats::mpk1::PACKED_LEN;
use siphasher::sip128::{Hasher128, SipHasher24};

/// Bytes of a key.
pub const KEY_LEN: usize = 16;

/// The key space is cut by the upper half of a key.
pub type Upper = u64;

/// Orders positions under one seed.
#[derive(Debug, Clone, Copy)]
pub struct Order(SipHasher24);

impl Order {
    /// The order of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SipHasher24::new_with_keys(seed, 0))
    }

    /// Key of a position.
    #[inline]
    pub fn key(&self, packed: &[u8; PACKED_LEN]) -> [u8; KEY_LEN] {
        let mut hasher = self.0;
        hasher.write(packed);
        hasher.finish128().as_bytes()
    }
}

/// Upper half of a key, as a number that orders alike.
#[inline]
pub fn upper(key: &[u8; KEY_LEN]) -> Upper {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Which of `parts` equal parts of the key space a key lies in.
#[inline]
pub fn part_of(upper: Upper, parts: u32) -> u32 {
    ((u128::from(upper) * u128::from(parts)) >> 64) as u32
}

/// Where part `part` of `parts` starts; 2^64 for the end of the last.
pub fn part_start(part: u64, parts: u64) -> u128 {
    ((u128::from(part)) << 64).div_ceil(u128::from(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From an implementation of its own, in `tests/python/read_shard.py`.
    #[test]
    fn known_answer() {
        let mut packed = [0xff; PACKED_LEN];
        packed[95] = 1;
        let known = 0x4970_3784_584a_1ec9_4615_069d_4f4b_3104_u128.to_be_bytes();
        assert_eq!(Order::new(7).key(&packed), known);
    }

    #[test]
    fn parts_cover_the_key_space_without_a_gap() {
        for parts in [1u32, 2, 3, 7, 256, 1000] {
            for part in 0..parts {
                let (start, end) =
                    (part_start(part.into(), parts.into()), part_start(u64::from(part) + 1, parts.into()));
                assert_eq!(part_of(start as u64, parts), part);
                assert_eq!(part_of((end - 1) as u64, parts), part);
            }
        }
    }
}
