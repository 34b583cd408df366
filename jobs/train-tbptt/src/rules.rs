//! The rules of memory, of windows and of compaction, on real games.

use tch::{Kind, Tensor, no_grad};

use crate::batch::{Floats, Ints};
use crate::config::{Config, Train};
use crate::model::to_host;
use crate::plan::{Chunk, Micro};
use crate::testing::{Games, small, trainer};
use crate::trainer::{Trainer, run};
use crate::window::Window;

const DATE: &str = "2026-11-23";

/// All of these lanes from their start, up to `most` decisions each.
fn whole(games: &Games, lanes: &[u32], most: u32) -> Micro {
    let chunk = |&lane: &u32| {
        let len = games.lanes.all()[lane as usize].len;
        Chunk { lane, from: 0, to: len.min(most), unfinished: len > most }
    };
    Micro { chunks: lanes.iter().map(chunk).collect(), carried: 0 }
}

fn sums(trainer: &mut Trainer, window: &Window) -> Vec<f32> {
    to_host(&trainer.gradient(window).1)
}

fn close(found: &[f32], expected: &[f32], most: f32) {
    assert_eq!(found.len(), expected.len());
    for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let near = (found - expected).abs() <= most * expected.abs().max(1.0);
        assert!(near, "{at}: {found} where {expected} is expected");
    }
}

fn add(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[test]
fn games_one_after_the_other_are_as_games_apart() {
    let games = Games::of(DATE);
    // two rounds of one episode and side, and a lane of another
    let lanes = games.lanes.all();
    assert_eq!((lanes[0].episode, lanes[0].first), (lanes[1].episode, 0));
    let apart: Vec<Vec<f32>> = [0, 1, 5]
        .map(|lane| sums(&mut trainer(small()), &games.window(vec![whole(&games, &[lane], 9)], true)))
        .into();
    let mut one = trainer(small());
    for (lane, apart) in [0, 1, 5].into_iter().zip(&apart) {
        let mut micro = whole(&games, &[lane], 9);
        micro.chunks[0].unfinished = false;
        assert_eq!(&sums(&mut one, &games.window(vec![micro], true)), apart);
        assert_eq!(one.memory.size()[0], 0);
    }
}

#[test]
fn lanes_never_see_each_other() {
    let games = Games::of(DATE);
    let (forward, backward) = ([0, 2, 4, 6, 8], [8, 6, 4, 2, 0]);
    let of = |lanes: &[u32]| sums(&mut trainer(small()), &games.window(vec![whole(&games, lanes, 7)], true));
    let together = of(&forward);
    close(&of(&backward), &together, 1e-5);
    let apart = forward.map(|lane| of(&[lane])).iter().fold(vec![0.0; 7], |all, one| add(&all, one));
    close(&apart, &together, 1e-5);
}

#[test]
fn substeps_read_the_same_memory_and_the_last_one_writes() {
    let games = Games::of(DATE);
    let trainer = trainer(small());
    let lane = (0..).find(|&lane| {
        let len = games.lanes.all()[lane as usize].len;
        (1..len.min(20)).any(|at| games.lanes.rows(lane, at, at + 1).len() > 1)
    });
    let lane = lane.unwrap();
    let at = (1..20).find(|&at| games.lanes.rows(lane, at, at + 1).len() > 1).unwrap();
    let chunk = Chunk { lane, from: at, to: at + 1, unfinished: true };
    let window = games.window(vec![Micro { chunks: vec![chunk], carried: 0 }], true);
    let step = &window.micros[0].steps[0];
    let rows = step.shape.rows;
    let memory = trainer.model.fresh(1) * 0.5;
    let tables = trainer.model.tables();
    no_grad(|| {
        let all = trainer.model.forward(&tables, &step.to_device(trainer.model.device()), &memory);
        for row in 0..rows {
            // the others read another memory, and the last one is no longer last
            let mut alone = step.clone();
            alone.shape.lanes = 1;
            let mut alone = with_lanes(&alone, 2);
            alone.ints_mut(Ints::LaneOfRow).fill(1);
            alone.ints_mut(Ints::LaneOfRow)[row] = 0;
            alone.ints_mut(Ints::NextMemory).copy_from_slice(&[2 + row as i32, 1]);
            let memories = Tensor::cat(&[&memory, &(&memory * 3.0)], 0);
            let one = trainer.model.forward(&tables, &alone.to_device(trainer.model.device()), &memories);
            let pick = |tensor: &Tensor, row: usize| to_host(&tensor.select(0, row as i64));
            close(&pick(&one.logits, row), &pick(&all.logits, row), 1e-5);
            let same = pick(&one.memory, 0) == pick(&all.memory, 0);
            assert_eq!(same, row == rows - 1, "row {row} of {rows}");
        }
    });
}

/// A batch with room for more lanes.
fn with_lanes(batch: &crate::batch::HostBatch, lanes: usize) -> crate::batch::HostBatch {
    let mut wider = crate::batch::HostBatch::new(crate::batch::Shape { lanes, ..batch.shape });
    let more = lanes - batch.shape.lanes;
    wider.ints[batch.shape.lanes + more..].copy_from_slice(&batch.ints[batch.shape.lanes..]);
    wider.floats.copy_from_slice(&batch.floats);
    wider
}

#[test]
fn memory_goes_on_from_chunk_to_chunk_and_ends_with_its_lane() {
    let games = Games::of(DATE);
    let len = games.lanes.all()[3].len.min(12);
    let in_one = {
        let chunk = Chunk { lane: 3, from: 0, to: len, unfinished: false };
        sums(&mut trainer(small()), &games.window(vec![Micro { chunks: vec![chunk], carried: 0 }], true))
    };
    let mut two = trainer(small());
    let first = Chunk { lane: 3, from: 0, to: 5, unfinished: true };
    let second = Chunk { lane: 3, from: 5, to: len, unfinished: false };
    let before = sums(&mut two, &games.window(vec![Micro { chunks: vec![first], carried: 0 }], true));
    assert_eq!(two.memory.size()[0], 1);
    assert!(!two.memory.requires_grad());
    let behind = sums(&mut two, &games.window(vec![Micro { chunks: vec![second], carried: 1 }], true));
    close(&add(&before, &behind), &in_one, 1e-5);
    // the lane ended exactly at its chunk's end
    assert_eq!(two.memory.size()[0], 0);
    // without its memory the second half is another
    let bare =
        sums(&mut trainer(small()), &games.window(vec![Micro { chunks: vec![second], carried: 0 }], true));
    assert_ne!(bare, behind);
}

#[test]
fn waiting_lanes_keep_their_memories() {
    let games = Games::of(DATE);
    let mut one = trainer(small());
    let unfinished = |lane| Chunk { lane, from: 0, to: 2, unfinished: true };
    let start = Micro { chunks: vec![unfinished(0), unfinished(2), unfinished(4)], carried: 0 };
    sums(&mut one, &games.window(vec![start], true));
    let before = to_host(&one.memory);
    let each = before.len() / 3;
    let first = Micro { chunks: vec![Chunk { lane: 0, from: 2, to: 4, unfinished: true }], carried: 1 };
    sums(&mut one, &games.window(vec![first], true));
    let after = to_host(&one.memory);
    assert_eq!(after[..2 * each], before[each..]);
    assert_ne!(after[2 * each..], before[..each]);
}

#[test]
fn a_gradient_does_not_depend_on_how_a_window_is_cut() {
    let games = Games::of(DATE);
    let lanes = [0, 2, 4, 6];
    let invalidate = |mut window: Window| {
        // unequal counts of valid rows
        window.counts = crate::loss::Counts::default();
        for batch in window.micros.iter_mut().flat_map(|micro| &mut micro.steps) {
            let lanes: Vec<i32> = batch.ints(Ints::Label).to_vec();
            for (valid, label) in batch.floats_mut(Floats::AuxValid).iter_mut().zip(lanes) {
                *valid = f32::from(u8::from(label == 0));
            }
        }
        let counts = &mut window.counts;
        window.micros.iter().flat_map(|micro| &micro.steps).for_each(|batch| counts.add(batch));
        window
    };
    let gradient = |micros: Vec<Micro>| {
        let window = invalidate(games.window(micros, true));
        assert!(window.counts.aux > 0 && window.counts.aux < window.counts.rows);
        to_host(&trainer(small()).gradient(&window).0)
    };
    let in_one = gradient(vec![whole(&games, &lanes, 5)]);
    let cut = [&lanes[..1], &lanes[1..]].map(|lanes| {
        let mut micro = whole(&games, lanes, 5);
        micro.chunks.iter_mut().for_each(|chunk| chunk.unfinished = false);
        micro
    });
    close(&gradient(cut.into()), &in_one, 1e-5);
    assert!(in_one.iter().any(|&value| value.abs() > 1e-3));
}

#[test]
fn without_valid_auxiliary_targets_their_losses_are_0_and_nothing_is_nan() {
    let games = Games::of(DATE);
    let mut window = games.window(vec![whole(&games, &[0, 2], 4)], true);
    for batch in window.micros.iter_mut().flat_map(|micro| &mut micro.steps) {
        batch.floats_mut(Floats::AuxValid).fill(0.0);
    }
    window.counts.aux = 0;
    let (gradient, sums) = trainer(small()).gradient(&window);
    let sums = to_host(&sums);
    assert_eq!(sums[1..6], [0.0; 5]);
    assert!(sums[0] > 0.0);
    assert!(to_host(&gradient).iter().all(|value| value.is_finite()));
}

#[test]
fn padding_and_fixed_tables_get_no_gradient() {
    let games = Games::of(DATE);
    let mut trainer = trainer(small());
    let window = games.window(vec![whole(&games, &[0, 2], 25)], true);
    let (gradient, _) = trainer.gradient(&window);
    let mut named = common::formats::safetensors::Tensors::default();
    trainer.model.parameters.name(&gradient, "", &mut named);
    for name in ["card.embedding", "attack.embedding"] {
        let values = &named.tensors[name].values;
        assert!(values[..16].iter().all(|&value| value == 0.0), "{name}");
        assert!(values[16..].iter().any(|&value| value != 0.0), "{name}");
    }
    assert!(!named.tensors.keys().any(|name| name.contains("fixed") || name.contains("atoms")));
    assert!(!trainer.model.atoms().requires_grad());
}

#[test]
fn compaction_changes_no_sum() {
    let games = Games::of(DATE);
    let of = |compact| {
        let window = games.window(vec![whole(&games, &[0, 3, 7], 6)], compact);
        sums(&mut trainer(small()), &window)
    };
    close(&of(true), &of(false), 1e-5);
}

#[test]
fn shapes_are_few() {
    let games = Games::of(DATE);
    let part: Vec<u32> = (0..games.lanes.all().len() as u32).collect();
    let config = Train { rows: 32, chunk: 4, ..Train::default() };
    let mut plan = crate::plan::Planner::once(&games.lanes, &part, &config);
    while let Some(micro) = plan.window(1).pop() {
        for step in &games.window(vec![micro], true).micros[0].steps {
            let state = step.shape.state();
            assert!(state == 340 || state.is_multiple_of(32), "{state}");
            assert!([32, 64, 128, 192].contains(&step.shape.options));
        }
    }
}

#[test]
fn whatever_reaches_the_device_is_float32_int64_or_bool() {
    // MPS has no float64: an operator would fail there, so no tensor may become one
    let games = Games::of(DATE);
    let mut trainer = trainer(Config::default());
    let window = games.window(vec![whole(&games, &[0], 1)], true);
    let batch = window.micros[0].steps[0].to_device(trainer.model.device());
    assert_eq!(batch.ints(Ints::Label, &[1]).kind(), Kind::Int64);
    assert_eq!(batch.floats(Floats::Day, &[1]).kind(), Kind::Float);
    let (sums, memory) = run(&trainer.model, &window.micros[0].steps, trainer.model.fresh(1));
    let (gradient, all) = trainer.gradient(&window);
    let update = trainer.update(&window);
    let (first, second) = (&trainer.optimizer.first, &trainer.optimizer.second);
    let flat = trainer.model.parameters.flat();
    for tensor in
        [&sums, &memory, &gradient, &all, &update.sums, &update.norm, first, second, flat, &trainer.memory]
    {
        assert_eq!(tensor.kind(), Kind::Float);
    }
}
