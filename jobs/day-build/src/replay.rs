//! A replay: what an episode's JSON holds that a build reads. `SCHEMA.md` of the bundled replays describes it.

mod observation;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use observation::{Card, Choice, Current, Log, Observation, Player, Select, Unit};

/// An episode.
#[derive(Debug, Deserialize)]
pub(crate) struct Replay<'a> {
    #[serde(borrow)]
    pub(crate) steps: Vec<[Entry<'a>; 2]>,
    #[serde(default)]
    pub(crate) rewards: serde_json::Value,
    #[serde(default)]
    pub(crate) info: Info,
    #[serde(default)]
    configuration: Configuration,
}

/// What the episode was played with.
#[derive(Debug, Default, Deserialize)]
struct Configuration {
    #[serde(default)]
    version: Option<Number>,
}

impl Replay<'_> {
    /// Version of the engine, where the episode names one.
    pub(crate) fn engine_version(&self) -> Option<i64> {
        self.configuration.version.and_then(|version| version.0)
    }
}

/// An episode whose steps are not looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    #[serde(default)]
    pub(crate) steps: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    pub(crate) rewards: serde_json::Value,
    #[serde(default)]
    pub(crate) info: serde_json::Value,
}

/// Who played.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Info {
    #[serde(default, rename = "EpisodeId")]
    pub(crate) episode_id: serde_json::Value,
    #[serde(default, rename = "TeamNames")]
    pub(crate) team_names: serde_json::Value,
}

/// One side at one step.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry<'a> {
    #[serde(default)]
    pub(crate) action: Answer,
    /// Read only where the side must answer: elsewhere it is an old one.
    #[serde(default, borrow)]
    observation: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

impl<'a> Entry<'a> {
    /// What the side sees, where it must answer, and its text.
    pub(crate) fn observation(&self) -> Result<Option<(Observation, &'a str)>, serde_json::Error> {
        match self.observation {
            Some(text) if self.status == "ACTIVE" => {
                Ok(Some((serde_json::from_str(text.get())?, text.get())))
            }
            _ => Ok(None),
        }
    }
}

/// What a side answered: numbers, or nothing that could be read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Answer(pub(crate) Option<Vec<i64>>);

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnswerVisitor { nested: false })
    }
}

/// `[1, 2]`, `{"action": [1, 2], ...}`; all else is no answer.
struct AnswerVisitor {
    nested: bool,
}

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Answer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Answer, A::Error> {
        let (mut all, mut whole) = (vec![], true);
        while let Some(Number(number)) = seq.next_element()? {
            match number {
                Some(number) => all.push(number),
                None => whole = false,
            }
        }
        Ok(Answer(whole.then_some(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answer, A::Error> {
        let mut answer = Answer(None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "action" && !self.nested {
                answer = map.next_value_seed(Nested)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(answer)
    }

    fn visit_unit<E>(self) -> Result<Answer, E> {
        Ok(Answer(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Answer, E> {
        Ok(Answer(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Answer, E> {
        Ok(Answer(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Answer, E> {
        Ok(Answer(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Answer, E> {
        Ok(Answer(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Answer, E> {
        Ok(Answer(None))
    }
}

/// The answer within an answer.
struct Nested;

impl<'de> serde::de::DeserializeSeed<'de> for Nested {
    type Value = Answer;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Answer, D::Error> {
        from.deserialize_any(AnswerVisitor { nested: true })
    }
}

/// An integer; `None` for whatever else stands there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(i64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Number, E> {
                Ok(Number(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
                Ok(Number(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<Number, E> {
                Ok(Number(None))
            }

            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Number, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Number(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Number(None))
            }
        }
        from.deserialize_any(NumberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_all_their_forms() {
        let cases: [(&str, Option<&[i64]>); 10] = [
            ("[]", Some(&[])),
            ("[3,1]", Some(&[3, 1])),
            (r#"{"x":[9],"action":[3],"y":{}}"#, Some(&[3])),
            (r#"{"action":{"action":[3]}}"#, None),
            ("{}", None),
            ("null", None),
            ("[1.0]", None),
            ("[true]", None),
            (r#"[[1],{"a":2}]"#, None),
            ("7", None),
        ];
        for (text, expected) in cases {
            let answer: Answer = serde_json::from_str(text).unwrap();
            assert_eq!(answer.0.as_deref(), expected, "{text}");
        }
    }
}
