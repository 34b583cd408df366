//! `pack`: streams to a set, on this machine.

use std::path::{Path, PathBuf};

use common::formats::folded::Conventions;
use common::formats::mpk1::Header;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Action, Common, Failure, Place, emit, space};
use common::state::output::{folder_of, same_file};
use common::state::store::record::Keep;
use rayon::ThreadPool;

use super::plan::Plan;
use super::sets::{self, check_prefix};
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
    let (order, memory) = (Order::new(args.seed.seed), args.memory.memory.0);
    let partition = Partition { order, buckets, memory };
    let action = Action {
        parameters: args.shards.parameters([("seed", args.seed.seed.into())]),
        inputs: args.streams.iter().map(|stream| ("stream", stream.clone())).collect(),
        place: Place::Prefix(prefix),
        keep: Keep::Dataset,
    };
    sets::obtain(common, action, prefix, |at| {
        space::check(common, at, "the spools", bytes.unwrap_or(0))?;
        let pool = pool(common.threads())?;
        let (spool, agreed) = spool_all(common, args, folder_of(at), &pool, &partition)?;
        let Some(header) = agreed.as_ref().or(header) else {
            return Err(Failure::usage("no stream is given"));
        };
        let job = FoldJob {
            spools: vec![spool],
            conventions: Conventions::of_fold(header, args.shards.temperature, args.seed.seed),
            policy: Policy::new(header, args.shards.temperature),
            shards: args.shards.shards,
            range: Range::ALL,
            budget,
        };
        job.run(common, &pool, at)
    })
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
    folder: &Path,
    pool: &ThreadPool,
    partition: &Partition,
) -> Result<(Spool, Option<Header>), Failure> {
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
