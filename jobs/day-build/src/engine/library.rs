//! The engine's libraries: where they lie in its package, and the digests they are known by.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::digest::Digest;
use tempfile::{NamedTempFile, TempPath};
use zip::ZipArchive;
use zip::result::ZipError;

/// Where a wheel, or the folder it is unpacked in, holds the libraries.
const FOLDER: &str = "kaggle_environments/envs/cabt/cg";
/// Parts of [`FOLDER`] that a given folder may be; a given folder may also be the last.
const STARTS: [&str; 4] = [FOLDER, "envs/cabt/cg", "cg", ""];
/// Bytes of a library at most; those known have less than 2 MB.
const MOST: u64 = 64 << 20;

/// Version of the engine that a game was played with. One cannot read the other's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Of episodes that name version 1, or none.
    V1,
    /// Of later ones, which may be best of three.
    V2,
}

impl Version {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// The version that an episode's configuration names; before there were two it named none.
    pub fn of(configured: Option<i64>) -> Option<Self> {
        match configured {
            None | Some(1) => Some(Self::V1),
            Some(2) => Some(Self::V2),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "1",
            Self::V2 => "2",
        })
    }
}

/// A library on a platform: its file, and the digest of the one in kaggle-environments 1.33.2.
struct Known {
    file: &'static str,
    sha256: &'static str,
}

fn known(os: &str, arch: &str, version: Version) -> Option<Known> {
    let (file, sha256) = match (os, arch, version) {
        ("linux", "x86_64", Version::V1) => {
            ("v1/libcg.so", "d16244a3157fc55c3314f08dcc7c5179168697d78c105b95c7debd556b764bb7")
        }
        ("linux", "x86_64", Version::V2) => {
            ("libcg.so", "c699020e086eede189c445c7abf9d891a60005ceec6eb91dccd5bbdcd3c0de22")
        }
        ("linux", "aarch64", Version::V1) => {
            ("v1/libcg-arm64.so", "1670740b73fab46586fd25c0a1f96608ea75b1f39381d66a0b8d9486bea6d4a2")
        }
        ("linux", "aarch64", Version::V2) => {
            ("libcg-arm64.so", "95628f0bd20ac5e6f1e142c88cd52c9dc7361f9c371b5599f63b27c110892545")
        }
        ("macos", "aarch64", Version::V1) => {
            ("v1/libcg.dylib", "7a157f045d333f99d1996d49c12bdbdd148072a619af246385c7295518776e30")
        }
        ("macos", "aarch64", Version::V2) => {
            ("libcg.dylib", "da53cb331277cc8aa0a6181da28afeea28ae2f205372c234eca4a5c9cf3f4672")
        }
        _ => return None,
    };
    Some(Known { file, sha256 })
}

/// Which libraries are good enough to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Those of kaggle-environments 1.33.2, by their digests.
    Known,
    /// Whatever lies there; its digest is taken as found.
    Found,
}

/// A library that was found, and what it must still be when it is loaded.
#[derive(Debug, Clone)]
pub(super) struct Library {
    pub(super) place: Place,
    pub(super) digest: Digest,
}

/// A file, or one in a wheel.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) member: Option<String>,
}

impl Library {
    /// Finds the library of a version in a wheel, or in a folder that one is unpacked or installed in.
    pub(super) fn find(package: &Path, version: Version, trust: Trust) -> Result<Self, Failure> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let known = known(os, arch, version).ok_or_else(|| {
            Failure::new(Exit::Missing, "the engine has no library for this machine")
                .found(format!("{os} on {arch}"), "linux on x86_64 or aarch64, or macos on aarch64")
        })?;
        let place = Place::find(package, known.file)?;
        let digest = Digest::of(&place.read()?);
        if trust == Trust::Known && digest.to_string() != known.sha256 {
            return Err(Failure::new(
                Exit::Unlike,
                format!("this is not the engine's version {version} as known"),
            )
            .at(&place)
            .found(format!("SHA-256 {digest}"), known.sha256)
            .hint("the libraries of kaggle-environments 1.33.2 are known"));
        }
        Ok(Self { place, digest })
    }
}

impl Place {
    fn find(package: &Path, file: &str) -> Result<Self, Failure> {
        if package.metadata().in_file(package)?.is_file() {
            return Ok(Self { path: package.into(), member: Some(format!("{FOLDER}/{file}")) });
        }
        let paths = STARTS.iter().map(|start| package.join(start).join(file));
        let path = paths.into_iter().find(|path| path.is_file()).ok_or_else(|| {
            Failure::new(Exit::Missing, "the engine is not in this folder")
                .in_file(package)
                .found(
                    format!("no {FOLDER}/{file}"),
                    "a wheel of kaggle-environments, or the folder it is installed in",
                )
                .hint("`pip download --no-deps kaggle-environments==1.33.2` fetches the wheel")
        })?;
        Ok(Self { path, member: None })
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        let file = File::open(&self.path).in_file(&self.path)?;
        let mut bytes = vec![];
        let Some(member) = &self.member else {
            file.take(MOST).read_to_end(&mut bytes).in_file(&self.path)?;
            return Ok(bytes);
        };
        let mut wheel = ZipArchive::new(BufReader::new(file)).map_err(|error| self.failure(error))?;
        let library = wheel.by_name(member).map_err(|error| self.failure(error))?;
        library.take(MOST).read_to_end(&mut bytes).map_err(|error| Failure::from(error).at(self))?;
        Ok(bytes)
    }

    fn failure(&self, error: ZipError) -> Failure {
        let failure = match error {
            ZipError::Io(error) => error.into(),
            ZipError::FileNotFound => Failure::new(Exit::Missing, "the engine is not in this archive"),
            other => Failure::bad_data(other),
        };
        failure.at(self).hint("expected a wheel of kaggle-environments, or the folder it is installed in")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.member.iter().try_for_each(|member| write!(f, ": {member}"))
    }
}

/// A private copy of a library that was held to its digest. It is gone when the value is, which a loaded one survives.
#[derive(Debug)]
pub(super) struct Checked(TempPath);

impl Checked {
    /// Copies a library. What is loaded is what was looked at, whatever happens to the original in between.
    pub(super) fn copy(place: &Place, sha256: &str) -> Result<Self, Failure> {
        let bytes = place.read()?;
        let digest = Digest::of(&bytes).to_string();
        if digest != sha256 {
            return Err(Failure::new(Exit::Unlike, "the engine's library has changed")
                .at(place)
                .found(digest, sha256)
                .hint("leave it alone while a build runs"));
        }
        let folder = std::env::temp_dir();
        let mut file = NamedTempFile::with_prefix_in("foldline-engine-", &folder).in_file(&folder)?;
        file.write_all(&bytes).in_file(file.path())?;
        Ok(Self(file.into_temp_path()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_episodes_name() {
        let found = [None, Some(1), Some(2), Some(0), Some(3), Some(-1)].map(Version::of);
        assert_eq!(found, [Some(Version::V1), Some(Version::V1), Some(Version::V2), None, None, None]);
    }

    #[test]
    fn every_library_is_another() {
        let platforms = [("linux", "x86_64"), ("linux", "aarch64"), ("macos", "aarch64")];
        let libraries =
            platforms.iter().flat_map(|(os, arch)| Version::ALL.map(|version| known(os, arch, version)));
        let mut digests: Vec<_> = libraries.map(|known| known.unwrap().sha256).collect();
        assert!(digests.iter().all(|digest| digest.len() == 64));
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), 6);
        assert!(known("macos", "x86_64", Version::V1).is_none());
    }

    #[test]
    fn folders_are_entered_as_deep_as_needed() {
        let folder = tempfile::tempdir().unwrap();
        let deepest = folder.path().join(FOLDER);
        fs_err::create_dir_all(&deepest).unwrap();
        fs_err::write(deepest.join("x.so"), "x").unwrap();
        let starts = ["", "kaggle_environments", "kaggle_environments/envs/cabt", FOLDER];
        for start in starts {
            let place = Place::find(&folder.path().join(start), "x.so").unwrap();
            assert_eq!(place.read().unwrap(), b"x", "{start}");
        }
        let missing = Place::find(&folder.path().join("kaggle_environments/envs"), "x.so").unwrap_err();
        assert_eq!(missing.exit(), Exit::Missing);
    }

    #[test]
    fn only_what_was_looked_at_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { path: folder.path().join("x.so"), member: None };
        fs_err::write(&place.path, "x").unwrap();
        let digest = Digest::of(b"x").to_string();
        let copy = Checked::copy(&place, &digest).unwrap();
        assert_eq!(fs_err::read(copy.path()).unwrap(), b"x");
        fs_err::write(&place.path, "y").unwrap();
        assert_eq!(Checked::copy(&place, &digest).unwrap_err().exit(), Exit::Unlike);
    }
}
