//! `partition`: a stream to a folder of buckets.

use std::fmt;
use std::io::Write;
use std::path::Path;

use common::formats::folded::set::to_json;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Common, Failure, emit, space};
use common::state::output::{Output, remove_if_there};
use serde::Serialize;

use super::buckets::{PartitionFile, json_path, spool_path};
use super::plan::Plan;
use crate::cli::PartitionArgs;
use crate::conventions::Agreement;
use crate::fold::tasks::{Budget, default_buckets};
use crate::order::Order;
use crate::partition::{Partition, open_stream, spool_stream};
use crate::spool::SpoolWriter;

#[derive(Serialize)]
struct PartitionReport<'a> {
    #[serde(serialize_with = "path_text")]
    output: &'a Path,
    records: u64,
    buckets: u32,
    /// Bytes of all buckets.
    bytes: u64,
    seed: u64,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &PartitionArgs) -> Result<(), Failure> {
    let (path, folder) = (args.stream.as_path(), args.output.as_path());
    let mut reader = open_stream(path)?;
    Agreement::default().add(&path.display().to_string(), reader.header())?;
    let bytes = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len());
    let budget = Budget::new(args.memory.memory.0, common.threads());
    let buckets = args.buckets.buckets.unwrap_or_else(|| default_buckets(bytes, &budget));
    space::check(common, &json_path(folder), "the spools", bytes.unwrap_or(0))?;
    let seed = args.seed.seed;
    if common.dry_run {
        let (buckets, planned, inputs) = (Some(buckets), true, 1);
        let plan = Plan { output: folder, planned, inputs, bytes, buckets, records: None, shards: None };
        return emit(common, &plan);
    }
    let mut json = Output::create(&json_path(folder)).in_file(folder)?;
    let spool_path = spool_path(folder);
    let output = Output::create(&spool_path).in_file(&spool_path)?;
    let partition = Partition { order: Order::new(seed), buckets, memory: args.memory.memory.0 };
    let mut spool = SpoolWriter::new(output, buckets, partition.block_len()).in_file(&spool_path)?;
    let mut progress = common.progress("partition", "records", None);
    let pool = pool(common.threads())?;
    spool_stream(&pool, &mut reader, path, &partition, &mut spool, &mut progress)
        .map_err(|failure| failure.in_file(&spool_path))?;
    let (output, spooled, digest) = spool.finish().in_file(&spool_path)?;
    // a spool never lies beside the record of another
    remove_if_there(&json_path(folder)).in_file(folder)?;
    output.publish().in_file(&spool_path)?;
    let bytes = spooled.iter().map(|bucket| bucket.bytes).sum();
    let file = PartitionFile::new(path, reader.header(), seed, spooled, digest)?;
    json.write_all(to_json(&file).as_bytes()).in_file(folder)?;
    json.publish().in_file(folder)?;
    emit(common, &PartitionReport { output: folder, records: file.records, buckets, bytes, seed })
}

impl fmt::Display for PartitionReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, buckets, bytes, seed, .. } = self;
        writeln!(
            f,
            "{}: {records} records in {buckets} buckets, {bytes} bytes, seed {seed}",
            self.output.display()
        )
    }
}
