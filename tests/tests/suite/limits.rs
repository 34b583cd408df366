//! Bounds that hold: memory, and a disk that is full.

use std::process::Command;

use end_to_end::{Done, Folder, data};

use crate::{digests, folder};

/// Runs a job and gives its peak resident memory in MiB.
pub(crate) fn peak(folder: &Folder, line: &str) -> (Done, u64) {
    let job = folder.command(line);
    let script = "import os, sys\n\
                  pid = os.fork()\n\
                  if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
                  _, status, usage = os.wait4(pid, 0)\n\
                  print(usage.ru_maxrss // (1024 * 1024 if sys.platform == 'darwin' else 1024), file=sys.stderr)\n\
                  sys.exit(os.waitstatus_to_exitcode(status))";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(job.get_program()).args(job.get_args()).current_dir(folder.path());
    let done = Done::from(python.output().unwrap());
    assert_eq!(done.code, Some(0), "{line}\n{}", done.stderr);
    let peak = done.stderr.lines().last().unwrap().parse().unwrap();
    (done, peak)
}

/// Copies of the bundled games' records in one stream, so that no board is new.
fn copies(folder: &Folder, name: &str, n: usize) {
    let bytes = folder.bytes("s.mpk1");
    let mut all = bytes[..24].to_vec();
    (0..n).for_each(|_| all.extend_from_slice(&bytes[24..]));
    folder.put(name, all);
}

/// One board in 30 % of the records, many times more than the memory: its group has the size of one.
#[test]
fn a_board_in_a_third_of_the_records_stays_within_the_memory() {
    let folder = folder().streams();
    let bytes = folder.bytes("s.mpk1");
    let first = 24..24 + 108 + 8 * usize::from(u16::from_le_bytes([bytes[34], bytes[35]]));
    let mut hot = bytes.clone();
    // the first board 2,300 times beside the 5,327 records, forty times over
    let one = [&bytes[24..], &bytes[first].repeat(2300)].concat();
    hot.truncate(24);
    (0..40).for_each(|_| hot.extend_from_slice(&one));
    assert!(hot.len() > 100 << 20, "{}", hot.len());
    folder.put("hot.mpk1", hot);
    for threads in [1, 8] {
        let line = format!("fold-pack pack hot.mpk1 -o x --memory 64MiB --threads {threads} --json");
        let (done, peak) = peak(&folder, &line);
        assert!(peak <= 64, "{peak} MiB with {threads} threads");
        assert_eq!(done.json()["rows"], 5275);
        let weight =
            folder.ok("fold-pack stats x.set.json --json").json()["greatest_weight"].as_u64().unwrap();
        assert!(weight > 40 * 2300);
        let unlimited =
            digests(&folder.ok("fold-pack pack hot.mpk1 -o y --memory unlimited --buckets 2 --json"));
        assert_eq!(digests(&done), unlimited);
    }
}

/// Memory does not follow the size of the input: 70 MiB more of it. One thread does everything in turn, so that its peak
/// is the same from run to run; with more, what happens to be under way at once varies by some MiB.
#[test]
fn memory_is_flat() {
    let folder = folder().streams();
    copies(&folder, "small.mpk1", 8);
    copies(&folder, "large.mpk1", 40);
    for (line, threads, growth) in [
        ("fold-pack pack {} -o x", 1, 3),
        ("fold-pack pack {} -o x", 2, 8),
        ("stream-write check {}", 1, 3),
        ("stream-write check {}", 2, 8),
    ] {
        let of =
            |stream: &str| peak(&folder, &format!("{} --threads {threads}", line.replace("{}", stream))).1;
        let (small, large) = (of("small.mpk1"), of("large.mpk1"));
        assert!(large <= small + growth, "{line}, {threads} threads: {small} and {large} MiB");
    }
}

/// Runs a shell script that may mount file systems, with a job as its arguments; nothing where nobody may.
#[expect(clippy::print_stderr, reason = "whoever reads the test's output is to know what it left out")]
fn mounting(folder: &Folder, script: &str, line: &str) -> Option<Done> {
    let job = folder.command(line);
    let mut shell = Command::new("unshare");
    let root = Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n");
    shell.args(if root { &["--mount"][..] } else { &["--mount", "--map-root-user"] });
    shell.args(["sh", "-c", script, "sh"]).arg(job.get_program()).args(job.get_args());
    let done = Done::from(shell.current_dir(folder.path()).output().unwrap());
    if done.code == Some(99) || done.stderr.contains("unshare:") {
        eprintln!("not tested: this machine lets nobody mount a file system: {}", done.stderr);
        return None;
    }
    Some(done)
}

const SMALL: &str = "mount -t tmpfs -o size=1m none small || exit 99\n\
                     echo kept > small/kept; \"$@\"; code=$?; ls -A small | sed 's/^/left /' >&2; exit $code";

/// A file system of 1 MiB: exit 7, nothing half-written, and what was there is still there.
#[test]
fn a_full_disk_is_exit_7_and_leaves_nothing() {
    let folder = folder().streams();
    std::fs::create_dir(folder.join("small")).unwrap();
    let corpus = data("teacher_corpus.parquet");
    let teacher = format!("stream-write teacher {} {}", corpus.display(), end_to_end::TEACHER.join(" "));
    let games = format!("stream-write selfplay {} -o small/s.mpk1", data("selfplay_games.jsonl").display());
    for line in [
        &format!("{teacher} -o small/t.mpk1"),
        &games,
        "fold-pack pack t.mpk1 -o small/t",
        "fold-pack partition t.mpk1 -o small/p",
        &format!("{teacher} -o u.mpk1 --store small/store"),
        "fold-pack pack s.mpk1 -o u --store small/store",
    ] {
        let Some(done) = mounting(&folder, SMALL, line) else { return };
        done.assert_fails(line, 7, &["hint", "space"]);
        let left: Vec<&str> = done.stderr.lines().filter_map(|line| line.strip_prefix("left ")).collect();
        assert!(matches!(left[..], ["kept"] | ["kept", "p" | "store"]), "{line}: {left:?}");
        assert_eq!(folder.names(), ["s.mpk1", "small", "t.mpk1"]);
    }
    // appended games stay whole: the stream ends with the last that fitted
    let Some(done) = mounting(&folder, SMALL, &format!("{games} --append")) else { return };
    done.assert_fails("append", 7, &["space"]);
    assert!(done.stderr.ends_with("left kept\nleft s.mpk1\n"), "{}", done.stderr);
}

/// A store that may only be read, full or empty: a clear error, and nothing in the work tree.
#[test]
fn a_read_only_store_is_an_error() {
    let folder = folder().streams();
    std::fs::create_dir(folder.join("small")).unwrap();
    for filled in ["true", "\"$@\" -q && rm x.*"] {
        let script = format!(
            "mount -t tmpfs none small && mkdir small/store || exit 99; {filled}; \
             mount -o remount,ro small || exit 99; \"$@\""
        );
        let line = "fold-pack pack t.mpk1 -o x --store small/store";
        let Some(done) = mounting(&folder, &script, line) else { return };
        done.assert_fails(line, 2, &["Read-only file system", "small/store"]);
        assert!(!folder.join("x.set.json").exists());
    }
}
