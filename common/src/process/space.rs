//! Free space, before a job writes much.

use std::path::Path;

use super::cli::Common;
use super::failure::{Exit, Failure, InFile};
use super::size::ByteSize;
use crate::state::output::{folder_of, free_bytes};

/// Says how much `what` needs at least and how much is free, and ends a job that cannot fit before it starts.
pub fn check(common: &Common, output: &Path, what: &str, needed: u64) -> Result<(), Failure> {
    let free = free_bytes(folder_of(output)).in_file(output)?;
    let (needed_text, free_text) = (ByteSize(needed), ByteSize(free));
    common.note(format_args!("{what} need {needed_text} at least, {free_text} are free"));
    if free >= needed {
        return Ok(());
    }
    Err(Failure::new(Exit::Disk, format!("the disk has no room for {what}"))
        .in_file(output)
        .found(format!("{free_text} of free space"), format!("{needed_text} at least"))
        .hint("free some space, or choose an output on another disk"))
}
