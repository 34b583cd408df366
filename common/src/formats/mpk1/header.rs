//! The header: what a reader has to act on, and nothing it merely wants to know.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

use super::error::Error;

/// Bytes of a header.
pub const HEADER_LEN: usize = 24;
/// The slack that a header without one stands for ("The header states the conventions").
pub const DEFAULT_MATE_SLACK: u16 = 320;
/// Largest position this reader takes, in bytes.
pub const MAX_PACKED_LEN: u16 = 4096;

const MAGIC: [u8; 4] = *b"MPK1";
const VERSION: u16 = 1;

/// From whose side `cp` and `value_q` are stated; `value_z` is always the mover's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pov {
    /// Side to move.
    Mover = 0,
    /// Black (sente).
    Black = 1,
}

/// Which half of a candidate carries the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// Visit counts of a tree search.
    Visits = 0,
    /// A softmax over centipawn scores of a MultiPV search.
    Cp = 1,
}

/// Conventions of a stream. `None` is "not stated" or "not applicable", written as 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Bytes of a position; 96 for [`Packed`](super::Packed).
    pub packed_len: u16,
    /// Point of view of `cp` and `value_q`.
    pub pov: Pov,
    /// What the policy is derived from.
    pub policy_source: PolicySource,
    /// Centipawn value that mates are folded to.
    pub mate_scale: Option<NonZeroU16>,
    /// How far below `mate_scale` this corpus's mates reach.
    pub mate_slack: Option<NonZeroU16>,
    /// FV_SCALE that the generating engine's evaluation was read at: provenance, not decoding.
    pub fv_scale: Option<NonZeroU16>,
    /// Centipawn scale that `value_q` was squashed against: `tanh(cp / (2 · eval_coef))`.
    pub eval_coef: Option<f32>,
}

impl Header {
    /// Conventions of a stream without centipawns.
    pub fn visits() -> Self {
        Self {
            packed_len: super::PACKED_LEN as u16,
            pov: Pov::Mover,
            policy_source: PolicySource::Visits,
            mate_scale: None,
            mate_slack: None,
            fv_scale: None,
            eval_coef: None,
        }
    }

    /// The slack in effect: the stated one, else 320; 0 where there is no mate scale.
    pub fn effective_slack(&self) -> u16 {
        match self.mate_scale {
            Some(_) => self.mate_slack.map_or(DEFAULT_MATE_SLACK, NonZeroU16::get),
            None => 0,
        }
    }

    /// Centipawns from which a score is a mate; `None` without a mate scale.
    pub fn mate_threshold(&self) -> Option<u16> {
        self.mate_scale.map(|scale| scale.get().saturating_sub(self.effective_slack()))
    }

    /// Reads a header from the first 24 bytes of a stream.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let short = Error::ShortHeader { found: bytes.len() };
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(short)?;
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let magic = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if magic != MAGIC {
            return Err(Error::Magic(magic));
        }
        if u16_at(4) != VERSION {
            return Err(Error::Version(u16_at(4)));
        }
        let field = |field, found: String, expected| Error::Field { field, found, expected };
        let pov = match bytes[8] {
            0 => Pov::Mover,
            1 => Pov::Black,
            other => return Err(field("pov", other.to_string(), "0 (side to move) or 1 (Black)")),
        };
        let policy_source = match bytes[9] {
            0 => PolicySource::Visits,
            1 => PolicySource::Cp,
            other => return Err(field("policy_source", other.to_string(), "0 (visits) or 1 (cp)")),
        };
        let coef = f32::from_bits(u32_at(16));
        let header = Self {
            packed_len: u16_at(6),
            pov,
            policy_source,
            mate_scale: NonZeroU16::new(u16_at(10)),
            fv_scale: NonZeroU16::new(u16_at(12)),
            mate_slack: NonZeroU16::new(u16_at(14)),
            eval_coef: (coef != 0.0).then_some(coef),
        };
        if u32_at(20) != 0 {
            return Err(field("flags", format!("{:#x}", u32_at(20)), "0"));
        }
        header.check()?;
        Ok(header)
    }

    /// The 24 bytes of this header.
    pub fn encode(&self) -> Result<[u8; HEADER_LEN], Error> {
        self.check()?;
        let or_zero = |value: Option<NonZeroU16>| value.map_or(0, NonZeroU16::get).to_le_bytes();
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.packed_len.to_le_bytes());
        bytes[8] = self.pov as u8;
        bytes[9] = self.policy_source as u8;
        bytes[10..12].copy_from_slice(&or_zero(self.mate_scale));
        bytes[12..14].copy_from_slice(&or_zero(self.fv_scale));
        bytes[14..16].copy_from_slice(&or_zero(self.mate_slack));
        bytes[16..20].copy_from_slice(&self.eval_coef.unwrap_or(0.0).to_le_bytes());
        Ok(bytes)
    }

    /// Ranges that both directions hold to.
    fn check(&self) -> Result<(), Error> {
        let refuse = |field, found: String, expected| Err(Error::Field { field, found, expected });
        if !(1..=MAX_PACKED_LEN).contains(&self.packed_len) {
            return refuse("packed_len", self.packed_len.to_string(), "1 to 4096");
        }
        let scale = self.mate_scale.map_or(0, NonZeroU16::get);
        if scale > i16::MAX as u16 {
            return refuse("mate_scale", scale.to_string(), "at most 32767, the largest cp");
        }
        if self.mate_threshold() == Some(0) {
            let found = format!("{} beside a mate_scale of {scale}", self.effective_slack());
            return refuse("mate_slack", found, "less than mate_scale");
        }
        match self.eval_coef {
            Some(coef) if !(coef.is_finite() && coef > 0.0) => {
                refuse("eval_coef", coef.to_string(), "a positive, finite number")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A teacher stream's header, byte by byte.
    const GOLDEN: [u8; HEADER_LEN] = [
        b'M', b'P', b'K', b'1', // magic
        1, 0, // version
        96, 0, // packed_len
        0, // pov: side to move
        1, // policy_source: cp
        0x00, 0x7d, // mate_scale 32000
        20, 0, // fv_scale
        100, 0, // mate_slack
        0x00, 0x00, 0x16, 0x44, // eval_coef 600.0
        0, 0, 0, 0, // flags
    ];

    fn golden() -> Header {
        Header {
            policy_source: PolicySource::Cp,
            mate_scale: NonZeroU16::new(32000),
            mate_slack: NonZeroU16::new(100),
            fv_scale: NonZeroU16::new(20),
            eval_coef: Some(600.0),
            ..Header::visits()
        }
    }

    #[test]
    fn bytes_are_the_specification() {
        assert_eq!(golden().encode().unwrap(), GOLDEN);
        assert_eq!(Header::decode(&GOLDEN).unwrap(), golden());
        assert_eq!(golden().mate_threshold(), Some(31900));
    }

    #[test]
    fn slack_not_stated_is_320_and_no_scale_is_no_threshold() {
        let unstated = Header { mate_slack: None, ..golden() };
        assert_eq!(unstated.mate_threshold(), Some(31680));
        assert_eq!(Header::visits().effective_slack(), 0);
        assert_eq!(Header::visits().mate_threshold(), None);
    }

    #[test]
    fn refuses_each_field_out_of_range() {
        let refuses = |at: usize, bytes: &[u8], text: &str| {
            let mut header = GOLDEN;
            header[at..at + bytes.len()].copy_from_slice(bytes);
            let message = Header::decode(&header).unwrap_err().to_string();
            assert!(message.contains(text), "{message}");
        };
        refuses(0, b"MPCK", "not an MPK1 stream");
        refuses(4, &[2, 0], "version 2");
        refuses(6, &[0, 0], "packed_len");
        refuses(6, &[1, 16], "packed_len is 4097");
        refuses(8, &[2], "pov is 2");
        refuses(9, &[2], "policy_source is 2");
        refuses(10, &[0, 0x80], "mate_scale");
        refuses(14, &[0x00, 0x7d], "mate_slack");
        refuses(16, &f32::NAN.to_le_bytes(), "eval_coef");
        refuses(16, &(-1f32).to_le_bytes(), "eval_coef");
        refuses(20, &[1], "flags is 0x1");
        assert!(matches!(Header::decode(&GOLDEN[..23]), Err(Error::ShortHeader { found: 23 })));
    }
}
