//! `verify`: the files are held to the catalog, which is left as it is.

use std::fmt;
use std::path::Path;

use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, conclude, stop};
use common::state::catalog::{Catalog, SetRow, State};
use serde::Serialize;

use crate::cli::VerifyArgs;
use crate::look::{is_as_recorded, look};

#[derive(Serialize, Default)]
struct VerifyReport {
    /// Sets that are as recorded.
    ok: u64,
    /// Sets that are not, and why.
    unlike: Vec<Unlike>,
}

#[derive(Serialize)]
struct Unlike {
    set: String,
    error: String,
}

/// Runs the verb. Sets that the catalog records as missing or damaged are passed over.
pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<(), Failure> {
    let path = args.catalog.catalog.as_path();
    let sets = Catalog::open(path).in_file(path)?.sets().in_file(path)?;
    let mut progress = common.progress("verify", "sets", Some(sets.len() as u64));
    let (mut report, mut first) = (VerifyReport::default(), None);
    for set in sets.iter().filter(|set| set.state == State::Present) {
        stop::check()?;
        progress.add(1);
        match verify(set, args.deep) {
            Ok(()) => report.ok += 1,
            Err(failure) => {
                report.unlike.push(Unlike { set: set.path.clone(), error: failure.to_string() });
                first.get_or_insert(failure);
            }
        }
    }
    drop(progress);
    conclude(common, &report, first)
}

fn verify(set: &SetRow, deep: bool) -> Result<(), Failure> {
    if !deep && is_as_recorded(set) {
        return Ok(());
    }
    let found = look(Path::new(&set.path))?;
    let digests = |set: &SetRow| set.shards.iter().map(|shard| shard.sha256.clone()).collect::<Vec<_>>();
    if digests(&found) == digests(set) && found.conventions == set.conventions {
        return Ok(());
    }
    Err(Failure::new(Exit::Unlike, "the set is not the one that the catalog records")
        .in_file(Path::new(&set.path))
        .found(
            format!("{} rows of {} records", found.rows, found.records),
            format!("{} rows of {} records", set.rows, set.records),
        )
        .hint("`catalog-sync sync` records it as it is now"))
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} sets are as recorded, {} are not", self.ok, self.unlike.len())?;
        self.unlike.iter().try_for_each(|unlike| writeln!(f, "{}", unlike.error.trim_end()))
    }
}
