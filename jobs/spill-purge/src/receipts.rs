//! `receipts`: a receipt says that its data is there. One that is wrong is removed, so that a workflow makes the data again.

use std::fmt;
use std::path::{Path, PathBuf};

use common::process::failure::InFile;
use common::process::receipt::Receipt;
use common::process::{Common, Failure, emit, stop};
use common::state::output::remove_if_there;
use common::state::store::Store;
use serde::Serialize;

use crate::cli::ReceiptsArgs;

#[derive(Serialize, Default)]
struct ReceiptsReport {
    /// Receipts whose data is there.
    good: usize,
    /// Receipts that were removed, or would be.
    removed: Vec<Removed>,
}

#[derive(Serialize)]
struct Removed {
    receipt: String,
    /// The output that is not there, or not as it was.
    output: String,
}

/// Runs the verb. Only files that are receipts are ever removed.
pub(crate) fn run(common: &Common, args: &ReceiptsArgs) -> Result<(), Failure> {
    let root = common.store_or_default()?;
    let store = Store::open(&root).in_file(&root)?;
    let mut report = ReceiptsReport::default();
    let mut waiting: Vec<PathBuf> = args.folders.iter().filter(|folder| folder.exists()).cloned().collect();
    while let Some(folder) = waiting.pop() {
        stop::check()?;
        for entry in std::fs::read_dir(&folder).in_file(&folder)? {
            let entry = entry.in_file(&folder)?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json")
                && let Some(receipt) = Receipt::read(&path)
            {
                let wrong = receipt.outputs.iter().find(|output| {
                    !store.know(Path::new(&output.path)).is_ok_and(|known| known.sha256 == output.sha256)
                });
                let Some(output) = wrong else {
                    report.good += 1;
                    continue;
                };
                if !common.dry_run {
                    remove_if_there(&path).in_file(&path)?;
                }
                let (receipt, output) = (path.display().to_string(), output.path.clone());
                report.removed.push(Removed { receipt, output });
            }
        }
    }
    report.removed.sort_by(|a, b| a.receipt.cmp(&b.receipt));
    emit(common, &report)
}

impl fmt::Display for ReceiptsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { good, removed } = self;
        for Removed { receipt, output } in removed {
            writeln!(f, "{receipt}: {output} is not there as it was, so it is to be made again")?;
        }
        writeln!(f, "{good} receipts are good, {} are not", removed.len())
    }
}
