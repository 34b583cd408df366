//! `list` with days: the rows that a trainer would read.

use std::fmt;

use common::process::failure::InFile;
use common::process::{Common, Failure, emit};
use common::state::catalog::{Catalog, Selection};
use serde::Serialize;

use crate::cli::ListArgs;

#[derive(Serialize)]
#[serde(transparent)]
struct SelectReport(Selection);

/// Prints the selection, where one is asked for; says whether it was.
pub(crate) fn run(common: &Common, args: &ListArgs, catalog: &Catalog) -> Result<bool, Failure> {
    let Some(wanted) = args.selection.wanted() else { return Ok(false) };
    let selection = catalog.select(&wanted).in_file(&args.catalog.catalog)?;
    emit(common, &SelectReport(selection)).map(|()| true)
}

impl fmt::Display for SelectReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Selection { rows, episodes, days } = &self.0;
        writeln!(
            f,
            "{:<10} {:>12} {:>9} {:>10} {:>7}  day",
            "date", "rows", "episodes", "row groups", "ranges"
        )?;
        for day in days {
            let (episodes, groups, ranges) = (day.episodes.len(), day.row_groups.len(), day.ranges.len());
            writeln!(
                f,
                "{} {:>12} {episodes:>9} {groups:>10} {ranges:>7}  {}",
                day.date, day.rows, day.path
            )?;
        }
        let n = days.len();
        writeln!(f, "{rows} rows of {episodes} episodes on {n} days")
    }
}
