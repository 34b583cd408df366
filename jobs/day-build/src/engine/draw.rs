//! Numbers drawn by chance that repeat: each is a hash of what it is drawn for, so that none depends on a worker, an
//! order or a thread.
//!
//! The hash is SipHash-2-4 with a key of zeros over 22 bytes, all numbers little-endian: episode id (8), step (4), side
//! (1), determinisation (4), purpose (1), index (4).

use std::hash::Hasher as _;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// What numbers are drawn for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// Order of one's own hidden cards.
    OwnCards = 1,
    /// Order of the opponent's.
    OpponentCards = 2,
    /// Sides of coins.
    Coins = 3,
}

/// A decision, as the seed of its trials.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Seed {
    pub(super) episode: i64,
    pub(super) step: u32,
    pub(super) side: u8,
}

/// The numbers of one determinisation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw(SipHasher24);

impl Seed {
    /// Numbers of determinisation `index`.
    pub(super) fn draw(self, index: u32) -> Draw {
        let mut hasher = SipHasher24::new();
        hasher.write(&self.episode.to_le_bytes());
        hasher.write(&self.step.to_le_bytes());
        hasher.write(&[self.side]);
        hasher.write(&index.to_le_bytes());
        Draw(hasher)
    }
}

impl Draw {
    /// Number `index` of those drawn for `purpose`.
    fn number(&self, purpose: Purpose, index: u32) -> u64 {
        let mut hasher = self.0;
        hasher.write(&[purpose as u8]);
        hasher.write(&index.to_le_bytes());
        hasher.finish()
    }

    /// Side of coin `index`: 0 or 1.
    pub(super) fn coin(&self, index: u32) -> i32 {
        (self.number(Purpose::Coins, index) >> 63) as i32
    }

    /// Puts cards into an order drawn for `purpose`, by Fisher and Yates.
    pub(super) fn shuffle(&self, purpose: Purpose, cards: &mut [i32]) {
        for (index, last) in (1..cards.len()).rev().enumerate() {
            let number = self.number(purpose, index as u32);
            let place = (u128::from(number) * (last as u128 + 1)) >> 64;
            cards.swap(last, place as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed { episode: 80_787_912, step: 41, side: 1 };

    #[test]
    fn every_part_of_the_seed_counts() {
        let seeds = [
            SEED,
            Seed { episode: -SEED.episode, ..SEED },
            Seed { step: 42, ..SEED },
            Seed { side: 0, ..SEED },
        ];
        let draws = seeds.iter().flat_map(|seed| [seed.draw(0), seed.draw(1)]);
        let mut numbers: Vec<u64> = draws
            .flat_map(|draw| {
                let purposes = [Purpose::OwnCards, Purpose::OpponentCards, Purpose::Coins];
                purposes.into_iter().flat_map(move |purpose| [0, 1].map(|index| draw.number(purpose, index)))
            })
            .collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!((all, numbers.len()), (48, 48));
    }

    /// From an implementation of its own. Features in files that are there already depend on it.
    #[test]
    fn known_answer() {
        let mut cards: Vec<i32> = (0..10).collect();
        SEED.draw(3).shuffle(Purpose::OwnCards, &mut cards);
        assert_eq!(cards, [7, 6, 5, 3, 1, 4, 9, 0, 8, 2]);
        let coins: Vec<i32> = (0..16).map(|index| SEED.draw(3).coin(index)).collect();
        assert_eq!(coins, [1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn every_card_comes_to_every_place_alike() {
        let mut counts = [[0u32; 5]; 5];
        for index in 0..10_000 {
            let mut cards = [0, 1, 2, 3, 4];
            SEED.draw(index).shuffle(Purpose::OwnCards, &mut cards);
            cards.iter().zip(&mut counts).for_each(|(&card, count)| count[card as usize] += 1);
        }
        // 2,000 each, with a deviation of 40
        assert!(counts.iter().flatten().all(|count| (1800..2200).contains(count)), "{counts:?}");
    }
}
