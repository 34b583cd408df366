//! A folder that `partition` made: `records.spool`, and `partition.json`, which is written last and makes the folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use common::formats::folded::set::to_json;
use common::formats::mpk1::Header;
use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::spool::{Bucket, Spool};

const FORMAT: &str = "foldline partition";
const VERSION: u32 = 1;

/// What `partition.json` states.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartitionFile {
    format: String,
    version: u32,
    /// The stream's header, in hexadecimal.
    header: String,
    /// Seed of the row order.
    pub(super) seed: u64,
    pub(super) records: u64,
    pub(super) buckets: Vec<Bucket>,
    /// Digest of the spool's block heads, which ends the spool too.
    spool: Digest,
    /// Digest of this file's text with an empty seal.
    seal: String,
}

pub(super) fn json_path(folder: &Path) -> PathBuf {
    folder.join("partition.json")
}

pub(super) fn spool_path(folder: &Path) -> PathBuf {
    folder.join("records.spool")
}

impl PartitionFile {
    pub(super) fn new(
        header: &Header,
        seed: u64,
        buckets: Vec<Bucket>,
        spool: Digest,
    ) -> Result<Self, Failure> {
        let records = buckets.iter().map(|bucket| bucket.records).sum();
        let header = header.encode()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let (format, seal) = (FORMAT.into(), String::new());
        let mut file = Self { format, version: VERSION, header, seed, records, buckets, spool, seal };
        file.seal = file.expected_seal();
        Ok(file)
    }

    fn expected_seal(&self) -> String {
        let open = Self { seal: String::new(), ..self.clone() };
        Digest::of(to_json(&open).as_bytes()).to_string()
    }

    /// The stream's header.
    pub(super) fn header(&self) -> Option<Header> {
        let digits = |at: usize| self.header.get(2 * at..2 * at + 2);
        let bytes: Option<Vec<u8>> =
            (0..self.header.len() / 2).map(|at| u8::from_str_radix(digits(at)?, 16).ok()).collect();
        Header::decode(&bytes?).ok()
    }
}

/// An open folder.
pub(super) struct Buckets {
    pub(super) file: PartitionFile,
    pub(super) header: Header,
    /// Digest of `partition.json`.
    pub(super) digest: Digest,
    pub(super) spool: Spool,
}

impl Buckets {
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let path = json_path(folder);
        if !path.exists() {
            let what =
                if folder.is_dir() { "it holds no finished partition" } else { "there is no such folder" };
            return Err(Failure::new(Exit::Missing, what).in_file(folder).hint(
                "`fold-pack partition STREAM -o DIR` makes one; `fold-pack pack` takes streams themselves",
            ));
        }
        let bad = |what: String| Failure::bad_data(what).in_file(&path).hint("partition the stream again");
        let bytes = std::fs::read(&path).in_file(&path)?;
        let file: PartitionFile = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            return Err(bad(format!(
                "it is {} {} where {FORMAT} {VERSION} is expected",
                file.format, file.version
            )));
        }
        if file.seal != file.expected_seal() {
            return Err(bad("it is not as it was written: its seal does not match".into()));
        }
        let header = file.header().ok_or_else(|| bad("its header is none of MPK1".into()))?;
        let records: Option<u64> = file.buckets.iter().try_fold(0u64, |sum, b| sum.checked_add(b.records));
        if file.buckets.is_empty() || records != Some(file.records) {
            return Err(bad("its buckets do not add up to its records".into()));
        }
        let spool_path = spool_path(folder);
        let spool = File::open(&spool_path)
            .and_then(|spool| Spool::new(spool, &spool_path, file.buckets.clone(), &file.spool))
            .map_err(|error| Failure::from(error).in_file(&spool_path).hint("partition the stream again"))?;
        Ok(Self { file, header, digest: Digest::of(&bytes), spool })
    }
}
