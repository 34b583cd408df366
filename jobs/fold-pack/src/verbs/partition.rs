//! `partition`: a stream to a folder of buckets.

use std::fmt;
use std::io::Write;
use std::path::Path;

use common::formats::folded::set::to_json;
use common::formats::mpk1::Reader;
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Action, Common, Failure, Input, Made, Place, emit, space};
use common::state::output::{Output, remove_if_there};
use common::state::store::record::{self, Keep};
use serde::{Deserialize, Serialize};

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
    #[serde(flatten)]
    partitioned: &'a Partitioned,
}

#[derive(Serialize, Deserialize)]
struct Partitioned {
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
    let (seed, memory) = (args.seed.seed, args.memory.memory.0);
    if common.dry_run {
        let (buckets, planned, inputs) = (Some(buckets), true, 1);
        let plan = Plan { output: folder, planned, inputs, bytes, buckets, records: None, shards: None };
        return emit(common, &plan);
    }
    let partition = Partition { order: Order::new(seed), buckets, memory };
    // the memory decides on the length of blocks, and with it on the bytes of the spool, but not on the records
    let parameters = record::parameters([
        ("seed", seed.into()),
        ("buckets", buckets.into()),
        ("block_len", partition.block_len().into()),
    ]);
    let (inputs, place) = (vec![("stream", path.to_path_buf())], Place::Folder(folder));
    let action = Action { parameters, inputs, place, keep: Keep::Scratch };
    let mut done = action.obtain(common, |folder| {
        space::check(common, &json_path(folder), "the spools", bytes.unwrap_or(0))?;
        spool(common, &mut reader, path, folder, seed, &partition)
    })?;
    done.place(common)?;
    done.emit(common, &PartitionReport { output: folder, partitioned: &done.value })
}

/// Writes the spool of a stream, and the record that makes it one.
fn spool(
    common: &Common,
    reader: &mut Reader<Input>,
    path: &Path,
    folder: &Path,
    seed: u64,
    partition: &Partition,
) -> Result<Made<Partitioned>, Failure> {
    let mut json = Output::create(&json_path(folder)).in_file(folder)?;
    let spool_path = spool_path(folder);
    let output = Output::create(&spool_path).in_file(&spool_path)?;
    let mut spool =
        SpoolWriter::new(output, partition.buckets, partition.block_len()).in_file(&spool_path)?;
    let mut progress = common.progress("partition", "records", None);
    let pool = pool(common.threads())?;
    spool_stream(&pool, reader, path, partition, &mut spool, &mut progress)
        .map_err(|failure| failure.in_file(&spool_path))?;
    let (output, spooled, digest) = spool.finish().in_file(&spool_path)?;
    // a spool never lies beside the record of another
    remove_if_there(&json_path(folder)).in_file(folder)?;
    output.publish().in_file(&spool_path)?;
    let bytes = spooled.iter().map(|bucket| bucket.bytes).sum();
    let file = PartitionFile::new(reader.header(), seed, spooled, digest)?;
    json.write_all(to_json(&file).as_bytes()).in_file(folder)?;
    json.publish().in_file(folder)?;
    let partitioned = Partitioned { records: file.records, buckets: partition.buckets, bytes, seed };
    Ok(Made::new(partitioned, vec![spool_path, json_path(folder)]))
}

impl fmt::Display for PartitionReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partitioned { records, buckets, bytes, seed } = self.partitioned;
        writeln!(
            f,
            "{}: {records} records in {buckets} buckets, {bytes} bytes, seed {seed}",
            self.output.display()
        )
    }
}
