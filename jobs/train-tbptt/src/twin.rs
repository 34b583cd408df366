//! The model beside its twin in PyTorch (`benches/peers/tbptt_torch.py`), which reads the same rows with pyarrow and knows
//! nothing of compaction. What the twin says is in `tests/twin.json`; where `FOLDLINE_TORCH` names a Python that has
//! torch and pyarrow, the twin runs too, all of its values are compared, and the file is written anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::formats::decisions::columns::MAX_OPTIONS;
use common::formats::safetensors::Tensors;
use serde::{Deserialize, Serialize};
use tch::no_grad;

use crate::batch::{HostBatch, Ints};
use crate::checkpoint::{self, Beside, Best, Checkpoint};
use crate::config::{Config, Train};
use crate::model::{ILLEGAL, to_host};
use crate::plan::{Cursor, Planner};
use crate::testing::{Games, cards, small, trainer};
use crate::window::Window;

const DATE: &str = "2026-11-23";

/// Some of the twin's values: those at a few places, and the norm of all.
#[derive(Debug, Serialize, Deserialize)]
struct Sample {
    norm: f64,
    some: Vec<f32>,
}

impl Sample {
    fn of(values: &[f32]) -> Self {
        let legal = |&&value: &&f32| value > ILLEGAL as f32 / 2.0;
        let norm = values.iter().filter(legal).map(|&value| f64::from(value) * f64::from(value)).sum::<f64>();
        let step = values.len().div_ceil(8).max(1);
        Self { norm: norm.sqrt(), some: values.iter().step_by(step).copied().collect() }
    }
}

fn close(name: &str, found: f64, expected: f64) {
    let fine = (found - expected).abs() <= 1e-5 + 1e-4 * expected.abs();
    assert!(fine, "{name}: {found} where the twin has {expected}");
}

/// The first lanes of the day, with multi-selects among them: two chunks of each, so that memory is carried.
fn windows(games: &Games, compact: bool) -> Vec<Window> {
    let part: Vec<u32> = (0..5).collect();
    let config = Train { rows: 60, chunk: 6, ..Train::default() };
    let mut plan = Planner::once(&games.lanes, &part, &config);
    plan.window(1).into_iter().map(|micro| games.window(vec![micro], compact)).collect()
}

/// Everything that is compared, by name.
fn ours(compact: bool) -> (Window, BTreeMap<String, Vec<f32>>) {
    let (games, mut trainer) = (Games::of(DATE), trainer(small()));
    let window = windows(&games, compact).remove(0);
    let mut values = BTreeMap::new();
    let logits = no_grad(|| {
        let tables = trainer.model.tables();
        let mut memory = trainer.model.fresh(window.micros[0].micro.chunks.len());
        let mut logits = vec![];
        for step in &window.micros[0].steps {
            let outputs = trainer.model.forward(&tables, &step.to_device(trainer.model.device()), &memory);
            logits.extend(dense(step, &to_host(&outputs.logits)));
            memory = outputs.memory;
        }
        logits
    });
    values.insert("logits".into(), logits);
    let (gradient, sums) = trainer.gradient(&window);
    let factors = crate::loss::factors(&trainer.config.loss, window.counts);
    let sums = to_host(&sums);
    values.insert("loss".into(), vec![sums.iter().zip(factors).map(|(sum, factor)| sum * factor).sum()]);
    values.insert("sums".into(), sums[..6].to_vec());
    let mut named = Tensors::default();
    trainer.model.parameters.name(&gradient, "gradient.", &mut named);
    values.extend(named.tensors.into_iter().map(|(name, tensor)| (name, tensor.values)));
    (window, values)
}

/// Logits of all 192 options and SUBMIT.
fn dense(step: &HostBatch, logits: &[f32]) -> Vec<f32> {
    let actions = step.shape.actions();
    let row = |row: &[f32]| {
        let mut all = vec![ILLEGAL as f32; MAX_OPTIONS + 1];
        all[..actions - 1].copy_from_slice(&row[..actions - 1]);
        all[MAX_OPTIONS] = row[actions - 1];
        all
    };
    logits.chunks(actions).flat_map(row).collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/twin.json")
}

/// What the twin says of the same rows and weights, where there is a twin.
fn twin(window: &Window) -> Option<BTreeMap<String, Vec<f32>>> {
    let (folder, _) = run_twin("case", window, small())?;
    let bytes = fs_err::read(folder.path().join("twin.safetensors")).unwrap();
    let tensors = Tensors::read(&bytes).unwrap().tensors;
    Some(tensors.into_iter().map(|(name, tensor)| (name, tensor.values)).collect())
}

/// Runs the twin on the first micro-batch of a window and the weights that a model starts with: its folder, and what
/// it prints.
fn run_twin(verb: &str, window: &Window, config: Config) -> Option<(tempfile::TempDir, Vec<u8>)> {
    let python = std::env::var_os("FOLDLINE_TORCH")?;
    let folder = tempfile::tempdir().unwrap();
    let (games, model, trainer) = (Games::of(DATE), config.model, trainer(config));
    let (datasets, cards) = (games.days.used(), cards());
    let beside =
        Beside { cards: &cards, provenance: &games.days.provenance, datasets: &datasets, threads: 1 };
    checkpoint::write(folder.path(), &trainer, &Cursor::default(), Best::default(), &beside).unwrap();
    let written = checkpoint::tensors_path(folder.path(), 0);
    fs_err::rename(written, folder.path().join("weights.safetensors")).unwrap();
    let steps = &window.micros[0];
    let case = serde_json::json!({
        "day": crate::testing::day(DATE),
        "width": model.width, "heads": model.heads, "layers": model.layers,
        "lanes": steps.micro.chunks.len(),
        "weights": [0.5, 0.1, 0.1, 0.1, 0.1],
        "steps": (0..steps.steps.len() as u32).map(|step| rows_of(&games, window, step)).collect::<Vec<_>>(),
    });
    fs_err::write(folder.path().join("case.json"), case.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/peers/tbptt_torch.py");
    let run = std::process::Command::new(python).arg(script).arg(verb).arg(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some((folder, run.stdout))
}

/// Rows of the day that are in a step, their lanes, and which are the last of their decisions.
fn rows_of(games: &Games, window: &Window, step: u32) -> serde_json::Value {
    let (mut rows, mut lanes, mut last) = (vec![], vec![], vec![]);
    for (lane, chunk) in window.micros[0].micro.chunks.iter().enumerate() {
        let decision = chunk.from + step;
        if decision < chunk.to {
            let here = games.lanes.rows(chunk.lane, decision, decision + 1);
            for at in here.clone() {
                rows.push(games.lanes.row(chunk.lane, at).row);
                lanes.push(lane);
                last.push(at + 1 == here.end);
            }
        }
    }
    serde_json::json!({ "rows": rows, "lanes": lanes, "last": last })
}

#[test]
fn logits_losses_and_gradients_are_those_of_the_twin() {
    for compact in [false, true] {
        let (window, ours) = ours(compact);
        let shapes = window.micros[0].steps.iter().map(|step| step.shape);
        assert!(shapes.clone().all(|shape| (shape.tokens() == 548) != compact), "{shapes:?}");
        let multi = window.micros[0].steps.iter().any(|step| {
            let lanes = step.ints(Ints::LaneOfRow);
            lanes.windows(2).any(|two| two[0] == two[1])
        });
        assert!(multi, "the case has a decision of several rows");
        if let Some(twin) = twin(&window) {
            for (name, values) in &ours {
                let expected = &twin[name];
                assert_eq!(values.len(), expected.len(), "{name}");
                for (&found, &expected) in values.iter().zip(expected) {
                    close(name, found.into(), expected.into());
                }
            }
            let samples: BTreeMap<_, _> =
                twin.iter().map(|(name, values)| (name, Sample::of(values))).collect();
            fs_err::write(golden(), serde_json::to_string_pretty(&samples).unwrap() + "\n").unwrap();
        }
        let text = fs_err::read(golden()).unwrap();
        let golden: BTreeMap<String, Sample> = serde_json::from_slice(&text).unwrap();
        assert_eq!(golden.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
        for (name, expected) in &golden {
            let found = Sample::of(&ours[name]);
            close(name, found.norm, expected.norm);
            assert_eq!(found.some.len(), expected.some.len());
            found.some.iter().zip(&expected.some).for_each(|(&a, &b)| close(name, a.into(), b.into()));
        }
    }
}

#[test]
fn a_checkpoint_gives_back_what_was_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let games = Games::of(DATE);
    let mut first = trainer(small());
    for window in windows(&games, true) {
        first.update(&window);
    }
    let cursor = Cursor { epoch: 0, started: 5, active: vec![(0, 6); first.memory.size()[0] as usize] };
    let (datasets, cards) = (games.days.used(), cards());
    let beside =
        Beside { cards: &cards, provenance: &games.days.provenance, datasets: &datasets, threads: 1 };
    let written = checkpoint::write(folder.path(), &first, &cursor, Best::default(), &beside).unwrap();
    let read = Checkpoint::read(&checkpoint::record_path(folder.path(), 1)).unwrap();
    assert_eq!(read.record, written);
    let mut second = trainer(small());
    read.restore(&mut second).unwrap();
    assert_eq!(second.step, 1);
    for (a, b) in [
        (first.model.parameters.flat(), second.model.parameters.flat()),
        (&first.optimizer.first, &second.optimizer.first),
        (&first.optimizer.second, &second.optimizer.second),
        (&first.memory, &second.memory),
    ] {
        assert_eq!(to_host(a), to_host(b));
        assert!(to_host(a).iter().any(|&value| value != 0.0));
    }
}

/// Seconds of a training step of the full model on one thread: the twin's, ours with every token, ours compacted.
#[test]
#[ignore = "a measurement: `./run bench-train` runs it"]
fn beside_the_twin() {
    let games = Games::of(DATE);
    let part: Vec<u32> = (0..16).collect();
    let config = Train { rows: 64, chunk: 4, ..Train::default() };
    let micro = Planner::once(&games.lanes, &part, &config).window(1);
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let ours = |compact| {
        let window = games.window(micro.clone(), compact);
        let mut trainer = trainer(Config::default());
        let step = |_| {
            let started = std::time::Instant::now();
            to_host(&trainer.update(&window).sums);
            trainer.forget();
            started.elapsed().as_secs_f64()
        };
        median((0..6).map(step).skip(1).collect())
    };
    let (dense, compact) = (ours(false), ours(true));
    let window = games.window(micro.clone(), true);
    let (_, printed) =
        run_twin("bench", &window, Config::default()).expect("FOLDLINE_TORCH names a Python with torch");
    let twin: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    let twin = twin["seconds"].as_f64().unwrap();
    println!(
        "{} rows, seconds a step: twin {twin:.3}, dense {dense:.3}, compact {compact:.3}",
        window.counts.rows
    );
}
