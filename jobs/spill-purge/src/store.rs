//! `store`: bounds on a store.

use std::fmt;

use common::process::failure::InFile;
use common::process::{ByteSize, Common, Exit, Failure, conclude, stop};
use common::state::store::purge::{Limits, Purged, purge};
use serde::Serialize;

use crate::cli::StoreArgs;
use crate::list::Table;

#[derive(Serialize)]
struct StoreReport {
    store: String,
    dry_run: bool,
    #[serde(flatten)]
    purged: Purged,
}

/// Runs the verb. Where bounds cannot be met, all that may go has gone, and the exit code says so.
pub(crate) fn run(common: &Common, args: &StoreArgs) -> Result<(), Failure> {
    let root = common.store_or_default()?;
    let max_bytes = args.max_size.map(|size| size.0);
    let limits = Limits { max_bytes, max_age: args.older_than };
    let purged = purge(&root, limits, common.dry_run, &mut || stop::check().is_err()).in_file(&root)?;
    stop::check()?;
    let (left, kept) = (purged.left, purged.kept);
    let report = StoreReport { store: root.display().to_string(), dry_run: common.dry_run, purged };
    let over = max_bytes.filter(|max| left > *max).map(|max| {
        Failure::new(Exit::Disk, "the store cannot be made as small as that")
            .in_file(&root)
            .found(format!("{} that have to stay", ByteSize(left)), format!("{} at most", ByteSize(max)))
            .hint(format!(
                "streams are {}, in use are {}, datasets without their sources are {}",
                ByteSize(kept.pinned),
                ByteSize(kept.held),
                ByteSize(kept.irreplaceable)
            ))
    });
    conclude(common, &report, over)
}

impl fmt::Display for StoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Purged { removed, broken, orphaned, freed, left, .. } = &self.purged;
        write!(f, "{}", Table(removed))?;
        if *broken > 0 || *orphaned > 0 {
            writeln!(f, "{broken} records without results, {} without a record", ByteSize(*orphaned))?;
        }
        let freed_text = if self.dry_run { "would be freed" } else { "freed" };
        writeln!(f, "{}: {} {freed_text}, {} left", self.store, ByteSize(*freed), ByteSize(*left))
    }
}
