//! Where a stream goes. A stream is what shards are rebuilt from, so none is replaced by accident.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use common::formats::mpk1::{Header, Writer};
use common::process::failure::InFile;
use common::process::{Common, Failure};
use common::state::digest::Digest;
use common::state::output::{Output, same_file};
use serde::Serialize;

use crate::cli::TargetArgs;

/// What became of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It is new, or was replaced.
    Written,
    /// The same bytes were there.
    Unchanged,
    /// Records were added to it.
    Appended,
    /// `--dry-run`: nothing was written.
    Planned,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Written => "written",
            Self::Unchanged => "unchanged",
            Self::Appended => "appended",
            Self::Planned => "planned, not written",
        })
    }
}

/// A stream in the making; none where nothing is to be written.
pub(crate) struct Target<'a> {
    writer: Option<Writer<Output>>,
    path: &'a Path,
    force: bool,
}

impl<'a> Target<'a> {
    /// Starts the stream that is made of `input`, with its header.
    pub(crate) fn create(
        common: &Common,
        args: &'a TargetArgs,
        input: &Path,
        header: &Header,
    ) -> Result<Self, Failure> {
        let (path, force) = (args.output.as_path(), common.force);
        if same_file(input, path) {
            return Err(Failure::usage("the output is the input")
                .in_file(path)
                .hint("choose another output"));
        }
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
