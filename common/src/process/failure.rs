//! Errors as a user meets them, and the exit code of each.

use std::fmt::{self, Display, Write as _};
use std::io;
use std::path::Path;

use crate::formats::decisions::DayFault;
use crate::formats::decisions::manifest::ManifestError;
use crate::formats::folded::ShardFault;
use crate::formats::folded::conventions::PairError;
use crate::formats::folded::set::SetError;
use crate::formats::{mpk1, parquet};
use crate::state::cache::CacheError;
use crate::state::catalog::{CatalogError, SelectError};
use crate::state::lock::LockError;
use crate::state::store::{PlaceError, StoreError};

use super::size::ByteSize;
use super::stop::{self, Stopped};

/// How a job ends. Workflows act on these numbers; README lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// An error nobody foresaw.
    Unexpected = 1,
    /// Arguments that make no sense.
    Usage = 2,
    /// A damaged file, or rows that are refused.
    BadData = 3,
    /// Inputs of different conventions.
    Mixed = 4,
    /// An input that is not there.
    Missing = 5,
    /// Another process works on the same output.
    Locked = 6,
    /// The disk is full, or would be.
    Disk = 7,
    /// Readable, but unlike its record.
    Unlike = 8,
    /// Stopped by a limit of its own; it goes on where that is raised.
    Limit = 9,
    /// SIGINT, at a clean point.
    Interrupted = 130,
    /// SIGTERM, at a clean point.
    Terminated = 143,
}

/// What went wrong, where, what was found and expected, and what to do.
#[derive(Debug)]
pub struct Failure(Box<Parts>);

#[derive(Debug)]
struct Parts {
    exit: Exit,
    what: String,
    place: Option<String>,
    found: Option<String>,
    expected: Option<String>,
    hint: Option<String>,
    broken_pipe: bool,
}

impl Failure {
    /// A failure that ends the job with `exit`.
    pub fn new(exit: Exit, what: impl Display) -> Self {
        let (place, found, expected, hint) = (None, None, None, None);
        Self(Box::new(Parts {
            exit,
            what: what.to_string(),
            place,
            found,
            expected,
            hint,
            broken_pipe: false,
        }))
    }

    /// Arguments that make no sense.
    pub fn usage(what: impl Display) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// A damaged file, or rows that are refused.
    pub fn bad_data(what: impl Display) -> Self {
        Self::new(Exit::BadData, what)
    }

    /// Names the file, and what lies within it, unless that was done nearer to the error.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Self {
        self.0.place.get_or_insert_with(|| place.to_string());
        self
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        self.at(path.display())
    }

    /// States what was found and what was expected.
    #[must_use]
    pub fn found(mut self, found: impl Display, expected: impl Display) -> Self {
        (self.0.found, self.0.expected) = (Some(found.to_string()), Some(expected.to_string()));
        self
    }

    /// Says what to do, unless that was said nearer to the error.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.0.hint.get_or_insert_with(|| hint.to_string());
        self
    }

    /// What went wrong, in a line.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// How the job ends.
    pub fn exit(&self) -> Exit {
        self.0.exit
    }

    /// Whether the reader of our output has gone, which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        self.0.broken_pipe
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { what, place, found, expected, hint, .. } = &*self.0;
        write!(f, "error: {what}")?;
        let parts = [("where", place), ("found", found), ("expected", expected), ("hint", hint)];
        for (name, text) in parts {
            if let Some(text) = text {
                write!(f, "\n  {name:<9}{}", text.replace('\n', "\n           "))?;
            }
        }
        f.write_char('\n')
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        if error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
            && let Err(stopped) = stop::check()
        {
            return stopped;
        }
        let exit = match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Exit::Disk,
            Kind::NotFound => Exit::Missing,
            Kind::IsADirectory
            | Kind::NotADirectory
            | Kind::InvalidInput
            | Kind::InvalidFilename
            | Kind::AlreadyExists
            | Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem => Exit::Usage,
            Kind::InvalidData | Kind::UnexpectedEof => Exit::BadData,
            _ => Exit::Unexpected,
        };
        let broken_pipe = error.kind() == Kind::BrokenPipe;
        let mut failure = Self::new(exit, error);
        failure.0.broken_pipe = broken_pipe;
        match exit {
            Exit::Disk => {
                failure.hint("free some space, or choose an output on another disk, and run it again")
            }
            _ => failure,
        }
    }
}

impl From<mpk1::Error> for Failure {
    fn from(error: mpk1::Error) -> Self {
        use mpk1::Error as E;
        let hint = match &error {
            E::Io(_) => None,
            E::ShortHeader { .. } => Some("an MPK1 stream starts with a header of 24 bytes"),
            E::Magic([b'P', b'A', b'R', b'1']) => {
                Some("this is a Parquet file; streams are what fold-pack reads")
            }
            E::Magic(_) => Some("streams are written by `stream-write teacher` and `stream-write selfplay`"),
            E::Version(_) => Some("a newer Foldline may read it"),
            E::Field { .. } => Some("the file is damaged, or a producer of another format wrote it"),
            E::Torn { .. } => {
                Some("a writer was stopped here; `stream-write repair` copies all whole records")
            }
            E::Record { .. } => {
                Some("the file was damaged after it was written, or its producer is at fault")
            }
        };
        let failure = match error {
            E::Io(error) => error.into(),
            E::Torn { place, found, expected } => Self::bad_data(format!("{place} is cut off"))
                .found(format!("{found} bytes"), format!("{expected} bytes")),
            other => Self::bad_data(other),
        };
        hint.into_iter().fold(failure, Self::hint)
    }
}

impl From<parquet::Error> for Failure {
    fn from(error: parquet::Error) -> Self {
        match error {
            parquet::Error::Io(error) => error.into(),
            other => Self::bad_data(other),
        }
    }
}

impl From<PairError> for Failure {
    fn from(error: PairError) -> Self {
        Self::bad_data(error).hint("`--assume KEY=VALUE,...` states what the footer of a foreign shard lacks")
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        match error {
            SetError::Io(error) => error.into(),
            SetError::NoSet(_) => Self::bad_data(error)
                .hint("`fold-pack pack` writes PREFIX.set.json when all shards are whole"),
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Io(error) => error.into(),
            ManifestError::NoDay(_) => Self::bad_data(error)
                .hint("`day-build build` writes DATE.manifest.json when the day is whole"),
            ManifestError::Version(_) => Self::new(Exit::Mixed, error)
                .hint("build the day anew, or read it with the Foldline that made it"),
        }
    }
}

impl From<DayFault> for Failure {
    fn from(fault: DayFault) -> Self {
        match fault {
            DayFault::Parquet(error) => error.into(),
            DayFault::Unlike { ref found, ref expected, .. } => {
                Self::new(Exit::Unlike, &fault).found(found, expected)
            }
        }
    }
}

impl From<ShardFault> for Failure {
    fn from(fault: ShardFault) -> Self {
        match fault {
            ShardFault::Parquet(error) => error.into(),
            ShardFault::Pairs(error) => error.into(),
            ShardFault::Group(_) => Self::bad_data(fault),
            ShardFault::Unlike { what, found, expected } => {
                Self::new(Exit::Unlike, format!("{what} is not what the set records")).found(found, expected)
            }
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Io(error) => error.into(),
            LockError::Held => {
                Self::new(Exit::Locked, error).hint("wait for it to end, or choose another output")
            }
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        use rusqlite::ErrorCode as Code;
        let exit = match &error {
            CatalogError::Newer { .. } | CatalogError::Older { .. } => Exit::Mixed,
            CatalogError::Missing => Exit::Missing,
            CatalogError::NoFile => Exit::Usage,
            CatalogError::Sql(sql) => match sql.sqlite_error_code() {
                Some(Code::DatabaseBusy | Code::DatabaseLocked) => Exit::Locked,
                Some(Code::DiskFull) => Exit::Disk,
                Some(Code::CannotOpen) => Exit::Missing,
                Some(Code::ReadOnly) => Exit::Usage,
                Some(Code::NotADatabase | Code::DatabaseCorrupt) => Exit::BadData,
                _ => Exit::Unexpected,
            },
        };
        let hint = match &error {
            CatalogError::Newer { .. } => "use the Foldline that made it, or a later one",
            CatalogError::Older { .. } => "`catalog-sync sync` brings it up to date",
            CatalogError::NoFile => "choose another path",
            CatalogError::Missing => "`catalog-sync sync DIR --catalog FILE` makes one",
            CatalogError::Sql(_) if exit == Exit::BadData => {
                "a catalog can be made anew at any time: sync to another file"
            }
            CatalogError::Sql(_) => return Self::new(exit, error),
        };
        Self::new(exit, error).hint(hint)
    }
}

impl From<SelectError> for Failure {
    fn from(error: SelectError) -> Self {
        match error {
            SelectError::Catalog(error) => error.into(),
            SelectError::NoDay(_) | SelectError::NoDays => {
                Self::new(Exit::Missing, error).hint("`catalog-sync list` shows all")
            }
            SelectError::Mixed { ref one, ref other, .. } => Self::new(Exit::Mixed, &error)
                .found(other, one)
                .hint("choose days that were built alike, or build them anew"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (exit, hint) = match error {
            StoreError::Io(error) => return error.into(),
            StoreError::Lock(error) => return error.into(),
            StoreError::NoStore => (Exit::Usage, "choose an empty folder, or one that is not there yet"),
            StoreError::Other { .. } => {
                (Exit::Mixed, "use the Foldline that made it, or choose another folder")
            }
            StoreError::Damaged => (Exit::Unlike, "run the step that made it again: it repairs the store"),
            StoreError::Changed => (Exit::Unlike, "run it again when nobody writes to the file"),
            StoreError::Occupied => {
                (Exit::Usage, "`--force` replaces it by a link into the store; or choose another output")
            }
        };
        Self::new(exit, error).hint(hint)
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Dataset { path, error } => Self::from(error).in_file(&path),
            CacheError::Changed { ref path } => Self::new(Exit::Unlike, &error)
                .in_file(path)
                .hint("run it again when nobody writes to the file"),
            CacheError::NoRow(_) | CacheError::NoGroup(_) => Self::new(Exit::Unlike, error)
                .hint("the dataset is another one than the request was made for"),
            CacheError::TooManyRows(_) | CacheError::Options(_) => Self::usage(error),
            CacheError::TooSmall { needed, capacity } => Self::usage(error)
                .found(ByteSize(capacity), format!("{} at least", ByteSize(needed)))
                .hint("raise the capacity, or build days of smaller row groups (`day-build build --flush`)"),
            CacheError::Torn(_) => Self::new(Exit::BadData, error)
                .hint("something cuts or damages spill files while they are in use"),
        }
    }
}

impl From<PlaceError> for Failure {
    fn from(PlaceError { target, error }: PlaceError) -> Self {
        Self::from(error).in_file(&target)
    }
}

/// Names the file an error is about.
pub trait InFile<T> {
    /// Adds the path to the error.
    fn in_file(self, path: &Path) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> InFile<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| error.into().in_file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_where_found_expected_and_hint() {
        let place = mpk1::Place { record: 17, offset: 2431 };
        let torn =
            Failure::from(mpk1::Error::Torn { place, found: 61, expected: 148 }).in_file(Path::new("a.mpk1"));
        assert_eq!(
            torn.to_string(),
            "error: record 17 at byte 2431 is cut off\n  where    a.mpk1\n  found    61 bytes\n  expected 148 bytes\n  \
             hint     a writer was stopped here; `stream-write repair` copies all whole records\n"
        );
        assert_eq!(torn.exit(), Exit::BadData);
    }

    #[test]
    fn a_full_disk_is_exit_7() {
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::StorageFull)).exit(), Exit::Disk);
    }
}
