//! `fold`: folders of buckets to the shards of a key range.

use common::formats::folded::Conventions;
use common::formats::folded::set::set_path;
use common::formats::mpk1::Header;
use common::process::failure::InFile;
use common::process::parallel::pool;
use common::process::{Common, Exit, Failure, emit};
use common::state::output::Output;

use super::buckets::Buckets;
use super::pack::{check_prefix, finish_set};
use super::parts::{self, Part};
use super::plan::Plan;
use super::summary::Summary;
use crate::cli::FoldArgs;
use crate::conventions::Agreement;
use crate::fold::group::Policy;
use crate::fold::job::FoldJob;
use crate::fold::range::Range;
use crate::fold::tasks::Budget;

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &FoldArgs) -> Result<(), Failure> {
    let prefix = args.shards.prefix.as_path();
    check_prefix(prefix)?;
    let (opened, header, seed) = open(args)?;
    let inputs = opened.iter().map(|buckets| buckets.digest.clone()).collect();
    let job = FoldJob {
        prefix,
        spools: opened.into_iter().map(|buckets| buckets.spool).collect(),
        conventions: Conventions::of_fold(&header, args.shards.temperature, seed),
        policy: Policy::new(&header, args.shards.temperature),
        shards: args.shards.shards,
        range: args.range,
        budget: Budget::new(args.memory.memory.0, common.threads()),
    };
    if common.dry_run {
        let (inputs, records, shards) = (args.folders.len(), Some(job.records()), Some(job.shards()));
        let plan =
            Plan { output: prefix, planned: true, inputs, bytes: None, buckets: None, records, shards };
        return emit(common, &plan);
    }
    let pool = pool(common.threads())?;
    if args.range == Range::ALL {
        let set_file = Output::create(&set_path(prefix)).in_file(&set_path(prefix))?;
        parts::begin(prefix, None, args.range)?;
        let set = job.run(common, &pool)?;
        finish_set(set_file, &set)?;
        return emit(common, &Summary::of_set(prefix, set));
    }
    let planned = Part::new(inputs, job.conventions, job.shards());
    parts::begin(prefix, Some(&planned), args.range)?;
    let part = planned.with(job.run(common, &pool)?);
    let summary = match part.publish(prefix, args.range)? {
        (_, Some(set)) => Summary::of_set(prefix, set),
        (part, None) => {
            let (conventions, shards) = part.into_shards();
            Summary::new(prefix, conventions, shards, false)
        }
    };
    emit(common, &summary)
}

/// Opens the folders and holds them to one another.
fn open(args: &FoldArgs) -> Result<(Vec<Buckets>, Header, u64), Failure> {
    let (mut opened, mut agreement): (Vec<Buckets>, _) = (vec![], Agreement::default());
    for folder in &args.folders {
        let buckets = Buckets::open(folder)?;
        let name = format!("{} ({})", folder.display(), buckets.file.stream);
        agreement.add(&name, &buckets.header)?;
        if let Some(first) = opened.first().filter(|first| first.file.seed != buckets.file.seed) {
            return Err(Failure::new(Exit::Mixed, "the partitions differ in their seed")
                .at(name)
                .found(buckets.file.seed, format!("{} as in {}", first.file.seed, args.folders[0].display()))
                .hint("partition all streams with one `--seed`"));
        }
        if opened.iter().any(|earlier| earlier.digest == buckets.digest) {
            tracing::warn!("{} is given twice: its records count twice", folder.display());
        }
        opened.push(buckets);
    }
    match (agreement.header().copied(), opened.first().map(|first| first.file.seed)) {
        (Some(header), Some(seed)) => Ok((opened, header, seed)),
        _ => Err(Failure::usage("no folder is given")),
    }
}
