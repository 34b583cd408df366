//! `warm`: spill files of all row groups. What is there already stays, so that a run that was stopped goes on, and several
//! may work on one set.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::process::action::{Action, Made, Place};
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered, pool};
use common::process::{ByteSize, Common, Exit, Failure, conclude, space, stop};
use common::state::cache::{Decoded, Header, Key, Slot, Source};
use common::state::store::record::{Keep, parameters};
use serde::{Deserialize, Serialize};

use crate::cli::WarmArgs;
use crate::datasets::{Chosen, select};

/// How often a file is looked for that another process makes.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Serialize)]
struct WarmReport {
    #[serde(serialize_with = "path_text")]
    output: PathBuf,
    dry_run: bool,
    /// Files that were made, or found in the store.
    warmed: u64,
    /// Files that were there.
    unchanged: u64,
    /// Row groups beyond the bound.
    left_out: u64,
    /// Bytes of all files of the selection.
    bytes: u64,
}

/// A row group to warm.
struct Task<'a, S> {
    source: &'a S,
    slot: Slot,
    key: Key,
    dataset: &'a Path,
    target: PathBuf,
}

/// What came of it.
enum Outcome {
    Warmed(u64),
    Unchanged(u64),
    LeftOut,
}

/// What the store keeps beside a spill file.
#[derive(Serialize, Deserialize)]
struct Stated {
    bytes: u64,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &WarmArgs) -> Result<(), Failure> {
    let selected = select(common, &args.select)?;
    let mut report = WarmReport {
        output: args.output.clone(),
        dry_run: common.dry_run,
        warmed: 0,
        unchanged: 0,
        left_out: 0,
        bytes: 0,
    };
    warm_all(common, args, &selected.days, &mut report)?;
    warm_all(common, args, &selected.shards, &mut report)?;
    let left_out = report.left_out;
    let over = (left_out > 0).then(|| {
        Failure::new(Exit::Limit, format!("{left_out} row groups are beyond --max-size"))
            .in_file(&args.output)
            .hint("raise it and run the same again: what is there stays")
    });
    conclude(common, &report, over)
}

fn warm_all<S: Source>(
    common: &Common,
    args: &WarmArgs,
    chosen: &Chosen<S>,
    report: &mut WarmReport,
) -> Result<(), Failure> {
    let (source, paths) = (&chosen.source, &chosen.paths);
    let task = |slot: Slot| {
        let key = source.key(slot)?;
        let target = args.output.join(key.file_name());
        Some(Task { source, slot, key, dataset: paths.get(slot.dataset as usize)?, target })
    };
    let tasks: Vec<_> = chosen.slots().filter_map(task).collect();
    let missing: Vec<_> = tasks.iter().filter(|task| task.is_there().is_none()).collect();
    if let Some(largest) = missing.iter().max_by_key(|task| task.rows()) {
        let sample = Decoded::new(source, largest.slot)?;
        let rows: u64 = missing.iter().map(|task| task.rows()).sum();
        let needed = (sample.file_bytes() as f64 / largest.rows() as f64 * rows as f64) as u64;
        let needed = args.max_size.map_or(needed, |max| needed.min(max.0));
        space::check(common, &args.output.join("x"), "spill files", needed)?;
    }
    if common.dry_run {
        report.warmed += missing.len() as u64;
        report.unchanged += (tasks.len() - missing.len()) as u64;
        return Ok(());
    }
    let mut progress = common.progress("warm", "row groups", Some(tasks.len() as u64));
    if let Some(max) = args.max_size {
        // a bound is met in the order of the groups, so that the same ones are left out every time
        return tasks.iter().try_for_each(|task| {
            report.add(task.warm(common, max.0.saturating_sub(report.bytes))?);
            progress.add(1);
            Ok(())
        });
    }
    let work = |task: &Task<'_, S>| task.warm(common, u64::MAX);
    let threads = common.threads();
    pool(threads)?.in_place_scope(|scope| {
        ordered(scope, tasks.iter(), ahead(threads, u64::MAX), &work).try_for_each(|outcome| {
            report.add(outcome?);
            progress.add(1);
            Ok(())
        })
    })
}

impl WarmReport {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Warmed(bytes) => (self.warmed, self.bytes) = (self.warmed + 1, self.bytes + bytes),
            Outcome::Unchanged(bytes) => {
                (self.unchanged, self.bytes) = (self.unchanged + 1, self.bytes + bytes)
            }
            Outcome::LeftOut => self.left_out += 1,
        }
    }
}

impl<S: Source> Task<'_, S> {
    fn rows(&self) -> u64 {
        let groups = self.source.groups(self.slot.dataset);
        groups.get(self.slot.group as usize).map_or(0, |&rows| rows as u64)
    }

    /// Bytes of the file, where it is there and whole.
    fn is_there(&self) -> Option<u64> {
        let header = Header::read(&self.target, false).ok()??;
        (header.key == self.key).then_some(header.len)
    }

    /// Makes the file, or waits for who makes it.
    fn warm(&self, common: &Common, most: u64) -> Result<Outcome, Failure> {
        let mut said = false;
        loop {
            stop::check()?;
            if let Some(bytes) = self.is_there().filter(|_| !common.force) {
                return Ok(Outcome::Unchanged(bytes));
            }
            match self.make(common, most) {
                Err(failure) if failure.exit() == Exit::Locked => {
                    if !std::mem::replace(&mut said, true) {
                        tracing::info!("another process makes {}; waiting for it", self.target.display());
                    }
                    std::thread::sleep(PATIENCE);
                }
                outcome => return outcome,
            }
        }
    }

    fn make(&self, common: &Common, most: u64) -> Result<Outcome, Failure> {
        let action = Action {
            parameters: parameters([
                ("projection", self.key.projection.as_str().into()),
                ("row_group", self.key.group.into()),
            ]),
            inputs: vec![("dataset", self.dataset.into())],
            place: Place::File(&self.target),
            keep: Keep::Scratch,
        };
        let mut fits = true;
        let done = action.obtain(common, |at| {
            let decoded = Decoded::new(self.source, self.slot)?;
            let bytes = decoded.file_bytes();
            fits = bytes <= most;
            if !fits {
                return Err(Failure::new(Exit::Limit, "the warm set has no room for it"));
            }
            decoded.write(at).in_file(at)?;
            Ok(Made::new(Stated { bytes }, vec![at.into()]))
        });
        if !fits {
            return Ok(Outcome::LeftOut);
        }
        let mut done = done?;
        if done.value.bytes > most {
            return Ok(Outcome::LeftOut);
        }
        done.place(common)?;
        Ok(Outcome::Warmed(done.value.bytes))
    }
}

impl fmt::Display for WarmReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, warmed, unchanged, left_out, bytes, dry_run } = self;
        let verb = if *dry_run { "to be warmed" } else { "warmed" };
        write!(f, "{}: {warmed} row groups {verb}, {unchanged} were there", output.display())?;
        if *left_out > 0 {
            write!(f, ", {left_out} left out")?;
        }
        if !dry_run {
            write!(f, ", {}", ByteSize(*bytes))?;
        }
        writeln!(f)
    }
}
