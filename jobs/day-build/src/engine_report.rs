//! `engine`: whether the game's engine can be used here.

use std::fmt;

use common::process::{Common, Failure, emit};
use common::state::digest::Digest;
use serde::Serialize;

use crate::cli::EngineArgs;
use crate::engine::{Catalog, Engine, Trust, Version};

#[derive(Serialize)]
struct EngineReport {
    /// System and processor.
    platform: String,
    libraries: Vec<LibraryReport>,
}

#[derive(Serialize)]
struct LibraryReport {
    version: String,
    sha256: Digest,
    cards: usize,
    attacks: usize,
}

/// Runs the verb: finds both libraries, and loads each.
pub(crate) fn run(common: &Common, args: &EngineArgs) -> Result<(), Failure> {
    let trust = if args.any_engine { Trust::Found } else { Trust::Known };
    let engine = Engine::open(&args.engine, trust)?;
    let digests = engine.digests();
    let library = |version: Version| {
        let Catalog { cards, attacks } =
            engine.test(version).map_err(|failure| failure.in_file(&args.engine))?;
        let version = version.to_string();
        Ok(LibraryReport { sha256: digests[&version].clone(), version, cards, attacks })
    };
    let libraries = Version::ALL.into_iter().map(library).collect::<Result<_, Failure>>()?;
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    emit(common, &EngineReport { platform, libraries })
}

impl fmt::Display for EngineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.platform)?;
        self.libraries.iter().try_for_each(|library| {
            let LibraryReport { version, sha256, cards, attacks } = library;
            writeln!(f, "version {version} works: {cards} cards, {attacks} attacks\n  SHA-256 {sha256}")
        })
    }
}
