//! Stands in for the game engine's library, and misbehaves as told.
//!
//! Its record of a game is a script: JSON in hexadecimal digits. A node of it is what the engine answers.
//!
//! ```json
//! {"observation": {}, "then": {"0": {}, "*": {}}, "do": "crash", "lists": {"opp_hand": [3, 3]}}
//! ```
//!
//! - `then`: the nodes behind it, by the picks, with commas between them; `*` is behind any other.
//! - `do`: what happens instead of an answer (`crash`, `abort`, `hang`, `eat` memory, `rubbish`, `silence`, `refuse`),
//!   or before it (`mutter` on stderr, `babble` on stdout); `again` goes back to the node before.
//! - `lists`: what the first numbers of a list must be, in ascending order.
#![expect(unsafe_code, reason = "a C interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

static INITIALIZED: AtomicBool = AtomicBool::new(false);

struct Arena {
    nodes: Vec<Value>,
    answer: CString,
}

impl Arena {
    fn say(&mut self, bytes: impl Into<Vec<u8>>) -> *const c_char {
        self.answer = CString::new(bytes).unwrap_or_default();
        self.answer.as_ptr()
    }

    fn refuse(&mut self, error: i32) -> *const c_char {
        self.say(json!({"state": null, "error": error}).to_string())
    }

    fn enter(&mut self, node: Value) -> *const c_char {
        match node["do"].as_str() {
            Some("crash") => {
                // SAFETY: none. This is the crash that was asked for.
                unsafe { ptr::null_mut::<u8>().write_volatile(1) }
            }
            Some("abort") => std::process::abort(),
            Some("hang") => loop {
                std::hint::spin_loop();
            },
            Some("eat") => eat(),
            Some("rubbish") => return self.say(b"{\"state\":{\"obser\xff".as_slice()),
            Some("silence") => return ptr::null(),
            Some("refuse") => return self.refuse(30),
            Some("mutter") => _ = std::io::stderr().write_all(&[b'm'; 1 << 20]),
            Some("babble") => _ = std::io::stdout().write_all(&[b'b', b'\n'].repeat(50)),
            _ => {}
        }
        let state = json!({"observation": node["observation"], "searchId": self.nodes.len()});
        self.nodes.push(node);
        self.say(json!({"state": state, "error": 0}).to_string())
    }
}

/// Takes 4 GiB of address space, more than a worker may have, and lets go of it.
fn eat() {
    std::hint::black_box(Vec::<u8>::with_capacity(4 << 30));
}

#[unsafe(no_mangle)]
extern "C" fn GameInitialize() {
    if INITIALIZED.swap(true, Ordering::SeqCst) {
        std::process::abort();
    }
}

#[unsafe(no_mangle)]
extern "C" fn AgentStart() -> *mut c_void {
    Box::into_raw(Box::new(Arena { nodes: vec![], answer: CString::default() })).cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn SearchBegin(
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
) -> *const c_char {
    // SAFETY: as the real one, this trusts its caller.
    let (arena, state) = unsafe { (&mut *arena.cast::<Arena>(), CStr::from_ptr(state)) };
    let Some(root) = script(state.to_bytes()) else { return arena.refuse(2) };
    let lists = [
        ("my_deck", my_deck),
        ("my_prizes", my_prizes),
        ("opp_deck", opp_deck),
        ("opp_prizes", opp_prizes),
        ("opp_hand", opp_hand),
        ("opp_active", opp_active),
    ];
    let is_as_told = |(name, list): &(&str, *const c_int)| {
        // SAFETY: a list has 64 numbers; the real one reads 60.
        let list = unsafe { std::slice::from_raw_parts(*list, 64) };
        root["lists"][name].as_array().is_none_or(|told| {
            let mut first = list[..told.len()].to_vec();
            first.sort_unstable();
            first.iter().eq(told
                .iter()
                .filter_map(|id| id.as_i64().map(|id| id as i32))
                .collect::<Vec<_>>()
                .iter())
        })
    };
    let is_ready = INITIALIZED.load(Ordering::SeqCst);
    if !is_ready || manual_coin != 1 || state_len as usize != state.count_bytes() || !arena.nodes.is_empty() {
        return arena.refuse(3);
    }
    if lists.iter().all(is_as_told) { arena.enter(root) } else { arena.refuse(1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn SearchStep(arena: *mut c_void, id: i64, picks: *const c_int, n: c_int) -> *const c_char {
    // SAFETY: as the real one, this trusts its caller.
    let (arena, picks) =
        unsafe { (&mut *arena.cast::<Arena>(), std::slice::from_raw_parts(picks, n as usize)) };
    let Some(node) = arena.nodes.get(id as usize) else { return arena.refuse(1) };
    let picks = picks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    match node["then"].get(&picks).or_else(|| node["then"].get("*")) {
        Some(next) if next["do"] == "again" => arena.enter(node.clone()),
        Some(next) => arena.enter(next.clone()),
        None => arena.refuse(4),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn SearchEnd(arena: *mut c_void) {
    // SAFETY: as the real one, this trusts its caller.
    unsafe { (*arena.cast::<Arena>()).nodes.clear() }
}

#[unsafe(no_mangle)]
extern "C" fn AllCard() -> *const c_char {
    c"[{\"cardId\":3,\"cardType\":5}]".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn AllAttack() -> *const c_char {
    c"[{\"attackId\":1},{\"attackId\":2}]".as_ptr()
}

fn script(digits: &[u8]) -> Option<Value> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let text: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    serde_json::from_slice(&text?).ok()
}
