//! The engine's own record of a game, which only the engine reads.

use serde::{Deserialize, Serialize};

/// Characters of a record. Those seen have 287 to 2,444.
const LENGTHS: std::ops::RangeInclusive<usize> = 64..=65_536;

/// A record that may be handed to the engine: of a likely length, and of no other characters than those it is written
/// in. The engine takes a damaged record for a whole one and crashes; this keeps out what can be told from outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct State(String);

/// What is no record of a game.
#[derive(Debug, thiserror::Error)]
#[error("no record of a game: 64 to 65,536 characters of A-Z a-z 0-9 + / - = * are")]
pub(super) struct NoState;

impl State {
    /// The characters, all of them ASCII.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for State {
    type Error = NoState;

    fn try_from(text: String) -> Result<Self, NoState> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-=*".contains(&byte);
        if LENGTHS.contains(&text.len()) && text.bytes().all(known) { Ok(Self(text)) } else { Err(NoState) }
    }
}

impl From<State> for String {
    fn from(state: State) -> Self {
        state.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_the_engine_writes_and_nothing_else() {
        let with = |text: &str| State::try_from(format!("{text}{}", "A".repeat(100))).is_ok();
        assert!(with("ABgAEIAPE+/-=*09az"));
        for text in [" ", "\0", "\n", "é", "_", "\"", "{"] {
            assert!(!with(text), "{text:?}");
        }
        for (length, is) in [(0, false), (63, false), (64, true), (65_536, true), (65_537, false)] {
            assert_eq!(State::try_from("A".repeat(length)).is_ok(), is, "{length}");
        }
    }
}
