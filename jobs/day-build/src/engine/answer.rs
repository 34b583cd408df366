//! The engine's answers, read and copied before the next call.

use serde::Deserialize;

use super::hidden::Lists;
use super::native::Native;
use super::state::State;
use super::trial::{Node, Search};
use super::view::Observation;

#[derive(Deserialize)]
struct Answer {
    state: Option<Found>,
    error: i32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    observation: Observation,
    search_id: i64,
}

/// A node, unless the engine says that there is none, or what it says is no answer.
fn node(text: Option<&[u8]>) -> Option<Node> {
    let answer = serde_json::from_slice(text?);
    match answer.inspect_err(|error| tracing::debug!("the engine's answer cannot be read: {error}")).ok()? {
        Answer { state: Some(Found { observation, search_id: id }), error: 0 } => {
            Some(Node { id, observation })
        }
        Answer { error, .. } => {
            tracing::debug!("the engine answers with error {error}");
            None
        }
    }
}

impl Search for Native {
    fn begin(&mut self, state: &State, lists: &Lists) -> Option<Node> {
        node(Native::begin(self, state, lists))
    }

    fn step(&mut self, id: i64, picks: &[i32]) -> Option<Node> {
        node(Native::step(self, id, picks))
    }

    fn end(&mut self) {
        Native::end(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_no_node() {
        let good =
            br#"{"state":{"observation":{"select":null,"logs":[],"current":null},"searchId":3},"error":0}"#;
        assert_eq!(node(Some(good)).map(|node| node.id), Some(3));
        let bad: [&[u8]; 5] =
            [b"", b"{}", br#"{"state":null,"error":1}"#, br#"{"state":null,"error":0}"#, b"\xff"];
        assert!(bad.iter().all(|text| node(Some(text)).is_none()));
        assert!(node(None).is_none());
    }
}
