//! The row-group cache from the outside: warm sets, spill folders of runs that were killed, full disks.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::state::cache::{Cache, ColumnSet, Days, Host, Options, Row, SpillRun, Usage};
use end_to_end::{Done, Folder, tcg};

use crate::folder;

/// Days of the bundled replays: `days/2026-11-21.parquet` with 12 row groups, `days/2026-11-23.parquet` with 2.
fn days() -> Folder {
    let folder = folder();
    let [cards, attacks] =
        ["cards/cards_v2.tsv", "cards/attacks_v2.tsv"].map(|name| tcg(name).display().to_string());
    let [a, b] =
        ["replays/2026-11-21.zip", "replays/2026-11-23.zip"].map(|name| tcg(name).display().to_string());
    folder.ok(&format!("day-build build {a} {b} -o days --flush 5 --cards {cards} --attacks {attacks}"));
    folder
}

const WARM: &str = "cache-warm warm days/2026-11-21.parquet days/2026-11-23.parquet -o warm";

/// Names and bytes of the files of a warm set, links followed.
fn files(folder: &Folder, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder.join(name))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_warm_set_is_made_once_and_read_by_python() {
    let folder = days();
    let report = folder.ok(&format!("{WARM} --json")).json();
    assert_eq!((&report["warmed"], &report["unchanged"]), (&14.into(), &0.into()));
    let again = folder.ok(&format!("{WARM} --json")).json();
    assert_eq!((&again["warmed"], &again["unchanged"]), (&0.into(), &14.into()));
    assert_eq!(again["bytes"], report["bytes"]);
    let warm = files(&folder, "warm");
    for (name, _) in &warm {
        let path = folder.join("warm").join(name);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
        let stated: serde_json::Value =
            serde_json::from_str(&folder.python("read_spill.py", &[path])).unwrap();
        assert_eq!(stated["columns"]["opt_attr"][0], stated["rows"].as_u64().unwrap() + 1);
    }
    let shown = folder.ok("cache-warm show warm --deep --json").json();
    let rows: u64 =
        shown["datasets"].as_array().unwrap().iter().map(|set| set["rows"].as_u64().unwrap()).sum();
    assert_eq!((rows, shown["bytes"].as_u64()), (3774 + 1583, report["bytes"].as_u64()));
    // the same bytes through a store, by one thread or many
    folder.ok(&format!("{} --store store --threads 1", WARM.replace("-o warm", "-o linked")));
    folder.ok(&format!("{} --store store", WARM.replace("-o warm", "-o found")));
    assert!(folder.join("found").join(&warm[0].0).is_symlink());
    assert_eq!(files(&folder, "linked"), warm);
    assert_eq!(files(&folder, "found"), warm);
    // another projection is another set of files
    folder.ok(&format!("{WARM} --projection val"));
    assert_eq!(files(&folder, "warm").len(), 28);
    // shards, too
    let folder = folder.streams();
    folder.ok("fold-pack pack t.mpk1 -o t --shards 2");
    let report = folder.ok("cache-warm warm t.set.json -o shards --json").json();
    assert!(report["warmed"].as_u64().unwrap() >= 2);
    let plan = folder.ok("cache-warm plan t.set.json --exact --json").json();
    assert_eq!(plan["row_groups"], report["warmed"]);
}

/// Days are named through a catalog as well, and of a selection only the row groups that hold it.
#[test]
fn days_of_a_catalog_are_warmed() {
    let folder = days();
    folder.ok("catalog-sync sync days --catalog c.sqlite");
    folder.ok(WARM);
    let warm =
        |flags: &str| folder.ok(&format!("cache-warm warm --catalog c.sqlite {flags} -o warm --json")).json();
    let counts = |report: &serde_json::Value| {
        (report["warmed"].as_u64().unwrap(), report["unchanged"].as_u64().unwrap())
    };
    assert_eq!(counts(&warm("--all-days")), (0, 14));
    assert_eq!(counts(&warm("--days 2026-11-21")), (0, 12));
    assert_eq!(counts(&warm("--last-n-days 1 --dry-run")), (0, 2));
    // whole episodes until there is a row: one of each day, which lies in one row group
    assert_eq!(counts(&warm("--all-days --max-rows-per-day 1")), (0, 2));
    let plan = folder.ok("cache-warm plan --catalog c.sqlite --all-days --max-rows-per-day 1 --json").json();
    assert_eq!(plan["row_groups"], 2);
    folder.fails("cache-warm warm --catalog c.sqlite --days 2026-11-22 -o warm", 5, &["2026-11-22"]);
    folder.fails("cache-warm warm --all-days -o warm", 2, &["--catalog"]);
    folder.fails("cache-warm warm -o warm", 2, &["DATASET"]);
}

#[test]
fn a_plan_says_what_fits() {
    let folder = days();
    let line = "cache-warm plan days/2026-11-21.parquet --exact --limit 20MiB --reserve 10MiB --json";
    let plan = folder.ok(line).json();
    let number = |name: &str| plan[name].as_u64().unwrap();
    assert_eq!((number("rows"), number("row_groups")), (3774, 12));
    assert!(number("dense_bytes") > 4 * number("bytes"), "ragged is a quarter at most");
    let fits = |name: &str| plan["fits"][name].as_u64().unwrap();
    assert_eq!(fits("hot") + fits("transient") + fits("spilled"), 12);
    assert!(fits("hot") + fits("transient") >= 4 * fits("resident_if_dense").max(1));
    assert!(folder.ok("cache-warm plan days/2026-11-21.parquet --limit 4GiB").stdout.contains("about"));
}

#[test]
fn several_processes_warm_one_set() {
    let folder = days();
    let alone = files(days_warmed(&folder), "alone");
    let start = |_| folder.command(WARM).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let running: Vec<Child> = (0..4).map(start).collect();
    for child in running {
        let done = Done::from(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    assert_eq!(files(&folder, "warm"), alone);
}

fn days_warmed(folder: &Folder) -> &Folder {
    folder.ok(&WARM.replace("-o warm", "-o alone"));
    folder
}

/// Killed at any time, the same command goes on, and leaves nothing else behind.
#[test]
fn a_killed_warm_goes_on() {
    let folder = days();
    let alone = files(days_warmed(&folder), "alone");
    let mut stopped = 0;
    for delay in 0..12 {
        let mut child = folder.command(WARM).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(4 * delay));
        child.kill().unwrap();
        stopped += u32::from(!child.wait().unwrap().success());
        if delay % 4 == 3 {
            folder.ok(WARM);
            assert_eq!(files(&folder, "warm"), alone);
            std::fs::remove_dir_all(folder.join("warm")).unwrap();
        }
    }
    assert!(stopped > 0, "no run was stopped in time");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = days();
    folder.fails("cache-warm warm nowhere/2026-11-21.parquet -o warm", 5, &["nowhere", "No such file"]);
    folder.fails("cache-warm warm days -o warm", 2, &["no dataset", "PREFIX.set.json"]);
    folder.fails(&format!("{WARM} --max-size 1MB"), 9, &["--max-size", "what is there stays"]);
    assert!(files(&folder, "warm").iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= 1_000_000);
    folder.ok(WARM);
    // a torn file is made anew, and a set with one is not shown as whole
    let (torn, bytes) = files(&folder, "warm").swap_remove(3);
    std::fs::remove_file(folder.join("warm").join(&torn)).unwrap();
    folder.put(&format!("warm/{torn}"), &bytes[..bytes.len() / 2]);
    folder.fails("cache-warm show warm", 3, &["not whole", &torn]);
    let python = folder.try_python("read_spill.py", &[folder.join("warm").join(&torn)]);
    assert_eq!(python.code, Some(1), "{}", python.stdout);
    assert_eq!(folder.ok(&format!("{WARM} --json")).json()["warmed"], 1);
    assert_eq!(folder.bytes(&format!("warm/{torn}")), bytes);
    // a day that is not what its manifest states
    let mut day = folder.bytes("days/2026-11-21.parquet");
    day[100] ^= 1;
    folder.put("days/2026-11-21.parquet", day);
    folder.fails(WARM, 8, &["SHA-256", "2026-11-21.parquet", "found", "expected"]);
}

/// A job of its own that spills, so that it can be killed: this test's program, told so by its environment.
const SPILLS: &str = "FOLDLINE_TEST_SPILLS";

/// Nothing in a test run; the body of the process that the tests below kill.
#[test]
fn spills_until_it_is_killed() {
    let Some(folder) = std::env::var_os(SPILLS).map(PathBuf::from) else { return };
    let (cache, rows) = small_cache(&folder, &folder.join("spill"), 2);
    loop {
        cache.gather(&rows).unwrap();
    }
}

/// A cache of the bundled days that has room for `groups` of the largest row groups.
fn small_cache(folder: &Path, spill: &Path, groups: u64) -> (Cache<Days>, Vec<Row>) {
    let mut days = Days::new(ColumnSet::Train);
    days.add(&folder.join("days/2026-11-21.parquet"), None).unwrap();
    let largest = 1_200_000;
    let options = Options { hot_share: 0.0, ..Options::new(groups * largest) };
    let run = SpillRun::start(spill, "test").unwrap().folder("train", 0).unwrap();
    let calm = || None::<Usage>;
    let cache = Cache::with_disk(days, options, calm, Some(run), None).unwrap();
    (cache, (0..3774).map(|row| Row { dataset: 0, row }).collect())
}

/// Starts this program anew, in its test that spills.
fn spilling(folder: &Folder) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "cache::spills_until_it_is_killed", "--nocapture"]);
    child.env(SPILLS, folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a run has spilled something.
fn wait_for_spills(folder: &Folder, runs: usize) {
    for _ in 0..2000 {
        let list = folder.run("spill-purge list spill --json");
        if list.code == Some(0) {
            let list = list.json();
            let list = list["runs"].as_array().unwrap();
            if list.len() == runs && list.iter().all(|run| run["files"].as_u64().unwrap() > 0) {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing was spilled");
}

/// What a killed run left goes to the last byte; a live one beside it loses nothing, nor does anybody else.
#[test]
fn a_purge_takes_the_dead_and_leaves_the_living() {
    let folder = days();
    let mut dead = spilling(&folder);
    wait_for_spills(&folder, 1);
    // while it is spilling, whatever that tears
    dead.kill().unwrap();
    dead.wait().unwrap();
    let mut live = spilling(&folder);
    wait_for_spills(&folder, 2);
    folder.put("spill/notes.txt", "a user's");
    let runs = folder.ok("spill-purge list spill --json").json();
    let states: Vec<bool> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["live"].as_bool().unwrap()).collect();
    assert_eq!(states.iter().filter(|&&live| live).count(), 1);
    assert!(folder.ok("spill-purge list spill").stdout.contains("dead"));
    let plan = folder.ok("spill-purge purge spill --dry-run --json").json();
    assert!(plan["freed"].as_u64().unwrap() > 0);
    assert_eq!(folder.ok("spill-purge purge spill --older-than 1d --json").json()["freed"], 0);
    let purged = folder.ok("spill-purge purge spill --json").json();
    assert_eq!((&purged["freed"], &purged["live"]), (&plan["freed"], &1.into()));
    let left = folder.ok("spill-purge list spill --json").json();
    let left = left["runs"].as_array().unwrap();
    assert_eq!((left.len(), left[0]["live"].as_bool()), (1, Some(true)));
    assert!(left[0]["files"].as_u64().unwrap() > 0);
    assert_eq!(std::fs::read_dir(folder.join("spill")).unwrap().count(), 2);
    assert_eq!(live.try_wait().unwrap(), None, "the live run goes on");
    live.kill().unwrap();
    live.wait().unwrap();
    folder.ok("spill-purge purge spill");
    assert_eq!(std::fs::read_dir(folder.join("spill")).unwrap().count(), 1);
}

/// A run that ends takes its folder with it, also with a torn file in it.
#[test]
fn a_run_that_ends_leaves_nothing() {
    let folder = days();
    let (cache, rows) = small_cache(folder.path(), &folder.join("spill"), 2);
    let first = cache.gather(&rows).unwrap();
    let spilled = folder.ok("spill-purge list spill --json").json();
    assert!(spilled["runs"][0]["files"].as_u64().unwrap() > 5);
    assert_eq!(cache.gather(&rows).unwrap(), first);
    assert!(cache.counters().ssd_hits > 0);
    drop(cache);
    assert_eq!(std::fs::read_dir(folder.join("spill")).unwrap().count(), 0);
}

/// On a disk of 2 MiB: what does not fit is dropped and counted, and every row still comes, as it is.
#[test]
fn a_full_disk_stops_nothing() {
    let folder = days();
    std::fs::create_dir(folder.join("small")).unwrap();
    let root = Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n");
    let mut shell = Command::new("unshare");
    shell.args(if root { &["--mount"][..] } else { &["--mount", "--map-root-user"] });
    shell.args(["sh", "-c", "mount -t tmpfs -o size=2m none small || exit 99; exec \"$@\"", "sh"]);
    shell.arg(std::env::current_exe().unwrap()).args([
        "--exact",
        "cache::spills_to_a_small_disk",
        "--nocapture",
    ]);
    let done = Done::from(shell.current_dir(folder.path()).env(SMALL, folder.path()).output().unwrap());
    if done.code == Some(99) || done.stderr.contains("unshare:") {
        return eprintln!("not tested: this machine lets nobody mount a file system: {}", done.stderr);
    }
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("1 passed"), "{}", done.stdout);
}

const SMALL: &str = "FOLDLINE_TEST_SMALL_DISK";

/// Nothing in a test run; the body of the process that the test above starts.
#[test]
fn spills_to_a_small_disk() {
    let Some(folder) = std::env::var_os(SMALL).map(PathBuf::from) else { return };
    let (cache, rows) = small_cache(&folder, &folder.join("small"), 2);
    let first = cache.gather(&rows).unwrap();
    for _ in 0..3 {
        assert_eq!(cache.gather(&rows).unwrap(), first);
    }
    let counters = cache.counters();
    assert!(counters.ssd_spills > 0 && counters.spill_errors > 0 && counters.dropped > 0, "{counters:?}");
    assert!(counters.ssd_hits > 0 && counters.decodes > 12, "{counters:?}");
}

/// Under a memory cgroup of this process's own, where anybody may make one: the host's probe sees its limit.
#[test]
fn a_cgroup_is_a_limit() {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.split_once(":memory:").map(|(_, path)| path.to_owned()));
    let Some(path) = path else { return eprintln!("not tested: no memory cgroup of version 1") };
    let mine = Path::new("/sys/fs/cgroup/memory")
        .join(path.trim_start_matches('/'))
        .join(format!("foldline-{}", std::process::id()));
    if std::fs::create_dir(&mine).is_err() {
        return eprintln!("not tested: this machine lets nobody make a cgroup");
    }
    let limit = 64 << 20;
    std::fs::write(mine.join("memory.limit_in_bytes"), limit.to_string()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "cache::says_its_limit", "--nocapture"]).env("FOLDLINE_TEST_CGROUP", &mine);
    let done = Done::from(child.output().unwrap());
    let _ = std::fs::remove_dir(&mine);
    assert!(done.stdout.contains(&format!("limit {limit}")), "{}{}", done.stdout, done.stderr);
}

/// Nothing in a test run; the body of the process that the test above starts.
#[test]
fn says_its_limit() {
    use common::state::cache::Probe;
    let Some(cgroup) = std::env::var_os("FOLDLINE_TEST_CGROUP").map(PathBuf::from) else { return };
    std::fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    // most of the group's memory, so that it is the fullest
    let used = std::hint::black_box(vec![1u8; 57 << 20]);
    let usage = Host::new().usage().unwrap();
    println!("limit {} used {} of {}", usage.limit, usage.used, used.len());
    assert!(usage.share() > 0.85, "{usage:?}");
}
