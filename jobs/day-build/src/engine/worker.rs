//! A process of its own for the engine, which may crash, hang or eat memory on a damaged record. It reads decisions
//! from stdin and writes what their attacks came to on stdout.

use std::io::{self, IsTerminal};
use std::thread;

use common::process::{Exit, Failure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use serde::Deserialize;

use super::frame::{self, Look, Reply, Request};
use super::hidden::FILLER;
use super::library::{Checked, Place};
use super::native::Native;
use super::trial::{Sums, determinisation};
use crate::cli::WorkerArgs;

/// Address space of a worker. A damaged record can make the engine take 1.5 GB a second.
const MEMORY: u64 = 1 << 30;
/// Card type of a basic energy.
const BASIC_ENERGY: i32 = 5;

/// Runs the verb: answers until the builder closes the pipe.
pub(crate) fn run(args: &WorkerArgs) -> Result<(), Failure> {
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    if input.is_terminal() {
        return Err(
            Failure::usage("a worker is started by a build, not by hand").hint("see `day-build --help`")
        );
    }
    limit_resources();
    let mut engine = load(args)?;
    end_with_the_builder();
    frame::write(&mut out, &Reply::Ready)?;
    while let Some(request) = frame::read(&mut input)? {
        let reply = match request {
            Request::Catalog => catalog(&mut engine)?,
            Request::Look(look) => Reply::Looked(try_attacks(&mut engine, &look)),
        };
        frame::write(&mut out, &reply)?;
    }
    Ok(())
}

fn load(args: &WorkerArgs) -> Result<Native, Failure> {
    let place = Place { path: args.library.clone(), member: args.member.clone() };
    let library = Checked::copy(&place, &args.sha256)?;
    Native::load(&library).map_err(|error| {
        Failure::new(Exit::Unexpected, format!("the engine cannot be loaded: {error}"))
            .at(&place)
            .hint("it needs the C++ library of GCC 11 or later, and a temporary folder (TMPDIR) that programs may lie in")
    })
}

/// Bounds what a damaged record can do to the machine. Where the system knows no such bound, the builder's patience is
/// the only one.
fn limit_resources() {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Core, 0)] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        if let Err(error) = setrlimit(resource, limit) {
            tracing::debug!("{resource:?} is not limited: {error}");
        }
    }
}

/// Ends this process, even out of an endless loop in the engine, when the builder has gone.
fn end_with_the_builder() {
    thread::spawn(|| {
        let stdin = io::stdin();
        // without events to wait for, this returns when the other end is closed
        while let Err(Errno::INTR) = poll(&mut [PollFd::new(&stdin, PollFlags::empty())], None) {}
        kill_process(getpid(), Signal::KILL)
    });
}

fn try_attacks(engine: &mut Native, look: &Look) -> Vec<Sums> {
    let Look { seed, determinisations, state, expected, hidden, attacks } = look;
    let mut sums = vec![Sums::default(); attacks.len()];
    for index in 0..*determinisations {
        let draw = seed.draw(index);
        determinisation(engine, state, expected, &hidden.deal(&draw), &draw, attacks, &mut sums);
    }
    sums
}

/// Counts what the engine knows, and holds our stand-in for unknown cards to it.
fn catalog(engine: &mut Native) -> Result<Reply, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Card {
        card_id: i32,
        card_type: i32,
    }
    let no_catalog = |error| Failure::bad_data(format!("the engine's catalog cannot be read: {error}"));
    let cards: Vec<Card> = serde_json::from_slice(engine.cards().unwrap_or_default()).map_err(no_catalog)?;
    if !cards.iter().any(|card| (card.card_id, card.card_type) == (FILLER, BASIC_ENERGY)) {
        return Err(Failure::new(Exit::Unlike, format!("the engine's card {FILLER} is no basic energy")));
    }
    let attacks: Vec<serde::de::IgnoredAny> =
        serde_json::from_slice(engine.attacks().unwrap_or_default()).map_err(no_catalog)?;
    Ok(Reply::Catalog { cards: cards.len(), attacks: attacks.len() })
}
