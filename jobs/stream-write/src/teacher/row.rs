//! One row of a corpus to one record.

use std::num::NonZeroU16;

use common::formats::mpk1::packed::Side;
use common::formats::mpk1::packed::sfen::{START, Sfen};
use common::formats::mpk1::{Candidate, Header, Move16, RecordBuf};

use crate::batch::Batch;
use crate::refusal::Refusal;

/// A row as the corpus states it.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    pub(super) sfen: Option<&'a str>,
    pub(super) side: Option<&'a str>,
    pub(super) ply: Option<i64>,
    pub(super) cp: Option<i64>,
    /// `None` where the list itself is missing or null, which [`Converter::convert`] is told by `has_lists`.
    pub(super) cand: Vec<Option<&'a str>>,
    pub(super) cand_cp: Vec<Option<i64>>,
    pub(super) has_lists: bool,
    pub(super) played: Option<&'a str>,
    pub(super) result: Option<i64>,
}

/// Turns rows into records of one stream.
pub(super) struct Converter {
    header: Header,
    /// value_q of each score from −32768 to 32767.
    value_q: Vec<f32>,
}

/// What one thread needs from row to row.
pub(super) struct Scratch(RecordBuf);

impl Default for Scratch {
    fn default() -> Self {
        let packed = START.parse().expect("the initial position is a position");
        Self(RecordBuf { ply: 0, value_z: 0.0, value_q: 0.0, packed, candidates: vec![] })
    }
}

impl Converter {
    pub(super) fn new(header: Header) -> Self {
        let value_q = (i16::MIN..=i16::MAX).map(|cp| value_q(&header, cp)).collect();
        Self { header, value_q }
    }

    /// Appends a row's record to a batch, or its refusal.
    pub(super) fn convert(&self, number: u64, row: &Row<'_>, scratch: &mut Scratch, batch: &mut Batch) {
        batch.read += 1;
        match self
            .fill(row, &mut scratch.0)
            .and_then(|()| Ok(self.header.append(&scratch.0, &mut batch.bytes)?))
        {
            Ok(()) => {
                batch.records += 1;
                batch.candidates += scratch.0.candidates.len() as u64;
            }
            Err(refusal) => batch.refused.push((number, refusal)),
        }
    }

    fn fill(&self, row: &Row<'_>, record: &mut RecordBuf) -> Result<(), Refusal> {
        let sfen: Sfen = present(row.sfen, "sfen")?.parse().map_err(Refusal::Sfen)?;
        record.packed = sfen.packed;
        let (stated, side) = (present(row.side, "side")?, sfen.packed.side());
        let letter = if side == Side::Black { "b" } else { "w" };
        if stated != letter {
            return Err(Refusal::Side(stated.into(), letter));
        }
        let ply = present(row.ply, "ply")?;
        record.ply = u16::try_from(ply).map_err(|_| Refusal::PlyRange(ply))?;
        if ply + 1 != i64::from(sfen.move_number) {
            return Err(Refusal::PlyMismatch { ply, number: sfen.move_number });
        }
        record.value_z = match (present(row.result, "result")?, side) {
            (0, _) => 0.0,
            (1, Side::Black) | (-1, Side::White) => 1.0,
            (1, Side::White) | (-1, Side::Black) => -1.0,
            (other, _) => return Err(Refusal::Result(other.to_string())),
        };
        let cp = present(row.cp, "cp")?;
        let scale = self.header.mate_scale.map_or(i16::MAX as u16, NonZeroU16::get);
        if cp.unsigned_abs() > u64::from(scale) {
            return Err(Refusal::RootScale { cp, scale });
        }
        record.value_q = self.value_q[(cp - i64::from(i16::MIN)) as usize];
        self.fill_candidates(row, record)
    }

    fn fill_candidates(&self, row: &Row<'_>, record: &mut RecordBuf) -> Result<(), Refusal> {
        record.candidates.clear();
        let (moves, scores) = (row.cand.len(), row.cand_cp.len());
        if !row.has_lists {
            return Err(Refusal::Missing("cand or cand_cp"));
        }
        if moves == 0 {
            return Err(Refusal::NoCandidates);
        }
        if moves != scores {
            return Err(Refusal::Lengths { moves, scores });
        }
        let played = row.played.and_then(|text| Move16::from_usi(text).ok());
        for (index, (text, cp)) in row.cand.iter().zip(&row.cand_cp).enumerate() {
            let text = text.ok_or_else(|| Refusal::NullMove(index))?;
            let cp = self.score(index, cp.ok_or_else(|| Refusal::NullScore(index))?)?;
            let mv = Move16::from_usi(text).map_err(|why| Refusal::Move { index, text: text.into(), why })?;
            let playable = record.packed.admits(mv);
            playable.map_err(|why| Refusal::Unplayable { index, text: text.into(), why })?;
            if record.candidates.iter().any(|earlier| earlier.mv == mv) {
                return Err(Refusal::Duplicate { index, text: text.into() });
            }
            record.candidates.push(Candidate { mv, visits: None, cp: Some(cp) });
        }
        if record.candidates.iter().any(|candidate| Some(candidate.mv) == played) {
            return Ok(());
        }
        Err(Refusal::PlayedMove(row.played.unwrap_or("null").into()))
    }

    fn score(&self, index: usize, cp: i64) -> Result<i16, Refusal> {
        let score = i16::try_from(cp).map_err(|_| Refusal::ScoreRange { index, cp })?;
        match self.header.mate_scale {
            _ if score == i16::MIN => Err(Refusal::AbsentScore(index)),
            Some(scale) if score.unsigned_abs() > scale.get() => {
                Err(Refusal::ScoreScale { index, cp, scale: scale.get() })
            }
            _ => Ok(score),
        }
    }
}

fn present<T>(value: Option<T>, column: &'static str) -> Result<T, Refusal> {
    match value {
        Some(value) => Ok(value),
        None => Err(Refusal::Missing(column)),
    }
}

/// A score squashed into [−1, 1]: ±1 for a mate, else tanh(cp / (2 · eval_coef)).
fn value_q(header: &Header, cp: i16) -> f32 {
    if header.mate_threshold().is_some_and(|threshold| cp.unsigned_abs() >= threshold) {
        return f32::from(cp.signum());
    }
    let coef = f64::from(header.eval_coef.unwrap_or(f32::INFINITY));
    libm::tanh(f64::from(cp) / (2.0 * coef)) as f32
}

#[cfg(test)]
mod tests {
    use common::formats::mpk1::PolicySource;

    use super::*;

    #[test]
    fn squashing_is_that_of_the_specification() {
        let header = |coef| Header {
            policy_source: PolicySource::Cp,
            mate_scale: NonZeroU16::new(32000),
            mate_slack: NonZeroU16::new(100),
            eval_coef: Some(coef),
            ..Header::visits()
        };
        // p = 0.90 is 1318 cp at 600 and 1661 at 756.0865; p = (1 + q) / 2
        assert!((value_q(&header(600.0), 1318) - 0.8).abs() < 1e-3);
        assert!((value_q(&header(756.0865), 1661) - 0.8).abs() < 1e-3);
        assert_eq!(value_q(&header(600.0), 0), 0.0);
        assert_eq!(value_q(&header(600.0), 31900), 1.0);
        assert_eq!(value_q(&header(600.0), -31900), -1.0);
        assert_eq!(value_q(&header(16000.0), 31899), libm::tanh(31899.0 / 32000.0) as f32);
    }
}
