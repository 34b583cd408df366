//! Part I of N of the shards.

use std::fmt;
use std::str::FromStr;

/// Part `index` of `of`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Number of the part.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Range {
    /// All shards.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// The shards of this part, of `shards` in all. Parts beyond the number of shards are empty.
    pub fn shards(self, shards: u32) -> std::ops::Range<u32> {
        let start = |part: u32| (u64::from(part) * u64::from(shards)).div_ceil(u64::from(self.of)) as u32;
        start(self.index)..start(self.index + 1)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (index, of) = text.split_once('/').unwrap_or_default();
        match (index.parse(), of.parse()) {
            (Ok(index), Ok(of)) if index < of && of <= 1 << 20 => Ok(Self { index, of }),
            _ => Err("expected I/N with I from 0 to N - 1".into()),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_shards_once() {
        for (shards, of) in [(1, 1), (1, 4), (4, 4), (8, 3), (16, 5), (2, 7)] {
            let covered: Vec<u32> = (0..of).flat_map(|index| Range { index, of }.shards(shards)).collect();
            assert_eq!(covered, (0..shards).collect::<Vec<_>>(), "{shards} in {of}");
        }
        for text in ["", "1", "1/1", "2/1", "-1/2", "0/0", "a/b"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }
}
