//! `list` without a folder: what a store holds.

use std::fmt;
use std::time::Duration;

use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, emit};
use common::state::store::purge::{Entry, list};
use serde::Serialize;

#[derive(Serialize)]
struct ListReport {
    store: String,
    bytes: u64,
    actions: Vec<Entry>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common) -> Result<(), Failure> {
    let root = common.store_or_default()?;
    let actions = list(&root).in_file(&root)?;
    let bytes = actions.iter().map(|entry| entry.bytes).sum();
    emit(common, &ListReport { store: root.display().to_string(), bytes, actions })
}

/// Actions, a line each.
pub(crate) struct Table<'a>(pub(crate) &'a [Entry]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Entry { key, job, keep, bytes, age_s, .. } in self.0 {
            let age = humantime::format_duration(rounded(*age_s)).to_string();
            let keep = format!("{keep:?}").to_lowercase();
            let (key, size) = (&key.as_str()[..12], ByteSize(*bytes).to_string());
            writeln!(f, "{key}  {job:<22} {keep:<8} {size:>10}  {age}")?;
        }
        Ok(())
    }
}

/// An age in its two largest units.
pub(crate) fn rounded(seconds: u64) -> Duration {
    let unit = match seconds {
        0..3600 => 1,
        3600..86400 => 60,
        _ => 3600,
    };
    Duration::from_secs(seconds / unit * unit)
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Table(&self.actions))?;
        writeln!(f, "{}: {} actions, {}", self.store, self.actions.len(), ByteSize(self.bytes))
    }
}
