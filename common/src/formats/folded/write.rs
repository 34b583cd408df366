//! Writes a shard.

use std::io::Write;

use super::conventions::Conventions;
use super::rows::Rows;
use super::schema::{LEAVES, schema};
use crate::formats::mpk1::PACKED_LEN;
use crate::formats::parquet::{
    EncodedChunk, EncodedGroup, Error, FileWriter, encode_chunk, ends, push_flags, push_repeated,
    push_two_bits,
};

/// Writes row groups that [`encode`] made to one file.
#[derive(Debug)]
pub struct ShardWriter<W> {
    file: FileWriter<W>,
}

impl<W: Write> ShardWriter<W> {
    /// Starts a shard whose footer states the conventions.
    pub fn new(out: W, conventions: &Conventions) -> Result<Self, Error> {
        Ok(Self { file: FileWriter::new(out, &schema(), &conventions.pairs())? })
    }

    /// Appends a row group.
    pub fn append(&mut self, group: EncodedGroup) -> Result<(), Error> {
        self.file.append(group)
    }

    /// Writes the footer and gives the output back.
    pub fn finish(self) -> Result<W, Error> {
        self.file.finish()
    }
}

/// Encodes rows as one row group, on whatever thread.
pub fn encode(rows: &Rows) -> Result<EncodedGroup, Error> {
    if rows.is_empty() || !rows.is_consistent() {
        return Err(Error::Rows("the columns differ in length, or a row has no candidates"));
    }
    let (n, candidates) = (rows.len(), rows.mv.len());
    let short = |value: u16| i32::from(value).to_le_bytes();
    let zeros = Some((-0.0, 0.0));
    let flat = FlatColumn { entries: n, levels: vec![] };
    let listed = |levels: &[u8]| FlatColumn { entries: candidates, levels: levels.to_vec() };
    let mut starts = vec![];
    push_flags(&mut starts, candidates, rows.offsets[..n].iter().map(|&at| at as usize));
    let mut there = starts.clone();
    push_repeated(&mut there, 1, candidates);
    let mut cp_levels = starts;
    push_cp_levels(&mut cp_levels, &rows.cp);
    let cp: Vec<i16> = rows.cp.iter().flatten().copied().collect();
    let chunks = vec![
        packed_chunk(rows)?,
        flat.chunk(1, &rows.ply, None, short)?,
        flat.chunk(2, &rows.value_z, zeros, f32::to_le_bytes)?,
        flat.chunk(3, &rows.value_q, zeros, f32::to_le_bytes)?,
        flat.chunk(4, &rows.weight, None, u32::to_le_bytes)?,
        listed(&there).chunk(5, &rows.mv, None, short)?,
        listed(&there).chunk(6, &rows.prob, zeros, f32::to_le_bytes)?,
        listed(&cp_levels).chunk(7, &cp, None, |value| i32::from(value).to_le_bytes())?,
    ];
    Ok(EncodedGroup { rows: n, chunks })
}

/// A column of four-byte values, behind its levels.
struct FlatColumn {
    entries: usize,
    levels: Vec<u8>,
}

impl FlatColumn {
    fn chunk<T: Copy + PartialOrd>(
        &self,
        leaf: usize,
        values: &[T],
        zeros: Option<(T, T)>,
        plain: impl Fn(T) -> [u8; 4],
    ) -> Result<EncodedChunk, Error> {
        let mut body = vec![0; self.levels.len() + 4 * values.len()];
        let (levels, words) = body.split_at_mut(self.levels.len());
        levels.copy_from_slice(&self.levels);
        words.as_chunks_mut().0.iter_mut().zip(values).for_each(|(word, &value)| *word = plain(value));
        let ends = ends(values, zeros, |value| plain(value).to_vec());
        encode_chunk(&LEAVES[leaf], &body, self.entries, self.entries - values.len(), ends)
    }
}

fn packed_chunk(rows: &Rows) -> Result<EncodedChunk, Error> {
    let boards = rows.packed.as_chunks::<PACKED_LEN>().0.iter();
    let ends = boards.clone().min().zip(boards.max()).map(|(low, high)| (low.to_vec(), high.to_vec()));
    encode_chunk(&LEAVES[0], &rows.packed, rows.len(), 0, ends)
}

/// 2 where there is a value, 1 where there is none.
fn push_cp_levels(out: &mut Vec<u8>, cp: &[Option<i16>]) {
    let level = |cp: &Option<i16>| 1 + u8::from(cp.is_some());
    let first = level(&cp[0]);
    if cp.iter().all(|cp| level(cp) == first) {
        push_repeated(out, first, cp.len());
    } else {
        push_two_bits(out, &cp.iter().map(level).collect::<Vec<_>>());
    }
}
