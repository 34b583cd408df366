//! Decision days: a Parquet file a day with one row a choice of one side of a game, in temporal order, and a manifest
//! beside it. Column table: `docs/formats/decision-day.md`.

mod check;
pub mod columns;
pub mod date;
pub mod elo;
mod group;
pub mod look_ahead;
pub mod manifest;
mod read;
pub mod scan;
mod schema;
mod write;

pub use check::{DayFault, check_day};
pub use columns::{COLUMNS, Column, Kind, Pad, Part, column};
pub use date::Date;
pub use group::{Cell, Data, Group, Lists, Texts, Word};
pub use manifest::Manifest;
pub use read::{Day, Projection};
pub use scan::Scan;
pub use schema::{GROUP_ROWS, SCHEMA_VERSION, schema};
pub use write::{check, day_writer, encode, encode_column, resume_day};
