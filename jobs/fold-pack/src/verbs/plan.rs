//! What a dry run says.

use std::fmt;
use std::path::Path;

use common::process::ByteSize;
use common::process::cli::path_text;
use serde::Serialize;

/// What would be done; absent is what only doing it can tell.
#[derive(Serialize)]
pub(super) struct Plan<'a> {
    #[serde(serialize_with = "path_text")]
    pub(super) output: &'a Path,
    pub(super) planned: bool,
    pub(super) inputs: usize,
    /// Bytes of the inputs.
    pub(super) bytes: Option<u64>,
    pub(super) buckets: Option<u32>,
    pub(super) records: Option<u64>,
    pub(super) shards: Option<u32>,
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: planned, not written; inputs: {}", self.output.display(), self.inputs)?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, " of {}", ByteSize(bytes)))?;
        self.records.map_or(Ok(()), |records| write!(f, ", records: {records}"))?;
        self.buckets.map_or(Ok(()), |buckets| write!(f, ", buckets: {buckets}"))?;
        self.shards.map_or(Ok(()), |shards| write!(f, ", shards: {shards}"))?;
        writeln!(f)
    }
}
