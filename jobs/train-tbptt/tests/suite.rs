//! The trainer as a program, on the bundled games.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

/// A small model and few updates.
const SMALL: &str = "--width 8 --heads 2 --layers 1 --rows 48 --chunk 6 --max-updates 24 --log-every 1 \
                     --checkpoint-every 5 --validate-every 10 --validation-share 0.02 --seed 3";

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tcg").join(name)
}

/// Bundled days, built once.
fn days() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut args: Vec<std::ffi::OsString> = vec!["day-build".into(), "build".into()];
        args.extend(["2026-11-21", "2026-11-25"].map(|date| bundled(&format!("replays/{date}.zip")).into()));
        args.extend(["-o".into(), folder.path().into(), "--flush".into(), "5".into(), "--quiet".into()]);
        args.extend(["--cards".into(), bundled("cards/cards_v2.tsv").into()]);
        args.extend(["--attacks".into(), bundled("cards/attacks_v2.tsv").into()]);
        day_build::main(args);
        folder
    });
    folder.path()
}

fn day() -> PathBuf {
    days().join("2026-11-21.parquet")
}

fn job() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_train-tbptt"));
    command.args(["--quiet", "--threads", "1"]);
    command
}

fn train(data: &Path, run: &Path, more: &str) -> Command {
    let mut command = job();
    command.arg("train").arg("--data").arg(data).arg("--run-dir").arg(run);
    command.arg("--cards").arg(bundled("cards/cards_v2.tsv"));
    command.arg("--attacks").arg(bundled("cards/attacks_v2.tsv"));
    let pairs = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let more: Vec<&str> = more.split_whitespace().collect();
    for pair in pairs(SMALL).chunks(2).filter(|pair| !more.contains(&pair[0])) {
        command.args(pair);
    }
    command.args(more);
    command
}

fn resume(run: &Path) -> Command {
    let mut command = job();
    command.arg("resume").arg(run);
    command
}

fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// That it ends with this code, and says all of this.
fn refuse(mut command: Command, code: i32, says: &[&str]) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    says.iter().for_each(|says| assert!(text.contains(says), "{says:?} is not in {text}"));
}

/// Bytes with one word in the place of another of the same length.
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

/// What `metrics.jsonl` says of each step, but for times; of lines about one step the last counts.
fn story(run: &Path) -> BTreeMap<(bool, u64), Value> {
    let text = fs_err::read_to_string(run.join("metrics.jsonl")).unwrap();
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        fields.remove("wait_s");
        fields.remove("step_s");
        ((fields.contains_key("validation"), fields["step"].as_u64().unwrap()), line)
    };
    text.lines().map(line).collect()
}

fn digest(run: &Path) -> Value {
    let summary: Value = serde_json::from_slice(&fs_err::read(run.join("metrics.json")).unwrap()).unwrap();
    summary["sha256"].clone()
}

/// A run that nobody disturbed.
fn undisturbed() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        succeed(train(&day(), folder.path(), ""));
        folder
    });
    folder.path()
}

fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs_err::copy(entry.path(), to).unwrap();
        }
    }
}

/// The newest checkpoint's record.
fn newest(run: &Path) -> PathBuf {
    let entries = fs_err::read_dir(run.join("checkpoints")).unwrap();
    let records = entries.map(|entry| entry.unwrap().path());
    records.filter(|path| path.extension().is_some_and(|end| end == "json")).max().unwrap()
}

fn wait_for(child: &mut Child, run: &Path, lines: usize) -> bool {
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let text = fs_err::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
        if text.lines().count() >= lines {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut kills = 0;
    // lines that were written in all, at which it is killed: within an epoch, around a validation, around a checkpoint
    for lines in [3, 8, 13, 21, 27] {
        let saved = run.join("checkpoints").is_dir()
            && fs_err::read_dir(run.join("checkpoints")).unwrap().count() > 1;
        let mut command = if saved { resume(&run) } else { train(&day(), &run, "") };
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if wait_for(&mut child, &run, lines) {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills >= 2, "{kills} kills");
    succeed(resume(&run));
    assert_eq!(story(&run), story(undisturbed()));
    assert_eq!(story(&run).len(), 24 + 3);
    assert_eq!(digest(&run), digest(undisturbed()));
}

#[test]
fn a_signal_ends_a_run_at_a_clean_point() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = train(&day(), folder.path(), "").stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_for(&mut child, folder.path(), 2));
    let kill = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    succeed(resume(folder.path()));
    assert_eq!(story(folder.path()), story(undisturbed()));
    assert_eq!(digest(folder.path()), digest(undisturbed()));
}

#[test]
fn a_checkpoint_that_is_cut_short_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    copy(undisturbed(), run);
    let tensors = newest(run).with_extension("safetensors");
    let bytes = fs_err::read(&tensors).unwrap();
    fs_err::write(&tensors, &bytes[..bytes.len() - 4]).unwrap();
    let output = job().arg("inspect").arg(run).arg("--json").output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["step"], 20);
    succeed(resume(run));
    assert_eq!(digest(run), digest(undisturbed()));
    // a record that is cut counts as little
    let record = newest(run);
    let text = fs_err::read(&record).unwrap();
    fs_err::write(&record, &text[..text.len() / 2]).unwrap();
    succeed(resume(run));
    assert_eq!(digest(run), digest(undisturbed()));
    for entry in fs_err::read_dir(run.join("checkpoints")).unwrap() {
        fs_err::write(entry.unwrap().path(), "").unwrap();
    }
    refuse(resume(run), 4, &["no checkpoint of the run is whole"]);
}

#[test]
fn what_does_not_fit_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    refuse(train(&day(), undisturbed(), ""), 2, &["has checkpoints already", "resume"]);
    refuse(train(&at("2026-01-01.parquet"), &at("run"), ""), 5, &["2026-01-01.parquet"]);
    refuse(resume(&at("none")), 5, &["no checkpoint"]);
    refuse(train(&day(), &at("run"), "--heads 3"), 2, &["model.heads"]);
    refuse(train(&day(), &at("run"), "--device cuda"), 5, &["CUDA", "doctor"]);
    // one episode cannot be split
    refuse(train(&days().join("2026-11-25.parquet"), &at("run"), ""), 5, &["nothing to train on"]);

    // a day that is not what its manifest says
    let other = at("2026-11-21.parquet");
    fs_err::copy(day(), &other).unwrap();
    let manifest = "2026-11-21.manifest.json";
    refuse(train(&other, &at("run"), ""), 5, &[manifest]);
    fs_err::copy(days().join(manifest), at(manifest)).unwrap();
    let mut bytes = fs_err::read(&other).unwrap();
    bytes.push(0);
    fs_err::write(&other, bytes).unwrap();
    refuse(train(&other, &at("run"), ""), 8, &["not what its manifest records"]);

    // days that were made differently
    let mixed = at("mixed");
    fs_err::create_dir(&mixed).unwrap();
    let text = fs_err::read_to_string(days().join("2026-11-25.manifest.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let other = record["card_catalog_sha256"].as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "0");
    let text = text.replace(record["card_catalog_sha256"].as_str().unwrap(), &other);
    fs_err::write(mixed.join("2026-11-25.manifest.json"), text).unwrap();
    fs_err::copy(days().join("2026-11-25.parquet"), mixed.join("2026-11-25.parquet")).unwrap();
    let mut command = train(&day(), &at("run"), "");
    command.arg("--data").arg(mixed.join("2026-11-25.parquet"));
    refuse(command, 4, &["the card catalog differs"]);

    // a day without an auxiliary target
    let lacking = at("lacking");
    fs_err::create_dir(&lacking).unwrap();
    let renamed = replace(&fs_err::read(day()).unwrap(), b"aux_ko", b"aux_xx");
    let text = fs_err::read_to_string(days().join(manifest)).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let digest = common::state::digest::Digest::of(&renamed);
    let text = text.replace(record["parquet_sha256"].as_str().unwrap(), digest.as_str());
    fs_err::write(lacking.join(manifest), text).unwrap();
    fs_err::write(lacking.join("2026-11-21.parquet"), renamed).unwrap();
    refuse(train(&lacking.join("2026-11-21.parquet"), &at("run"), ""), 3, &["aux_ko"]);

    // cards that the days were not built with
    fs_err::write(at("cards.tsv"), fs_err::read_to_string(bundled("cards/cards_v2.tsv")).unwrap() + "\n")
        .unwrap();
    let mut command = job();
    command.arg("train").arg("--data").arg(day()).arg("--run-dir").arg(at("run"));
    command.arg("--cards").arg(at("cards.tsv")).arg("--attacks").arg(bundled("cards/attacks_v2.tsv"));
    refuse(command, 4, &["card catalog"]);
    assert!(!at("run").join("checkpoints").exists());
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let says = |command: Command| String::from_utf8(succeed(command).stdout).unwrap();
    let text = says(train(&day(), &run, "--dry-run"));
    assert!(text.contains("would do updates 1 to 24") && text.contains("3774 rows, 120 lanes"), "{text}");
    assert!(!run.exists());
    let mut command = resume(undisturbed());
    command.arg("--dry-run");
    assert!(says(command).contains("nothing is left of 24 updates"));
}

#[test]
fn a_checkpoint_of_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let init = newest(undisturbed());
    let mut command = train(&day(), &folder.path().join("a"), "--width 16");
    command.arg("--init-from").arg(&init);
    refuse(command, 4, &["architecture/width", "16", "8"]);
    let mut command = train(&day(), &folder.path().join("b"), "--max-updates 1");
    command.arg("--init-from").arg(&init);
    succeed(command);
}

#[test]
fn two_processes_do_not_work_on_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = train(&day(), folder.path(), "").stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_for(&mut child, folder.path(), 6));
    refuse(resume(folder.path()), 6, &["another process"]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn eval_says_of_held_out_lanes_what_the_run_said() {
    let run = undisturbed();
    let output = succeed({
        let mut command = job();
        command.arg("eval").arg(newest(run)).arg("--json");
        command
    });
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let story = story(run);
    assert_eq!(found["metrics"], story[&(true, 24)]["validation"]);
    assert!(found["metrics"]["policy"].as_f64().unwrap() < 3.0);
    let text = String::from_utf8(
        succeed({
            let mut command = job();
            command.arg("eval").arg(run);
            command
        })
        .stdout,
    )
    .unwrap();
    assert!(text.contains("attack offered") && text.contains("play"), "{text}");
}

#[test]
fn events_hold_what_the_metrics_hold() {
    let run = undisturbed();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_events.py");
    let output = succeed({
        let mut command = Command::new("python3");
        command.arg(script).arg(run.join("events.out.tfevents.foldline"));
        command
    });
    let events: BTreeMap<String, Vec<(u64, f64)>> = serde_json::from_slice(&output.stdout).unwrap();
    let story = story(run);
    for step in 1..=24 {
        let expected = story[&(false, step)]["loss"].as_f64().unwrap();
        let (at, found) = events["train/loss"][step as usize - 1];
        assert!(at == step && (found - expected).abs() < 1e-6);
    }
    assert_eq!(events["validation/policy"].len(), 3);
}

#[test]
fn the_report_shows_what_was_learnt() {
    let page = fs_err::read_to_string(undisturbed().join("report.html")).unwrap();
    for says in ["24 updates", "Calibration of the value", "attack offered", "waiting for data", "<svg"] {
        assert!(page.contains(says), "{says}");
    }
}

#[test]
fn another_reader_reads_checkpoints() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/read_checkpoint.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(newest(undisturbed()));
    let found: BTreeMap<String, Value> = serde_json::from_slice(&succeed(command).stdout).unwrap();
    assert_eq!(found["memory.lanes"]["shape"][1], 16);
    assert_eq!(found["model.card.embedding"]["shape"], serde_json::json!([2048, 8]));
}

#[test]
fn the_doctor_finds_the_processor() {
    let text = String::from_utf8(
        succeed({
            let mut command = job();
            command.arg("doctor");
            command
        })
        .stdout,
    )
    .unwrap();
    assert!(text.contains("cpu       works") && text.contains("PASSIVE"), "{text}");
}

/// Memory that a process has in use, in KiB.
fn resident(child: &Child) -> u64 {
    let status = fs_err::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn memory_stays_flat_over_a_thousand_updates() {
    let folder = tempfile::tempdir().unwrap();
    let more =
        "--rows 8 --chunk 3 --epochs 50 --max-updates 1001 --checkpoint-every 500 --validate-every 5000";
    let mut command = train(&day(), folder.path(), more);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_for(&mut child, folder.path(), 200));
    let early = resident(&child);
    assert!(wait_for(&mut child, folder.path(), 990));
    let late = resident(&child);
    assert!(child.wait().unwrap().success());
    assert!(late < early + early / 10, "{early} KiB, then {late} KiB");
}
