//! Folded sets in the catalog.

use rusqlite::{Row, TransactionBehavior, params};
use serde::Serialize;

use super::values::{digest, json, signed, stat, unsigned};
use super::{Catalog, CatalogError, State};
use crate::formats::folded::Conventions;
use crate::state::digest::Digest;
use crate::state::stat::Stat;

/// Revision of folded shards that the catalog records.
const SCHEMA_VERSION: i64 = 1;

/// A set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetRow {
    /// Absolute path of its `<prefix>.set.json`.
    pub path: String,
    /// Whether it can be used.
    pub state: State,
    /// Rows of all shards.
    pub rows: u64,
    /// Records that were folded into them.
    pub records: u64,
    /// Bytes of all shards.
    pub bytes: u64,
    /// What every footer states.
    pub conventions: Conventions,
    /// The file that `path` names.
    #[serde(skip)]
    pub stat: Stat,
    /// Its shards, in order.
    pub shards: Vec<ShardRow>,
}

/// A shard of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardRow {
    /// Absolute path.
    pub path: String,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: u64,
    /// Digest of the file.
    pub sha256: Digest,
    /// The file that `path` names.
    #[serde(skip)]
    pub stat: Stat,
}

impl Catalog {
    /// All sets, by path.
    pub fn sets(&self) -> Result<Vec<SetRow>, CatalogError> {
        let mut sets = self.db.prepare("SELECT * FROM sets ORDER BY path")?;
        let mut shards = self.db.prepare("SELECT * FROM datasets WHERE set_id = ? ORDER BY ordinal")?;
        let rows = sets.query_map([], |row| Ok((row.get::<_, i64>("id")?, set_row(row)?)))?;
        rows.map(|row| {
            let (id, mut set) = row?;
            set.shards = shards.query_map([id], shard_row)?.collect::<Result<_, _>>()?;
            Ok(set)
        })
        .collect()
    }

    /// Records a set and its shards, in one transaction; what was recorded at its path, or of its shards, is replaced.
    pub fn put_set(&mut self, set: &SetRow) -> Result<(), CatalogError> {
        let conventions = serde_json::to_string(&set.conventions).unwrap_or_default();
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute("DELETE FROM sets WHERE path = ?", [&set.path])?;
        for shard in &set.shards {
            let owner = "DELETE FROM sets WHERE id IN (SELECT set_id FROM datasets WHERE path = ?)";
            change.execute(owner, [&shard.path])?;
        }
        change.execute(
            "INSERT INTO sets (path, state, rows, records, shards, bytes, conventions, size, mtime_ns, ctime_ns, inode, synced_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, unixepoch())",
            params![
                set.path,
                set.state.name(),
                signed(set.rows),
                signed(set.records),
                signed(set.shards.len() as u64),
                signed(set.bytes),
                conventions,
                signed(set.stat.size),
                set.stat.mtime_ns,
                set.stat.ctime_ns,
                signed(set.stat.inode),
            ],
        )?;
        let id = change.last_insert_rowid();
        for (ordinal, shard) in (0i64..).zip(&set.shards) {
            change.execute(
                "INSERT INTO datasets (kind, path, schema_version, rows, row_groups, bytes, sha256, set_id, ordinal, mtime_ns, ctime_ns, inode)
                 VALUES ('folded', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    shard.path,
                    SCHEMA_VERSION,
                    signed(shard.rows),
                    signed(shard.row_groups),
                    signed(shard.stat.size),
                    shard.sha256.to_string(),
                    id,
                    ordinal,
                    shard.stat.mtime_ns,
                    shard.stat.ctime_ns,
                    signed(shard.stat.inode),
                ],
            )?;
        }
        Ok(change.commit()?)
    }

    /// Marks the set at a path, where one is recorded; says whether that was new.
    pub fn mark_set(&mut self, path: &str, state: State) -> Result<bool, CatalogError> {
        let changed = self.db.execute(
            "UPDATE sets SET state = ?2, synced_at = unixepoch() WHERE path = ?1 AND state <> ?2",
            params![path, state.name()],
        )?;
        Ok(changed > 0)
    }
}

fn set_row(row: &Row<'_>) -> rusqlite::Result<SetRow> {
    Ok(SetRow {
        path: row.get("path")?,
        state: State::of(&row.get::<_, String>("state")?),
        rows: unsigned(row, "rows")?,
        records: unsigned(row, "records")?,
        bytes: unsigned(row, "bytes")?,
        conventions: json(&row.get::<_, String>("conventions")?)?,
        stat: stat(row, "", "size")?,
        shards: vec![],
    })
}

fn shard_row(row: &Row<'_>) -> rusqlite::Result<ShardRow> {
    Ok(ShardRow {
        path: row.get("path")?,
        rows: unsigned(row, "rows")?,
        row_groups: unsigned(row, "row_groups")?,
        sha256: digest(row, "sha256")?,
        stat: stat(row, "", "bytes")?,
    })
}
