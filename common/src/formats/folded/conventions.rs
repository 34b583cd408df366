//! What a shard's footer states: the conventions its rows were made under.
//! Specification: "Key-value metadata".

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::formats::mpk1::header::DEFAULT_MATE_SLACK;
use crate::formats::mpk1::{Header, PolicySource};

/// The nine pairs beside ARROW:schema.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Conventions {
    /// Point of view of the rows: 0 side to move, 1 Black.
    pub pov: u8,
    /// Centipawn value that mates are folded to; 0 where there is none.
    pub mate_scale: u16,
    /// The slack that the fold used; 0 where there is no mate scale.
    pub mate_slack: u16,
    /// FV_SCALE of the generating engine; 0 where not stated.
    pub fv_scale: u16,
    /// 0 visits, 1 softmax over cp.
    pub policy_source: u8,
    /// Centipawn scale of `value_q`; 0 where not applicable.
    pub eval_coef: f32,
    /// Softmax temperature in centipawns; 0 where the policy comes from visits.
    pub temperature: f64,
    /// Bytes of a position.
    pub packed_len: u16,
    /// Seed of the row order.
    pub shuffle_seed: u64,
}

/// Why a footer states no conventions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A pair is not there.
    #[error("its footer states no {0}")]
    Missing(&'static str),
    /// A pair is there with a value that is none.
    #[error("its footer states {key} as {found:?}")]
    Value {
        /// Name of the pair.
        key: &'static str,
        /// Its text.
        found: String,
    },
}

impl Conventions {
    /// Conventions of rows that are folded from streams of this header. The fold turns rows to the side to move.
    pub fn of_fold(header: &Header, temperature: f64, shuffle_seed: u64) -> Self {
        let scored = header.policy_source == PolicySource::Cp;
        Self {
            pov: 0,
            mate_scale: header.mate_scale.map_or(0, Into::into),
            mate_slack: header.effective_slack(),
            fv_scale: header.fv_scale.map_or(0, Into::into),
            policy_source: header.policy_source as u8,
            eval_coef: header.eval_coef.unwrap_or(0.0),
            temperature: if scored { temperature } else { 0.0 },
            packed_len: header.packed_len,
            shuffle_seed,
        }
    }

    /// Pairs as decimal text, floats in their shortest form that reads back the same.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let pair = |key: &str, value: &dyn Display| (key.to_owned(), value.to_string());
        vec![
            pair("pov", &self.pov),
            pair("mate_scale", &self.mate_scale),
            pair("mate_slack", &self.mate_slack),
            pair("fv_scale", &self.fv_scale),
            pair("policy_source", &self.policy_source),
            pair("eval_coef", &self.eval_coef),
            pair("temperature", &self.temperature),
            pair("packed_len", &self.packed_len),
            pair("shuffle_seed", &self.shuffle_seed),
        ]
    }

    /// Reads pairs. A footer without `mate_slack` means 320 (0 without a mate scale); `assumed` fills what it lacks.
    pub fn from_pairs<'a>(
        stated: impl IntoIterator<Item = (&'a str, &'a str)>,
        assumed: &'a BTreeMap<String, String>,
    ) -> Result<Self, PairError> {
        let mut pairs: BTreeMap<&str, &str> =
            assumed.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        pairs.extend(stated);
        let mate_scale = parse(&pairs, "mate_scale")?;
        let default_slack = if mate_scale == 0 { 0 } else { DEFAULT_MATE_SLACK };
        Ok(Self {
            pov: parse(&pairs, "pov")?,
            mate_scale,
            mate_slack: match parse(&pairs, "mate_slack") {
                Err(PairError::Missing(_)) => default_slack,
                slack => slack?,
            },
            fv_scale: parse(&pairs, "fv_scale")?,
            policy_source: parse(&pairs, "policy_source")?,
            eval_coef: parse(&pairs, "eval_coef")?,
            temperature: parse(&pairs, "temperature")?,
            packed_len: parse(&pairs, "packed_len")?,
            shuffle_seed: parse(&pairs, "shuffle_seed")?,
        })
    }

    /// Centipawns from which a score is a mate; `None` without a mate scale.
    pub fn mate_threshold(&self) -> Option<u16> {
        (self.mate_scale > 0).then(|| self.mate_scale.saturating_sub(self.mate_slack))
    }
}

impl Display for Conventions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Vec<String> = self.pairs().iter().map(|(key, value)| format!("{key} {value}")).collect();
        f.write_str(&text.join(", "))
    }
}

fn parse<T: FromStr>(pairs: &BTreeMap<&str, &str>, key: &'static str) -> Result<T, PairError> {
    let text = pairs.get(key).ok_or(PairError::Missing(key))?;
    text.parse().map_err(|_| PairError::Value { key, found: (*text).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_there_and_back_in_shortest_form() {
        let header = Header { eval_coef: Some(756.0865), ..Header::visits() };
        let header = Header { policy_source: PolicySource::Cp, ..header };
        let conventions = Conventions::of_fold(&header, 100.0, 7);
        let pairs = conventions.pairs();
        let texts: Vec<&str> = pairs.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(texts, ["0", "0", "0", "0", "1", "756.0865", "100", "96", "7"]);
        let stated = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        assert_eq!(Conventions::from_pairs(stated, &BTreeMap::new()), Ok(conventions));
    }

    #[test]
    fn an_unstated_slack_is_320_and_any_other_gap_is_refused_unless_assumed() {
        let header = Header { mate_scale: 32000.try_into().ok(), ..Header::visits() };
        let pairs = Conventions::of_fold(&header, 100.0, 7).pairs();
        let without = |gone: &str, assumed: &BTreeMap<String, String>| {
            let kept = pairs.iter().filter(|(key, _)| key != gone);
            Conventions::from_pairs(kept.map(|(key, value)| (key.as_str(), value.as_str())), assumed)
        };
        assert_eq!(without("mate_slack", &BTreeMap::new()).unwrap().mate_slack, 320);
        for (key, _) in pairs.iter().filter(|(key, _)| key != "mate_slack") {
            assert!(matches!(without(key, &BTreeMap::new()), Err(PairError::Missing(gap)) if gap == key));
        }
        let assumed = BTreeMap::from([("fv_scale".into(), "20".into())]);
        assert_eq!(without("fv_scale", &assumed).unwrap().fv_scale, 20);
    }
}
