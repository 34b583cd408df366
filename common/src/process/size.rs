//! Sizes as people write them: `256MiB`, `2GB`, `unlimited`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes; `unlimited` is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 10] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
    ("", 1),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(u64::MAX));
        }
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let scale =
            UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim())).map(|&(_, scale)| scale);
        let size =
            number.parse().ok().zip(scale).and_then(|(number, scale): (u64, u64)| number.checked_mul(scale));
        size.map(Self).ok_or_else(|| "expected a size such as 256MiB, 2GB or unlimited".into())
    }
}

impl fmt::Display for ByteSize {
    /// With the largest binary unit that leaves a number from 1 on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u64::MAX {
            return f.write_str("unlimited");
        }
        match UNITS[..4].iter().rev().find(|&&(_, scale)| self.0 >= scale) {
            Some(&(unit, scale)) if self.0.is_multiple_of(scale) => write!(f, "{} {unit}", self.0 / scale),
            Some(&(unit, scale)) => write!(f, "{:.1} {unit}", self.0 as f64 / scale as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows_sizes() {
        let cases =
            [("0", 0), ("64MiB", 64 << 20), ("2 GB", 2_000_000_000), ("7b", 7), ("unlimited", u64::MAX)];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "MiB", "-1", "1.5GiB", "1 XB", "99999999999999TiB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
        assert_eq!(ByteSize(1023).to_string(), "1023 B");
        assert_eq!(ByteSize(1 << 20).to_string(), "1 MiB");
        assert_eq!(ByteSize(3 << 19).to_string(), "1.5 MiB");
    }
}
