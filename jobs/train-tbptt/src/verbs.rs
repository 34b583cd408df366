//! One file a verb.

pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod inspect;
pub(crate) mod train;
