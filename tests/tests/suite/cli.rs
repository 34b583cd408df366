//! What a user meets first: help, usage errors, output for programs, pipes that close.

use std::io::Read;
use std::process::Stdio;

use crate::folder;

/// The whole help tree, so that every change of it is seen.
#[test]
fn help() {
    let folder = folder();
    let jobs: [(&str, &[&str]); 6] = [
        ("cache-warm", &["", "warm", "plan", "show"]),
        ("catalog-sync", &["", "sync", "list", "show", "verify", "elo"]),
        ("spill-purge", &["", "store", "purge", "list", "receipts", "digest"]),
        ("day-build", &["", "scan", "build", "inspect", "verify", "engine"]),
        ("stream-write", &["", "teacher", "selfplay", "check", "repair", "head", "stats"]),
        ("fold-pack", &["", "pack", "partition", "fold", "inspect", "stats", "verify", "card"]),
    ];
    for (job, verbs) in jobs {
        let help: Vec<String> =
            verbs.iter().map(|verb| folder.ok(&format!("{job} {verb} --help")).stdout).collect();
        insta::assert_snapshot!(format!("help-{job}"), help.join("\n=====\n\n"));
    }
}

#[test]
fn usage_is_exit_2() {
    let folder = folder().streams();
    folder.fails("stream-write", 2, &["Usage"]);
    folder.fails(
        "stream-write teacher t.mpk1 -o x.mpk1 --mate-scale 32000 --eval-coef 600",
        2,
        &["--mate-slack"],
    );
    folder.fails("fold-pack pack t.mpk1 -o x --shards 3", 2, &["a power of two"]);
    folder.fails("fold-pack pack t.mpk1 -o x --memory 1MiB", 2, &["64MiB is the least"]);
    folder.fails("fold-pack pack t.mpk1 -o x --temperature 0", 2, &["positive"]);
    folder.fails("fold-pack pack t.mpk1 -o x/", 2, &["a path with a name"]);
    folder.fails("fold-pack pack . -o x", 2, &["a folder where a file is expected", "fold-pack fold"]);
    folder.fails("fold-pack fold t.mpk1 -o x --range 2/2", 2, &["expected I/N"]);
    let teacher =
        "stream-write teacher t.mpk1 -o x.mpk1 --mate-scale 32000 --mate-slack 32000 --eval-coef 600";
    folder.fails(teacher, 2, &["mate_slack", "less than mate_scale"]);
}

#[test]
fn missing_input_is_exit_5() {
    let folder = folder();
    folder.fails("stream-write check nowhere.mpk1", 5, &["nowhere.mpk1", "No such file"]);
    folder.fails("fold-pack pack nowhere.mpk1 -o x", 5, &["nowhere.mpk1"]);
    folder.fails("fold-pack fold nowhere -o x", 5, &["nowhere", "fold-pack partition"]);
    folder.fails("fold-pack verify nowhere.set.json", 5, &["nowhere.set.json"]);
}

#[test]
fn a_shard_is_no_stream() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t");
    folder.fails("fold-pack pack t-00000.parquet -o x", 2, &["shards never refold", "MPK1 streams"]);
    folder.fails("stream-write check t-00000.parquet", 3, &["not an MPK1 stream", "Parquet file"]);
}

#[test]
fn dry_runs_write_nothing() {
    let folder = folder().streams();
    let before = folder.names();
    let corpus = end_to_end::data("teacher_corpus.parquet");
    let teacher = format!("stream-write teacher {} -o x.mpk1 --dry-run --json", corpus.display());
    let report = folder.ok(&format!("{teacher} {}", end_to_end::TEACHER.join(" "))).json();
    assert_eq!((&report["outcome"], &report["records"]), (&"planned".into(), &13048.into()));
    folder.ok("stream-write repair t.mpk1 -o x.mpk1 --dry-run");
    folder.ok("fold-pack pack t.mpk1 -o x --dry-run");
    folder.ok("fold-pack partition t.mpk1 -o x --dry-run");
    assert_eq!(folder.names(), before);
}

/// `job | head` ends quietly.
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = folder().streams();
    let mut command = folder.command("stream-write head s.mpk1 -n 5000");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let done = end_to_end::Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}

#[test]
fn reports_for_programs() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t --shards 2");
    insta::assert_snapshot!(
        "stream-write-stats",
        folder.ok("stream-write stats t.mpk1 s.mpk1 --json").stdout
    );
    insta::assert_snapshot!("stream-write-head", folder.ok("stream-write head t.mpk1 -n 2 --json").stdout);
    insta::assert_snapshot!(
        "stream-write-check",
        folder.ok("stream-write check t.mpk1 s.mpk1 --json").stdout
    );
    insta::assert_snapshot!(
        "fold-pack-inspect",
        folder.ok("fold-pack inspect t.set.json -n 1 --json").stdout
    );
    insta::assert_snapshot!("fold-pack-stats", folder.ok("fold-pack stats t.set.json --json").stdout);
    insta::assert_snapshot!("fold-pack-verify", folder.ok("fold-pack verify t.set.json --json").stdout);
    insta::assert_snapshot!("fold-pack-card", folder.ok("fold-pack card t.set.json").stdout);
    insta::assert_snapshot!("fold-pack-set", String::from_utf8(folder.bytes("t.set.json")).unwrap());
}
