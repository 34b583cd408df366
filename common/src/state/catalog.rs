//! The catalog: which datasets there are, in SQLite. A file that is not in it does not exist for a trainer.
//! Tables: `docs/formats/catalog.md`.

mod days;
mod elo;
mod select;
mod sets;
mod state;
#[cfg(test)]
mod tests;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

pub use days::{DayRow, Member, Put};
pub use select::{Chosen, Range, SelectError, SelectedDay, SelectedEpisode, Selection, Wanted};
pub use sets::{SetRow, ShardRow};
pub use state::State;

/// Migrations in order; the version of a catalog is how many of them it has seen. Never edited, only added to.
const MIGRATIONS: [&str; 2] = [include_str!("catalog/001.sql"), include_str!("catalog/002.sql")];
/// How long one writer waits for another.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open catalog.
#[derive(Debug)]
pub struct Catalog {
    db: Connection,
}

/// Why a catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A later Foldline made it.
    #[error("the catalog has schema version {found}, and this program knows {known}")]
    Newer {
        /// Version of the file.
        found: usize,
        /// Version of this program.
        known: usize,
    },
    /// An earlier Foldline made it, and this one only reads.
    #[error("the catalog has schema version {found}, and this program reads {known}")]
    Older {
        /// Version of the file.
        found: usize,
        /// Version of this program.
        known: usize,
    },
    /// There is no such file.
    #[error("there is no catalog")]
    Missing,
    /// Something else than a file is there.
    #[error("the catalog is no regular file")]
    NoFile,
    /// SQLite says no: another file, a damaged one, a lock, a full disk.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

impl Catalog {
    /// Opens a catalog to write to it; makes it, or brings its schema up to date, where needed.
    pub fn create(path: &Path) -> Result<Self, CatalogError> {
        if path.exists() && !path.is_file() {
            return Err(CatalogError::NoFile);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut db = Connection::open_with_flags(plain(path), flags)?;
        db.busy_timeout(PATIENCE)?;
        let journal = if on_network(path) { "DELETE" } else { "WAL" };
        db.pragma_update(None, "journal_mode", journal)?;
        db.pragma_update(None, "foreign_keys", true)?;
        // under WAL a power cut may take the last commits, never the file; a sync makes them again
        db.pragma_update(None, "synchronous", if journal == "WAL" { "NORMAL" } else { "FULL" })?;
        migrate(&mut db)?;
        Ok(Self { db })
    }

    /// Opens a catalog to read it.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        if !path.exists() {
            return Err(CatalogError::Missing);
        }
        if !path.is_file() {
            return Err(CatalogError::NoFile);
        }
        let db = Connection::open_with_flags(plain(path), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.busy_timeout(PATIENCE)?;
        // a catalog that is just being made has no tables yet
        match version(&db)? {
            0 => Err(CatalogError::Missing),
            found if found < MIGRATIONS.len() => Err(CatalogError::Older { found, known: MIGRATIONS.len() }),
            _ => Ok(Self { db }),
        }
    }
}

/// A path that SQLite takes for a file, whatever its name.
fn plain(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Version of a catalog's schema; 0 for an empty file.
fn version(db: &Connection) -> Result<usize, CatalogError> {
    let found = db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
    match usize::try_from(found) {
        Ok(found) if found <= MIGRATIONS.len() => Ok(found),
        found => Err(CatalogError::Newer { found: found.unwrap_or(usize::MAX), known: MIGRATIONS.len() }),
    }
}

fn migrate(db: &mut Connection) -> Result<(), CatalogError> {
    if version(db)? == MIGRATIONS.len() {
        return Ok(());
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // another process may have done it while this one waited
    for migration in &MIGRATIONS[version(&change)?..] {
        change.execute_batch(migration)?;
    }
    change.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(change.commit()?)
}

/// Whether a path lies on a file system of another machine, where WAL's shared memory does not work.
fn on_network(path: &Path) -> bool {
    /// NFS, SMB, SMB2, CIFS, AFS, Ceph, Lustre, 9P, FUSE: magic numbers of statfs(2).
    const NETWORK: [i64; 9] = [
        0x6969,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x5346_414f,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x0102_1997,
        0x6573_5546,
    ];
    #[cfg(target_os = "linux")]
    {
        let folder = super::output::folder_of(path);
        rustix::fs::statfs(folder).is_ok_and(|stat| NETWORK.contains(&i64::from(stat.f_type as u32)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (path, NETWORK);
        false
    }
}

#[cfg(test)]
mod version_tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused_with_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.sqlite");
        assert!(matches!(Catalog::open(&path), Err(CatalogError::Missing)));
        let catalog = Catalog::create(&path).unwrap();
        catalog.db.pragma_update(None, "user_version", 7).unwrap();
        drop(catalog);
        assert!(matches!(Catalog::open(&path), Err(CatalogError::Newer { found: 7, known: 2 })));
        assert!(matches!(Catalog::create(&path), Err(CatalogError::Newer { found: 7, known: 2 })));
    }

    #[test]
    fn many_may_open_a_new_catalog_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.sqlite");
        std::thread::scope(|scope| {
            (0..8).for_each(|_| {
                scope.spawn(|| Catalog::create(&path).unwrap());
            });
        });
        Catalog::open(&path).unwrap();
    }
}
