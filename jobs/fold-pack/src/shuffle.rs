//! Whether the order of rows tells anything: the spread of the means of 24 blocks of consecutive rows, over the
//! spread that independent rows would show. Specification: "Rows leave shuffled".

/// Blocks that the rows are cut into.
pub const BLOCKS: usize = 24;

/// The ratio for one quantity, in one pass. About 1 where rows are shuffled; noise at 24 blocks is ±0.15.
#[derive(Debug)]
pub struct BlockRatio {
    block_len: u64,
    seen: u64,
    sums: [f64; BLOCKS],
    sum: f64,
    squares: f64,
}

impl BlockRatio {
    /// For this many rows; what does not fill a block at the end is left out.
    pub fn new(rows: u64) -> Self {
        Self { block_len: rows / BLOCKS as u64, seen: 0, sums: [0.0; BLOCKS], sum: 0.0, squares: 0.0 }
    }

    /// Takes the next row's value.
    pub fn add(&mut self, value: f64) {
        if let Some(sum) =
            self.seen.checked_div(self.block_len).and_then(|block| self.sums.get_mut(block as usize))
        {
            *sum += value;
            self.sum += value;
            self.squares += value * value;
            self.seen += 1;
        }
    }

    /// Standard deviation of the block means over that of independent rows; `None` for too few rows, or all alike.
    pub fn ratio(&self) -> Option<f64> {
        let (n, blocks, len) = (self.seen as f64, BLOCKS as f64, self.block_len as f64);
        if self.block_len < 2 || self.seen < self.block_len * BLOCKS as u64 {
            return None;
        }
        let mean = self.sum / n;
        let variance = (self.squares - n * mean * mean) / (n - 1.0);
        let between = self.sums.iter().map(|sum| (sum / len - mean).powi(2)).sum::<f64>() / (blocks - 1.0);
        (variance > 1e-12).then(|| (between / (variance / len)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
        let mut blocks = BlockRatio::new(values.len() as u64);
        values.for_each(|value| blocks.add(value));
        blocks.ratio()
    }

    #[test]
    fn sorted_rows_stand_out_and_mixed_ones_do_not() {
        let n = 24_000u64;
        assert!(ratio((0..24_000).map(f64::from)).unwrap() > 20.0);
        let mixed = (0..24_000u32).map(|i| (u64::from(i) * 2_654_435_761 % n) as f64);
        assert!(ratio(mixed).unwrap() < 1.5);
        assert_eq!(ratio((0..24_000).map(|_| 1.0)), None);
        assert_eq!(ratio((0..30).map(f64::from)), None);
    }
}
