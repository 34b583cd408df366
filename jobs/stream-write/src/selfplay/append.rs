//! `selfplay --append`: games of a running producer, each durable before the next is read.
#![expect(unsafe_code, reason = "the locked stream is mapped to be verified")]

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use common::formats::mpk1::{Header, Mapped};
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure, Input, stop};
use common::state::lock::open_to_append;
use common::state::output::{folder_of, sync_folder};

use super::add_game;
use crate::batch::{Batch, Totals};
use crate::cli::SelfplayArgs;
use crate::lines::LineReader;
use crate::target::{Outcome, Written};

/// Appends games to the stream. A game that is refused ends the run where it stands: what came before is kept.
pub(super) fn run(common: &Common, args: &SelfplayArgs) -> Result<Written<Totals>, Failure> {
    let path = args.target.output.as_path();
    let mut lines = LineReader::eager(Input::open(&args.games)?);
    let mut stream = if common.dry_run { None } else { Some(Stream::open(path)?) };
    let mut progress = common.progress("selfplay", "games", None);
    let mut totals = Totals::default();
    while let Some(piece) = lines.next_piece().in_file(&args.games)? {
        for (number, line) in piece.iter() {
            stop::check()?;
            let mut batch = Batch::default();
            add_game(args, number, line, &mut batch);
            totals.add(&batch, "line");
            if let Some(stream) = stream.as_mut().filter(|_| !batch.bytes.is_empty()) {
                stream.append(&batch.bytes).in_file(path)?;
            }
            progress.add(1);
            if !args.skip_bad && totals.refusals.total() > 0 {
                let kept = format!("{} records were appended before it and stay", totals.records);
                return Err(Failure::bad_data(format!("line {number} is refused"))
                    .in_file(&args.games)
                    .hint(kept));
            }
        }
    }
    stop::check()?;
    let outcome = if common.dry_run { Outcome::Planned } else { Outcome::Appended };
    Ok(Written { counts: totals, outcome })
}

/// A stream under its exclusive lock, whole up to `len`.
struct Stream {
    file: File,
    len: u64,
}

impl Stream {
    /// Opens a stream, makes it where it is missing, and walks it to its end: nothing is put behind a torn tail.
    fn open(path: &Path) -> Result<Self, Failure> {
        let header = Header::visits();
        fs_err::create_dir_all(folder_of(path)).in_file(path)?;
        let mut file = open_to_append(path).in_file(path)?;
        let mut len = file.metadata().in_file(path)?.len();
        if len == 0 {
            let bytes = header.encode().in_file(path)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).in_file(path)?;
            sync_folder(folder_of(path)).in_file(path)?;
            len = bytes.len() as u64;
        } else {
            verify(&file, &header, path)?;
        }
        file.seek(SeekFrom::End(0)).in_file(path)?;
        Ok(Self { file, len })
    }

    /// Appends a game's records and makes them durable. What a failed write left is cut off again.
    fn append(&mut self, records: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(records).and_then(|()| self.file.sync_data()) {
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += records.len() as u64;
        Ok(())
    }
}

fn verify(file: &File, header: &Header, path: &Path) -> Result<(), Failure> {
    // SAFETY: this process holds the exclusive lock of the file, which all its writers take.
    let mapped = unsafe { Mapped::new(file) }.in_file(path)?;
    if mapped.header() != header {
        let stated = |header: &Header| serde_json::to_string(header).unwrap_or_default();
        return Err(Failure::new(Exit::Mixed, "the stream has other conventions than self-play")
            .in_file(path)
            .found(stated(mapped.header()), stated(header)));
    }
    mapped.records().validated(header).try_for_each(|record| record.map(|_| ())).in_file(path)
}
