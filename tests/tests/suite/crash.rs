//! Jobs that are stopped: by kill -9 at any time, by a signal at a clean point.

use std::process::Stdio;
use std::time::Duration;

use end_to_end::{Done, TEACHER, data};

use crate::{digests, folder};

/// After kill -9 at any time, the same command gives the same digests and leaves nothing else behind.
#[test]
fn kill_9_and_run_again() {
    let folder = folder().streams();
    let line = "fold-pack pack t.mpk1 -o t --shards 8 --json --threads 2";
    let expected = digests(&folder.ok(line));
    let clean = folder.names();
    let mut stopped = 0;
    for delay in 0..40 {
        let mut child = folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(delay * 900));
        child.kill().unwrap();
        stopped += u32::from(!child.wait().unwrap().success());
        if delay % 4 == 0 {
            assert_eq!(digests(&folder.ok(line)), expected);
            assert_eq!(folder.names(), clean);
            folder.ok("fold-pack verify t.set.json");
        }
    }
    assert!(stopped > 0, "no run was stopped in time");
}

#[test]
fn kill_9_of_a_writer_leaves_no_half_stream() {
    let folder = folder();
    let corpus = data("teacher_corpus.parquet");
    let line = format!("stream-write teacher {} -o t.mpk1 {}", corpus.display(), TEACHER.join(" "));
    for delay in 0..20 {
        let mut child = folder.command(&line).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(delay * 1500));
        child.kill().unwrap();
        child.wait().unwrap();
        if folder.join("t.mpk1").exists() {
            assert_eq!(folder.ok("stream-write check t.mpk1 --json").json()["files"][0]["records"], 13048);
        }
    }
    folder.ok(&line);
    assert_eq!(folder.names(), ["t.mpk1"]);
}

/// A producer that appends is killed: what was confirmed is there, and a torn tail is found and repaired.
#[test]
fn kill_9_of_an_appender_loses_no_finished_game() {
    let folder = folder();
    let games = data("selfplay_games.jsonl");
    for delay in [5, 20, 40] {
        let line = format!("stream-write selfplay {} -o a{delay}.mpk1 --append", games.display());
        let mut child = folder.command(&line).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let stream = format!("a{delay}.mpk1");
        if folder.join(&stream).exists() && !folder.bytes(&stream).is_empty() {
            let done = folder.run(&format!("stream-write check {stream}"));
            assert!(matches!(done.code, Some(0 | 3)), "{}", done.stderr);
            folder.ok(&format!("stream-write repair {stream} -o whole{delay}.mpk1"));
            folder.ok(&format!("stream-write check whole{delay}.mpk1"));
        }
    }
}

/// SIGTERM and SIGINT end a job at a clean point, with their own exit codes.
#[test]
fn signals_end_at_a_clean_point() {
    let folder = folder().streams();
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        // a pipe that stays open keeps the job waiting for its next record
        let mut command = folder.command("fold-pack pack - -o x");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pipe = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut &pipe, &folder.bytes("s.mpk1")[..700_000]).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let kill =
            std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let done = Done::from(child.wait_with_output().unwrap());
        drop(pipe);
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        assert_eq!(folder.names(), ["s.mpk1", "t.mpk1"]);
    }
}

/// Also while a pipe with a name waits for its writer.
#[test]
fn a_signal_is_noticed_before_a_pipe_has_a_writer() {
    let folder = folder();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for line in
        ["stream-write check pipe", "fold-pack pack pipe -o x", "stream-write selfplay pipe -o y.mpk1"]
    {
        let child = folder.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let kill = std::process::Command::new("kill").args(["-INT".into(), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let done = Done::from(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(130), "{line}: {}", done.stderr);
    }
    assert_eq!(folder.names(), ["pipe"]);
}

#[test]
fn two_at_once_are_told_apart() {
    let folder = folder().streams();
    let mut command = folder.command("fold-pack pack - -o x");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, &folder.bytes("t.mpk1")[..700_000]).unwrap();
    while !folder.names().iter().any(|name| name.ends_with(".partial")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    folder.fails("fold-pack pack t.mpk1 -o x", 6, &["x.set.json", "another process"]);
    child.kill().unwrap();
    child.wait().unwrap();
    folder.ok("fold-pack pack t.mpk1 -o x");
}
