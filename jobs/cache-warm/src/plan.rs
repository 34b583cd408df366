//! `plan`: what a selection takes, dense and as the cache holds it, and what fits into which tier.

use std::fmt;
use std::path::{Path, PathBuf};

use common::process::cli::path_text;
use common::process::{ByteSize, Common, Failure, emit, stop};
use common::state::cache::{Decoded, Host, Options, Probe, Slot, Source};
use serde::Serialize;

use crate::cli::PlanArgs;
use crate::datasets::{Chosen, select};

#[derive(Serialize)]
struct PlanReport {
    datasets: Vec<DatasetPlan>,
    /// Whether sizes were measured, and not estimated from the largest row group of each dataset.
    exact: bool,
    rows: u64,
    row_groups: u64,
    /// Bytes with all padding; of shards, which have none, what they take decoded.
    dense_bytes: u64,
    /// Bytes in memory.
    bytes: u64,
    /// Bytes of the largest row group in memory.
    largest: u64,
    /// Memory that was planned for.
    limit: u64,
    /// Bytes that the cache may take of it.
    capacity: u64,
    /// Row groups in each tier, and how many would be resident if they were dense.
    fits: Fits,
}

#[derive(Serialize)]
struct DatasetPlan {
    #[serde(serialize_with = "path_text")]
    path: PathBuf,
    rows: u64,
    row_groups: u64,
    dense_bytes: u64,
    bytes: u64,
    largest: u64,
}

#[derive(Serialize)]
struct Fits {
    hot: u64,
    transient: u64,
    spilled: u64,
    resident_if_dense: u64,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &PlanArgs) -> Result<(), Failure> {
    let selected = select(common, &args.select)?;
    let mut datasets = plan(&selected.days, args.exact)?;
    datasets.extend(plan(&selected.shards, args.exact)?);
    let sum = |of: fn(&DatasetPlan) -> u64| datasets.iter().map(of).sum();
    let machine = || Host::new().usage().map_or(0, |usage| usage.limit);
    let limit = args.limit.map_or_else(machine, |size| size.0);
    let options = Options::within(limit, args.reserve.0);
    let capacity = options.capacity;
    let (rows, row_groups, dense_bytes, bytes): (u64, u64, u64, u64) =
        (sum(|d| d.rows), sum(|d| d.row_groups), sum(|d| d.dense_bytes), sum(|d| d.bytes));
    let largest = datasets.iter().map(|dataset| dataset.largest).max().unwrap_or(0);
    let groups_in = |room: u64, all: u64| {
        (room as f64 / (all as f64 / row_groups.max(1) as f64).max(1.0)).min(row_groups as f64) as u64
    };
    let share = (capacity as f64 * options.hot_share) as u64;
    let resident = groups_in(capacity, bytes);
    let hot = groups_in(share.min(capacity.saturating_sub(largest)), bytes);
    let fits = Fits {
        hot,
        transient: resident - hot,
        spilled: row_groups - resident,
        resident_if_dense: groups_in(capacity, dense_bytes),
    };
    let exact = args.exact;
    let report =
        PlanReport { datasets, exact, rows, row_groups, dense_bytes, bytes, largest, limit, capacity, fits };
    emit(common, &report)
}

fn plan<S: Source>(chosen: &Chosen<S>, exact: bool) -> Result<Vec<DatasetPlan>, Failure> {
    let files = chosen.paths.iter().zip(&chosen.groups).enumerate();
    files
        .map(|(number, (path, groups))| plan_one(&chosen.source, number as u32, path, groups, exact))
        .collect()
}

fn plan_one<S: Source>(
    source: &S,
    dataset: u32,
    path: &Path,
    groups: &[u32],
    exact: bool,
) -> Result<DatasetPlan, Failure> {
    let rows_of = |group: u32| source.groups(dataset)[group as usize];
    let rows: usize = groups.iter().copied().map(rows_of).sum();
    let sample = |group: u32| {
        stop::check()?;
        Ok::<u64, Failure>(Decoded::new(source, Slot { dataset, group })?.bytes())
    };
    let (bytes, largest) = if exact {
        let sizes = groups.iter().copied().map(sample).collect::<Result<Vec<_>, _>>()?;
        (sizes.iter().sum(), sizes.iter().copied().max().unwrap_or(0))
    } else {
        let most = groups.iter().copied().max_by_key(|&group| rows_of(group));
        let size = most.map(sample).transpose()?.unwrap_or(0);
        let share = rows as f64 / most.map_or(1, rows_of).max(1) as f64;
        ((size as f64 * share) as u64, size)
    };
    let dense_bytes = source.dense_row_bytes().map_or(bytes, |width| width * rows as u64);
    let (rows, row_groups) = (rows as u64, groups.len() as u64);
    Ok(DatasetPlan { path: path.into(), rows, row_groups, dense_bytes, bytes, largest })
}

impl fmt::Display for PlanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.exact { "" } else { "about " };
        for DatasetPlan { path, rows, row_groups, dense_bytes, bytes, .. } in &self.datasets {
            let (dense, ragged) = (ByteSize(*dense_bytes), ByteSize(*bytes));
            let path = path.display();
            writeln!(f, "{path}: {rows} rows in {row_groups} row groups, {about}{ragged} of {dense} dense")?;
        }
        let (dense, ragged) = (ByteSize(self.dense_bytes), ByteSize(self.bytes));
        writeln!(f, "in all {} row groups, {about}{ragged} of {dense} dense", self.row_groups)?;
        let Fits { hot, transient, spilled, resident_if_dense } = &self.fits;
        write!(f, "under {}, a cache of {} holds ", ByteSize(self.limit), ByteSize(self.capacity))?;
        writeln!(f, "{hot} hot and {transient} transient row groups; {spilled} go to the disk")?;
        if self.largest > self.capacity {
            writeln!(f, "that is less than the largest row group, {}", ByteSize(self.largest))?;
        }
        writeln!(f, "dense, it would hold {resident_if_dense}")
    }
}
