//! `show`: one set with its shards, or one day with what became of its archive's members.

use std::collections::BTreeMap;
use std::fmt;

use common::formats::decisions::Date;
use common::formats::decisions::manifest::USED;
use common::process::failure::InFile;
use common::process::{ByteSize, Common, Exit, Failure, emit};
use common::state::catalog::{Catalog, DayRow, Member, SetRow};
use serde::Serialize;

use crate::cli::ShowArgs;

#[derive(Serialize)]
#[serde(transparent)]
struct SetReport(SetRow);

#[derive(Serialize)]
struct DayReport {
    #[serde(flatten)]
    day: DayRow,
    bytes: u64,
    /// Members of the archive by status.
    members: BTreeMap<String, u64>,
    /// Members that no selection has.
    not_used: Vec<Member>,
}

/// What has the name that was given.
enum Found {
    Set(SetRow),
    Day(DayRow),
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ShowArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let catalog = Catalog::open(path).in_file(path)?;
    let named =
        |path: &str| path == args.what || path.ends_with(&format!("/{}", args.what.trim_start_matches("./")));
    let date: Option<Date> = args.what.parse().ok();
    let sets = catalog.sets().in_file(path)?.into_iter().filter(|set| named(&set.path));
    let days = catalog.days().in_file(path)?.into_iter();
    let days = days.filter(|day| Some(day.date) == date || named(&day.path) || named(&day.manifest_path));
    let mut found: Vec<Found> = sets.map(Found::Set).chain(days.map(Found::Day)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(Found::Set(set)), true) => emit(common, &SetReport(set)),
        (Some(Found::Day(day)), true) => {
            let members = catalog.members(day.date).in_file(path)?;
            emit(common, &DayReport::new(day, members))
        }
        (Some(_), false) => Err(Failure::usage(format!("{} sets end with {:?}", found.len() + 1, args.what))
            .hint("give more of the path")),
        (None, _) => {
            let what = if date.is_some() { "day" } else { "set" };
            Err(Failure::new(Exit::Missing, format!("the catalog has no {what} {:?}", args.what))
                .in_file(path)
                .hint("`catalog-sync list` shows all"))
        }
    }
}

impl DayReport {
    fn new(day: DayRow, members: Vec<Member>) -> Self {
        let mut counts = BTreeMap::new();
        for member in &members {
            *counts.entry(member.status.clone()).or_insert(0) += 1;
        }
        let not_used = members.into_iter().filter(|member| member.status != USED).collect();
        Self { bytes: day.stat.size, day, members: counts, not_used }
    }
}

impl fmt::Display for SetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = &self.0;
        writeln!(f, "{} ({})", set.path, set.state.name())?;
        writeln!(f, "  {} rows of {} records, {}", set.rows, set.records, ByteSize(set.bytes))?;
        writeln!(f, "  {}", set.conventions)?;
        for shard in &set.shards {
            let size = ByteSize(shard.stat.size);
            writeln!(
                f,
                "  {}  {} rows in {} row groups, {size}",
                shard.sha256, shard.rows, shard.row_groups
            )?;
            writeln!(f, "    {}", shard.path)?;
        }
        Ok(())
    }
}

impl fmt::Display for DayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DayRow { date, path, state, rows, row_groups, sha256, encoder_version, .. } = &self.day;
        writeln!(f, "{date}  {path} ({})", state.name())?;
        writeln!(f, "  {rows} rows in {row_groups} row groups, {}", ByteSize(self.bytes))?;
        writeln!(f, "  {sha256}")?;
        writeln!(f, "  encoder {encoder_version}, cards {}", self.day.card_catalog_sha256)?;
        let counts = self.members.iter().map(|(status, n)| format!("{n} {status}"));
        writeln!(f, "  episodes: {}", counts.collect::<Vec<_>>().join(", "))?;
        for Member { archive_member, status, why, .. } in &self.not_used {
            let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
            writeln!(f, "    {archive_member}: {status}{why}")?;
        }
        Ok(())
    }
}
