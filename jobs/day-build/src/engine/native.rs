//! The engine's C interface, as far as looking ahead needs it.
//!
//! Everything that the compiler cannot check about the engine is here: that its functions have these signatures, that
//! its strings live until the next call, and that it reads no more of our lists than they hold. A library has been held
//! to a known digest before it comes here, and whatever goes wrong inside of it ends a process of its own.
#![expect(unsafe_code, reason = "the engine is a C++ library; each call states why it may be made")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::hidden::Lists;
use super::library::Checked;
use super::state::State;

type Initialize = unsafe extern "C" fn();
type Start = unsafe extern "C" fn() -> *mut c_void;
type Catalog = unsafe extern "C" fn() -> *const c_char;
type Begin = unsafe extern "C" fn(
    arena: *mut c_void,
    state: *const c_char,
    state_len: c_int,
    my_deck: *const c_int,
    my_prizes: *const c_int,
    opp_deck: *const c_int,
    opp_prizes: *const c_int,
    opp_hand: *const c_int,
    opp_active: *const c_int,
    manual_coin: c_int,
) -> *const c_char;
type Step = unsafe extern "C" fn(arena: *mut c_void, id: i64, picks: *const c_int, n: c_int) -> *const c_char;
type End = unsafe extern "C" fn(arena: *mut c_void);

/// The engine, with the one arena that this process searches in.
#[derive(Debug)]
pub(super) struct Native {
    begin: Begin,
    step: Step,
    end: End,
    cards: Catalog,
    attacks: Catalog,
    arena: NonNull<c_void>,
    /// Last, since the functions lie in it.
    _library: Library,
}

/// Why the engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the engine is loaded already, and stands no second start")]
    Twice,
    #[error(transparent)]
    Library(#[from] libloading::Error),
    #[error("the engine gave no arena to search in")]
    NoArena,
}

impl Native {
    /// Loads the engine and starts it, once in a process.
    pub(super) fn load(library: &Checked) -> Result<Self, LoadError> {
        static LOADED: AtomicBool = AtomicBool::new(false);
        if LOADED.swap(true, Ordering::SeqCst) {
            return Err(LoadError::Twice);
        }
        // SAFETY: the file is a private copy of bytes that were held to their digest, so this is the engine that is
        // meant, whose initialisers do nothing that a process could mind. All symbols are bound now, not at a call.
        let library = unsafe { Library::open(Some(library.path()), RTLD_NOW | RTLD_LOCAL)? };
        // SAFETY: these are the engine's signatures; the pointers are used as long as the library lives, no longer.
        let (initialize, start, begin, step, end, cards, attacks) = unsafe {
            (
                *library.get::<Initialize>(c"GameInitialize")?,
                *library.get::<Start>(c"AgentStart")?,
                *library.get::<Begin>(c"SearchBegin")?,
                *library.get::<Step>(c"SearchStep")?,
                *library.get::<End>(c"SearchEnd")?,
                *library.get::<Catalog>(c"AllCard")?,
                *library.get::<Catalog>(c"AllAttack")?,
            )
        };
        // SAFETY: the first call in this process: `LOADED` was not set.
        unsafe { initialize() };
        // SAFETY: takes nothing, and the engine is initialised.
        let arena = NonNull::new(unsafe { start() }).ok_or(LoadError::NoArena)?;
        Ok(Self { begin, step, end, cards, attacks, arena, _library: library })
    }

    /// Loads a record. Coins are asked for, so that they can be thrown by us.
    pub(super) fn begin(&mut self, state: &State, lists: &Lists) -> Option<&[u8]> {
        let text = CString::new(state.as_str()).ok()?;
        let length = c_int::try_from(state.as_str().len()).ok()?;
        let Lists { my_deck, my_prizes, opp_deck, opp_prizes, opp_hand, opp_active } = lists;
        let arena = self.arena.as_ptr();
        // SAFETY: the arena is the engine's own, and `&mut` makes this the one call on it. The record is a C string of
        // that length. A list has 64 numbers, where the engine reads at most the 60 cards of a deck.
        let answer = unsafe {
            (self.begin)(
                arena,
                text.as_ptr(),
                length,
                my_deck.as_ptr(),
                my_prizes.as_ptr(),
                opp_deck.as_ptr(),
                opp_prizes.as_ptr(),
                opp_hand.as_ptr(),
                opp_active.as_ptr(),
                1,
            )
        };
        self.text(answer)
    }

    /// Picks options at a node. The engine tells unknown nodes and options by itself, but not negative ones.
    pub(super) fn step(&mut self, node: i64, picks: &[i32]) -> Option<&[u8]> {
        let is_negative = node < 0 || picks.iter().any(|&pick| pick < 0);
        let count = c_int::try_from(picks.len()).ok().filter(|_| !is_negative)?;
        // SAFETY: the arena is the engine's own, and `&mut` makes this the one call on it; `picks` has `count` numbers,
        // none of them negative, nor is the node's.
        let answer = unsafe { (self.step)(self.arena.as_ptr(), node, picks.as_ptr(), count) };
        self.text(answer)
    }

    /// Forgets all nodes.
    pub(super) fn end(&mut self) {
        // SAFETY: the arena is the engine's own, and `&mut` makes this the one call on it.
        unsafe { (self.end)(self.arena.as_ptr()) }
    }

    /// The engine's cards, as JSON.
    pub(super) fn cards(&mut self) -> Option<&[u8]> {
        // SAFETY: takes nothing; its one buffer is written by this thread alone, which has `&mut`.
        let answer = unsafe { (self.cards)() };
        self.text(answer)
    }

    /// The engine's attacks, as JSON.
    pub(super) fn attacks(&mut self) -> Option<&[u8]> {
        // SAFETY: as for `cards`.
        let answer = unsafe { (self.attacks)() };
        self.text(answer)
    }

    /// A string of the engine's. It lives until the next call, which the borrow forbids.
    fn text(&mut self, answer: *const c_char) -> Option<&[u8]> {
        let answer = NonNull::new(answer.cast_mut())?;
        // SAFETY: the engine answers with C strings that it keeps until the next call on it, and none can be made
        // while `self` is borrowed.
        Some(unsafe { CStr::from_ptr(answer.as_ptr()) }.to_bytes())
    }
}
