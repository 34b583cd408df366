//! Sums of f32 values in [−1, 1] that do not depend on their order.

/// An exact sum, as a fixed-point number: `high · 2^-64 + low · 2^-149`, which is the last bit of the smallest f32.
/// Room for 2^32 values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExactSum {
    high: i128,
    low: i128,
}

const HIGH: f64 = (1u128 << 64) as f64;
const LOW_BITS: u32 = 149 - 64;
const LOW: f64 = (1u128 << LOW_BITS) as f64;

impl ExactSum {
    /// Adds a value. Nothing is rounded: an f32 of [−1, 1] is a whole number of units.
    #[inline]
    pub fn add(&mut self, value: f32) {
        let scaled = f64::from(value) * HIGH;
        let whole = scaled.trunc();
        self.high += whole as i128;
        if scaled != whole {
            self.low += ((scaled - whole) * LOW) as i128;
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.high += other.high;
        self.low += other.low;
    }

    /// The sum, rounded once, to the nearest f64 (ties to even).
    pub fn to_f64(&self) -> f64 {
        let high = self.high + (self.low >> LOW_BITS);
        let low = self.low & ((1 << LOW_BITS) - 1);
        if low == 0 {
            return high as f64 / HIGH;
        }
        // bring in as many of the lower bits as there is room for, and let the last one stand for the rest
        let room = (high.unsigned_abs().leading_zeros() - 2).min(LOW_BITS);
        let sticky = low & ((1 << (LOW_BITS - room)) - 1) != 0;
        let number = high << room | low >> (LOW_BITS - room) | i128::from(sticky);
        number as f64 / HIGH / (1u128 << room) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(values: &[f32]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|&value| sum.add(value));
        sum
    }

    #[test]
    fn keeps_what_f64_would_lose() {
        let tiny = f32::from_bits(1);
        assert_eq!(sum(&[1.0, tiny, -1.0]).to_f64(), f64::from(tiny));
        assert_eq!(sum(&[-1.0, -tiny, 1.0]).to_f64(), -f64::from(tiny));
        assert_eq!(sum(&[0.1; 10]).to_f64(), 10.0 * f64::from(0.1f32));
        assert_eq!(sum(&[]).to_f64(), 0.0);
        // half a unit in the last place of 1, and a little more on either side
        let half = 2f32.powi(-53);
        assert_eq!(sum(&[1.0, half]).to_f64(), 1.0);
        assert_eq!(sum(&[1.0, half, tiny]).to_f64(), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0, half, -tiny]).to_f64(), 1.0);
        assert_eq!(sum(&[-1.0, -half, -tiny]).to_f64(), -1.0 - f64::EPSILON);
    }

    proptest! {
        #[test]
        fn order_and_grouping_do_not_matter(mut values in proptest::collection::vec(-1f32..=1.0, 1..50), at in 0usize..50) {
            let (left, right) = values.split_at(at.min(values.len()));
            let mut merged = sum(left);
            merged.merge(&sum(right));
            let forward = sum(&values).to_f64();
            prop_assert_eq!(merged.to_f64(), forward);
            values.sort_by(f32::total_cmp);
            prop_assert_eq!(sum(&values).to_f64(), forward);
            let plain: f64 = values.iter().map(|&value| f64::from(value)).sum();
            prop_assert!((plain - forward).abs() < 1e-12);
        }
    }
}
