//! Rows leave shuffled: nothing in their order tells where they came from.

use std::fs::File;

use common::formats::folded::{Rows, Shard};
use common::formats::mpk1::Packed;
use fold_pack::shuffle::BlockRatio;

use crate::folder;

fn rows(folder: &end_to_end::Folder, seed: u64) -> Rows {
    folder.ok(&format!("fold-pack pack t.mpk1 -o t --seed {seed}"));
    let shard = Shard::open(File::open(folder.join("t-00000.parquet")).unwrap()).unwrap();
    let (mut all, mut group) = (Rows::default(), Rows::default());
    for i in 0..shard.footer().groups() {
        shard.read(i, &mut group).unwrap();
        all.extend(&group, 0..group.len());
    }
    all
}

fn ratio(values: &[f64]) -> f64 {
    let mut blocks = BlockRatio::new(values.len() as u64);
    values.iter().for_each(|&value| blocks.add(value));
    blocks.ratio().unwrap()
}

/// Over 32 seeds the 24-block ratio is 1 in the mean for every column, and never far off.
#[test]
fn block_ratios_are_those_of_independent_rows() {
    let folder = folder().streams();
    let mut sums = [0.0; 4];
    for seed in 0..32 {
        let rows = rows(&folder, seed);
        let column = |of: &dyn Fn(usize) -> f64| (0..rows.len()).map(of).collect::<Vec<_>>();
        let ratios = [
            ratio(&column(&|row| f64::from(rows.ply[row]))),
            ratio(&column(&|row| f64::from(rows.board(row)[95]))),
            ratio(&column(&|row| f64::from(rows.weight[row].min(4)))),
            ratio(&column(&|row| f64::from(rows.value_q[row]))),
        ];
        for (sum, ratio) in sums.iter_mut().zip(ratios) {
            assert!((ratio - 1.0).abs() <= 0.6, "seed {seed}: {ratios:?}");
            *sum += ratio;
        }
    }
    let means = sums.map(|sum| sum / 32.0);
    assert!(means.iter().all(|mean| (mean - 1.0).abs() <= 0.1), "{means:?}");
}

/// The corpus in its own order shows what the test above would see in rows that are not shuffled.
#[test]
fn an_unshuffled_corpus_stands_out() {
    let folder = folder().streams();
    let mut rows = rows(&folder, 0);
    rows.ply.sort_unstable();
    assert!(ratio(&rows.ply.iter().map(|&ply| f64::from(ply)).collect::<Vec<_>>()) > 10.0);
}

/// The order has no rank correlation with the number of pieces, nor with that of another seed.
#[test]
fn the_order_knows_nothing() {
    let folder = folder().streams();
    let (one, two) = (rows(&folder, 1), rows(&folder, 2));
    let bound = 3.0 / (one.len() as f64).sqrt();
    let pieces: Vec<usize> =
        (0..one.len()).map(|row| Packed::new(*one.board(row)).unwrap().pieces()).collect();
    let with_pieces = rank_correlation(&pieces);
    assert!(with_pieces.abs() <= bound, "{with_pieces} against {bound}");
    let place: std::collections::HashMap<&[u8; 96], usize> =
        (0..two.len()).map(|row| (two.board(row), row)).collect();
    let places: Vec<usize> = (0..one.len()).map(|row| place[one.board(row)]).collect();
    let with_other_seed = rank_correlation(&places);
    assert!(with_other_seed.abs() <= bound, "{with_other_seed} against {bound}");
}

/// Spearman's rank correlation of values with their places; equal values share their mean rank.
fn rank_correlation(values: &[usize]) -> f64 {
    let n = values.len() as f64;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&i| values[i]);
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = first as f64 + (tied.len() - 1) as f64 / 2.0;
        tied.iter().for_each(|&i| ranks[i] = rank);
        first += tied.len();
    }
    let mean = (n - 1.0) / 2.0;
    let covariance: f64 = ranks.iter().enumerate().map(|(i, rank)| (i as f64 - mean) * (rank - mean)).sum();
    let spread = |ranks: &mut dyn Iterator<Item = f64>| ranks.map(|rank| (rank - mean).powi(2)).sum::<f64>();
    let (places, ranks) =
        (spread(&mut (0..values.len()).map(|i| i as f64)), spread(&mut ranks.iter().copied()));
    covariance / (places * ranks).sqrt()
}
