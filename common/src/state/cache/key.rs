//! What tells a row group from every other one: content, never a path.

use crate::state::digest::Digest;

/// A row group of a dataset, in some of its columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Digest of the dataset's file, so that one that was built again is another.
    pub dataset: Digest,
    /// Digest of the kind, its revision and the names of the columns.
    pub projection: Digest,
    /// Number of the row group.
    pub group: u32,
}

/// Behind the names of spill files.
const EXTENSION: &str = ".spill";

impl Key {
    /// The name of its spill file.
    pub fn file_name(&self) -> String {
        let group = self.group.to_le_bytes();
        let fields = [self.dataset.as_str().as_bytes(), self.projection.as_str().as_bytes(), &group];
        Digest::of_fields(fields).to_string() + EXTENSION
    }
}

/// Digest of columns of a kind of dataset.
pub(super) fn projection<'a>(kind: u32, revision: u32, names: impl IntoIterator<Item = &'a str>) -> Digest {
    let head = [kind, revision].map(u32::to_le_bytes);
    let names: Vec<&[u8]> = names.into_iter().map(str::as_bytes).collect();
    Digest::of_fields(head.iter().map(<[u8; 4]>::as_slice).chain(names))
}

/// Whether a name is one of a spill file, or of one in the making.
pub(super) fn is_spill_name(name: &str) -> bool {
    let name = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial")).unwrap_or(name);
    name.strip_suffix(EXTENSION).is_some_and(|name| Digest::try_from(name.to_owned()).is_ok())
}
