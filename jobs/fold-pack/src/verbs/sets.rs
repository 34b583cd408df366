//! A whole set under its prefix.

use std::io::Write;
use std::path::Path;

use common::formats::folded::Set;
use common::formats::folded::set::{set_path, to_json};
use common::process::failure::InFile;
use common::process::{Action, Common, Failure, Made};
use common::state::output::{Output, folder_of};

use super::parts;
use super::summary::Summary;
use crate::fold::range::Range;
use crate::fold::shards::remove_strays;

/// Makes a set, or finds it in the store, and says what it is. `run` writes the shards under the prefix it is given.
pub(super) fn obtain(
    common: &Common,
    action: Action<'_>,
    prefix: &Path,
    run: impl FnOnce(&Path) -> Result<Set, Failure>,
) -> Result<(), Failure> {
    let mut done = action.obtain(common, |at| {
        let path = set_path(at);
        // held from here to the end: whoever folds to this prefix meanwhile is turned away
        let mut file = Output::create(&path).in_file(&path)?;
        parts::begin(at, None, Range::ALL)?;
        let set = run(at)?;
        file.write_all(to_json(&set).as_bytes()).in_file(&path)?;
        file.publish().in_file(&path)?;
        let shards = set.shards.iter().map(|shard| folder_of(at).join(&shard.file));
        let files = shards.chain([path]).collect();
        Ok(Made::new(set, files))
    })?;
    if done.place_after(common, || parts::begin(prefix, None, Range::ALL))? {
        remove_strays(prefix, &done.value.shards, 0..usize::MAX)?;
    }
    done.emit(common, &Summary::of_set(prefix, done.value.clone()))
}

/// A prefix must end with a name.
pub(super) fn check_prefix(prefix: &Path) -> Result<(), Failure> {
    let text = prefix.to_string_lossy();
    if prefix.file_name().is_none() || text.ends_with('/') || prefix.is_dir() {
        return Err(Failure::usage("a folder where a path with a name is expected")
            .in_file(prefix)
            .hint("`-o shards/v1` makes shards/v1-00000.parquet and shards/v1.set.json"));
    }
    if prefix.file_name().is_some_and(|name| name.to_str().is_none()) {
        return Err(Failure::usage("the name of a set must be UTF-8, as it stands in the set's record")
            .in_file(prefix));
    }
    Ok(())
}
