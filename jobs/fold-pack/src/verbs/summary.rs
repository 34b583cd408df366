//! What `pack` and `fold` say they made.

use std::fmt;
use std::path::Path;

use common::formats::folded::set::set_path;
use common::formats::folded::{Conventions, Set, SetShard};
use serde::Serialize;

/// Shards that were written, and the set where it is complete.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) prefix: String,
    /// The set's file; absent while other ranges are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<String>,
    pub(crate) records: u64,
    pub(crate) rows: u64,
    pub(crate) duplicates: u64,
    pub(crate) bytes: u64,
    pub(crate) conventions: Conventions,
    pub(crate) shards: Vec<SetShard>,
}

impl Summary {
    pub(crate) fn new(prefix: &Path, conventions: Conventions, shards: Vec<SetShard>, whole: bool) -> Self {
        let (records, rows) = (shards.iter().map(|s| s.records).sum(), shards.iter().map(|s| s.rows).sum());
        Self {
            prefix: prefix.display().to_string(),
            set: whole.then(|| set_path(prefix).display().to_string()),
            records,
            rows,
            duplicates: records - rows,
            bytes: shards.iter().map(|shard| shard.bytes).sum(),
            conventions,
            shards,
        }
    }

    pub(crate) fn of_set(prefix: &Path, set: Set) -> Self {
        Self::new(prefix, set.conventions, set.shards, true)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, rows, duplicates, .. } = self;
        if *records == 0 {
            return writeln!(f, "{}: no records, so no shards", self.prefix);
        }
        writeln!(f, "{records} records folded to {rows} rows ({duplicates} duplicates)")?;
        for shard in &self.shards {
            writeln!(f, "  {}  {} rows, {} bytes", shard.file, shard.rows, shard.bytes)?;
        }
        match &self.set {
            Some(set) => writeln!(f, "  {}\n{set}", self.conventions),
            None => writeln!(f, "other ranges of the set are missing"),
        }
    }
}
