//! Where a stream goes. A stream is what shards are rebuilt from, so none is replaced by accident.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use common::formats::mpk1::{Header, Writer};
use common::process::failure::InFile;
use common::process::{Action, Common, Failure, Made, Obtained, Place};
use common::state::digest::Digest;
use common::state::output::{Output, same_file};
use common::state::store::record::{Keep, Parameters};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cli::TargetArgs;

/// What became of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It is new, or was replaced.
    Written,
    /// The same bytes were there.
    Unchanged,
    /// Records were added to it.
    Appended,
    /// The store had it: nothing was computed.
    Cached,
    /// `--dry-run`: nothing was written.
    Planned,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Written => "written",
            Self::Unchanged => "unchanged",
            Self::Appended => "appended",
            Self::Cached => "found in the store",
            Self::Planned => "planned, not written",
        })
    }
}

/// What a stream that was written comes to: what was made of the input, and what became of the output.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Written<T> {
    pub(crate) counts: T,
    pub(crate) outcome: Outcome,
}

/// Writes a stream, or finds it in the store, and puts it into place. `parameters` and the input are all that it
/// depends on; `run` writes it to the path that it is given.
pub(crate) fn obtain<'a, T: Serialize + DeserializeOwned>(
    common: &Common,
    args: &'a TargetArgs,
    input: (&'static str, &Path),
    parameters: Parameters,
    run: impl FnOnce(&Path) -> Result<Written<T>, Failure>,
) -> Result<Obtained<'a, Written<T>>, Failure> {
    let path = args.output.as_path();
    if same_file(input.1, path) {
        return Err(Failure::usage("the output is the input").in_file(path).hint("choose another output"));
    }
    let (inputs, place) = (vec![(input.0, input.1.to_path_buf())], Place::File(path));
    let action = Action { parameters, inputs, place, keep: Keep::Pinned };
    let mut done = action.obtain(common, |at| Ok(Made::new(run(at)?, vec![at.into()])))?;
    if done.is_cached() {
        done.value.outcome = Outcome::Cached;
    }
    done.place(common)?;
    Ok(done)
}

/// A stream in the making; none where nothing is to be written.
pub(crate) struct Target<'a> {
    writer: Option<Writer<Output>>,
    path: &'a Path,
    force: bool,
}

impl<'a> Target<'a> {
    /// Starts a stream with its header.
    pub(crate) fn create(common: &Common, path: &'a Path, header: &Header) -> Result<Self, Failure> {
        let force = common.force;
        header.encode().map_err(|error| Failure::usage(error).in_file(path))?;
        if common.dry_run {
            return Ok(Self { writer: None, path, force });
        }
        let output = Output::create(path).in_file(path)?;
        Ok(Self { writer: Some(Writer::new(output, header).in_file(path)?), path, force })
    }

    /// Writes encoded records.
    pub(crate) fn write(&mut self, records: &[u8]) -> Result<(), Failure> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(records)).in_file(self.path)
    }

    /// Gives the stream its name, unless another stands there.
    pub(crate) fn finish(self) -> Result<Outcome, Failure> {
        let Some(writer) = self.writer else { return Ok(Outcome::Planned) };
        let (path, mut output) = (self.path, writer.into_inner());
        output.flush().in_file(path)?;
        if path.exists() && !self.force {
            if same_bytes(output.partial(), path).in_file(path)? {
                return Ok(Outcome::Unchanged);
            }
            return Err(Failure::usage("a stream of other content is already there")
                .in_file(path)
                .hint("`--force` replaces it; streams are what shards are rebuilt from"));
        }
        output.publish().in_file(path)?;
        Ok(Outcome::Written)
    }
}

fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    Ok(Digest::of_file(&mut a)? == Digest::of_file(&mut b)?)
}
