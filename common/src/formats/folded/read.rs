//! Reads a shard, a row group at a time.

use super::rows::Rows;
use super::schema::schema;
use crate::formats::mpk1::PACKED_LEN;
use crate::formats::parquet::{ChunkReader, Error, Footer, Lists, ReadAt, Wanted};

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
        let boards = Wanted { group, column: 0, width: PACKED_LEN, nullable: false };
        chunks.read(boards, &mut none, &mut |page| {
            packed.extend_from_slice(page.values);
            true
        })?;
        let mut words = |column, nullable, lists: &mut Lists, take: &mut dyn FnMut(u32) -> bool| {
            let wanted = Wanted { group, column, width: 4, nullable };
            chunks.read(wanted, lists, &mut |page| {
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::{Conventions, ShardWriter, encode};
    use super::*;
    use crate::formats::mpk1::Header;

    fn row() -> impl Strategy<Value = Rows> {
        let candidate = (any::<u16>(), any::<f32>(), any::<Option<i16>>());
        let flat = (any::<u16>(), any::<f32>(), any::<f32>(), any::<u32>());
        (vec(any::<u8>(), PACKED_LEN), flat, vec(candidate, 1..9)).prop_map(|(packed, flat, candidates)| {
            Rows {
                packed,
                ply: vec![flat.0],
                value_z: vec![flat.1],
                value_q: vec![flat.2],
                weight: vec![flat.3],
                offsets: vec![0, candidates.len() as u32],
                mv: candidates.iter().map(|c| c.0).collect(),
                prob: candidates.iter().map(|c| c.1).collect(),
                cp: candidates.iter().map(|c| c.2).collect(),
            }
        })
    }

    fn group() -> impl Strategy<Value = Rows> {
        vec(row(), 1..40).prop_map(|rows| {
            let mut group = Rows::default();
            rows.iter().for_each(|row| group.extend(row, 0..1));
            group
        })
    }

    fn shard(groups: &[Rows]) -> Vec<u8> {
        let conventions = Conventions::of_fold(&Header::visits(), 100.0, 7);
        let mut shard = ShardWriter::new(vec![], &conventions).unwrap();
        groups.iter().for_each(|group| shard.append(encode(group).unwrap()).unwrap());
        shard.finish().unwrap()
    }

    /// NaNs too: the bits come back.
    fn bits(rows: &Rows) -> impl PartialEq + std::fmt::Debug {
        let floats = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let columns = (rows.packed.clone(), rows.ply.clone(), floats(&rows.value_z), floats(&rows.value_q));
        (
            columns,
            rows.weight.clone(),
            rows.offsets.clone(),
            rows.mv.clone(),
            floats(&rows.prob),
            rows.cp.clone(),
        )
    }

    proptest! {
        #[test]
        fn rows_come_back(groups in vec(group(), 0..3)) {
            let bytes = shard(&groups);
            let shard = Shard::open(&bytes[..]).unwrap();
            prop_assert_eq!(shard.footer().groups(), groups.len());
            let mut rows = Rows::default();
            for (i, group) in groups.iter().enumerate() {
                shard.read(i, &mut rows).unwrap();
                prop_assert_eq!(bits(&rows), bits(group));
            }
        }

        /// A flipped byte is refused, or lies where no row depends on it (statistics, names): pages carry CRCs.
        #[test]
        fn a_damaged_byte_changes_no_row(group in group(), at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut bytes = shard(std::slice::from_ref(&group));
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let mut rows = Rows::default();
            if let Ok(shard) = Shard::open(&bytes[..])
                && shard.footer().groups() == 1
                && shard.read(0, &mut rows).is_ok()
            {
                prop_assert_eq!(bits(&rows), bits(&group));
            }
        }

        #[test]
        fn a_cut_shard_is_refused(group in group(), len in any::<prop::sample::Index>()) {
            let bytes = shard(&[group]);
            prop_assert!(Shard::open(&bytes[..len.index(bytes.len())]).is_err());
        }
    }
}
