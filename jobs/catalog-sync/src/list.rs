//! `list`: the sets and days of a catalog.

use std::fmt;

use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, emit};
use common::state::catalog::{Catalog, DayRow, SetRow};
use serde::Serialize;

use crate::cli::ListArgs;
use crate::select;

/// One array: sets, then days.
#[derive(Serialize)]
#[serde(transparent)]
struct ListReport(Vec<Listed>);

#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    Set(SetRow),
    Day(DayRow),
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ListArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let catalog = Catalog::open(path).in_file(path)?;
    if select::run(common, args, &catalog)? {
        return Ok(());
    }
    let sets = catalog.sets().in_file(path)?.into_iter().map(Listed::Set);
    let days = catalog.days().in_file(path)?.into_iter().map(Listed::Day);
    emit(common, &ListReport(sets.chain(days).collect()))
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_day = |listed: &Listed| matches!(listed, Listed::Day(_));
        if !self.0.iter().all(is_day) || self.0.is_empty() {
            writeln!(
                f,
                "{:<9} {:>12} {:>12} {:>6} {:>10}  set",
                "state", "rows", "records", "shards", "size"
            )?;
        }
        let first_day = self.0.iter().position(is_day);
        for (at, listed) in self.0.iter().enumerate() {
            if Some(at) == first_day {
                writeln!(
                    f,
                    "{:<9} {:>12} {:>12} {:>6} {:>10}  day",
                    "state", "rows", "date", "groups", "size"
                )?;
            }
            match listed {
                Listed::Set(set) => {
                    let (state, size) = (set.state.name(), ByteSize(set.bytes).to_string());
                    let SetRow { rows, records, shards, path, .. } = set;
                    writeln!(
                        f,
                        "{state:<9} {rows:>12} {records:>12} {:>6} {size:>10}  {path}",
                        shards.len()
                    )?;
                }
                Listed::Day(day) => {
                    let (state, size) = (day.state.name(), ByteSize(day.stat.size).to_string());
                    let DayRow { rows, row_groups, path, .. } = day;
                    let date = day.date.to_string();
                    writeln!(f, "{state:<9} {rows:>12} {date:>12} {row_groups:>6} {size:>10}  {path}")?;
                }
            }
        }
        Ok(())
    }
}
