//! Where bytes come from: a file, or stdin for `-`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use common::formats::mpk1::Reader;
use common::process::Failure;
use common::process::failure::InFile;

/// A file, or stdin.
pub(crate) enum Input {
    File(File),
    Stdin(io::Stdin),
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::Stdin(io::stdin()));
        }
        let file = File::open(path).in_file(path)?;
        if file.metadata().in_file(path)?.is_dir() {
            return Err(Failure::usage("a folder where a file is expected").in_file(path));
        }
        Ok(Self::File(file))
    }

    /// Bytes of a file; `None` for a pipe.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(file) => file.metadata().ok().filter(|meta| meta.is_file()).map(|meta| meta.len()),
            Self::Stdin(_) => None,
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(out),
            Self::Stdin(stdin) => stdin.read(out),
        }
    }
}

/// Opens a stream and reads its header.
pub(crate) fn open_stream(path: &Path) -> Result<Reader<Input>, Failure> {
    Reader::new(Input::open(path)?).in_file(path)
}
