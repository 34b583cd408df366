//! The store: what is there is not computed again, and what is not right is never served.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use common::state::store::Store;
use end_to_end::{Done, Folder, TEACHER, data, tcg};
use serde_json::Value;

use crate::{digests, folder};

/// A teacher's command that goes through the store of a folder.
fn teacher(output: &str) -> String {
    let corpus = data("teacher_corpus.parquet");
    format!(
        "stream-write teacher {} -o {output} {} --store store --json",
        corpus.display(),
        TEACHER.join(" ")
    )
}

const PACK: &str = "fold-pack pack t.mpk1 -o sets/t --shards 4 --store store --json";

fn receipt(folder: &Folder, line: &str) -> Value {
    folder.ok(&format!("{line} --receipt receipt.json"));
    serde_json::from_slice(&folder.bytes("receipt.json")).unwrap()
}

fn is_cached(folder: &Folder, line: &str) -> bool {
    receipt(folder, line)["cached"].as_bool().unwrap()
}

/// Where the file at a path of the work tree lies in the store.
fn blob(folder: &Folder, name: &str) -> PathBuf {
    folder.join(name).canonicalize().unwrap()
}

/// Gives a blob other content.
fn damage(path: &std::path::Path, change: impl FnOnce(&mut Vec<u8>)) {
    let times = std::fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs_err::read(path).unwrap();
    change(&mut bytes);
    fs_err::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    fs_err::write(path, bytes).unwrap();
    // whoever damages it may set its times back
    File::options().append(true).open(path).unwrap().set_modified(times).unwrap();
}

#[test]
fn a_hit_says_and_gives_the_same() {
    let folder = folder();
    let mut made = folder.ok(&teacher("t.mpk1")).json();
    let direct = self::folder();
    direct.teacher("t.mpk1");
    assert_eq!(folder.bytes("t.mpk1"), direct.bytes("t.mpk1"));
    let before = blob(&folder, "t.mpk1").metadata().unwrap();
    assert_eq!(before.mode() & 0o777, 0o444);
    let found = folder.ok(&teacher("elsewhere/u.mpk1")).json();
    assert_eq!((made["outcome"].as_str(), found["outcome"].as_str()), (Some("written"), Some("cached")));
    (made["outcome"], made["output"]) = (found["outcome"].clone(), found["output"].clone());
    assert_eq!(made, found);
    assert_eq!(blob(&folder, "elsewhere/u.mpk1"), blob(&folder, "t.mpk1"));

    let packed = folder.ok(PACK);
    assert_eq!(folder.ok(PACK).stdout, packed.stdout);
    folder.ok("fold-pack partition t.mpk1 -o part --store store");
    let fold =
        |i: u32| format!("fold-pack fold part -o ranges/t --shards 4 --range {i}/2 --store store --json");
    folder.ok(&fold(0));
    let folded = folder.ok(&fold(1));
    assert_eq!(digests(&folded), digests(&packed));
    fs_err::remove_dir_all(folder.join("ranges")).unwrap();
    assert!(is_cached(&folder, &fold(1)));
    assert_eq!(folder.ok(&fold(0)).stdout, folded.stdout);
    folder.ok("fold-pack verify ranges/t.set.json sets/t.set.json");
    let stats = "fold-pack stats sets/t.set.json --store store --json";
    assert_eq!(folder.ok(stats).stdout, folder.ok(stats).stdout);
    let stats = "stream-write stats t.mpk1 --store store --json";
    assert_eq!(folder.ok(stats).stdout, folder.ok(stats).stdout);
    assert!(is_cached(&folder, stats));
}

/// A parameter, an input and the program are part of the key; a path and the number of threads are not.
#[test]
fn what_the_result_depends_on_is_in_the_key() {
    let folder = folder();
    assert!(!is_cached(&folder, &teacher("t.mpk1")));
    assert!(is_cached(&folder, &teacher("u.mpk1 --threads 7")));
    let other = teacher("v.mpk1").replace("--mate-slack 100", "--mate-slack 101");
    assert!(!is_cached(&folder, &other), "two results of a common input");
    assert_ne!(folder.bytes("t.mpk1"), folder.bytes("v.mpk1"));
    assert!(!is_cached(&folder, "fold-pack pack t.mpk1 -o a --store store"));
    assert!(is_cached(&folder, "fold-pack pack u.mpk1 -o deep/a --memory 64MiB --buckets 4 --store store"));
    for line in [
        "fold-pack pack t.mpk1 -o b",
        "fold-pack pack t.mpk1 -o a --seed 1 --force",
        "fold-pack pack v.mpk1 -o a",
    ] {
        assert!(!is_cached(&folder, &format!("{line} --store store")), "{line}");
    }
}

#[test]
fn new_content_under_old_times_is_new() {
    let folder = folder();
    let corpus = fs_err::read(data("selfplay_games.jsonl")).unwrap();
    let half = corpus.iter().take(corpus.len() / 2).rposition(|&byte| byte == b'\n').unwrap() + 1;
    let line = "stream-write selfplay games.jsonl -o s.mpk1 --store store --json";
    let stamp = SystemTime::now() - Duration::from_secs(1000);
    let mut records = vec![];
    for bytes in [&corpus[..half], &corpus[half..]] {
        folder.put("games.jsonl", bytes);
        File::options().append(true).open(folder.join("games.jsonl")).unwrap().set_modified(stamp).unwrap();
        records.push(folder.ok(line).json()["records"].as_u64().unwrap());
    }
    assert_ne!(records[0], records[1]);
    assert_eq!(records[0] + records[1], 5327);
}

#[test]
fn the_same_job_eight_times_at_once_computes_once() {
    let folder = folder();
    let start = |i: u32| {
        let line = format!("{} --receipt r{i}.json", teacher(&format!("t{i}.mpk1")));
        folder.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..8).map(start).collect();
    for child in children {
        let done = Done::from(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    let receipts =
        (0..8).map(|i| serde_json::from_slice::<Value>(&folder.bytes(&format!("r{i}.json"))).unwrap());
    let computed = receipts.filter(|receipt| receipt["cached"] == false).count();
    assert_eq!(computed, 1);
    let blobs: std::collections::BTreeSet<_> = (0..8).map(|i| blob(&folder, &format!("t{i}.mpk1"))).collect();
    assert_eq!(blobs.len(), 1);
}

#[test]
fn a_damaged_store_is_noticed_and_repaired() {
    let folder = folder();
    folder.ok(&teacher("t.mpk1"));
    let expected = digests(&folder.ok(PACK));
    let shard = blob(&folder, "sets/t-00002.parquet");
    let record = {
        let key = receipt(&folder, PACK)["key"].as_str().unwrap().to_owned();
        folder.join(&format!("store/actions/{}/{key}.json", &key[..2]))
    };
    let faults: [(&str, &dyn Fn()); 5] = [
        ("truncated", &|| damage(&shard, |bytes| bytes.truncate(1000))),
        ("flipped", &|| damage(&shard, |bytes| bytes[1000] ^= 1)),
        ("gone", &|| fs_err::remove_file(&shard).unwrap()),
        ("no record", &|| fs_err::write(&record, "{").unwrap()),
        ("a record of another key", &|| {
            let text = fs_err::read_to_string(&record).unwrap();
            fs_err::write(&record, text.replacen("\"key\": \"", "\"key\": \"0", 1)).unwrap();
        }),
    ];
    for (what, fault) in faults {
        fault();
        assert!(!is_cached(&folder, PACK), "{what}");
        assert_eq!(digests(&folder.ok(PACK)), expected, "{what}");
        assert!(is_cached(&folder, PACK), "{what}");
        folder.ok("fold-pack verify sets/t.set.json");
    }
    // an input that lies in the store is not taken either
    damage(&blob(&folder, "t.mpk1"), |bytes| bytes[5000] ^= 1);
    folder.fails(
        "fold-pack pack t.mpk1 -o other --store store",
        8,
        &["a blob of the store is damaged", "t.mpk1"],
    );
    assert!(!is_cached(&folder, &teacher("t.mpk1")));
    folder.ok("fold-pack pack t.mpk1 -o other --store store");
}

#[test]
fn a_store_that_cannot_be_written_is_an_error() {
    let folder = folder();
    folder.put("file", "");
    folder.put("full/of", "");
    for (store, code, says) in
        [("file/store", 2, "file/store"), ("full", 2, "not empty"), ("/proc/foldline", 5, "/proc/foldline")]
    {
        let line = teacher("t.mpk1").replace("--store store", &format!("--store {store}"));
        folder.fails(&line, code, &[says]);
        assert!(!folder.join("t.mpk1").exists());
    }
}

#[test]
fn a_newer_store_is_refused_with_its_layout() {
    let folder = folder();
    folder.ok(&teacher("t.mpk1"));
    folder.put("store/store.json", r#"{"format":"foldline store","version":7}"#);
    folder.fails(PACK, 4, &["layout 7"]);
    folder.fails("spill-purge store --store store", 4, &["layout 7"]);
}

/// What stands in the work tree and is not in the store is nobody's to replace, and what is in the store is not written to.
#[test]
fn files_of_the_work_tree_and_of_the_store_are_safe() {
    let folder = folder();
    folder.put("t.mpk1", "mine");
    folder.fails(&teacher("t.mpk1"), 2, &["other content", "t.mpk1", "--force"]);
    assert_eq!(folder.bytes("t.mpk1"), b"mine");
    folder.ok(&format!("{} --force", teacher("t.mpk1")));
    let (stored, sealed) = (blob(&folder, "t.mpk1"), folder.bytes("t.mpk1"));

    let games = data("selfplay_games.jsonl");
    let line = format!("stream-write selfplay {} -o t.mpk1 --append", games.display());
    folder.fails(&line, 2, &["write-protected", "t.mpk1"]);
    // a job that knows of no store replaces the link
    folder.ok(&format!("stream-write selfplay {} -o t.mpk1 --force", games.display()));
    assert!(!folder.join("t.mpk1").is_symlink());
    assert_eq!(fs_err::read(&stored).unwrap(), sealed);
    // the same bytes are left where they are
    folder.put("t.mpk1", &sealed);
    folder.ok(&teacher("t.mpk1"));
    assert!(!folder.join("t.mpk1").is_symlink());
}

/// A smaller set leaves nothing of the larger one that stood there.
#[test]
fn a_set_is_replaced_as_a_whole() {
    let folder = folder();
    folder.ok(&teacher("t.mpk1"));
    folder.ok(PACK);
    let two = PACK.replace("--shards 4", "--shards 2");
    folder.ok(&two);
    folder.ok("fold-pack verify sets/t.set.json");
    assert_eq!(fs_err::read_dir(folder.join("sets")).unwrap().count(), 3);
    folder.ok(PACK);
    folder.ok("fold-pack verify sets/t.set.json");
    assert_eq!(fs_err::read_dir(folder.join("sets")).unwrap().count(), 5);
}

/// Killed at any time, a job leaves no half result, and a record that was published is never computed again.
#[test]
fn kill_9_and_run_again() {
    let folder = folder();
    folder.ok(&teacher("t.mpk1"));
    let expected = digests(&folder.ok(&PACK.replace("sets/t", "elsewhere/t")));
    fs_err::remove_dir_all(folder.join("store")).unwrap();
    fs_err::remove_file(folder.join("t.mpk1")).unwrap();
    folder.ok(&teacher("t.mpk1"));
    let (mut killed, mut cost) = (0, None);
    for delay in 0..30 {
        let mut child = folder.command(PACK).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        if folder.join("sets/t.set.json").exists() {
            folder.ok("fold-pack verify sets/t.set.json");
        }
        if let Some(published) = packed(&folder) {
            assert_eq!(*cost.get_or_insert(published.clone()), published, "computed twice");
        }
    }
    assert!(killed > 0);
    assert_eq!(digests(&folder.ok(PACK)), expected);
    assert!(is_cached(&folder, PACK));
    folder.ok("spill-purge store --store store");
    for name in ["tmp", "leases", "locks"] {
        assert_eq!(fs_err::read_dir(folder.join("store").join(name)).unwrap().count(), 0, "{name}");
    }
}

/// What the record of the pack says that it cost.
fn packed(folder: &Folder) -> Option<Value> {
    let list = folder.ok("spill-purge list --store store --json").json();
    let actions = list["actions"].as_array().unwrap().clone();
    actions
        .into_iter()
        .find(|action| action["job"] == "fold-pack pack")
        .map(|action| action["wall_s"].clone())
}

fn chain(folder: &Folder) {
    folder.ok(&teacher("t.mpk1"));
    folder.ok("fold-pack partition t.mpk1 -o part --store store");
    folder.ok("fold-pack fold part -o folded/t --store store");
    folder.ok(PACK);
}

fn listed(folder: &Folder) -> Vec<String> {
    let list = folder.ok("spill-purge list --store store --json").json();
    let jobs =
        list["actions"].as_array().unwrap().iter().map(|action| action["job"].as_str().unwrap().to_owned());
    let mut jobs: Vec<_> = jobs.collect();
    jobs.sort();
    jobs
}

#[test]
fn a_purge_goes_from_scratch_to_datasets_and_leaves_streams() {
    let folder = folder();
    chain(&folder);
    let all = ["fold-pack fold", "fold-pack pack", "fold-pack partition", "stream-write teacher"];
    assert_eq!(listed(&folder), all);
    let size = folder.ok("spill-purge list --store store --json").json()["bytes"].as_u64().unwrap();
    let line = format!("spill-purge store --store store --max-size {} --json", size - 1);
    assert_eq!(folder.ok(&format!("{line} --dry-run")).json()["removed"][0]["job"], "fold-pack partition");
    assert_eq!(listed(&folder), all);
    folder.ok(&line);
    assert_eq!(listed(&folder), ["fold-pack fold", "fold-pack pack", "stream-write teacher"]);
    folder.fails("spill-purge store --store store --max-size 0", 7, &["streams are 1.8 MiB", "0 B at most"]);
    assert_eq!(listed(&folder), ["stream-write teacher"]);
    folder.ok("stream-write check t.mpk1");
    // what was purged is made again, and stands in the same places
    assert!(!is_cached(&folder, PACK));
    folder.ok("fold-pack verify sets/t.set.json");
    folder.ok("spill-purge store --store store --older-than 1h");
    assert_eq!(listed(&folder), ["fold-pack pack", "stream-write teacher"]);
    std::thread::sleep(Duration::from_millis(2100));
    folder.ok("spill-purge store --store store --older-than 1s");
    assert_eq!(listed(&folder), ["stream-write teacher"]);
}

/// A dataset goes only while it can be made again, also where what lay between is gone already.
#[test]
fn a_purge_leaves_what_cannot_be_made_again() {
    let folder = folder();
    let games = fs_err::read(data("selfplay_games.jsonl")).unwrap();
    folder.put("games.jsonl", games);
    folder.ok("stream-write selfplay games.jsonl -o loose.mpk1");
    folder.ok("fold-pack partition loose.mpk1 -o part --store store");
    folder.ok("fold-pack fold part -o folded/t --store store");
    let kept = blob(&folder, "folded/t.set.json");
    fs_err::rename(folder.join("loose.mpk1"), folder.join("moved.mpk1")).unwrap();
    folder.fails(
        "spill-purge store --store store --max-size 0",
        7,
        &["datasets without their sources are 6"],
    );
    assert!(kept.exists());
    fs_err::rename(folder.join("moved.mpk1"), folder.join("loose.mpk1")).unwrap();
    folder.ok("spill-purge store --store store --max-size 0");
    assert!(!kept.exists());
}

#[test]
fn a_purge_takes_nothing_that_a_running_job_holds() {
    let folder = folder();
    chain(&folder);
    let held = blob(&folder, "folded/t-00000.parquet");
    {
        let store = Store::open(&folder.join("store")).unwrap();
        store.know(&held).unwrap();
        let line = "spill-purge store --store store --max-size 0";
        folder.fails(line, 7, &["in use are 7"]);
        assert_eq!(listed(&folder), ["fold-pack fold", "stream-write teacher"]);
        let key = common::state::digest::Digest::of(b"key");
        let _lock = store.try_lock(&key).unwrap().unwrap();
        let scratch = store.scratch(&key).unwrap();
        fs_err::write(scratch.join("in the making"), "").unwrap();
        folder.run(line);
        assert!(scratch.join("in the making").exists());
    }
    folder.fails("spill-purge store --store store --max-size 0", 7, &["in use are 0 B"]);
    assert!(!held.exists());
    assert_eq!(listed(&folder), ["stream-write teacher"]);
}

#[test]
fn only_a_store_is_purged() {
    let folder = folder();
    folder.put("file", "");
    folder.fails("spill-purge store --store . --max-size 0", 2, &["no store"]);
    folder.fails("spill-purge store --store gone", 5, &["gone"]);
    folder.fails("spill-purge list --store .", 2, &["no store"]);
    assert_eq!(folder.names(), ["file"]);
}

/// What killed processes left: blobs that no record names, results in the making, leases.
#[test]
fn a_purge_sweeps() {
    let folder = folder();
    chain(&folder);
    let stray = folder.join(&format!("store/blobs/sha256/00/{}", "0".repeat(64)));
    fs_err::create_dir_all(stray.parent().unwrap()).unwrap();
    fs_err::write(&stray, "orphan").unwrap();
    let dead = folder.join(&format!("store/tmp/{}", "0".repeat(64)));
    fs_err::create_dir_all(&dead).unwrap();
    fs_err::write(folder.join("store/leases/dead"), "").unwrap();
    fs_err::remove_file(blob(&folder, "folded/t-00000.parquet")).unwrap();
    let report = folder.ok("spill-purge store --store store --json").json();
    assert_eq!((report["broken"].as_u64(), report["freed"].as_u64() > Some(6)), (Some(1), true));
    assert!(!stray.exists() && !dead.exists());
    assert_eq!(listed(&folder), ["fold-pack pack", "fold-pack partition", "stream-write teacher"]);
    folder.ok("fold-pack verify sets/t.set.json");
}

#[test]
fn receipts_of_what_is_gone_are_removed() {
    let folder = folder();
    folder.ok(&format!("{} --receipt receipts/t.json", teacher("t.mpk1")));
    folder.ok(&format!("{PACK} --receipt receipts/deep/p.json"));
    folder.put("receipts/other.json", "{}");
    let check = "spill-purge receipts receipts nowhere --store store --json";
    let report = folder.ok(check).json();
    assert_eq!((report["good"].as_u64(), report["removed"].as_array().unwrap().len()), (Some(2), 0));
    damage(&blob(&folder, "sets/t-00001.parquet"), |bytes| bytes[700] ^= 4);
    assert_eq!(
        folder.ok(&format!("{check} --dry-run")).json()["removed"][0]["output"],
        "sets/t-00001.parquet"
    );
    assert!(folder.join("receipts/deep/p.json").exists());
    folder.ok(check);
    assert!(!folder.join("receipts/deep/p.json").exists());
    assert!(folder.join("receipts/t.json").exists() && folder.join("receipts/other.json").exists());
}

#[test]
fn digests_are_read_once() {
    let folder = folder();
    folder.put("a", "abc");
    std::thread::sleep(Duration::from_millis(150));
    let line = "spill-purge digest a --store store";
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n";
    assert_eq!(folder.ok(line).stdout, abc);
    let memos = || fs_err::read_dir(folder.join("store/memo")).unwrap().count();
    assert_eq!((memos(), folder.ok(line).stdout.as_str()), (1, abc));
    folder.put("a", "abd");
    assert_ne!(folder.ok(line).stdout, abc);
    folder.fails("spill-purge digest gone --store store", 5, &["gone"]);
}

/// A day is an action; one in which an episode took too long is not, since it may come out otherwise.
#[test]
fn decision_days_are_stored_unless_they_are_cut_short() {
    let folder = folder();
    let cards = format!(
        "--cards {} --attacks {}",
        tcg("cards/cards_v2.tsv").display(),
        tcg("cards/attacks_v2.tsv").display()
    );
    let archive = |day: &str| tcg(&format!("replays/{day}.zip")).display().to_string();
    let build =
        |days: &str, out: &str| format!("day-build build {days} -o {out} {cards} --store store --json");
    let one = build(&archive("2026-11-25"), "a");
    let made = receipt(&folder, &one);
    assert_eq!((&made["stored"], &made["cached"]), (&true.into(), &false.into()));
    assert!(is_cached(&folder, &build(&archive("2026-11-25"), "b")));
    assert_eq!(folder.ok(&one).json()["days"][0]["outcome"], "cached");
    let two = build(&format!("{} {}", archive("2026-11-25"), archive("2026-11-23")), "a");
    let made = receipt(&folder, &two);
    assert_eq!(
        (&made["cached"], &made["key"], made["outputs"].as_array().unwrap().len()),
        (&false.into(), &Value::Null, 4)
    );
    assert!(is_cached(&folder, &two));
    folder.ok("day-build verify a/2026-11-25.parquet a/2026-11-23.parquet");
    let cut = build(&archive("2026-11-23"), "c --ep-timeout 0s");
    for _ in 0..2 {
        let made = receipt(&folder, &cut);
        assert_eq!((&made["stored"], &made["cached"]), (&false.into(), &false.into()));
        assert!(!folder.join("c/2026-11-23.parquet").is_symlink());
    }
    // a day that somebody built otherwise, and not through the store, is not replaced
    folder.fails(&build(&archive("2026-11-23"), "c"), 4, &["built from something else", "--force"]);
}
