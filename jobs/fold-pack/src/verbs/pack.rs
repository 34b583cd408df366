//! `pack`: streams to a set, on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use common::formats::folded::set::{set_path, to_json};
use common::formats::folded::{Conventions, Set};
use common::formats::mpk1::Header;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Common, Failure, emit, space};
use common::state::output::{Output, folder_of, same_file};
use rayon::ThreadPool;

use super::parts;
use super::plan::Plan;
use super::summary::Summary;
use crate::cli::PackArgs;
use crate::conventions::Agreement;
use crate::fold::group::Policy;
use crate::fold::job::FoldJob;
use crate::fold::range::Range;
use crate::fold::tasks::{Budget, default_buckets};
use crate::order::Order;
use crate::partition::{Partition, open_stream, spool_stream};
use crate::spool::{Spool, SpoolWriter};

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &PackArgs) -> Result<(), Failure> {
    let prefix = args.shards.prefix.as_path();
    check_prefix(prefix)?;
    let (agreement, bytes) = look(&args.streams)?;
    let header = agreement.header();
    let budget = Budget::new(args.memory.memory.0, common.threads());
    let buckets = args.buckets.buckets.unwrap_or_else(|| default_buckets(bytes, &budget));
    space::check(common, prefix, "the spools", bytes.unwrap_or(0))?;
    if common.dry_run {
        let (inputs, shards) = (args.streams.len(), args.shards.shards);
        let plan = Plan {
            output: prefix,
            planned: true,
            inputs,
            bytes,
            buckets: Some(buckets),
            records: None,
            shards,
        };
        return emit(common, &plan);
    }
    // held from here to the end: whoever folds to this prefix meanwhile is turned away
    let set_file = Output::create(&set_path(prefix)).in_file(&set_path(prefix))?;
    let pool = pool(common.threads())?;
    let (order, memory) = (Order::new(args.seed.seed), args.memory.memory.0);
    let partition = Partition { order, buckets, memory };
    let (spool, agreed) = spool_all(common, args, &pool, &partition)?;
    let Some(header) = agreed.as_ref().or(header) else { return Err(Failure::usage("no stream is given")) };
    let job = FoldJob {
        prefix,
        spools: vec![spool],
        conventions: Conventions::of_fold(header, args.shards.temperature, args.seed.seed),
        policy: Policy::new(header, args.shards.temperature),
        shards: args.shards.shards,
        range: Range::ALL,
        budget,
    };
    parts::begin(prefix, None, Range::ALL)?;
    let set = job.run(common, &pool)?;
    finish_set(set_file, &set)?;
    emit(common, &Summary::of_set(prefix, set))
}

/// Writes the set's file, which makes the set.
pub(super) fn finish_set(mut file: Output, set: &Set) -> Result<(), Failure> {
    let path = file.target().to_owned();
    file.write_all(to_json(set).as_bytes()).in_file(&path)?;
    file.publish().in_file(&path)
}

/// A prefix must end with a name.
pub(super) fn check_prefix(prefix: &Path) -> Result<(), Failure> {
    let text = prefix.to_string_lossy();
    if prefix.file_name().is_none() || text.ends_with('/') || prefix.is_dir() {
        return Err(Failure::usage("a folder where a path with a name is expected")
            .in_file(prefix)
            .hint("`-o shards/v1` makes shards/v1-00000.parquet and shards/v1.set.json"));
    }
    if prefix.file_name().is_some_and(|name| name.to_str().is_none()) {
        return Err(Failure::usage("the name of a set must be UTF-8, as it stands in the set's record")
            .in_file(prefix));
    }
    Ok(())
}

/// Reads the headers of all streams that are files, so that a mix is refused before any work; and their bytes, where
/// all are files.
fn look(streams: &[PathBuf]) -> Result<(Agreement, Option<u64>), Failure> {
    let (mut agreement, mut bytes) = (Agreement::default(), Some(0));
    for (i, path) in streams.iter().enumerate() {
        if streams[..i].iter().any(|earlier| same_file(earlier, path)) {
            tracing::warn!("{} is given twice: its records count twice", path.display());
        }
        let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        bytes = bytes.zip(file.as_ref().map(std::fs::Metadata::len)).map(|(sum, len)| sum + len);
        if path != Path::new("-") && (file.is_some() || !path.exists() || path.is_dir()) {
            agreement.add(&path.display().to_string(), open_stream(path)?.header())?;
        }
    }
    Ok((agreement, bytes))
}

/// Puts all streams into one spool without a name, which is gone with the job however it ends.
fn spool_all(
    common: &Common,
    args: &PackArgs,
    pool: &ThreadPool,
    partition: &Partition,
) -> Result<(Spool, Option<Header>), Failure> {
    let folder = folder_of(&args.shards.prefix);
    let file = tempfile::tempfile_in(folder).in_file(folder)?;
    let mut spool = SpoolWriter::new(file, partition.buckets, partition.block_len()).in_file(folder)?;
    let mut progress = common.progress("partition", "records", None);
    let mut agreement = Agreement::default();
    for path in &args.streams {
        let mut reader = open_stream(path)?;
        agreement.add(&path.display().to_string(), reader.header())?;
        spool_stream(pool, &mut reader, path, partition, &mut spool, &mut progress)
            .map_err(|failure| failure.in_file(folder))?;
    }
    let (file, buckets, digest) = spool.finish().in_file(folder)?;
    Ok((Spool::new(file, folder, buckets, &digest).in_file(folder)?, agreement.header().copied()))
}
