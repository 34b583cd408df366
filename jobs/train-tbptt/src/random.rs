//! Random numbers that depend on their seed alone: SplitMix64.

/// A sequence.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed in several words.
    pub(crate) fn new(seed: &[u64]) -> Self {
        seed.iter().fold(Self(0x2545_f491_4f6c_dd1d), |random, &word| Self(Self(random.0 ^ word).next()))
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Uniform in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, of deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.unit(), self.unit());
        libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
    }

    /// Puts a list into random order.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            list.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_does_not() {
        let draw = |seed: &[u64]| -> Vec<u64> {
            let mut random = Random::new(seed);
            (0..4).map(|_| random.next()).collect()
        };
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[1]), draw(&[1, 0]));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut random = Random::new(&[7]);
        let numbers: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|number| number * number).sum::<f64>() / 1e5 - mean * mean;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn a_shuffle_keeps_everything_and_every_place_is_as_likely() {
        let mut counts = [[0; 4]; 4];
        for seed in 0..8000 {
            let mut list = [0, 1, 2, 3];
            Random::new(&[seed]).shuffle(&mut list);
            (0..4).for_each(|at| counts[at][list[at]] += 1);
        }
        assert!(counts.iter().flatten().all(|&count: &i32| (count - 2000).abs() < 200), "{counts:?}");
    }
}
