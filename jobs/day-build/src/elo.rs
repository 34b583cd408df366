//! Ratings of agents, decks and cards from before the day, in ten buckets: canonical JSON that `catalog-sync elo` writes.

use std::collections::HashMap;
use std::path::Path;

use common::formats::decisions::columns::UNKNOWN_BUCKET;
use common::process::Failure;
use common::process::failure::InFile;
use common::state::digest::Digest;
use serde::Deserialize;

/// Buckets by name, by deck hash, by card.
#[derive(Debug, Default)]
pub(crate) struct Ratings {
    agents: HashMap<String, i32>,
    decks: HashMap<String, i32>,
    cards: HashMap<i32, i32>,
    /// Digest of the file; `None` where there is none, and every bucket is unknown.
    pub(crate) digest: Option<Digest>,
}

#[derive(Deserialize)]
struct Snapshot {
    agents: HashMap<String, Rating>,
    decks: HashMap<String, Rating>,
    cards: HashMap<String, Rating>,
}

#[derive(Deserialize)]
struct Rating {
    bucket: i32,
}

impl Ratings {
    /// Reads a snapshot, where one is given.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let bytes = fs_err::read(path).in_file(path)?;
        Self::parse(&bytes).map_err(|what| {
            Failure::bad_data(format!("not a snapshot of ratings: {what}"))
                .in_file(path)
                .hint("`catalog-sync elo --before DATE -o FILE` writes one")
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let snapshot: Snapshot = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let buckets = |ratings: HashMap<String, Rating>| -> Result<HashMap<String, i32>, String> {
            let bucket = |(key, Rating { bucket }): (String, Rating)| match bucket {
                0..=UNKNOWN_BUCKET => Ok((key, bucket)),
                _ => Err(format!("the bucket of {key:?} is {bucket}, outside of 0 to {UNKNOWN_BUCKET}")),
            };
            ratings.into_iter().map(bucket).collect()
        };
        let card = |(key, bucket): (String, i32)| {
            let id = key.parse().map_err(|_| format!("{key:?} is no card id"))?;
            Ok::<_, String>((id, bucket))
        };
        Ok(Self {
            agents: buckets(snapshot.agents)?,
            decks: buckets(snapshot.decks)?,
            cards: buckets(snapshot.cards)?.into_iter().map(card).collect::<Result<_, _>>()?,
            digest: Some(Digest::of(bytes)),
        })
    }

    pub(crate) fn agent(&self, name: &str) -> i32 {
        self.agents.get(name).copied().unwrap_or(UNKNOWN_BUCKET)
    }

    pub(crate) fn deck(&self, hash: &Digest) -> i32 {
        if self.decks.is_empty() {
            return UNKNOWN_BUCKET;
        }
        self.decks.get(&hash.to_string()).copied().unwrap_or(UNKNOWN_BUCKET)
    }

    /// Bucket of a card; padding (0) and the unknown card have none.
    pub(crate) fn card(&self, id: i32) -> i32 {
        if self.cards.is_empty() {
            return UNKNOWN_BUCKET;
        }
        self.cards.get(&id).copied().unwrap_or(UNKNOWN_BUCKET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_come_by_key_and_unknown_ones_are_10() {
        let text = r#"{"agents":{"a":{"bucket":0,"elo":1600.5,"games":9}},"cards":{"7":{"bucket":3,"elo":1,"games":5}},
            "decks":{}}"#;
        let ratings = Ratings::parse(text.as_bytes()).unwrap();
        assert_eq!(
            (ratings.agent("a"), ratings.agent("b"), ratings.card(7), ratings.card(8)),
            (0, 10, 3, 10)
        );
        for bad in [
            r#"{"agents":{}}"#,
            r#"{"agents":{"a":{"bucket":11}},"cards":{},"decks":{}}"#,
            r#"{"agents":{},"cards":{"x":{"bucket":1}},"decks":{}}"#,
        ] {
            assert!(Ratings::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
