//! Opens streams.

use std::path::Path;

use common::formats::mpk1::Reader;
use common::process::failure::InFile;
use common::process::{Failure, Input};

/// Opens a stream and reads its header.
pub(crate) fn open_stream(path: &Path) -> Result<Reader<Input>, Failure> {
    Reader::new(Input::open(path)?).in_file(path)
}
