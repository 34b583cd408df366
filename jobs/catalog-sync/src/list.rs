//! `list`: the sets of a catalog.

use std::fmt;

use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, emit};
use common::state::catalog::{Catalog, SetRow};
use serde::Serialize;

use crate::cli::CatalogArgs;

#[derive(Serialize)]
#[serde(transparent)]
struct ListReport(Vec<SetRow>);

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &CatalogArgs) -> Result<(), Failure> {
    let path = args.catalog.as_path();
    emit(common, &ListReport(Catalog::open(path).in_file(path)?.sets().in_file(path)?))
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<9} {:>12} {:>12} {:>6} {:>10}  set", "state", "rows", "records", "shards", "size")?;
        for set in &self.0 {
            let (state, size) = (set.state.name(), ByteSize(set.bytes).to_string());
            let SetRow { rows, records, shards, path, .. } = set;
            writeln!(f, "{state:<9} {rows:>12} {records:>12} {:>6} {size:>10}  {path}", shards.len())?;
        }
        Ok(())
    }
}
