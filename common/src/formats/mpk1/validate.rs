//! The rules of a record, held at the writer and again at the reader: everything they catch is silent otherwise.
//! Specification: "Validation". That a move stands at most once in a record is the producers' and the fold's rule.

use super::header::{Header, PolicySource};
use super::move16::{Move16, MoveDefect};
use super::packed::{self, PackedDefect};
use super::record::Record;

/// Why a record must not be written, and is refused when read.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Defect {
    /// A record whose every logit would be masked.
    #[error("it has no candidates")]
    NoCandidates,
    /// More candidates than the field counts.
    #[error("it has {0} candidates where 65535 at most can be counted")]
    TooManyCandidates(usize),
    /// An outcome that is none.
    #[error("value_z is {0} where -1, 0 or 1 is expected")]
    ValueZ(f32),
    /// A value that a tanh head cannot reach.
    #[error("value_q is {0} where a number in [-1, 1] is expected")]
    ValueQ(f32),
    /// Some candidates have what others lack.
    #[error("{with} of {of} candidates have {field}: all or none is expected")]
    Mixed {
        /// `visits` or `cp`.
        field: &'static str,
        /// Candidates that have it.
        with: usize,
        /// Candidates of the record.
        of: usize,
    },
    /// The half that the header names as the policy is absent.
    #[error("its candidates have no {0}, which the header's policy_source names")]
    HalfMissing(&'static str),
    /// The half that the header does not name is there.
    #[error("its candidates have {0}, which the header's policy_source does not name")]
    HalfForeign(&'static str),
    /// A candidate's move is no move16.
    #[error("candidate {index}, {mv:#06x}, is no move: {defect}", mv = mv.0)]
    Move {
        /// Number of the candidate, from 0.
        index: usize,
        /// Its value.
        mv: Move16,
        /// What is wrong with it.
        defect: MoveDefect,
    },
    /// The position is none.
    #[error("{0}")]
    Packed(PackedDefect),
}

/// Holds a record to the rules of its stream.
#[inline]
pub fn validate(header: &Header, record: &Record<'_>) -> Result<(), Defect> {
    let candidates = record.candidates();
    let of = candidates.len();
    if of == 0 {
        return Err(Defect::NoCandidates);
    }
    let (value_z, value_q) = (record.value_z(), record.value_q());
    if !(value_z == 0.0 || value_z.abs() == 1.0) {
        return Err(Defect::ValueZ(value_z));
    }
    if !(-1.0..=1.0).contains(&value_q) {
        return Err(Defect::ValueQ(value_q));
    }
    let (mut visits, mut cp, mut wrong) = (0, 0, false);
    for candidate in candidates {
        visits += usize::from(candidate.visits.is_some());
        cp += usize::from(candidate.cp.is_some());
        wrong |= candidate.mv.defect().is_some();
    }
    let (named, foreign) = match header.policy_source {
        PolicySource::Visits => (("visits", visits), ("cp", cp)),
        PolicySource::Cp => (("cp", cp), ("visits", visits)),
    };
    for (field, with) in [named, foreign] {
        if with != 0 && with != of {
            return Err(Defect::Mixed { field, with, of });
        }
    }
    if named.1 == 0 {
        return Err(Defect::HalfMissing(named.0));
    }
    if foreign.1 != 0 {
        return Err(Defect::HalfForeign(foreign.0));
    }
    if wrong {
        return Err(name_move(record));
    }
    match record.board().and_then(packed::defect) {
        Some(defect) => Err(Defect::Packed(defect)),
        None => Ok(()),
    }
}

#[cold]
fn name_move(record: &Record<'_>) -> Defect {
    let found = record.candidates().enumerate().find_map(|(index, c)| Some((index, c.mv, c.mv.defect()?)));
    match found {
        Some((index, mv, defect)) => Defect::Move { index, mv, defect },
        None => Defect::NoCandidates,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::packed::sfen::START;
    use super::super::{Candidate, RecordBuf};
    use super::*;

    fn candidate(mv: u16, visits: u32, cp: Option<i16>) -> Candidate {
        Candidate { mv: Move16(mv), visits: NonZeroU32::new(visits), cp }
    }

    fn verdict(header: &Header, change: impl FnOnce(&mut RecordBuf)) -> Result<(), Defect> {
        let candidates = vec![candidate(1 << 7, 3, None), candidate(2 << 7, 5, None)];
        let packed = START.parse().unwrap();
        let mut record = RecordBuf { ply: 0, value_z: 1.0, value_q: 0.25, packed, candidates };
        change(&mut record);
        let mut bytes = vec![];
        record.encode(&mut bytes);
        validate(header, &Record::split(&bytes, super::super::PACKED_LEN).unwrap().0)
    }

    #[test]
    fn every_rule_refuses_its_case() {
        let visits = Header::visits();
        let scores = Header { policy_source: PolicySource::Cp, ..visits };
        let refuses = |change: fn(&mut RecordBuf), defect| assert_eq!(verdict(&visits, change), Err(defect));
        assert_eq!(verdict(&visits, |_| {}), Ok(()));
        refuses(|r| r.candidates.clear(), Defect::NoCandidates);
        refuses(|r| r.value_z = 0.5, Defect::ValueZ(0.5));
        refuses(|r| r.value_q = 1.5, Defect::ValueQ(1.5));
        refuses(|r| r.value_q = f32::INFINITY, Defect::ValueQ(f32::INFINITY));
        refuses(|r| r.candidates[1].visits = None, Defect::Mixed { field: "visits", with: 1, of: 2 });
        refuses(|r| r.candidates[1].cp = Some(0), Defect::Mixed { field: "cp", with: 1, of: 2 });
        refuses(|r| r.candidates.iter_mut().for_each(|c| c.cp = Some(1)), Defect::HalfForeign("cp"));
        refuses(|r| r.candidates.iter_mut().for_each(|c| c.visits = None), Defect::HalfMissing("visits"));
        let no_move = Defect::Move { index: 1, mv: Move16(127), defect: MoveDefect::To(127) };
        refuses(|r| r.candidates[1].mv = Move16(127), no_move);
        assert_eq!(verdict(&scores, |_| {}), Err(Defect::HalfMissing("cp")));
        assert!(matches!(verdict(&visits, |r| r.value_z = f32::NAN), Err(Defect::ValueZ(z)) if z.is_nan()));
        assert!(matches!(verdict(&visits, |r| r.value_q = f32::NAN), Err(Defect::ValueQ(q)) if q.is_nan()));
    }
}
