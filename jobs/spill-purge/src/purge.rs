//! `purge` and `list ROOT`: spill folders of runs. A run holds the lock of its lease, so the dead are told from the living.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, emit};
use common::state::cache::{self, FoundRun};
use serde::Serialize;

use crate::cli::PurgeArgs;
use crate::list::rounded;

#[derive(Serialize)]
struct PurgeReport {
    #[serde(serialize_with = "path_text")]
    root: PathBuf,
    dry_run: bool,
    removed: Vec<FoundRun>,
    /// Bytes that went.
    freed: u64,
    /// Runs that live.
    live: usize,
}

#[derive(Serialize)]
struct RunsReport {
    #[serde(serialize_with = "path_text")]
    root: PathBuf,
    runs: Vec<FoundRun>,
}

/// Runs `purge`.
pub(crate) fn run(common: &Common, args: &PurgeArgs) -> Result<(), Failure> {
    let root = args.root.as_path();
    let (removed, live) = cache::purge(root, args.older_than, common.dry_run).in_file(root)?;
    let freed = removed.iter().map(|run| run.bytes).sum();
    emit(common, &PurgeReport { root: root.into(), dry_run: common.dry_run, removed, freed, live })
}

/// Runs `list` of a folder.
pub(crate) fn list(common: &Common, root: &Path) -> Result<(), Failure> {
    let runs = cache::list(root).in_file(root)?;
    emit(common, &RunsReport { root: root.into(), runs })
}

/// Runs, a line each.
struct Runs<'a>(&'a [FoundRun]);

impl fmt::Display for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        for FoundRun { folder, lease, live, files, bytes, foreign } in self.0 {
            let age = humantime::format_duration(rounded(now.saturating_sub(lease.started_at)));
            let (size, state) = (ByteSize(*bytes), if *live { "live" } else { "dead" });
            write!(f, "{}  {state}  {files} files, {size}  {age}  {}", folder.display(), lease.run)?;
            if *foreign > 0 {
                write!(f, "  ({foreign} files are not ours, and stay)")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for PurgeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, dry_run, removed, freed, live } = self;
        write!(f, "{}", Runs(removed))?;
        let verb = if *dry_run { "would be freed" } else { "freed" };
        writeln!(f, "{}: {} {verb}, {live} runs live", root.display(), ByteSize(*freed))
    }
}

impl fmt::Display for RunsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.runs.iter().map(|run| run.bytes).sum();
        write!(f, "{}", Runs(&self.runs))?;
        writeln!(f, "{}: {} runs, {}", self.root.display(), self.runs.len(), ByteSize(bytes))
    }
}
