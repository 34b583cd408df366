//! TensorBoard event files: records of (length, masked CRC-32C of it, message, masked CRC-32C of it), where a message is a
//! protocol buffer `Event`. Only what a scalar needs is written: wall time, step, tag and value.

use std::io::{self, Write};

/// What the first event of a file says.
const FILE_VERSION: &str = "brain.Event:2";

/// Writes events.
#[derive(Debug)]
pub struct Events<W> {
    out: W,
}

impl<W: Write> Events<W> {
    /// Starts a file at `wall_time`, seconds since 1970.
    pub fn start(out: W, wall_time: f64) -> io::Result<Self> {
        let mut events = Self { out };
        let mut event = Message::at(wall_time, 0);
        event.bytes(3, FILE_VERSION.as_bytes());
        events.record(&event.0)?;
        Ok(events)
    }

    /// Goes on with a file that was started before.
    pub fn resume(out: W) -> Self {
        Self { out }
    }

    /// Writes the values of some tags at a step.
    pub fn scalars<'a>(
        &mut self,
        wall_time: f64,
        step: u64,
        values: impl IntoIterator<Item = (&'a str, f32)>,
    ) -> io::Result<()> {
        let mut summary = Message::default();
        for (tag, value) in values {
            let mut one = Message::default();
            one.bytes(1, tag.as_bytes());
            one.tag(2, 5);
            one.0.extend_from_slice(&value.to_le_bytes());
            summary.bytes(1, &one.0);
        }
        let mut event = Message::at(wall_time, step);
        event.bytes(5, &summary.0);
        self.record(&event.0)?;
        self.out.flush()
    }

    /// In one piece, so that a killed writer leaves at most one record that is cut off, which readers pass over.
    fn record(&mut self, message: &[u8]) -> io::Result<()> {
        let len = (message.len() as u64).to_le_bytes();
        let record = [&len[..], &masked(&len), message, &masked(message)].concat();
        self.out.write_all(&record)
    }
}

/// A protocol buffer in the making.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn at(wall_time: f64, step: u64) -> Self {
        let mut event = Self::default();
        event.tag(1, 1);
        event.0.extend_from_slice(&wall_time.to_le_bytes());
        event.tag(2, 0);
        event.varint(step);
        event
    }

    fn tag(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// CRC-32C, rotated and shifted as the format wants it.
fn masked(bytes: &[u8]) -> [u8; 4] {
    (crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)).to_le_bytes()
}

/// CRC-32 of Castagnoli's polynomial, bit by bit: events are few and short.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_checksums() {
        // RFC 3720, B.4
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a_scalar_byte_by_byte() {
        let mut bytes = vec![];
        Events::resume(&mut bytes).scalars(1.0, 300, [("a", 2.0)]).unwrap();
        let message = [
            &[0x09][..],
            &1_f64.to_le_bytes(), // wall time
            &[0x10, 0xac, 0x02],  // step
            &[0x2a, 10],          // summary
            &[0x0a, 8],           // a value of it
            &[0x0a, 1, b'a'],     // tag
            &[0x15],              // simple value
            &2_f32.to_le_bytes(),
        ]
        .concat();
        assert_eq!(bytes[..8], (message.len() as u64).to_le_bytes());
        assert_eq!(bytes[8..12], masked(&bytes[..8]));
        assert_eq!(bytes[12..12 + message.len()], message);
        assert_eq!(bytes[12 + message.len()..], masked(&message));
    }
}
