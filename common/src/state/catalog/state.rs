//! Whether what is recorded can be used.

use serde::Serialize;

/// Whether a set or a day can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As recorded, when it was last looked at.
    Present,
    /// It, or a file that belongs to it, was gone.
    Missing,
    /// It could not be read, or was unlike its record.
    Damaged,
}

impl State {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Missing => "missing",
            Self::Damaged => "damaged",
        }
    }

    pub(super) fn of(name: &str) -> Self {
        [Self::Present, Self::Missing].into_iter().find(|state| state.name() == name).unwrap_or(Self::Damaged)
    }
}
