//! `show`: what a warm set holds, from the headers of its files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, conclude, stop};
use common::state::cache::Header;
use common::state::digest::Digest;
use serde::Serialize;

use crate::cli::ShowArgs;

#[derive(Serialize)]
struct ShowReport {
    #[serde(serialize_with = "path_text")]
    folder: PathBuf,
    datasets: Vec<DatasetReport>,
    bytes: u64,
    /// Files that are named like spill files and are none, or not whole.
    damaged: Vec<String>,
}

/// Row groups of one dataset in one projection.
#[derive(Serialize)]
struct DatasetReport {
    dataset: Digest,
    projection: Digest,
    kind: &'static str,
    row_groups: u64,
    rows: u64,
    bytes: u64,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &ShowArgs) -> Result<(), Failure> {
    let folder = args.folder.as_path();
    let mut found: BTreeMap<(Digest, Digest), DatasetReport> = BTreeMap::new();
    let mut damaged = vec![];
    for path in files(folder)? {
        stop::check()?;
        let Ok(Some(header)) = Header::read(&path, args.deep) else {
            damaged.push(path.display().to_string());
            continue;
        };
        let Header { key, kind, rows, len } = header;
        let name = (key.dataset.clone(), key.projection.clone());
        let entry = found.entry(name).or_insert_with(|| DatasetReport {
            dataset: key.dataset,
            projection: key.projection,
            kind: if kind == 1 { "decision day" } else { "folded shard" },
            row_groups: 0,
            rows: 0,
            bytes: 0,
        });
        entry.row_groups += 1;
        entry.rows += rows;
        entry.bytes += len;
    }
    let datasets: Vec<_> = found.into_values().collect();
    let bytes = datasets.iter().map(|dataset| dataset.bytes).sum();
    let failure = damaged.first().map(|path| {
        Failure::bad_data(format!("{} spill files are not whole", damaged.len()))
            .at(path)
            .hint("remove them and run `cache-warm warm` again")
    });
    conclude(common, &ShowReport { folder: folder.into(), datasets, bytes, damaged }, failure)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).in_file(folder)?;
    let paths = entries.map(|entry| Ok(entry.in_file(folder)?.path()));
    let mut paths = paths.collect::<Result<Vec<_>, Failure>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "spill"));
    paths.sort();
    Ok(paths)
}

impl fmt::Display for ShowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for DatasetReport { dataset, projection, kind, row_groups, rows, bytes } in &self.datasets {
            let (dataset, projection) = (&dataset.as_str()[..12], &projection.as_str()[..12]);
            let size = ByteSize(*bytes);
            writeln!(f, "{dataset}  {projection}  {kind}  {rows} rows in {row_groups} row groups, {size}")?;
        }
        self.damaged.iter().try_for_each(|path| writeln!(f, "{path}: not whole"))?;
        writeln!(f, "{}: {}", self.folder.display(), ByteSize(self.bytes))
    }
}
