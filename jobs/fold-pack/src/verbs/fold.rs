//! `fold`: folders of buckets to the shards of a key range.

use std::path::PathBuf;

use common::formats::folded::Conventions;
use common::formats::folded::set::set_path;
use common::formats::mpk1::Header;
use common::process::parallel::pool;
use common::process::{Action, Common, Exit, Failure, Made, Place, emit};
use common::state::output::folder_of;
use common::state::store::record::Keep;

use super::buckets::{Buckets, json_path, spool_path};
use super::parts::{self, Part, part_path};
use super::plan::Plan;
use super::sets::{self, check_prefix};
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
    let parts = opened.iter().map(|buckets| buckets.digest.clone()).collect();
    let job = FoldJob {
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
    let action = Action {
        parameters: args.shards.parameters([("range", args.range.to_string().into())]),
        inputs: args
            .folders
            .iter()
            .flat_map(|folder| [json_path(folder), spool_path(folder)])
            .map(input)
            .collect(),
        place: Place::Prefix(prefix),
        keep: Keep::Dataset,
    };
    if args.range == Range::ALL {
        return sets::obtain(common, action, prefix, |at| job.run(common, &pool(common.threads())?, at));
    }
    let (range, planned) = (args.range, Part::new(parts, job.conventions, job.shards()));
    let mut done = action.obtain(common, |at| {
        parts::begin(at, Some(&planned), range)?;
        let part = planned.clone().with(job.run(common, &pool(common.threads())?, at)?);
        part.write(at, range)?;
        let files = part.shards.iter().map(|shard| folder_of(at).join(&shard.file));
        let files = files.chain([part_path(at, range)]).collect();
        Ok(Made::new(part, files))
    })?;
    if done.place_after(common, || parts::begin(prefix, Some(&planned), range))? {
        job.remove_strays(prefix, &done.value.shards)?;
    }
    let summary = match done.value.complete(prefix, range)? {
        Some(set) => {
            done.add_output(common, &set_path(prefix))?;
            Summary::of_set(prefix, set)
        }
        None => Summary::new(prefix, done.value.conventions, done.value.shards.clone(), false),
    };
    done.emit(common, &summary)
}

fn input(path: PathBuf) -> (&'static str, PathBuf) {
    ("partition", path)
}

/// Opens the folders and holds them to one another.
fn open(args: &FoldArgs) -> Result<(Vec<Buckets>, Header, u64), Failure> {
    let (mut opened, mut agreement): (Vec<Buckets>, _) = (vec![], Agreement::default());
    for folder in &args.folders {
        let buckets = Buckets::open(folder)?;
        let name = folder.display().to_string();
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
