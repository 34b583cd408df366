//! The game engine's own library, and the look-ahead through it that three features of an attack come from.
//!
//! The library is not ours: the user points to a wheel of kaggle-environments or to the folder it is installed in. It
//! is C++ that trusts its input, so it is loaded in worker processes only, one a builder thread and version of the
//! engine.
//!
//! - [`library`]: where the libraries lie, and the digests they are known by.
//! - [`native`]: its C interface; [`answer`]: its answers.
//! - [`view`], [`hidden`], [`state`], [`draw`]: what a trial is given; [`trial`]: a trial.
//! - [`worker`], [`frame`], [`process`]: the worker, the messages, the worker from outside.
//! - [`look_ahead`]: what a builder asks. What its manifest says of it is in `common::formats::decisions::look_ahead`.

mod answer;
mod draw;
mod frame;
mod hidden;
mod library;
mod look_ahead;
mod native;
mod process;
mod state;
mod trial;
mod view;
pub(crate) mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::process::{Exit, Failure};
use common::state::digest::Digest;

pub use common::formats::decisions::look_ahead::{Counts, FailedTrials, Fault, WouldKo};
pub use library::{Trust, Version};
pub use look_ahead::{Decision, Features, LookAhead, LookAheads};

use frame::{Reply, Request};
use library::Library;
use process::Process;

/// What the engine may take to tell its catalog.
const CATALOG: Duration = Duration::from_secs(20);

/// The engine: a library for each of its versions.
#[derive(Debug, Clone)]
pub struct Engine {
    libraries: BTreeMap<Version, Library>,
    /// The program that is started as a worker.
    program: PathBuf,
}

/// What a library knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Catalog {
    /// Its cards.
    pub cards: usize,
    /// Their attacks.
    pub attacks: usize,
}

impl Engine {
    /// Finds both libraries in a wheel of kaggle-environments, or in the folder it is unpacked or installed in.
    pub fn open(package: &Path, trust: Trust) -> Result<Self, Failure> {
        let find = |version| Library::find(package, version, trust).map(|library| (version, library));
        let libraries = Version::ALL.into_iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { libraries, program: std::env::current_exe()? })
    }

    /// Has another program than this one started as a worker; it must know the verb `engine-worker`.
    #[must_use]
    pub fn with_worker(self, program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..self }
    }

    /// The digest of each library, by its version.
    pub fn digests(&self) -> BTreeMap<String, Digest> {
        self.libraries
            .iter()
            .map(|(version, library)| (version.to_string(), library.digest.clone()))
            .collect()
    }

    /// Loads a library in a worker and asks it what it knows.
    pub fn test(&self, version: Version) -> Result<Catalog, Failure> {
        let answer = Process::start(self.command(version))
            .and_then(|mut worker| worker.ask(&Request::Catalog, CATALOG));
        let failure = |what: String| {
            Failure::new(Exit::Unlike, format!("the engine's version {version} does not work here"))
                .found(what, "a library that loads and tells its catalog")
        };
        match answer.map_err(|ended| failure(ended.to_string()))? {
            Reply::Catalog { cards, attacks } => Ok(Catalog { cards, attacks }),
            _ => Err(failure("an answer to another question".into())),
        }
    }

    /// The command of a worker.
    fn command(&self, version: Version) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("engine-worker");
        if let Some(Library { place, digest }) = self.libraries.get(&version) {
            command.arg("--library").arg(&place.path).arg("--sha256").arg(digest.to_string());
            place.member.iter().for_each(|member| _ = command.arg("--member").arg(member));
        }
        command
    }
}
