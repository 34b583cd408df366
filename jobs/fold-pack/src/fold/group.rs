//! All that was said of one position. Specification: "Folding, and where the division happens".

use common::formats::folded::Rows;
use common::formats::mpk1::{Header, PolicySource, Record};

use super::exact::ExactSum;

/// What the records of one position add up to. Its size depends on the moves, not on the records.
#[derive(Debug, Clone)]
pub struct Group {
    weight: u64,
    ply: u16,
    value_z: i64,
    value_q: ExactSum,
    /// Ascending by move.
    tallies: Vec<Tally>,
}

/// What was said of one move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    mv: u16,
    /// Records that listed the move.
    count: u32,
    /// Sum of their visits, or of their centipawns.
    sum: i64,
}

/// Why a group has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The column cannot count the records.
    #[error("a position stands in {0} records, more than the weight column counts")]
    Weight(u64),
    /// Visits that cannot be summed.
    #[error("the visits of a move add up to more than 2^63")]
    Visits,
}

/// How a policy is made of sums.
#[derive(Debug, Clone)]
pub struct Policy {
    source: PolicySource,
    /// Centipawns from which a leader is a mate; `None` where there are no mates.
    threshold: Option<u16>,
    /// Centipawns.
    temperature: f64,
    /// exp(−d / temperature) of whole distances d to the leader, as all are where a position was searched once.
    exp_of: Vec<f64>,
}

impl Policy {
    /// Normalised visits, or a softmax over scores at a temperature in centipawns.
    pub fn new(header: &Header, temperature: f64) -> Self {
        let scored = header.policy_source == PolicySource::Cp;
        let distances = if scored { 1 << 16 } else { 0 };
        let exp_of = (0..distances).map(|distance| libm::exp(-f64::from(distance) / temperature)).collect();
        Self { source: header.policy_source, threshold: header.mate_threshold(), temperature, exp_of }
    }

    /// exp of a tally's distance to the leader: the same number from the table and computed.
    fn exp(&self, tally: &Tally, leader: &Tally) -> f64 {
        match (tally.count, leader.count, usize::try_from(leader.sum - tally.sum)) {
            (1, 1, Ok(distance)) if distance < self.exp_of.len() => self.exp_of[distance],
            _ => libm::exp((tally.mean() - leader.mean()) / self.temperature),
        }
    }
}

/// Makes rows of groups: the one place where anything is divided.
#[derive(Debug)]
pub struct RowMaker<'a> {
    policy: &'a Policy,
    exps: Vec<f64>,
}

impl Default for Group {
    /// No records.
    fn default() -> Self {
        Self { weight: 0, ply: u16::MAX, value_z: 0, value_q: ExactSum::default(), tallies: vec![] }
    }
}

impl Group {
    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.tallies.clear();
        *self = Self { tallies: std::mem::take(&mut self.tallies), ..Self::default() };
    }

    /// Adds a record from the mover's point of view with candidates in ascending order.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), GroupError> {
        self.ply = self.ply.min(record.ply());
        self.weight += 1;
        self.value_z += record.value_z() as i64;
        self.value_q.add(record.value_q());
        let listed = record.candidates().map(|candidate| {
            let visits = candidate.visits.map(|visits| i64::from(visits.get()));
            let sum = visits.unwrap_or_else(|| i64::from(candidate.cp.unwrap_or(0)));
            Tally { mv: candidate.mv.0, count: 1, sum }
        });
        if self.tallies.is_empty() {
            self.tallies.extend(listed);
            return Ok(());
        }
        self.merge_tallies(listed)
    }

    /// Adds all records of another group of the position.
    pub fn merge(&mut self, other: &Self) -> Result<(), GroupError> {
        self.ply = self.ply.min(other.ply);
        self.weight += other.weight;
        self.value_z += other.value_z;
        self.value_q.merge(&other.value_q);
        self.merge_tallies(other.tallies.iter().copied())
    }

    /// The union of two ascending lists, sums added where a move is in both.
    fn merge_tallies(&mut self, others: impl Iterator<Item = Tally>) -> Result<(), GroupError> {
        let mut at = 0;
        for other in others {
            while self.tallies.get(at).is_some_and(|tally| tally.mv < other.mv) {
                at += 1;
            }
            match self.tallies.get_mut(at) {
                Some(tally) if tally.mv == other.mv => {
                    tally.count =
                        tally.count.checked_add(other.count).ok_or(GroupError::Weight(self.weight))?;
                    tally.sum = tally.sum.checked_add(other.sum).ok_or(GroupError::Visits)?;
                }
                _ => self.tallies.insert(at, other),
            }
            at += 1;
        }
        Ok(())
    }
}

impl<'a> RowMaker<'a> {
    /// Makes rows with this policy.
    pub fn new(policy: &'a Policy) -> Self {
        Self { policy, exps: vec![] }
    }

    /// Appends the row of a group.
    pub fn push(&mut self, group: &Group, packed: &[u8], rows: &mut Rows) -> Result<(), GroupError> {
        let weight = u32::try_from(group.weight).map_err(|_| GroupError::Weight(group.weight))?;
        rows.packed.extend_from_slice(packed);
        rows.ply.push(group.ply);
        rows.value_z.push((group.value_z as f64 / f64::from(weight)) as f32);
        rows.value_q.push((group.value_q.to_f64() / f64::from(weight)) as f32);
        rows.weight.push(weight);
        rows.mv.extend(group.tallies.iter().map(|tally| tally.mv));
        match self.policy.source {
            PolicySource::Visits => push_shares(&group.tallies, rows),
            PolicySource::Cp => self.push_scores(&group.tallies, rows),
        }
        rows.offsets.push(rows.mv.len() as u32);
        Ok(())
    }

    /// One-hot on the leader where it is a mate, else a softmax over the mean scores.
    fn push_scores(&mut self, tallies: &[Tally], rows: &mut Rows) {
        rows.cp.extend(tallies.iter().map(|tally| Some(tally.rounded_mean())));
        let leader = tallies.iter().reduce(|best, tally| if tally.is_above(best) { tally } else { best });
        let Some(leader) = leader else { return };
        if self.policy.threshold.is_some_and(|threshold| leader.is_past(threshold)) {
            rows.prob.extend(tallies.iter().map(|tally| if tally.mv == leader.mv { 1.0 } else { 0.0 }));
            return;
        }
        self.exps.clear();
        self.exps.extend(tallies.iter().map(|tally| self.policy.exp(tally, leader)));
        let total: f64 = self.exps.iter().sum();
        rows.prob.extend(self.exps.iter().map(|exp| (exp / total) as f32));
    }
}

fn push_shares(tallies: &[Tally], rows: &mut Rows) {
    let total: i128 = tallies.iter().map(|tally| i128::from(tally.sum)).sum();
    rows.prob.extend(tallies.iter().map(|tally| (tally.sum as f64 / total as f64) as f32));
    rows.cp.extend(tallies.iter().map(|_| None));
}

impl Tally {
    fn mean(&self) -> f64 {
        self.sum as f64 / f64::from(self.count)
    }

    /// The mean, rounded half away from zero.
    fn rounded_mean(&self) -> i16 {
        let count = i64::from(self.count);
        if count == 1 {
            return self.sum as i16;
        }
        let magnitude = (2 * self.sum.abs() + count) / (2 * count);
        (magnitude * self.sum.signum()) as i16
    }

    /// Whether the mean is greater, exactly.
    fn is_above(&self, other: &Self) -> bool {
        i128::from(self.sum) * i128::from(other.count) > i128::from(other.sum) * i128::from(self.count)
    }

    /// Whether the mean is at or past the threshold, on either side.
    fn is_past(&self, threshold: u16) -> bool {
        self.sum.abs() >= i64::from(threshold) * i64::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU16, NonZeroU32};

    use common::formats::mpk1::packed::sfen::START;
    use common::formats::mpk1::{Candidate, Move16, PACKED_LEN, RecordBuf};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    fn teacher() -> Header {
        let scale = (NonZeroU16::new(32000), NonZeroU16::new(100));
        Header {
            policy_source: PolicySource::Cp,
            mate_scale: scale.0,
            mate_slack: scale.1,
            ..Header::visits()
        }
    }

    /// The bytes of a record with these scores, or visits.
    fn record(header: &Header, ply: u16, value_z: f32, value_q: f32, listed: &[(u16, i64)]) -> Vec<u8> {
        let scored = header.policy_source == PolicySource::Cp;
        let candidate = |&(mv, value): &(u16, i64)| Candidate {
            mv: Move16(mv << 7),
            visits: NonZeroU32::new(if scored { 0 } else { value as u32 }),
            cp: scored.then_some(value as i16),
        };
        let (packed, candidates) = (START.parse().unwrap(), listed.iter().map(candidate).collect());
        let mut bytes = vec![];
        header.append(&RecordBuf { ply, value_z, value_q, packed, candidates }, &mut bytes).unwrap();
        bytes
    }

    fn group(records: &[Vec<u8>]) -> Group {
        let mut group = Group::default();
        records.iter().for_each(|bytes| group.add(&Record::split(bytes, PACKED_LEN).unwrap().0).unwrap());
        group
    }

    fn row(header: &Header, records: &[Vec<u8>]) -> Rows {
        let mut rows = Rows::default();
        let policy = Policy::new(header, 100.0);
        RowMaker::new(&policy).push(&group(records), &[0; PACKED_LEN], &mut rows).unwrap();
        rows
    }

    fn scores(lists: &[&[(u16, i64)]]) -> Rows {
        let records: Vec<_> = lists.iter().map(|list| record(&teacher(), 0, 0.0, 0.0, list)).collect();
        row(&teacher(), &records)
    }

    #[test]
    fn scores_are_averaged_over_the_records_that_list_them() {
        let rows = scores(&[&[(1, 100), (2, 40)], &[(1, 101), (3, -7)]]);
        assert_eq!((rows.mv.as_slice(), rows.weight[0]), (&[1 << 7, 2 << 7, 3 << 7][..], 2));
        assert_eq!(rows.cp, [Some(101), Some(40), Some(-7)]);
        let exps = [0.0, -60.5, -107.5].map(|distance: f64| libm::exp(distance / 100.0));
        let probs = exps.map(|exp| (exp / exps.iter().sum::<f64>()) as f32);
        assert_eq!(rows.prob, probs);
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let cp = |a: i64, b: i64| scores(&[&[(1, a)], &[(1, b)]]).cp[0];
        assert_eq!(
            [cp(0, 1), cp(0, -1), cp(2, 3), cp(-2, -3), cp(-1, 1)].map(Option::unwrap),
            [1, -1, 3, -3, 0]
        );
    }

    #[test]
    fn a_mate_leads_alone_and_the_lowest_move_on_a_tie() {
        assert_eq!(scores(&[&[(1, 31899), (2, 31990), (3, 31990)]]).prob, [0.0, 1.0, 0.0]);
        assert_eq!(
            scores(&[&[(1, -31950), (2, -31960)]]).prob,
            [1.0, 0.0],
            "mated: the leader is a mate too"
        );
        // the mean is at the threshold, and just below it
        assert_eq!(scores(&[&[(1, 31901), (2, 0)], &[(1, 31899)]]).prob, [1.0, 0.0]);
        assert!(scores(&[&[(1, 31900), (2, 31899)], &[(1, 31899)]]).prob[1] > 0.4);
        // no threshold without a mate scale
        let header = Header { mate_scale: None, ..teacher() };
        assert!(row(&header, &[record(&header, 0, 0.0, 0.0, &[(1, 32000), (2, 32000)])]).prob[1] == 0.5);
    }

    #[test]
    fn visits_are_summed_and_divided_once() {
        let header = Header::visits();
        let records =
            [record(&header, 7, 1.0, 0.5, &[(1, 3), (2, 1)]), record(&header, 4, -1.0, 0.25, &[(2, 4)])];
        let rows = row(&header, &records);
        assert_eq!((rows.prob.as_slice(), rows.cp.as_slice()), (&[0.375, 0.625][..], &[None, None][..]));
        assert_eq!((rows.ply[0], rows.value_z[0], rows.value_q[0], rows.weight[0]), (4, 0.0, 0.375, 2));
    }

    proptest! {
        /// Neither the order of records nor how they were grouped before changes a bit.
        #[test]
        fn order_and_grouping_do_not_matter(
            lists in vec((any::<u16>(), -1i8..=1, -1f32..=1.0, btree_map(0u16..80, -32000i64..=32000, 1..8)), 1..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let header = teacher();
            let mut records: Vec<_> = lists
                .iter()
                .map(|(ply, z, q, list)| record(&header, *ply, f32::from(*z), *q, &list.iter().map(|(&m, &c)| (m, c)).collect::<Vec<_>>()))
                .collect();
            let expected = row(&header, &records);
            let (left, right) = records.split_at(cut.index(records.len()));
            let mut merged = group(right);
            merged.merge(&group(left)).unwrap();
            let mut rows = Rows::default();
            let policy = Policy::new(&header, 100.0);
            RowMaker::new(&policy).push(&merged, &[0; PACKED_LEN], &mut rows).unwrap();
            prop_assert_eq!(&rows, &expected);
            records.reverse();
            prop_assert_eq!(&row(&header, &records), &expected);
        }
    }
}
