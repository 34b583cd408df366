//! `pack`: streams to a set, on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use common::formats::folded::set::{set_path, to_json};
use common::formats::folded::{Conventions, Set};
use common::formats::mpk1::Header;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Common, Exit, Failure, Progress, emit};
use common::state::output::{Output, folder_of, free_bytes};
use rayon::ThreadPool;

use super::parts;
use super::summary::Summary;
use crate::cli::PackArgs;
use crate::conventions::Agreement;
use crate::fold::gather::Gather;
use crate::fold::group::Policy;
use crate::fold::range::Range;
use crate::fold::shards::{SetWriter, write_shards};
use crate::fold::tasks::{Budget, cut, default_buckets};
use crate::order::{Order, part_start};
use crate::partition::{Partition, block_len, open_stream, spool_stream};
use crate::spool::{Spool, SpoolWriter};

/// Records of a shard at most, where the number of shards is not given.
const SHARD_RECORDS: u64 = 1_000_000;

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &PackArgs) -> Result<(), Failure> {
    let prefix = args.shards.prefix.as_path();
    check_prefix(prefix)?;
    let (agreement, bytes) = look(&args.streams)?;
    let header = agreement.header();
    let budget = Budget::new(args.memory.memory.0, common.threads());
    let buckets = args.buckets.buckets.unwrap_or_else(|| default_buckets(bytes, &budget));
    check_space(prefix, bytes.unwrap_or(0))?;
    if common.dry_run {
        return emit(common, &Summary::new(prefix, None, vec![], false));
    }
    // held from here to the end: whoever folds to this prefix meanwhile is turned away
    let set_file = Output::create(&set_path(prefix)).in_file(&set_path(prefix))?;
    let pool = pool(common.threads())?;
    let partition = Partition { order: Order::new(args.seed.seed), buckets };
    let block_len = block_len(args.memory.memory.0, buckets);
    let (spool, agreed) = spool_all(common, args, &pool, &partition, block_len)?;
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
    Ok(())
}

/// Reads the headers of all streams that are files, so that a mix is refused before any work; and their bytes, where
/// all are files.
fn look(streams: &[PathBuf]) -> Result<(Agreement, Option<u64>), Failure> {
    let (mut agreement, mut bytes) = (Agreement::default(), Some(0));
    for path in streams {
        let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        bytes = bytes.zip(file.as_ref().map(std::fs::Metadata::len)).map(|(sum, len)| sum + len);
        if path != Path::new("-") && (file.is_some() || !path.exists() || path.is_dir()) {
            agreement.add(&path.display().to_string(), open_stream(path)?.header())?;
        }
    }
    Ok((agreement, bytes))
}

/// Spools are as large as the streams at least.
pub(super) fn check_space(prefix: &Path, needed: u64) -> Result<(), Failure> {
    let free = free_bytes(folder_of(prefix)).in_file(prefix)?;
    tracing::info!("needs {needed} bytes for spools at least, {free} are free");
    if free >= needed {
        return Ok(());
    }
    Err(Failure::new(Exit::Disk, "the disk has no room for the spools")
        .in_file(prefix)
        .found(format!("{free} bytes free"), format!("{needed} bytes at least"))
        .hint("free some space, or choose an output on another disk"))
}

/// Puts all streams into one spool without a name, which is gone with the job however it ends.
fn spool_all(
    common: &Common,
    args: &PackArgs,
    pool: &ThreadPool,
    partition: &Partition,
    block_len: usize,
) -> Result<(Spool, Option<Header>), Failure> {
    let folder = folder_of(&args.shards.prefix);
    let file = tempfile::tempfile_in(folder).in_file(folder)?;
    let mut spool = SpoolWriter::new(file, partition.buckets, block_len).in_file(folder)?;
    let mut progress = common.progress("partition", "records", None);
    let mut agreement = Agreement::default();
    for path in &args.streams {
        let mut reader = open_stream(path)?;
        agreement.add(&path.display().to_string(), reader.header())?;
        spool_stream(pool, &mut reader, path, partition, &mut spool, &mut progress)
            .map_err(|failure| failure.in_file(folder))?;
    }
    let (file, buckets) = spool.finish().in_file(folder)?;
    Ok((Spool::new(file, buckets).in_file(folder)?, agreement.header().copied()))
}

/// A fold whose records are spooled.
pub(super) struct FoldJob<'a> {
    pub(super) prefix: &'a Path,
    pub(super) spools: Vec<Spool>,
    pub(super) conventions: Conventions,
    pub(super) policy: Policy,
    /// `None`: the least number with [`SHARD_RECORDS`] at most.
    pub(super) shards: Option<u32>,
    pub(super) range: Range,
    pub(super) budget: Budget,
}

impl FoldJob<'_> {
    /// Number of shards of the whole set.
    pub(super) fn shards(&self) -> u32 {
        self.shards.unwrap_or_else(|| {
            let wanted = self.records().div_ceil(SHARD_RECORDS).max(1).next_power_of_two();
            u32::try_from(wanted).unwrap_or(1 << 16)
        })
    }

    fn records(&self) -> u64 {
        self.spools.iter().flat_map(|spool| spool.buckets()).map(|bucket| bucket.records).sum()
    }

    /// Writes the shards of the range; [`parts::begin`] comes before.
    pub(super) fn run(&self, common: &Common, pool: &ThreadPool) -> Result<Set, Failure> {
        let shards = self.shards();
        let own = self.range.shards(shards);
        let start = |shard: u32| part_start(shard.into(), shards.into());
        let writer = SetWriter { prefix: self.prefix, conventions: self.conventions };
        let limit = usize::try_from(self.budget.task).unwrap_or(usize::MAX);
        let gather = Gather { spools: &self.spools, shards, policy: &self.policy, limit };
        let mut progress = self.progress(common);
        let ranges = cut(&self.spools, start(own.start)..start(own.end), &self.budget);
        let written = write_shards(pool, &gather, ranges, &self.budget, &writer, &mut progress)?;
        let last = if own.end == shards { usize::MAX } else { own.end as usize };
        writer.remove_strays(&written, own.start as usize..last)?;
        Ok(Set::new(self.conventions, written))
    }

    fn progress(&self, common: &Common) -> Progress {
        let total = self.records() / u64::from(self.range.of);
        common.progress("fold", "records", Some(total))
    }
}
