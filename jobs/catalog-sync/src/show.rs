//! `show`: one set, with its shards.

use std::fmt;

use common::process::failure::InFile;
use common::process::{ByteSize, Common, Exit, Failure, emit};
use common::state::catalog::{Catalog, SetRow};
use serde::Serialize;

use crate::cli::ShowArgs;

#[derive(Serialize)]
#[serde(transparent)]
struct ShowReport(SetRow);

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ShowArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let sets = Catalog::open(path).in_file(path)?.sets().in_file(path)?;
    let named = |set: &SetRow| {
        set.path == args.set || set.path.ends_with(&format!("/{}", args.set.trim_start_matches("./")))
    };
    let mut found: Vec<SetRow> = sets.into_iter().filter(named).collect();
    match (found.pop(), found.is_empty()) {
        (Some(set), true) => emit(common, &ShowReport(set)),
        (Some(_), false) => Err(Failure::usage(format!("{} sets end with {:?}", found.len() + 1, args.set))
            .hint("give more of the path")),
        (None, _) => Err(Failure::new(Exit::Missing, format!("the catalog has no set {:?}", args.set))
            .in_file(path)
            .hint("`catalog-sync list` shows all")),
    }
}

impl fmt::Display for ShowReport {
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
