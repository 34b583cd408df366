//! Decision days from real replays: exact, the same every time, and never mixed.

use std::process::Stdio;
use std::time::Duration;

use end_to_end::{Done, Folder, tcg};

use crate::folder;
use crate::limits::peak;

const DAYS: [&str; 3] = ["2026-11-21", "2026-11-23", "2026-11-25"];

fn zip(day: &str) -> String {
    format!("{day}.zip")
}

/// Makes an archive from a bundled one with `make_replays.py`.
fn made(folder: &Folder, verb: &str, day: &str, name: &str, rest: &[&str]) {
    let (from, to) = (tcg("replays").join(zip(day)), folder.join(name));
    let mut args = vec![verb.to_owned(), from.display().to_string(), to.display().to_string()];
    args.extend(rest.iter().map(|&text| text.to_owned()));
    folder.python("make_replays.py", &args);
}

/// Another program, written from the contract alone, says what each row holds.
#[test]
fn every_bundled_day_is_what_the_reference_says() {
    let folder = folder();
    for day in DAYS {
        folder.build(&zip(day), "out", "--flush 5");
        let at = |name: String| folder.join(&name).display().to_string();
        let args = [
            "compare".to_owned(),
            tcg("expected").join(format!("{day}.parquet")).display().to_string(),
            at(format!("out/{day}.parquet")),
            "--manifest".to_owned(),
            at(format!("out/{day}.manifest.json")),
        ];
        let said = folder.python("reference_day.py", &args);
        assert!(said.trim_end().ends_with(": equal"), "{said}");
        folder.python("read_day.py", &[format!("out/{day}.manifest.json")]);
        folder.python("check_days_duckdb.py", &[format!("out/{day}.manifest.json")]);
        folder.ok(&format!("day-build verify out/{day}.parquet"));
    }
}

/// Failures are counted by reason, and the rest of the day is there.
#[test]
fn failures_are_counted_and_do_not_stop_a_day() {
    let folder = folder();
    let report = folder.build("2026-11-25.zip", "out", "").json();
    let failures = &report["days"][0]["episode_failures"];
    let expected = [("draw", 1), ("duplicate", 1), ("malformed", 2), ("no_reward", 6)];
    assert_eq!(failures.as_object().unwrap().len(), expected.len(), "{failures}");
    for (reason, n) in expected {
        assert_eq!(failures[reason], n, "{failures}");
    }
    assert_eq!((&report["days"][0]["rows"], &report["days"][0]["episodes"]), (&113.into(), &1.into()));
    // the draw has rows where draws are kept, of an id that no other has
    let kept = folder.build("2026-11-25.zip", "kept", "--keep-draws").json();
    assert_eq!(kept["days"][0]["episodes"], 2);
    folder.ok("day-build verify kept/2026-11-25.parquet");
}

/// An episode that takes too long is left out, and the day is not called reproducible.
#[test]
fn a_timed_out_episode_is_counted() {
    let folder = folder();
    let report = folder.build("2026-11-23.zip", "out", "--ep-timeout 0s").json();
    assert_eq!(report["days"][0]["episode_failures"]["timeout"], 8);
    assert_eq!(report["days"][0]["reproducible"], false);
    folder.ok("day-build verify out/2026-11-23.parquet");
}

/// The label is what the side answers at the next step; answers that are shifted by one give no labels.
#[test]
fn labels_are_the_answers_of_the_next_step() {
    let folder = folder();
    folder.build("2026-11-21.zip", "out", "");
    let args = ["labels".into(), tcg("replays/2026-11-21.zip"), folder.join("out/2026-11-21.parquet")];
    folder.python("compare_days.py", &args);
    made(&folder, "shift", "2026-11-21", "2026-11-21.zip", &[]);
    let report = folder.build("2026-11-21.zip", "shifted", "").json();
    assert_eq!(report["days"][0]["episode_failures"]["illegal_label"], 60, "{report}");
}

/// Nothing that a side cannot see changes what its rows say of a position.
#[test]
fn hidden_information_changes_no_feature() {
    let folder = folder();
    folder.build("2026-11-23.zip", "out", "");
    for side in ["0", "1"] {
        made(&folder, "scramble", "2026-11-23", "2026-11-23.zip", &[side]);
        let out = format!("scrambled{side}");
        folder.build("2026-11-23.zip", &out, "");
        let args = ["features", "out/2026-11-23.parquet", &format!("{out}/2026-11-23.parquet"), side];
        folder.python("compare_days.py", &args.map(ToOwned::to_owned));
    }
}

#[test]
fn the_number_of_threads_leaves_no_trace() {
    let folder = folder();
    let one = |threads: &str| {
        folder.build("2026-11-21.zip", threads, &format!("--flush 7 --threads {threads}"));
        folder.bytes(&format!("{threads}/2026-11-21.parquet"))
    };
    let first = one("1");
    assert!(first == one("2") && first == one("8"));
    // the manifest but for the time
    let manifest = |threads: &str| {
        let text = String::from_utf8(folder.bytes(&format!("{threads}/2026-11-21.manifest.json"))).unwrap();
        text.lines().filter(|line| !line.contains("written_at")).collect::<String>()
    };
    assert_eq!(manifest("1"), manifest("8"));
}

/// After kill -9 at any time a build goes on from its finished part, and ends with the same bytes.
#[test]
fn kill_9_and_go_on() {
    let folder = folder();
    let line = folder.build_line("2026-11-21.zip", "out", "--flush 3 --threads 2");
    folder.ok(&line);
    let expected = folder.bytes("out/2026-11-21.parquet");
    let (mut stopped, mut gone_on) = (0, 0);
    for delay in 0..30 {
        fs_err::remove_file(folder.join("out/2026-11-21.manifest.json")).unwrap();
        fs_err::remove_file(folder.join("out/2026-11-21.parquet")).unwrap();
        for _ in 0..2 {
            let mut child =
                folder.command(&line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(10 + delay * 7));
            child.kill().unwrap();
            stopped += u32::from(!child.wait().unwrap().success());
        }
        let report = folder.ok(&line).json();
        gone_on += u32::from(report["days"][0]["resumed"].as_u64() > Some(0));
        assert!(folder.bytes("out/2026-11-21.parquet") == expected, "after {delay}");
        assert_eq!(names(&folder, "out"), ["2026-11-21.manifest.json", "2026-11-21.parquet"]);
        folder.ok("day-build verify out/2026-11-21.parquet --shallow");
    }
    assert!(stopped > 5 && gone_on > 3, "{stopped} stopped, {gone_on} gone on");
}

/// A finished part of something else is not gone on with, and neither is one that was damaged meanwhile.
#[test]
fn a_finished_part_is_used_only_where_it_fits() {
    let folder = folder();
    let line = folder.build_line("2026-11-21.zip", "out", "--flush 3 --threads 1");
    folder.ok(&line);
    let expected = folder.bytes("out/2026-11-21.parquet");
    let stop = |line: &str| {
        for name in names(&folder, "out") {
            fs_err::remove_file(folder.join(&format!("out/{name}"))).unwrap();
        }
        let mut child = folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let partial = folder.join("out/.2026-11-21.parquet.partial");
        while fs_err::metadata(&partial).map_or(0, |meta| meta.len()) < 150_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        partial
    };
    // of other parameters
    stop(&folder.build_line("2026-11-21.zip", "out", "--flush 4 --threads 1"));
    assert_eq!(folder.ok(&line).json()["days"][0]["resumed"], 0);
    assert!(folder.bytes("out/2026-11-21.parquet") == expected);
    // with a flipped byte
    let partial = stop(&line);
    let mut bytes = fs_err::read(&partial).unwrap();
    bytes[60_000] ^= 1;
    fs_err::write(&partial, bytes).unwrap();
    folder.ok(&line);
    assert!(folder.bytes("out/2026-11-21.parquet") == expected);
    // with a journal that is cut within a line
    stop(&line);
    let journal = folder.join("out/.2026-11-21.parquet.journal");
    let bytes = fs_err::read(&journal).unwrap();
    fs_err::write(&journal, &bytes[..bytes.len() - 10]).unwrap();
    folder.ok(&line);
    assert!(folder.bytes("out/2026-11-21.parquet") == expected);
}

fn names(folder: &Folder, sub: &str) -> Vec<String> {
    let entries = fs_err::read_dir(folder.join(sub)).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A day that is there is left alone; one that was built from something else is refused, or replaced where that is asked
/// for.
#[test]
fn a_finished_day_is_never_mixed_with_another() {
    let folder = folder();
    let outcome = |done: &Done| done.json()["days"][0]["outcome"].as_str().unwrap().to_owned();
    let line = folder.build_line("2026-11-23.zip", "out", "");
    assert_eq!(outcome(&folder.ok(&line)), "built");
    let bytes = folder.bytes("out/2026-11-23.parquet");
    assert_eq!(outcome(&folder.ok(&line)), "unchanged");
    let elo = r#"{"agents":{},"decks":{},"cards":{"2":{"elo":1500,"games":9,"bucket":4}}}"#;
    folder.put("elo.json", elo);
    for other in [
        "--flush 3",
        "--keep-draws",
        "--elo elo.json",
        "--competition-start 2026-11-01",
        "--self-only --self-alias x",
    ] {
        let line = folder.build_line("2026-11-23.zip", "out", other);
        folder.fails(&line, 4, &["2026-11-23.manifest.json", "fingerprint", "--force"]);
    }
    assert!(folder.bytes("out/2026-11-23.parquet") == bytes);
    let forced = folder.build_line("2026-11-23.zip", "out", "--elo elo.json --force");
    assert_eq!(outcome(&folder.ok(&forced)), "built");
    assert!(folder.bytes("out/2026-11-23.parquet") != bytes);
    // one whose file is gone is built anew
    fs_err::remove_file(folder.join("out/2026-11-23.parquet")).unwrap();
    assert_eq!(outcome(&folder.ok(&folder.build_line("2026-11-23.zip", "out", "--elo elo.json"))), "built");
    assert_eq!(outcome(&folder.ok(&folder.build_line("2026-11-23.zip", "plan", "--dry-run"))), "planned");
    assert!(!folder.join("plan").exists());
}

/// Only the rows of our own players; what they hold is the same.
#[test]
fn rows_of_our_own_alone() {
    let folder = folder();
    let whole = folder.build("2026-11-21.zip", "whole", "--self-alias gale-greedy").json();
    let own = folder.build("2026-11-21.zip", "own", "--self-alias gale-greedy --self-only").json();
    let rows = |report: &serde_json::Value| report["days"][0]["rows"].as_u64().unwrap();
    assert!(rows(&own) > 0 && rows(&own) < rows(&whole));
    folder.ok("day-build verify own/2026-11-21.parquet");
}

/// What ratings are made from: draws count, failures do not.
#[test]
fn a_scan_holds_results_names_and_decks() {
    let folder = folder();
    let zip = tcg("replays/2026-11-25.zip");
    let report = folder.ok(&format!("day-build scan {} -o scans --json", zip.display())).json();
    assert_eq!(report["days"][0]["rated"], 2, "{report}");
    let scan: serde_json::Value =
        serde_json::from_slice(&folder.bytes("scans/2026-11-25.scan.json")).unwrap();
    assert_eq!(scan["episodes"].as_array().unwrap().len(), 11);
    let rated = scan["episodes"].as_array().unwrap().iter().filter(|episode| episode["status"] == "rated");
    for episode in rated {
        let deck = episode["decks"][0].as_str().unwrap();
        assert_eq!(scan["decks"][deck].as_array().unwrap().len(), 60);
    }
}

/// Memory follows neither the archive nor the blobs in it, but the row group and the episodes under way.
#[test]
fn memory_is_bounded_whatever_the_archive() {
    let folder = folder();
    made(&folder, "copies", "2026-11-23", "2026-11-01.zip", &["4"]);
    made(&folder, "copies", "2026-11-23", "2026-11-02.zip", &["24"]);
    made(&folder, "visualize", "2026-11-23", "2026-11-03.zip", &["40"]);
    for (threads, growth) in [(1, 6), (2, 24)] {
        let of = |archive: &str| {
            let flags = format!("--flush 10 --threads {threads}");
            peak(&folder, &folder.build_line(archive, &format!("out{threads}"), &flags)).1
        };
        let [small, large, blobs] = ["2026-11-01.zip", "2026-11-02.zip", "2026-11-03.zip"].map(of);
        assert!(large <= small + growth, "{threads} threads: {small} MiB, of six times as much {large} MiB");
        assert!(blobs <= small + growth, "{threads} threads: {small} MiB, with blobs {blobs} MiB");
        assert!(large <= 64 + 24 * threads, "{threads} threads: {large} MiB");
    }
    // blobs leave no trace in the rows
    folder.build("2026-11-23.zip", "plain", "--flush 10");
    let args = ["features", "plain/2026-11-23.parquet", "out1/2026-11-03.parquet", "0"];
    let done = folder.try_python("compare_days.py", &args.map(ToOwned::to_owned));
    assert!(done.stderr.contains("columns that differ: ['day_id']"), "{}", done.stderr);
}
