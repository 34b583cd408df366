//! Named tensors of `f32` in one file: a length (u64, little-endian), a JSON header that tells name, type, shape and
//! place of each tensor, and their values behind. It is what other tools call safetensors; types other than `F32` are
//! refused by name. Tensors are written in the order of their names, so equal tensors give equal bytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// Bytes that a header may have.
const MOST_HEADER: u64 = 100 << 20;
/// Values start at a multiple of this.
const ALIGN: usize = 8;
const METADATA: &str = "__metadata__";

/// A tensor, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: Vec<f32>,
}

/// Tensors by name, and texts beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tensors {
    /// The tensors.
    pub tensors: BTreeMap<String, Tensor>,
    /// What else the file says.
    pub metadata: BTreeMap<String, String>,
}

/// Why bytes are no such file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are less bytes than it takes.
    #[error("it is cut off: {found} bytes where {expected} are expected")]
    Short {
        /// Bytes that are there.
        found: u64,
        /// Bytes that it takes.
        expected: u64,
    },
    /// The header cannot be read.
    #[error("its header makes no sense: {0}")]
    Header(String),
    /// A tensor lies elsewhere than its shape says, or has another type.
    #[error("tensor {name:?} {what}")]
    Tensor {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Tensors {
    /// Writes all tensors.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut header = serde_json::Map::new();
        if !self.metadata.is_empty() {
            header.insert(METADATA.into(), serde_json::to_value(&self.metadata)?);
        }
        let mut at = 0;
        for (name, tensor) in &self.tensors {
            let end = at + 4 * tensor.values.len();
            let entry = Entry { dtype: "F32".into(), shape: tensor.shape.clone(), data_offsets: [at, end] };
            header.insert(name.clone(), serde_json::to_value(entry)?);
            at = end;
        }
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(ALIGN), b' ');
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for tensor in self.tensors.values() {
            let bytes: Vec<u8> = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads all tensors.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let short = |expected: u64| Error::Short { found: bytes.len() as u64, expected };
        let (len, rest) = bytes.split_first_chunk::<8>().ok_or(short(8))?;
        let len = u64::from_le_bytes(*len);
        if len > MOST_HEADER {
            return Err(Error::Header(format!("it claims {len} bytes")));
        }
        let (header, data) = rest.split_at_checked(len as usize).ok_or(short(8 + len))?;
        let mut header: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|error| Error::Header(error.to_string()))?;
        let metadata = header.remove(METADATA).map(serde_json::from_value).transpose();
        let metadata = metadata.map_err(|error| Error::Header(error.to_string()))?.unwrap_or_default();
        let mut tensors = BTreeMap::new();
        let mut entries = vec![];
        for (name, entry) in header {
            let entry: Entry = serde_json::from_value(entry)
                .map_err(|error| Error::Header(format!("tensor {name:?}: {error}")))?;
            entries.push((name, entry));
        }
        entries.sort_by_key(|(_, entry)| entry.data_offsets);
        let mut at = 0;
        for (name, entry) in entries {
            let tensor = entry.tensor(at, data).map_err(|what| Error::Tensor { name: name.clone(), what })?;
            at = entry.data_offsets[1];
            tensors.insert(name, tensor);
        }
        if at != data.len() {
            return Err(short((8 + len) + at as u64));
        }
        Ok(Self { tensors, metadata })
    }
}

impl Entry {
    /// The tensor, whose values must start at `at`.
    fn tensor(&self, at: usize, data: &[u8]) -> Result<Tensor, String> {
        if self.dtype != "F32" {
            return Err(format!("is {} where F32 is read", self.dtype));
        }
        let [from, to] = self.data_offsets;
        let count = self.shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len));
        let bytes = count.and_then(|count| count.checked_mul(4));
        if from != at || Some(to) != bytes.and_then(|bytes| from.checked_add(bytes)) {
            return Err(format!(
                "lies at bytes {from} to {to}, which its shape {:?} contradicts",
                self.shape
            ));
        }
        let bytes = data.get(from..to).ok_or_else(|| format!("ends at byte {to} of {}", data.len()))?;
        let values = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        Ok(Tensor { shape: self.shape.clone(), values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Tensors {
        let tensor = |shape: &[usize], values: &[f32]| Tensor { shape: shape.into(), values: values.into() };
        let tensors = [("b", tensor(&[2, 2], &[1.0, 2.0, 3.0, 4.0])), ("a", tensor(&[], &[-0.5]))];
        Tensors {
            tensors: tensors.map(|(name, tensor)| (name.to_owned(), tensor)).into(),
            metadata: [("made".to_owned(), "here".to_owned())].into(),
        }
    }

    fn bytes() -> Vec<u8> {
        let mut bytes = vec![];
        sample().write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn reads_what_it_wrote() {
        assert_eq!(Tensors::read(&bytes()).unwrap(), sample());
        assert_eq!(u64::from_le_bytes(bytes()[..8].try_into().unwrap()) % 8, 0);
    }

    #[test]
    fn refuses_what_is_cut_or_longer() {
        let whole = bytes();
        for len in 0..whole.len() {
            assert!(Tensors::read(&whole[..len]).is_err(), "{len}");
        }
        assert!(Tensors::read(&[&whole[..], &[0]].concat()).is_err());
    }

    #[test]
    fn refuses_other_types_and_places() {
        let text = |header: &str| {
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(&[0; 8]);
            Tensors::read(&bytes)
        };
        assert!(text(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#).is_ok());
        for header in [
            r#"{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#,
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
            "[]",
        ] {
            assert!(text(header).is_err(), "{header}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_upset_it(at in 0..200_usize, byte: u8) {
            let mut bytes = bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Tensors::read(&bytes);
        }
    }
}
