//! Reads a shard, a row group at a time.

use super::rows::Rows;
use super::schema::schema;
use crate::formats::mpk1::PACKED_LEN;
use crate::formats::parquet::{ChunkReader, Error, Footer, Lists, ReadAt};

/// An open shard.
#[derive(Debug)]
pub struct Shard<F> {
    file: F,
    footer: Footer,
}

impl<F: ReadAt> Shard<F> {
    /// Reads the footer and holds the file to the schema.
    pub fn open(file: F) -> Result<Self, Error> {
        let footer = Footer::read(&file)?;
        footer.check_schema(&schema())?;
        Ok(Self { file, footer })
    }

    /// The footer, with its key-value pairs.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Rows of the shard.
    pub fn rows(&self) -> u64 {
        (0..self.footer.groups()).map(|group| self.footer.group_rows(group) as u64).sum()
    }

    /// Replaces `rows` by row group `group`; after an error `rows` is empty.
    pub fn read(&self, group: usize, rows: &mut Rows) -> Result<(), Error> {
        rows.clear();
        self.read_group(group, rows).inspect_err(|_| rows.clear())
    }

    fn read_group(&self, group: usize, rows: &mut Rows) -> Result<(), Error> {
        let mut chunks = ChunkReader::new(&self.file, &self.footer);
        let (mut none, mut mv, mut prob, mut cp) =
            (Lists::default(), Lists::default(), Lists::default(), Lists::default());
        let packed = &mut rows.packed;
        chunks.read(group, 0, PACKED_LEN, false, &mut none, &mut |page| {
            packed.extend_from_slice(page.values);
            true
        })?;
        let mut words = |column, nullable, lists: &mut Lists, take: &mut dyn FnMut(u32) -> bool| {
            chunks.read(group, column, 4, nullable, lists, &mut |page| {
                page.values
                    .as_chunks()
                    .0
                    .iter()
                    .fold(true, |good, word| take(u32::from_le_bytes(*word)) & good)
            })
        };
        let short = |out: &mut Vec<u16>, word: u32| {
            out.push(word as u16);
            word >> 16 == 0
        };
        let float = |out: &mut Vec<f32>, word: u32| {
            out.push(f32::from_bits(word));
            true
        };
        words(1, false, &mut none, &mut |word| short(&mut rows.ply, word))?;
        words(2, false, &mut none, &mut |word| float(&mut rows.value_z, word))?;
        words(3, false, &mut none, &mut |word| float(&mut rows.value_q, word))?;
        words(4, false, &mut none, &mut |word| {
            rows.weight.push(word);
            true
        })?;
        words(5, false, &mut mv, &mut |word| short(&mut rows.mv, word))?;
        words(6, false, &mut prob, &mut |word| float(&mut rows.prob, word))?;
        let mut scores: Vec<i16> = vec![];
        words(7, true, &mut cp, &mut |word| {
            scores.push(word as i16);
            i32::from(word as i16) == word.cast_signed()
        })?;
        if prob.offsets != mv.offsets || cp.offsets != mv.offsets {
            let column = "candidates".into();
            return Err(Error::Column { group, column, what: "its lists of mv, prob and cp differ" });
        }
        rows.offsets = mv.offsets;
        let mut scores = scores.into_iter();
        for (present, len) in cp.runs {
            rows.cp.extend((0..len).map(|_| if present { scores.next() } else { None }));
        }
        Ok(())
    }
}
