//! Archives and days that are damaged or hostile.

use std::time::Instant;

use end_to_end::{Folder, tcg};

use crate::folder;
use crate::limits::peak;

fn made(folder: &Folder, verb: &str, name: &str, rest: &[&str]) {
    let mut args =
        vec![verb.to_owned(), tcg("replays/2026-11-23.zip").display().to_string(), name.to_owned()];
    args.extend(rest.iter().map(|&text| text.to_owned()));
    folder.python("make_replays.py", &args);
}

/// Each hostile member is named and left out; the good one is built; nothing appears outside; memory stays bounded.
#[test]
fn hostile_members_are_left_out() {
    let folder = folder();
    made(&folder, "hostile", "2026-11-23.zip", &[]);
    let (done, peak) = peak(&folder, &folder.build_line("2026-11-23.zip", "out", "--threads 1"));
    let day = &done.json()["days"][0];
    assert_eq!((&day["episodes"], &day["episode_failures"]["malformed"]), (&1.into(), &12.into()), "{day}");
    for says in [
        "escaped.json has no rows, malformed: its name leads out of the archive",
        "windows.json has no rows, malformed: its name leads out of the archive",
        "/absolute.json has no rows, malformed: its name leads out of the archive",
        "91.json has no rows, malformed: it inflates to more than 256 MiB",
        "92.json has no rows, malformed: it holds more than 32 MiB",
        "93.json has no rows, malformed: EOF while parsing a list",
        "98.json has no rows, malformed: it is encrypted",
    ] {
        assert!(done.stderr.contains(says), "missing: {says}\n{}", done.stderr);
    }
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    assert!(peak <= 200, "{peak} MiB");
    folder.ok("day-build verify out/2026-11-23.parquet");
    assert_eq!(folder.names(), ["2026-11-23.zip", "out"]);
}

/// An archive that is cut off has no directory, wherever it is cut.
#[test]
fn a_cut_archive_is_refused() {
    let folder = folder();
    let whole = fs_err::metadata(tcg("replays/2026-11-23.zip")).unwrap().len();
    for bytes in [0, 1, 21, 1000, whole / 2, whole - 30, whole - 1] {
        made(&folder, "cut", "2026-11-23.zip", &[&bytes.to_string()]);
        let line = folder.build_line("2026-11-23.zip", "out", "");
        folder.fails(&line, 3, &["2026-11-23.zip", "not a zip archive, or its end is cut off", "hint"]);
    }
    assert_eq!(folder.names(), ["2026-11-23.zip"]);
}

/// Archives with flipped bytes never panic, and whatever is built is whole.
#[test]
fn flipped_bytes_of_an_archive_do_no_harm() {
    let folder = folder();
    let good = fs_err::read(tcg("replays/2026-11-25.zip")).unwrap();
    let mut seed = 7u64;
    let mut next = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    for case in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..=next(4) {
            // the directory, which stands at the end, as often as the rest
            let at = if next(2) == 0 { next(bytes.len()) } else { bytes.len() - 1 - next(900) };
            bytes[at] = next(256) as u8;
        }
        folder.put("2026-11-25.zip", bytes);
        let done = folder.run(&folder.build_line("2026-11-25.zip", &format!("out{case}"), "--threads 1"));
        assert!(matches!(done.code, Some(0 | 3)), "case {case}: {:?}\n{}", done.code, done.stderr);
        assert!(!done.stderr.contains("panicked"), "case {case}: {}", done.stderr);
        if done.code == Some(0) {
            folder.ok(&format!("day-build verify out{case}/2026-11-25.parquet"));
        }
    }
}

/// A day with a flipped byte is never taken for whole.
#[test]
fn flipped_bytes_of_a_day_are_found() {
    let folder = folder();
    folder.build("2026-11-25.zip", "out", "");
    let good = folder.bytes("out/2026-11-25.parquet");
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        folder.put("out/2026-11-25.parquet", &bytes);
        let done = folder.run("day-build verify out/2026-11-25.parquet");
        assert!(matches!(done.code, Some(3 | 8)), "byte {at}: {:?}", done.code);
        assert!(!done.stderr.contains("panicked"), "byte {at}: {}", done.stderr);
        let done = folder.run("day-build inspect out/2026-11-25.parquet");
        assert!(matches!(done.code, Some(0 | 3)), "byte {at}: {:?}", done.code);
    }
}

/// What a build cannot work with, and how it says so.
#[test]
fn wrong_arguments_are_named() {
    let folder = folder();
    folder.put("nonsense.zip", "x");
    folder.put("empty.tsv", "");
    folder.put("bad.json", "{}");
    folder.put("2026-11-23.zip", fs_err::read(tcg("replays/2026-11-23.zip")).unwrap());
    folder.fails(&folder.build_line("nonsense.zip", "out", ""), 2, &["nonsense.zip", "2026-07-28.zip"]);
    folder.fails(&folder.build_line("2026-11-24.zip", "out", ""), 5, &["2026-11-24.zip"]);
    folder.fails(
        &folder.build_line("2026-11-23.zip", "out", "--elo bad.json"),
        3,
        &["bad.json", "catalog-sync elo"],
    );
    folder.fails(&folder.build_line("2026-11-23.zip", "out", "--effects empty.tsv"), 3, &["no column kind"]);
    folder.fails(&folder.build_line("2026-11-23.zip", "out", "--flush 0"), 2, &["--flush"]);
    folder.fails(&folder.build_line("2026-11-23.zip", "out", "--ep-timeout x"), 2, &["expected number"]);
    let twice = folder.build_line("2026-11-23.zip", "out", "2026-11-23.zip");
    folder.fails(&twice, 2, &["two archives of one day"]);
    folder.fails(
        "day-build build 2026-11-23.zip -o out --cards empty.tsv --attacks empty.tsv",
        3,
        &["no column"],
    );
    folder.fails("day-build inspect nonsense.zip", 2, &["DATE.parquet"]);
    folder.fails("day-build verify 2026-11-24.parquet", 5, &["2026-11-24.manifest.json"]);
    assert_eq!(folder.names(), ["2026-11-23.zip", "bad.json", "empty.tsv", "nonsense.zip"]);
}

/// A finished day is passed over without reading it.
#[test]
fn a_finished_day_is_passed_over_at_once() {
    let folder = folder();
    let line = folder.build_line("2026-11-21.zip", "out", "");
    folder.ok(&line);
    let start = Instant::now();
    assert_eq!(folder.ok(&line).json()["days"][0]["outcome"], "unchanged");
    assert!(start.elapsed().as_millis() < 1000, "{:?}", start.elapsed());
}
