//! One module a verb.

pub(crate) mod build;
