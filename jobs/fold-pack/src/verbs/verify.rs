//! `verify`: a set is held to its record, and every row to the rules.

use std::fmt;
use std::path::{Path, PathBuf};

use common::formats::folded::set::{set_path, shard_index, shard_path};
use common::formats::folded::{Conventions, Rows, Set, check_shard};
use common::formats::mpk1::{Move16, packed};
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, emit};
use common::state::output::folder_of;
use serde::Serialize;

use super::shard_files::ShardFile;
use crate::cli::VerifyArgs;
use crate::order::{KEY_LEN, Order};

/// How far the probabilities of a row may add up from 1: half a unit in the last place of each of 600.
const PROB_SLACK: f64 = 1e-4;

#[derive(Serialize)]
struct VerifyReport {
    sets: Vec<Verified>,
}

#[derive(Serialize)]
struct Verified {
    #[serde(serialize_with = "path_text")]
    set: PathBuf,
    shards: usize,
    rows: u64,
    records: u64,
    /// Whether every row was read.
    deep: bool,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<(), Failure> {
    let mut report = VerifyReport { sets: vec![] };
    for path in &args.sets {
        let path = set_of(path)?;
        let set = Set::read(&path).in_file(&path)?;
        verify_set(common, &path, &set, !args.shallow)?;
        let Set { rows, records, shards, .. } = set;
        report.sets.push(Verified { set: path, shards: shards.len(), rows, records, deep: !args.shallow });
    }
    emit(common, &report)
}

/// The set that a path names: itself, or the one that a shard belongs to.
fn set_of(path: &Path) -> Result<PathBuf, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((prefix, _)) = name.strip_suffix(".parquet").and_then(|name| name.rsplit_once('-')) else {
        return Ok(path.into());
    };
    let set = set_path(&folder_of(path).join(prefix));
    let named =
        set.exists() && Set::read(&set).in_file(&set)?.shards.iter().any(|shard| *shard.file == *name);
    named.then_some(set).ok_or_else(|| stray(path))
}

fn stray(path: &Path) -> Failure {
    Failure::bad_data("no set names this shard")
        .in_file(path)
        .hint("a fold that was stopped leaves shards without a set: run it again")
}

fn verify_set(common: &Common, path: &Path, set: &Set, deep: bool) -> Result<(), Failure> {
    no_strays(path, set)?;
    let mut rules =
        Rules { order: Order::new(set.conventions.shuffle_seed), last: None, conventions: set.conventions };
    let mut progress = common.progress("verify", "rows", Some(set.rows));
    for shard in &set.shards {
        let file = folder_of(path).join(&shard.file);
        let opened = check_shard(&file, shard, &set.conventions).in_file(&file)?;
        let (mut records, opened) = (0, ShardFile { path: file.clone(), shard: opened });
        if deep {
            opened.each_group(|rows| {
                records += rows.weight.iter().map(|&weight| u64::from(weight)).sum::<u64>();
                progress.add(rows.len() as u64);
                rules.check(rows)
            })?;
            if records != shard.records {
                let what = "the sum of weights is not what the set records";
                return Err(Failure::new(Exit::Unlike, what).in_file(&file).found(records, shard.records));
            }
        }
    }
    Ok(())
}

/// Shards of the prefix that the set does not name.
fn no_strays(path: &Path, set: &Set) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(prefix) = name.strip_suffix(".set.json").map(|prefix| folder_of(path).join(prefix)) else {
        return Ok(());
    };
    for entry in fs_err::read_dir(folder_of(path))? {
        let entry = entry?;
        let named = |name: &std::ffi::OsStr| set.shards.iter().any(|shard| *shard.file == *name);
        if let Some(index) = shard_index(&prefix, &entry.path())
            && !named(&entry.file_name())
        {
            return Err(stray(&shard_path(&prefix, index)));
        }
    }
    Ok(())
}

/// The rules of rows, across the shards of a set.
struct Rules {
    order: Order,
    /// Key and position of the row before.
    last: Option<([u8; KEY_LEN], Vec<u8>)>,
    conventions: Conventions,
}

impl Rules {
    fn check(&mut self, rows: &Rows) -> Result<(), Failure> {
        for row in 0..rows.len() {
            self.check_row(rows, row).map_err(|what| {
                let board = packed::Packed::new(*rows.board(row))
                    .map_or(String::new(), |board| format!(" ({board})"));
                Failure::bad_data(format!("row {row} of a row group{board}: {what}"))
            })?;
        }
        Ok(())
    }

    fn check_row(&mut self, rows: &Rows, row: usize) -> Result<(), String> {
        let board = rows.board(row);
        if let Some(defect) = packed::defect(board) {
            return Err(defect.to_string());
        }
        let key = (self.order.key(board), board.to_vec());
        if self.last.as_ref().is_some_and(|last| *last >= key) {
            return Err("it does not stand in the order of the seed, or stands twice".into());
        }
        self.last = Some(key);
        if rows.weight[row] == 0 {
            return Err("its weight is 0".into());
        }
        for (name, value) in [("value_z", rows.value_z[row]), ("value_q", rows.value_q[row])] {
            if !(-1.0..=1.0).contains(&value) {
                return Err(format!("{name} is {value}, outside of [-1, 1]"));
            }
        }
        self.check_candidates(rows, row)
    }

    fn check_candidates(&self, rows: &Rows, row: usize) -> Result<(), String> {
        let range = rows.candidates(row);
        let (moves, probs) = (&rows.mv[range.clone()], &rows.prob[range.clone()]);
        if let Some(defect) = moves.iter().find_map(|&mv| Move16(mv).defect()) {
            return Err(format!("a candidate is no move: {defect}"));
        }
        if !moves.is_sorted_by(|a, b| a < b) {
            return Err("its moves do not ascend".into());
        }
        let sum: f64 = probs.iter().map(|&prob| f64::from(prob)).sum();
        if probs.iter().any(|prob| !(0.0..=1.0).contains(prob)) || (sum - 1.0).abs() > PROB_SLACK {
            return Err(format!("its probabilities add up to {sum}"));
        }
        let scored = self.conventions.policy_source == 1;
        if rows.cp[range].iter().any(|cp| cp.is_some() != scored) {
            return Err("cp is there where it should not be, or the other way round".into());
        }
        Ok(())
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Verified { set, shards, rows, records, deep } in &self.sets {
            let depth = if *deep { "every row" } else { "digests and footers" };
            writeln!(
                f,
                "ok  {}  {rows} rows of {records} records in {shards} shards; {depth}",
                set.display()
            )?;
        }
        Ok(())
    }
}
