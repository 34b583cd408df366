//! Golden rows.
