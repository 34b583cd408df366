//! First pass: streams to spools. Records are validated, turned to the mover's point of view, keyed, and put into
//! the bucket of their key.

use std::io::{Read, Write};
use std::path::Path;

use common::formats::mpk1::packed::{Side, side_to_move};
use common::formats::mpk1::reader::CHUNK_LEN;
use common::formats::mpk1::{Chunk, Error, Header, Move16, Place, Pov, Reader, Record};
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered};
use common::process::{Failure, Input, Progress, stop};
use rayon::ThreadPool;

use crate::order::{KEY_LEN, Order, part_of, upper};
use crate::spool::SpoolWriter;

/// Bytes of a record before its position.
const PACKED_AT: usize = 12;

/// Puts all records of a stream into a spool.
pub fn spool_stream<R: Read, W: Write>(
    pool: &ThreadPool,
    reader: &mut Reader<R>,
    path: &Path,
    partition: &Partition,
    spool: &mut SpoolWriter<W>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let header = *reader.header();
    let work = |chunk: Result<Chunk, Failure>| partition.split(&header, &chunk?).in_file(path);
    let mut failed = false;
    pool.in_place_scope(|scope| {
        let next = || stop::check().and_then(|()| reader.next_chunk().in_file(path)).transpose();
        // the reader stays where it failed, so an error is the last item
        let chunks =
            std::iter::from_fn(next).take_while(move |chunk| !std::mem::replace(&mut failed, chunk.is_err()));
        for split in ordered(scope, chunks, partition.ahead(pool.current_num_threads()), &work) {
            let split = split?;
            for part in &split.parts {
                spool.add(part.bucket, &split.bytes[part.bytes.clone()], part.records)?;
            }
            progress.add(split.records);
        }
        Ok(())
    })
}

/// How records are put into buckets.
#[derive(Debug, Clone, Copy)]
pub struct Partition {
    /// Order of the rows.
    pub order: Order,
    /// Number of buckets.
    pub buckets: u32,
    /// Bytes to stay within.
    pub memory: u64,
}

/// Why the records of a chunk cannot be folded.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The stream is damaged, or breaks the rules.
    #[error(transparent)]
    Stream(#[from] Error),
    /// A move stands twice in one record: its counts or scores would be summed within one search.
    #[error("{place}: the move {mv} is listed twice")]
    Duplicate {
        /// Where the record starts.
        place: Place,
        /// The move.
        mv: Move16,
    },
}

impl From<SplitError> for Failure {
    fn from(error: SplitError) -> Self {
        match error {
            SplitError::Stream(error) => error.into(),
            other @ SplitError::Duplicate { .. } => {
                Self::bad_data(other).hint("the producer is at fault: one search says one thing of a move")
            }
        }
    }
}

/// Keyed records of a chunk, in the order of their buckets.
struct Split {
    bytes: Vec<u8>,
    parts: Vec<Part>,
    records: u64,
}

struct Part {
    bucket: u32,
    bytes: std::ops::Range<usize>,
    records: u64,
}

impl Partition {
    /// Chunks under way: a chunk is held as it was read, and in the order of its buckets.
    fn ahead(&self, threads: usize) -> usize {
        ahead(threads, self.memory / 8 / (2 * CHUNK_LEN as u64))
    }

    /// Buffer of each bucket.
    pub fn block_len(&self) -> usize {
        (self.memory / 8 / u64::from(self.buckets)).clamp(512, 32 << 10) as usize
    }

    fn split(&self, header: &Header, chunk: &Chunk) -> Result<Split, SplitError> {
        let mut keyed = Vec::with_capacity(chunk.len() / 100);
        let mut sizes = vec![(0usize, 0u64); self.buckets as usize];
        for record in chunk.records().validated(header) {
            let (place, record) = record?;
            let Some(board) = record.board() else {
                unreachable!("streams of other positions are refused before they are read")
            };
            let key = self.order.key(board);
            let bucket = part_of(upper(&key), self.buckets);
            let size = &mut sizes[bucket as usize];
            size.0 += KEY_LEN + record.bytes().len();
            size.1 += 1;
            keyed.push((bucket, key, place, record));
        }
        let (parts, mut starts, total) = layout(&sizes);
        let (mut bytes, mut sorter) = (vec![0; total], CandidateSorter::default());
        for (bucket, key, place, record) in &keyed {
            let start = &mut starts[*bucket as usize];
            let len = KEY_LEN + record.bytes().len();
            let slot = &mut bytes[*start..*start + len];
            *start += len;
            slot[..KEY_LEN].copy_from_slice(key);
            let turned = header.pov == Pov::Black && record.board().map(side_to_move) == Some(Side::White);
            let duplicate = sorter.place(record, turned, &mut slot[KEY_LEN..]);
            duplicate.map_or(Ok(()), |mv| Err(SplitError::Duplicate { place: *place, mv }))?;
        }
        Ok(Split { bytes, parts, records: keyed.len() as u64 })
    }
}

/// Parts in bucket order, where each bucket starts, and the bytes of all.
fn layout(sizes: &[(usize, u64)]) -> (Vec<Part>, Vec<usize>, usize) {
    let (mut parts, mut starts, mut at) = (vec![], Vec::with_capacity(sizes.len()), 0);
    for (bucket, &(len, records)) in (0..).zip(sizes) {
        starts.push(at);
        if records > 0 {
            parts.push(Part { bucket, bytes: at..at + len, records });
        }
        at += len;
    }
    (parts, starts, at)
}

/// Copies records with their candidates in ascending order of the move.
#[derive(Default)]
struct CandidateSorter(Vec<[u8; 8]>);

impl CandidateSorter {
    /// Writes a record to `out`, from the other side's point of view where it is `turned`. Gives back a move that
    /// stands twice.
    fn place(&mut self, record: &Record<'_>, turned: bool, out: &mut [u8]) -> Option<Move16> {
        let bytes = record.bytes();
        let fixed = PACKED_AT + record.packed().len();
        out[..fixed].copy_from_slice(&bytes[..fixed]);
        self.0.clear();
        if turned {
            out[6..10].copy_from_slice(&(-record.value_q()).to_le_bytes());
            self.0.extend(record.candidates().map(|mut candidate| {
                candidate.cp = candidate.cp.map(|cp| -cp);
                candidate.encode()
            }));
        } else {
            self.0.extend_from_slice(bytes[fixed..].as_chunks().0);
        }
        let mv = |candidate: &[u8; 8]| u16::from_le_bytes([candidate[0], candidate[1]]);
        self.0.sort_unstable_by_key(mv);
        out[fixed..].copy_from_slice(self.0.as_flattened());
        let twice = self.0.windows(2).find(|pair| mv(&pair[0]) == mv(&pair[1]));
        twice.map(|pair| Move16(mv(&pair[0])))
    }
}

/// Opens a stream, or stdin for `-`.
pub fn open_stream(path: &Path) -> Result<Reader<Input>, Failure> {
    let hint = "`fold-pack fold` takes folders that `fold-pack partition` made";
    let input =
        Input::open(path).map_err(|failure| if path.is_dir() { failure.hint(hint) } else { failure })?;
    match Reader::new(input) {
        Err(Error::Magic([b'P', b'A', b'R', b'1'])) => {
            Err(Failure::usage("a Parquet file where a stream is expected: shards never refold")
                .in_file(path)
                .hint("give the MPK1 streams that the shards were made from; `stream-write` makes them"))
        }
        reader => reader.in_file(path),
    }
}
