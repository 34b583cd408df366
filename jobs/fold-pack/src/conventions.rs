//! Streams that mean different things by a number are never folded together.
//! Specification: "What must not be folded together".

use common::formats::mpk1::{Header, PACKED_LEN, Pov};
use common::process::{Exit, Failure};

/// What must agree, as text: name and value of every field, absence included.
fn stated(header: &Header) -> [(&'static str, String); 7] {
    let or_none = |value: Option<u16>| value.map_or("not stated".into(), |value| value.to_string());
    [
        ("policy_source", format!("{:?}", header.policy_source).to_lowercase()),
        ("pov", if header.pov == Pov::Mover { "side to move" } else { "Black" }.into()),
        ("mate_scale", or_none(header.mate_scale.map(Into::into))),
        ("mate_slack", header.effective_slack().to_string()),
        ("fv_scale", or_none(header.fv_scale.map(Into::into))),
        ("eval_coef", header.eval_coef.map_or("not stated".into(), |coef| coef.to_string())),
        ("packed_len", header.packed_len.to_string()),
    ]
}

/// The conventions of a fold, by its first stream.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    first: Option<(String, Header)>,
}

impl Agreement {
    /// Takes a stream in, or names what differs and where.
    pub(crate) fn add(&mut self, name: &str, header: &Header) -> Result<(), Failure> {
        if usize::from(header.packed_len) != PACKED_LEN {
            return Err(Failure::new(Exit::Mixed, "only positions of 96 bytes are folded")
                .at(name)
                .found(format!("packed_len {}", header.packed_len), PACKED_LEN));
        }
        let (other, first) = match &self.first {
            Some((name, header)) => (name, header),
            None => {
                self.first = Some((name.into(), *header));
                return Ok(());
            }
        };
        let mut pairs = stated(first).into_iter().zip(stated(header));
        match pairs.find(|(a, b)| a != b) {
            None => Ok(()),
            Some(((field, expected), (_, found))) => Err(Failure::new(
                Exit::Mixed,
                format!("the streams differ in {field}: they are not folded together"),
            )
            .at(name)
            .found(format!("{found} in {name}"), format!("{expected} as in {other}"))
            .hint("make a set of each; a number means another thing in the other")),
        }
    }

    /// The agreed header; `None` where nothing was taken in.
    pub(crate) fn header(&self) -> Option<&Header> {
        self.first.as_ref().map(|(_, header)| header)
    }
}
