//! One module a verb.

pub(crate) mod build;
pub(crate) mod inspect;
pub(crate) mod scan;
pub(crate) mod verify;

mod day_file;
mod rules;
