//! One file a verb.

pub(crate) mod train;

pub(crate) use train::{resume, train};
