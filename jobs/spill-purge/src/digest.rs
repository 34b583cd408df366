//! `digest`: what files hold, for workflows: new content is noticed whatever its times are, and what did not change is not
//! read.

use std::fmt;
use std::path::Path;

use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::{Common, Failure, emit};
use common::state::digest::Digest;
use common::state::store::Store;
use serde::Serialize;

use crate::cli::DigestArgs;

#[derive(Serialize)]
struct DigestReport<'a> {
    files: Vec<FileDigest<'a>>,
}

#[derive(Serialize)]
struct FileDigest<'a> {
    #[serde(serialize_with = "path_text")]
    path: &'a Path,
    sha256: Digest,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &DigestArgs) -> Result<(), Failure> {
    let root = common.store_or_default()?;
    let store = Store::open(&root).in_file(&root)?;
    let digest = |path| Ok(FileDigest { path, sha256: store.know(path).in_file(path)?.sha256 });
    let files = args.files.iter().map(|path| digest(path)).collect::<Result<_, Failure>>()?;
    emit(common, &DigestReport { files })
}

impl fmt::Display for DigestReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // as sha256sum writes it
        self.files.iter().try_for_each(|file| writeln!(f, "{}  {}", file.sha256, file.path.display()))
    }
}
