//! SHA-256, the one digest of files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 of a file's bytes, in lower-case hexadecimal where it is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

/// Why a text is no digest.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no SHA-256 in lower-case hexadecimal")]
pub struct NoDigest(String);

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Self, NoDigest> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(digit) { Ok(Self(text)) } else { Err(NoDigest(text)) }
    }
}

impl Digest {
    /// Digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(bytes))
    }

    /// Digest of a file, read in pieces.
    pub fn of_file(file: &mut File) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let mut piece = vec![0; 1 << 18];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(Self::from_hash(hash)),
                n => hash.update(&piece[..n]),
            }
        }
    }

    /// Digest of fields, each behind its length (u64, little-endian), so that no two lists have the same bytes.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for field in fields {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field);
        }
        Self::from_hash(hash)
    }

    /// A digest of these bytes.
    pub fn of_raw(bytes: [u8; 32]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; 32] {
        let nibble = |digit: u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(self.0.as_bytes().as_chunks::<2>().0) {
            *byte = nibble(digits[0]) << 4 | nibble(digits[1]);
        }
        bytes
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn from_hash(hash: Sha256) -> Self {
        Self::of_raw(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Digests and counts what is written through it.
#[derive(Debug)]
pub struct Digesting<W> {
    out: W,
    hash: Sha256,
    len: u64,
}

impl<W: Write> Digesting<W> {
    /// Digests from the first byte on.
    pub fn new(out: W) -> Self {
        Self { out, hash: Sha256::new(), len: 0 }
    }

    /// The output, the digest and the number of bytes.
    pub fn finish(self) -> (W, Digest, u64) {
        (self.out, Digest::from_hash(self.hash), self.len)
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answer() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        let fields = |fields: [&str; 2]| Digest::of_fields(fields.map(str::as_bytes));
        assert_ne!(fields(["ab", "c"]), fields(["a", "bc"]));
        assert!(Digest::try_from(abc.to_owned()).is_ok());
        for text in [&abc[1..], &abc.to_uppercase(), &format!("../{}", &abc[3..])] {
            assert!(Digest::try_from(text.to_owned()).is_err(), "{text}");
        }
        let mut through = Digesting::new(vec![]);
        through.write_all(b"abc").unwrap();
        let (out, digest, len) = through.finish();
        assert_eq!((out.as_slice(), digest.to_string().as_str(), len), (b"abc".as_slice(), abc, 3));
    }
}
