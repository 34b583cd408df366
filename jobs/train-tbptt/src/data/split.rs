//! Which episodes are held out: a share of them that a seed decides, at least one, and never all.

use std::collections::BTreeSet;

use common::process::{Exit, Failure};

use super::Lanes;
use crate::random::Random;

/// Numbers of lanes, in the order of their rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) train: Vec<u32>,
    pub(crate) validation: Vec<u32>,
}

impl Split {
    /// Splits by episode. Fewer than two episodes cannot be split (exit 5).
    pub(crate) fn of(lanes: &Lanes, share: f64, seed: u64) -> Result<Self, Failure> {
        let episodes: BTreeSet<i64> = lanes.all().iter().map(|lane| lane.episode).collect();
        if episodes.len() < 2 {
            return Err(Failure::new(Exit::Missing, "there is nothing to train on")
                .found(format!("{} episodes", episodes.len()), "2 or more: one to train on, one to hold out")
                .hint("select more days"));
        }
        let drawn = |episode: i64| Random::new(&[seed, episode.cast_unsigned()]).next();
        let mut order: Vec<i64> = episodes.into_iter().collect();
        order.sort_by_key(|&episode| (drawn(episode), episode));
        let held_out = ((share * order.len() as f64).round() as usize).clamp(1, order.len() - 1);
        let held_out: BTreeSet<i64> = order.into_iter().take(held_out).collect();
        let (validation, train) = (0..)
            .zip(lanes.all())
            .map(|(number, lane)| (number, held_out.contains(&lane.episode)))
            .partition::<Vec<_>, _>(|&(_, held_out)| held_out);
        let numbers = |list: Vec<(u32, bool)>| list.into_iter().map(|(number, _)| number).collect();
        Ok(Self { train: numbers(train), validation: numbers(validation) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::tests::lanes;
    use super::*;

    #[test]
    fn every_side_has_an_episode_and_no_episode_is_on_both() {
        let all = lanes(&[(1, &[1]), (1, &[1]), (2, &[1]), (3, &[1]), (3, &[1])]);
        for share in [0.0, 0.3, 1.0] {
            for seed in 0..20 {
                let Split { train, validation } = Split::of(&all, share, seed).unwrap();
                assert!(!train.is_empty() && !validation.is_empty());
                assert_eq!(train.len() + validation.len(), 5);
                let episodes = |list: &[u32]| -> BTreeSet<i64> {
                    list.iter().map(|&lane| all.all()[lane as usize].episode).collect()
                };
                assert!(episodes(&train).is_disjoint(&episodes(&validation)));
            }
        }
        let held_out = |seed| Split::of(&all, 0.3, seed).unwrap().validation;
        assert!((1..20).any(|seed| held_out(seed) != held_out(0)));
    }

    #[test]
    fn one_episode_is_an_empty_plan() {
        let failure = Split::of(&lanes(&[(1, &[1]), (1, &[2])]), 0.5, 0).unwrap_err();
        assert_eq!(failure.exit(), Exit::Missing);
    }
}
