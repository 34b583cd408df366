//! What an action was, and what came of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::state::digest::Digest;

/// What a record says it is.
const FORMAT: &str = "foldline action";
/// Revision of records; part of every key.
const VERSION: u32 = 1;

/// Parameters by name: everything that the result depends on, and no path.
pub type Parameters = BTreeMap<String, Value>;

/// Parameters from names and values.
pub fn parameters<const N: usize>(named: [(&str, Value); N]) -> Parameters {
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// How long results are kept when a store is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// On the way to something else: purged first.
    Scratch,
    /// Purged while it can be made again from its sources.
    Dataset,
    /// Raw data, which all else is made from: never purged.
    Pinned,
}

impl Keep {
    /// Whether a purge leaves it.
    pub fn is_pinned(self) -> bool {
        self == Self::Pinned
    }
}

/// An input of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is for.
    pub role: String,
    /// Its content.
    pub sha256: Digest,
    /// Where it lay; no part of the key.
    pub path: String,
}

impl Input {
    /// An input for `role`, which lies at `path`.
    pub fn new(role: &str, path: &Path, sha256: &Digest) -> Self {
        Self { role: role.into(), sha256: sha256.clone(), path: path_text(path) }
    }
}

/// What results can be made again from: a file that no action made, or that is never purged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its content.
    pub sha256: Digest,
    /// Where it lay.
    pub path: String,
}

/// A result in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// Its name among the action's results.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Its content, and its name in the store.
    pub sha256: Digest,
}

/// When and at what cost something was computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// When it ended, in seconds since 1970.
    pub ended_at: u64,
    /// Seconds that it took.
    pub wall_s: f64,
    /// Seconds of all processors.
    pub cpu_s: f64,
}

/// The record of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    format: String,
    version: u32,
    /// Digest of everything that the results depend on.
    pub key: Digest,
    /// Job and verb.
    pub job: String,
    /// What the job was built from.
    pub build: String,
    /// Parameters by name.
    pub parameters: Parameters,
    /// Inputs in order.
    pub inputs: Vec<Input>,
    /// What the results can be made again from.
    pub sources: Vec<Source>,
    /// How long they are kept.
    pub keep: Keep,
    /// The results.
    pub outputs: Vec<Blob>,
    /// What the job says of them.
    pub result: Value,
    /// What they cost.
    pub cost: Cost,
}

/// What an action's results depend on.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    /// Job and verb.
    pub job: &'a str,
    /// What the job is built from.
    pub build: &'a str,
    /// Parameters by name.
    pub parameters: &'a Parameters,
    /// Inputs in order.
    pub inputs: &'a [Input],
}

impl Identity<'_> {
    /// SHA-256 over the fields, each behind its length: revision, job, build, parameters as JSON with ascending names,
    /// and role and digest of every input. Paths are no part of it.
    pub fn key(&self) -> Digest {
        let revision = VERSION.to_string();
        let parameters = serde_json::to_string(self.parameters).unwrap_or_default();
        let head = [&*revision, self.job, self.build, &*parameters];
        let inputs = self.inputs.iter().flat_map(|input| [&*input.role, input.sha256.as_str()]);
        Digest::of_fields(head.into_iter().chain(inputs).map(str::as_bytes))
    }

    /// A record without results.
    pub fn record(self, key: Digest, keep: Keep, sources: Vec<Source>, result: Value, cost: Cost) -> Record {
        Record {
            format: FORMAT.into(),
            version: VERSION,
            key,
            job: self.job.into(),
            build: self.build.into(),
            parameters: self.parameters.clone(),
            inputs: self.inputs.to_vec(),
            sources,
            keep,
            outputs: vec![],
            result,
            cost,
        }
    }
}

impl Record {
    /// Whether it is of a revision that this program knows.
    pub(super) fn is_known(&self) -> bool {
        self.format == FORMAT && self.version == VERSION
    }

    /// The file's text.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Bytes of all results.
    pub fn bytes(&self) -> u64 {
        self.outputs.iter().map(|blob| blob.bytes).sum()
    }
}

/// A path as records write it.
pub(super) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_part_of_the_key_but_the_path() {
        let input = |role: &str, content: &str, path: &str| Input {
            role: role.into(),
            sha256: Digest::of(content.as_bytes()),
            path: path.into(),
        };
        let key = |job: &str, build: &str, day: u64, inputs: &[Input]| {
            let parameters = parameters([("day", day.into()), ("seed", 0.into())]);
            Identity { job, build, parameters: &parameters, inputs }.key()
        };
        let (a, b) = (input("zip", "a", "x"), input("zip", "b", "y"));
        let base = key("job", "build", 1, &[a.clone(), b.clone()]);
        assert_eq!(base, key("job", "build", 1, &[input("zip", "a", "elsewhere"), b.clone()]));
        for other in [
            key("jo", "build", 1, &[a.clone(), b.clone()]),
            key("job", "other", 1, &[a.clone(), b.clone()]),
            key("job", "build", 2, &[a.clone(), b.clone()]),
            key("job", "build", 1, &[b.clone(), a.clone()]),
            key("job", "build", 1, std::slice::from_ref(&a)),
            key("job", "build", 1, &[input("elo", "a", "x"), b]),
        ] {
            assert_ne!(base, other);
        }
    }
}
