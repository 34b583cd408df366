//! The footer: schema, row groups and key-value pairs, from the end of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use arrow2::io::parquet::write::to_parquet_schema;
use parquet_format_safe::FileMetaData as ThriftFooter;
use parquet_format_safe::thrift::protocol::TCompactInputProtocol;
use parquet2::metadata::{ColumnDescriptor, FileMetaData};

use super::Schema;
use super::error::Error;
use super::guard::guard;

const MAGIC: &[u8; 4] = b"PAR1";
/// Length and magic behind the footer.
const TAIL_LEN: u64 = 8;
/// What a damaged length can make us allocate.
const MAX_FOOTER: u64 = 64 << 20;
/// The field of the footer that newer writers fill with orders this library does not know.
const COLUMN_ORDERS: i16 = 7;

/// Bytes that can be read at any place.
pub trait ReadAt {
    /// Bytes in all.
    fn size(&self) -> io::Result<u64>;
    /// Fills `out` from `offset` on.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, out, offset)
    }
}

impl ReadAt for &[u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..)?.get(..out.len()));
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A footer that has been read, and whose schema can be asked for.
#[derive(Debug)]
pub struct Footer {
    pub(super) meta: FileMetaData,
}

impl Footer {
    /// Reads the footer of a file.
    pub fn read(file: &impl ReadAt) -> Result<Self, Error> {
        let bytes = footer_bytes(file)?;
        guard(|| {
            let kept = without_column_orders(&bytes)?;
            let mut input = TCompactInputProtocol::new(&kept[..], kept.len() * 2 + 1024);
            let footer = ThriftFooter::read_from_in_protocol(&mut input)?;
            Ok(Self { meta: FileMetaData::try_from_thrift(footer)? })
        })
    }

    /// Row groups of the file.
    pub fn groups(&self) -> usize {
        self.meta.row_groups.len()
    }

    /// Rows of a row group.
    pub fn group_rows(&self, group: usize) -> usize {
        self.meta.row_groups.get(group).map_or(0, |group| group.num_rows())
    }

    /// Who wrote the file.
    pub fn created_by(&self) -> Option<&str> {
        self.meta.created_by.as_deref()
    }

    /// Key-value pairs; a key without a value is left out.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.meta.key_value_metadata.iter().flatten();
        pairs.filter_map(|pair| Some((pair.key.as_str(), pair.value.as_deref()?)))
    }

    /// Number of the leaf that holds each leaf of a schema, wherever it stands. One that is missing, or of another type,
    /// is refused by its name.
    pub fn find(&self, schema: &Schema) -> Result<Vec<usize>, Error> {
        guard(|| {
            let want = to_parquet_schema(schema)?;
            let have = self.meta.schema_descr.columns();
            let place = |want: &ColumnDescriptor| {
                let named =
                    |have: &ColumnDescriptor| have.path_in_schema.first() == want.path_in_schema.first();
                let name = want.path_in_schema.first().map_or("", String::as_str);
                let at = have.iter().position(named);
                let at = at.ok_or_else(|| Error::Schema(format!("it has no column {name:?}")))?;
                match fits(want, &have[at]) {
                    true => Ok(at),
                    false => Err(differs(want, &have[at])),
                }
            };
            want.columns().iter().map(place).collect()
        })
    }

    /// Holds the columns to a schema: names, nesting and types; nullability may differ.
    pub fn check_schema(&self, schema: &Schema) -> Result<(), Error> {
        guard(|| {
            let want = to_parquet_schema(schema)?;
            let (want, have) = (want.columns(), self.meta.schema_descr.columns());
            if let Some((want, have)) = want.iter().zip(have).find(|(want, have)| !fits(want, have)) {
                return Err(differs(want, have));
            }
            if want.len() != have.len() {
                return Err(Error::Schema(format!(
                    "{} columns where {} are expected",
                    have.len(),
                    want.len()
                )));
            }
            Ok(())
        })
    }
}

fn differs(want: &ColumnDescriptor, have: &ColumnDescriptor) -> Error {
    let text = |column: &ColumnDescriptor| {
        let kind = &column.descriptor.primitive_type;
        let logical = kind.logical_type.map_or(String::new(), |logical| format!(" {logical:?}"));
        format!("{} {:?}{logical}", column.path_in_schema.join("."), kind.physical_type)
    };
    Error::Schema(format!("{} where {} is expected", text(have), text(want)))
}

fn fits(want: &ColumnDescriptor, have: &ColumnDescriptor) -> bool {
    let (a, b) = (&want.descriptor, &have.descriptor);
    want.path_in_schema == have.path_in_schema
        && a.primitive_type.physical_type == b.primitive_type.physical_type
        && a.primitive_type.logical_type == b.primitive_type.logical_type
        && a.max_rep_level == b.max_rep_level
        && b.max_def_level < 8
}

fn footer_bytes(file: &impl ReadAt) -> Result<Vec<u8>, Error> {
    let size = file.size()?;
    let mut tail = [0; TAIL_LEN as usize];
    if size < TAIL_LEN + MAGIC.len() as u64 {
        return Err(Error::NotParquet("it is shorter than a header and a footer"));
    }
    file.read_exact_at(&mut tail, size - TAIL_LEN)?;
    if tail[4..] != MAGIC[..] {
        return Err(Error::NotParquet("it does not end with PAR1"));
    }
    let len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = (size - TAIL_LEN).checked_sub(len).filter(|_| len <= MAX_FOOTER);
    let start = start.ok_or(Error::NotParquet("its footer would be longer than the file"))?;
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// The footer without its optional column orders, and what would stand behind them (encryption, not read here).
fn without_column_orders(footer: &[u8]) -> Result<Vec<u8>, Error> {
    let kept = thrift::fields_before(footer, COLUMN_ORDERS);
    let kept = kept.ok_or_else(|| Error::Footer("its structure is broken".into()))?;
    let mut bytes = footer[..kept].to_vec();
    bytes.push(thrift::STOP);
    Ok(bytes)
}

/// Walks over thrift's compact encoding without reading it: the crate's own skip refuses binary statistics.
mod thrift {
    pub(super) const STOP: u8 = 0;
    const MAX_DEPTH: u8 = 32;

    /// Length of the fields of a struct whose number is below `end`.
    pub(super) fn fields_before(bytes: &[u8], end: i16) -> Option<usize> {
        let (mut rest, mut id) = (bytes, 0);
        loop {
            let kept = bytes.len() - rest.len();
            let kind = match field(&mut rest, &mut id)? {
                Some(kind) if id < end => kind,
                _ => return Some(kept),
            };
            skip(&mut rest, kind, false, MAX_DEPTH)?;
        }
    }

    /// The type of the next field, `None` at the end of the struct.
    fn field(rest: &mut &[u8], id: &mut i16) -> Option<Option<u8>> {
        let head = byte(rest)?;
        if head == STOP {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => {
                let zigzag = varint(rest)?;
                i16::try_from((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()).ok()?
            }
            delta => id.checked_add(i16::from(delta))?,
        };
        Some(Some(head & 0x0f))
    }

    fn skip(rest: &mut &[u8], kind: u8, in_list: bool, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 if !in_list => Some(()),
            1..=3 => byte(rest).map(|_| ()),
            4..=6 => varint(rest).map(|_| ()),
            7 => take(rest, 8),
            8 => {
                let len = varint(rest)?;
                take(rest, len)
            }
            9 | 10 => {
                let head = byte(rest)?;
                let len = if head >> 4 == 15 { varint(rest)? } else { u64::from(head >> 4) };
                (0..len).try_for_each(|_| skip(rest, head & 0x0f, true, depth))
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = field(rest, &mut id)? {
                    skip(rest, kind, false, depth)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn byte(rest: &mut &[u8]) -> Option<u8> {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        Some(byte)
    }

    fn take(rest: &mut &[u8], len: u64) -> Option<()> {
        *rest = rest.get(usize::try_from(len).ok()?..)?;
        Some(())
    }

    fn varint(rest: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = byte(rest)?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn column_orders_and_what_follows_are_cut_off() {
        let footer = [
            0x15, 2, // 1: i32
            0x19, 0x28, 1, 0xff, 1, 0xfe, // 2: list of two binaries that are no text
            0x1c, 0x11, 0x00, // 3: struct of one bool
            0x49, 0x1c, 0x1c, 0x00, 0x00, // 7: list of one union
            0x18, 1, 7, // 8: binary
            0x00,
        ];
        let kept = [&footer[..11], &[0]].concat();
        assert_eq!(without_column_orders(&footer).unwrap(), kept);
        assert_eq!(without_column_orders(&kept).unwrap(), kept);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = without_column_orders(&bytes);
            let _ = Footer::read(&&[&b"PAR1"[..], &bytes, &(bytes.len() as u32).to_le_bytes(), b"PAR1"].concat()[..]);
        }
    }
}
