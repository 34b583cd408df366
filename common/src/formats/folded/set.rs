//! `<prefix>.set.json`: what makes shards a set. It is written last; a shard that no set names is left out.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::conventions::Conventions;
use crate::state::digest::Digest;

/// What the file says it is.
pub const FORMAT: &str = "foldline folded set";
/// Revision of the file.
pub const VERSION: u32 = 1;

/// The shards of one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Records that were folded: the sum of all weights.
    pub records: u64,
    /// Rows of all shards.
    pub rows: u64,
    /// What every shard's footer states.
    pub conventions: Conventions,
    /// Shards in the order of their key ranges.
    pub shards: Vec<SetShard>,
}

/// One shard of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetShard {
    /// File name, beside the set's own.
    pub file: String,
    /// Rows of the shard.
    pub rows: u64,
    /// Records that were folded into them.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Digest of the file.
    pub sha256: Digest,
}

/// Why a file is not the record of a set.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// It says something else.
    #[error("not the record of a folded set: {0}")]
    NoSet(String),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Set {
    /// A set of shards that are all written.
    pub fn new(conventions: Conventions, shards: Vec<SetShard>) -> Self {
        let (records, rows) = (shards.iter().map(|s| s.records).sum(), shards.iter().map(|s| s.rows).sum());
        Self { format: FORMAT.into(), version: VERSION, records, rows, conventions, shards }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, SetError> {
        let bad = |what: String| Err(SetError::NoSet(what));
        let set: Self = match serde_json::from_slice(&std::fs::read(path)?) {
            Ok(set) => set,
            Err(error) => return bad(error.to_string()),
        };
        if set.format != FORMAT || set.version != VERSION {
            return bad(format!("it is {} {} where {FORMAT} {VERSION} is expected", set.format, set.version));
        }
        if let Some(shard) = set.shards.iter().find(|shard| Path::new(&shard.file).components().count() != 1)
        {
            return bad(format!("it names {:?}, which is no file beside it", shard.file));
        }
        let sum =
            |of: fn(&SetShard) -> u64| set.shards.iter().try_fold(0u64, |sum, s| sum.checked_add(of(s)));
        if (sum(|s| s.rows), sum(|s| s.records)) != (Some(set.rows), Some(set.records)) {
            return bad("its shards do not add up to its rows and records".into());
        }
        Ok(set)
    }
}

/// Indented JSON with an end of line.
pub fn to_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("plain structures always have a text");
    text + "\n"
}

/// Where the set of a prefix lies.
pub fn set_path(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".set.json")
}

/// Where shard `index` of a prefix lies.
pub fn shard_path(prefix: &Path, index: usize) -> PathBuf {
    with_suffix(prefix, &format!("-{index:05}.parquet"))
}

/// Number of the shard that a file name states, for files of this prefix.
pub fn shard_index(prefix: &Path, file: &Path) -> Option<usize> {
    let name = file.file_name()?.to_str()?;
    let digits =
        name.strip_prefix(prefix.file_name()?.to_str()?)?.strip_prefix('-')?.strip_suffix(".parquet")?;
    (digits.len() >= 5 && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// A path with text behind its last name, whatever dots that has.
pub fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards() {
        let prefix = Path::new("out/v1.5");
        assert_eq!(shard_path(prefix, 7), Path::new("out/v1.5-00007.parquet"));
        assert_eq!(set_path(prefix), Path::new("out/v1.5.set.json"));
        assert_eq!(shard_index(prefix, Path::new("out/v1.5-00007.parquet")), Some(7));
        for other in
            ["out/v1.5-7.parquet", "out/v1.5-x0007.parquet", "out/v1-00007.parquet", "out/v1.5.set.json"]
        {
            assert_eq!(shard_index(prefix, Path::new(other)), None, "{other}");
        }
    }
}
