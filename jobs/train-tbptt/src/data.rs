//! Decision days as a trainer reads them: which files, what they were made with, which lanes are in them, and their rows.

pub(crate) mod days;
pub(crate) mod lanes;
pub(crate) mod rows;
pub(crate) mod split;

pub(crate) use days::{Days, Provenance, Used};
pub(crate) use lanes::Lanes;
pub(crate) use rows::{Cached, Row, Rows};
