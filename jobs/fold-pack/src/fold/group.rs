//! All that was said of one position. Specification: "Folding, and where the division happens".

use common::formats::folded::Rows;
use common::formats::mpk1::{Header, PolicySource, Record};

use super::exact::ExactSum;

/// What the records of one position add up to. Its size depends on the moves, not on the records.
#[derive(Debug, Clone, Default)]
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
}

impl Policy {
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

impl Group {
    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.tallies.clear();
        *self = Self { tallies: std::mem::take(&mut self.tallies), ..Self::default() };
    }

    /// Adds a record from the mover's point of view with candidates in ascending order.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), GroupError> {
        self.ply = if self.weight == 0 { record.ply() } else { self.ply.min(record.ply()) };
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
        self.ply = if self.weight == 0 { other.ply } else { self.ply.min(other.ply) };
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
