//! One game: its moves are replayed, and every searched ply becomes a record.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use common::formats::mpk1::packed::Side;
use common::formats::mpk1::packed::sfen::Sfen;
use common::formats::mpk1::{Candidate, Header, Move16, Packed, RecordBuf};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use crate::refusal::Refusal;

/// A line of a games file.
#[derive(Deserialize)]
pub(super) struct Game<'a> {
    #[serde(borrow)]
    init_sfen: Cow<'a, str>,
    #[serde(borrow)]
    moves: Vec<Text<'a>>,
    /// 1 Black won, 0 draw, −1 White won; missing or null where the game did not end.
    #[serde(default)]
    result: Option<serde_json::Value>,
    #[serde(borrow)]
    plies: Vec<Ply<'a>>,
}

/// A position that was searched.
#[derive(Deserialize)]
struct Ply<'a> {
    ply: i64,
    value: f64,
    #[serde(borrow)]
    cands: Vec<(Text<'a>, Share)>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What a candidate carries: a count, or a policy.
#[derive(Clone, Copy)]
enum Share {
    Count(i128),
    Policy(f64),
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct ShareVisitor;
        impl Visitor<'_> for ShareVisitor {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("visits or a policy")
            }

            fn visit_u64<E>(self, count: u64) -> Result<Share, E> {
                Ok(Share::Count(count.into()))
            }

            fn visit_i64<E>(self, count: i64) -> Result<Share, E> {
                Ok(Share::Count(count.into()))
            }

            fn visit_f64<E>(self, policy: f64) -> Result<Share, E> {
                Ok(Share::Policy(policy))
            }
        }
        input.deserialize_any(ShareVisitor)
    }
}

/// Encoded records of a game.
#[derive(Default)]
pub(super) struct Records {
    pub(super) bytes: Vec<u8>,
    pub(super) records: u64,
    pub(super) candidates: u64,
}

impl Game<'_> {
    /// The game's records, each with the outcome for its side to move; `None` for a game without a result.
    pub(super) fn records(
        &self,
        header: &Header,
        scale: Option<NonZeroU32>,
    ) -> Result<Option<Records>, Refusal> {
        let Some(result) = self.result()? else { return Ok(None) };
        let mut position = self.init_sfen.parse::<Sfen>().map_err(Refusal::Sfen)?.packed;
        let (mut made, mut out) = (0, Records::default());
        for ply in &self.plies {
            let refuse = |refusal| Refusal::AtPly { ply: ply.ply, refusal: Box::new(refusal) };
            let target = self.target(ply.ply, made, out.records > 0)?;
            self.play(&mut position, &mut made, target)?;
            let record = ply.record(position, result, scale).map_err(refuse)?;
            header.append(&record, &mut out.bytes).map_err(|defect| refuse(Refusal::Defect(defect)))?;
            out.records += 1;
            out.candidates += record.candidates.len() as u64;
        }
        self.play(&mut position, &mut made, self.moves.len())?;
        Ok(Some(out))
    }

    /// The outcome for Black.
    fn result(&self) -> Result<Option<f32>, Refusal> {
        match &self.result {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(result @ -1..=1) => Ok(Some(result as f32)),
                _ => Err(Refusal::Result(value.to_string())),
            },
        }
    }

    /// The moves made before a ply, which must ascend and end with the game.
    fn target(&self, ply: i64, made: usize, any_before: bool) -> Result<usize, Refusal> {
        let (from, to) = (made + usize::from(any_before), self.moves.len());
        usize::try_from(ply).ok().filter(|&ply| (from..=to).contains(&ply)).ok_or(Refusal::PlyOrder {
            ply,
            from,
            to,
        })
    }

    fn play(&self, position: &mut Packed, made: &mut usize, target: usize) -> Result<(), Refusal> {
        for (index, Text(text)) in self.moves.iter().enumerate().take(target).skip(*made) {
            let mv = Move16::from_usi(text);
            let mv = mv.map_err(|why| Refusal::GameMove { index, text: text.to_string(), why })?;
            let played = position.play(mv);
            played.map_err(|why| Refusal::GameUnplayable { index, text: text.to_string(), why })?;
        }
        *made = target;
        Ok(())
    }
}

impl Ply<'_> {
    fn record(&self, packed: Packed, result: f32, scale: Option<NonZeroU32>) -> Result<RecordBuf, Refusal> {
        let mut candidates: Vec<Candidate> = Vec::with_capacity(self.cands.len());
        let mut listed = Vec::with_capacity(self.cands.len());
        for (index, (Text(text), share)) in self.cands.iter().enumerate() {
            let mv = Move16::from_usi(text);
            let mv = mv.map_err(|why| Refusal::Move { index, text: text.to_string(), why })?;
            let playable = packed.admits(mv);
            playable.map_err(|why| Refusal::Unplayable { index, text: text.to_string(), why })?;
            if listed.contains(&mv) {
                return Err(Refusal::Duplicate { index, text: text.to_string() });
            }
            listed.push(mv);
            if let Some(visits) = share.visits(index, scale)? {
                candidates.push(Candidate { mv, visits: Some(visits), cp: None });
            }
        }
        if candidates.is_empty() && !self.cands.is_empty() {
            return Err(Refusal::AllRounded);
        }
        if !(-1.0..=1.0).contains(&self.value) {
            return Err(Refusal::Value(self.value));
        }
        let ply = u16::try_from(self.ply).map_err(|_| Refusal::PlyRange(self.ply))?;
        let value_z = if packed.side() == Side::Black { result } else { 0.0 - result };
        Ok(RecordBuf { ply, value_z, value_q: self.value as f32, packed, candidates })
    }
}

impl Share {
    /// Visits to store; `None` where a policy is below half a quantum of its scale.
    fn visits(self, index: usize, scale: Option<NonZeroU32>) -> Result<Option<NonZeroU32>, Refusal> {
        match (self, scale) {
            (Self::Count(found), None) => {
                let count = u32::try_from(found).ok().and_then(NonZeroU32::new);
                count.map(Some).ok_or(Refusal::Visits { index, found })
            }
            (Self::Policy(found), None) => Err(Refusal::Fraction { index, found }),
            (Self::Count(count), Some(scale)) => Self::Policy(count as f64).visits(index, Some(scale)),
            (Self::Policy(found), Some(scale)) => {
                if !(0.0..=1.0).contains(&found) {
                    return Err(Refusal::Policy { index, found });
                }
                Ok(NonZeroU32::new((found * f64::from(scale.get())).round() as u32))
            }
        }
    }
}
