//! `check`: streams are read to their end, and every record is held to the rules.

use std::fmt;
use std::path::Path;

use common::formats::mpk1::{Chunk, Error, Header};
use common::process::cli::path_text;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered, pool};
use common::process::{ByteSize, Common, Failure, conclude, stop};
use serde::Serialize;

use crate::cli::FilesArgs;
use crate::input::open_stream;

#[derive(Serialize)]
struct CheckReport<'a> {
    files: Vec<FileReport<'a>>,
}

#[derive(Serialize)]
struct FileReport<'a> {
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    ok: bool,
    #[serde(flatten)]
    found: Option<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Found {
    records: u64,
    bytes: u64,
    header: Header,
}

/// Runs the verb. All files are looked at; the first failure is the job's.
pub(crate) fn run(common: &Common, args: &FilesArgs) -> Result<(), Failure> {
    let (mut report, mut failures) = (CheckReport { files: vec![] }, vec![]);
    for file in &args.files {
        stop::check()?;
        let checked = check(common, file);
        let (found, error) = match checked {
            Ok(found) => (Some(found), None),
            Err(failure) => {
                let text = failure.to_string();
                failures.push(failure);
                (None, Some(text))
            }
        };
        report.files.push(FileReport { file, ok: error.is_none(), found, error });
    }
    conclude(common, &report, failures.into_iter().next())
}

fn check(common: &Common, file: &Path) -> Result<Found, Failure> {
    let mut reader = open_stream(file)?;
    let header = *reader.header();
    let mut progress = common.progress("check", "records", None);
    let work = |chunk: Result<Chunk, Failure>| validate_chunk(&header, &chunk?).in_file(file);
    pool(common.threads())?.in_place_scope(|scope| {
        let chunks =
            std::iter::from_fn(|| stop::check().and_then(|()| reader.next_chunk().in_file(file)).transpose());
        // an error is the last item: the reader stays where it failed
        let mut failed = false;
        let chunks = chunks.take_while(move |chunk| !std::mem::replace(&mut failed, chunk.is_err()));
        for records in ordered(scope, chunks, ahead(common.threads(), u64::MAX), &work) {
            progress.add(records?);
        }
        Ok::<_, Failure>(())
    })?;
    let end = reader.place();
    Ok(Found { records: end.record, bytes: end.offset, header })
}

fn validate_chunk(header: &Header, chunk: &Chunk) -> Result<u64, Error> {
    let mut records = 0;
    for record in chunk.records().validated(header) {
        record?;
        records += 1;
    }
    Ok(records)
}

impl fmt::Display for CheckReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for FileReport { file, found, .. } in &self.files {
            match found {
                Some(Found { records, bytes, .. }) => {
                    writeln!(f, "ok      {}  {records} records, {}", file.display(), ByteSize(*bytes))?;
                }
                None => writeln!(f, "broken  {}", file.display())?,
            }
        }
        Ok(())
    }
}
