//! Messages between a builder and its workers: a length of four bytes, little-endian, and that many bytes of JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::draw::Seed;
use super::hidden::Hidden;
use super::state::State;
use super::trial::Sums;
use super::view::Observation;

/// Bytes of a message at most.
pub(super) const MOST: usize = 4 << 20;

/// What a builder asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Whether the engine is what it is taken for.
    Catalog,
    /// What becomes of a decision's attacks.
    Look(Box<Look>),
}

/// A decision, ready to be tried.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Look {
    pub(super) seed: Seed,
    pub(super) determinisations: u32,
    pub(super) state: State,
    pub(super) expected: Observation,
    pub(super) hidden: Hidden,
    /// Indices of the options that are attacks.
    pub(super) attacks: Vec<usize>,
}

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The engine is loaded. Comes once, unasked.
    Ready,
    /// Cards and attacks that the engine knows.
    Catalog { cards: usize, attacks: usize },
    /// What each attack came to.
    Looked(Vec<Sums>),
}

/// Writes a message.
pub(super) fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    out.write_all(&bytes)?;
    out.flush()
}

/// Reads a message; `None` at the end of the input.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut bytes = vec![];
    input.by_ref().take(4).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let length = length(&bytes)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    match parse(&bytes)? {
        Some(message) => Ok(Some(message)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The message that `bytes` are, once they are all there.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<Option<T>> {
    match length(bytes)? {
        Some(length) if bytes.len() >= 4 + length => Ok(Some(serde_json::from_slice(&bytes[4..])?)),
        _ => Ok(None),
    }
}

/// Bytes of the message that starts here, once its length is there.
fn length(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(length) = bytes.first_chunk() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MOST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
    }
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_whole_or_as_errors() {
        let mut bytes = vec![];
        write(&mut bytes, &Reply::Catalog { cards: 3, attacks: 4 }).unwrap();
        write(&mut bytes, &Reply::Ready).unwrap();
        let mut input = bytes.as_slice();
        assert!(matches!(read(&mut input), Ok(Some(Reply::Catalog { cards: 3, attacks: 4 }))));
        assert!(matches!(read(&mut input), Ok(Some(Reply::Ready))));
        assert!(matches!(read::<Reply>(&mut input), Ok(None)));
        for cut in 1..bytes.len() - 11 {
            assert!(read::<Reply>(&mut &bytes[..cut]).is_err(), "{cut}");
            assert!(matches!(parse::<Reply>(&bytes[..cut]), Ok(None)), "{cut}");
        }
        for bytes in [&[0xff; 8][..], b"\x02\0\0\0{}", b"\x01\0\0\0\xff"] {
            assert!(read::<Reply>(&mut &*bytes).is_err() && parse::<Reply>(bytes).is_err(), "{bytes:?}");
        }
    }
}
