//! `catalog-sync`: what is on the disk, in the catalog, whatever happened in between.

use std::process::Stdio;

use rusqlite::Connection;
use serde_json::Value;

use crate::folder;

const SYNC: &str = "catalog-sync sync sets --catalog c.sqlite --json";

/// Two sets in nested folders: `sets/a.set.json` and `sets/deep/b.set.json`.
fn two_sets() -> end_to_end::Folder {
    let folder = folder().streams();
    std::fs::create_dir_all(folder.join("sets/deep")).unwrap();
    folder.ok("fold-pack pack t.mpk1 -o sets/a --shards 2");
    folder.ok("fold-pack pack s.mpk1 -o sets/deep/b");
    folder
}

fn counts(report: &Value) -> [u64; 4] {
    ["added", "updated", "unchanged", "missing"].map(|key| report[key].as_u64().unwrap())
}

#[test]
fn sets_are_found_once_and_can_be_asked_for() {
    let folder = two_sets();
    assert_eq!(counts(&folder.ok(&format!("{SYNC} --dry-run")).json()), [2, 0, 0, 0]);
    assert!(!folder.join("c.sqlite").exists());
    let twice = "catalog-sync sync sets/deep sets sets --catalog c.sqlite --json";
    assert_eq!(counts(&folder.ok(twice).json()), [2, 0, 0, 0]);
    assert_eq!(counts(&folder.ok(SYNC).json()), [0, 0, 2, 0]);
    assert_eq!(counts(&folder.ok(&format!("{SYNC} --deep")).json()), [0, 0, 2, 0]);
    let list = folder.ok("catalog-sync list --catalog c.sqlite --json").json();
    let rows: Vec<_> =
        list.as_array().unwrap().iter().map(|set| (set["rows"].as_u64(), set["state"].as_str())).collect();
    assert_eq!(rows, [(Some(12601), Some("present")), (Some(5275), Some("present"))]);
    let set = folder.ok("catalog-sync show a.set.json --catalog c.sqlite --json").json();
    assert_eq!((&set["records"], set["shards"].as_array().unwrap().len()), (&13048.into(), 2));
    assert_eq!(set["conventions"]["mate_slack"], 100);
    folder.fails("catalog-sync show c.set.json --catalog c.sqlite", 5, &["no set \"c.set.json\""]);
    folder.fails(
        "catalog-sync list --catalog nowhere.sqlite",
        5,
        &["there is no catalog", "catalog-sync sync"],
    );
    // and with SQL
    let db = Connection::open(folder.join("c.sqlite")).unwrap();
    let total: i64 =
        db.query_row("SELECT sum(rows) FROM datasets WHERE kind = 'folded'", [], |row| row.get(0)).unwrap();
    assert_eq!(total, 12601 + 5275);
}

#[test]
fn changes_on_the_disk_are_seen() {
    let folder = two_sets();
    folder.ok(SYNC);
    // touched, and the same: looked at again
    let shard = std::fs::File::options().append(true).open(folder.join("sets/a-00000.parquet")).unwrap();
    shard.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    folder.ok("catalog-sync verify --catalog c.sqlite");
    assert_eq!(counts(&folder.ok(SYNC).json()), [0, 1, 1, 0]);
    // another set under the same names
    folder.ok("fold-pack pack t.mpk1 -o sets/a --shards 2 --seed 9");
    folder.fails(
        "catalog-sync verify --catalog c.sqlite",
        8,
        &["a.set.json", "not the one that the catalog records"],
    );
    assert_eq!(counts(&folder.ok(SYNC).json()), [0, 1, 1, 0]);
    folder.ok("catalog-sync verify --catalog c.sqlite --deep");
    // gone, and back
    std::fs::rename(folder.join("sets/deep"), folder.join("elsewhere")).unwrap();
    folder.fails("catalog-sync verify --catalog c.sqlite", 5, &["b.set.json"]);
    assert_eq!(counts(&folder.ok(SYNC).json()), [0, 0, 1, 1]);
    assert_eq!(folder.ok("catalog-sync list --catalog c.sqlite --json").json()[1]["state"], "missing");
    folder.ok("catalog-sync verify --catalog c.sqlite");
    std::fs::rename(folder.join("elsewhere"), folder.join("sets/deep")).unwrap();
    assert_eq!(counts(&folder.ok(SYNC).json()), [0, 1, 1, 0]);
}

#[test]
fn what_is_damaged_is_left_out_and_the_rest_is_synced() {
    let folder = two_sets();
    let whole = folder.bytes("sets/a-00001.parquet");
    let mut flipped = whole.clone();
    flipped[3000] ^= 1;
    folder.put("sets/a-00001.parquet", &flipped);
    let done =
        folder.fails(SYNC, 3, &["1 files are left out", "a-00001.parquet", "does not match its checksum"]);
    assert_eq!(counts(&done.json()), [1, 0, 0, 0]);
    folder.put("sets/a-00001.parquet", &whole);
    assert_eq!(counts(&folder.ok(SYNC).json()), [1, 0, 1, 0]);
    // recorded, then damaged
    folder.put("sets/a-00001.parquet", &flipped);
    folder.fails(SYNC, 3, &["a-00001.parquet"]);
    assert_eq!(folder.ok("catalog-sync list --catalog c.sqlite --json").json()[0]["state"], "damaged");
    folder.put("sets/a-00001.parquet", &whole);
    // a shard that no set names
    folder.put("sets/a-00002.parquet", &whole);
    folder.fails(SYNC, 3, &["a-00002.parquet", "no set names this shard"]);
    folder.put("sets/x.set.json", "{}");
    folder.fails(SYNC, 3, &["2 files are left out", "not the record of a folded set"]);
}

#[test]
fn a_newer_catalog_and_a_foreign_file_are_refused() {
    let folder = two_sets();
    folder.ok(SYNC);
    Connection::open(folder.join("c.sqlite")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for line in [SYNC, "catalog-sync list --catalog c.sqlite"] {
        folder.fails(line, 4, &["schema version 99", "knows 2"]);
    }
    folder.fails("catalog-sync sync sets --catalog t.mpk1", 3, &["t.mpk1"]);
    folder.fails("catalog-sync list --catalog t.mpk1", 3, &["t.mpk1"]);
}

/// Writers wait for each other, and a reader for nobody.
#[test]
fn two_syncs_and_a_reader_at_once() {
    let folder = two_sets();
    for i in 0..40 {
        std::fs::create_dir(folder.join(&format!("sets/{i}"))).unwrap();
        for name in ["b.set.json", "b-00000.parquet"] {
            std::fs::copy(
                folder.join(&format!("sets/deep/{name}")),
                folder.join(&format!("sets/{i}/{name}")),
            )
            .unwrap();
        }
    }
    let spawn =
        |line: &str| folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..3 {
        let _ = std::fs::remove_file(folder.join("c.sqlite"));
        let syncs = [spawn(SYNC), spawn(SYNC), spawn(SYNC)];
        for _ in 0..20 {
            let done = folder.run("catalog-sync list --catalog c.sqlite");
            assert!(matches!(done.code, Some(0 | 5)), "{}", done.stderr);
        }
        for sync in syncs {
            let done = end_to_end::Done::from(sync.wait_with_output().unwrap());
            assert_eq!(done.code, Some(0), "{}", done.stderr);
        }
        assert_eq!(
            folder.ok("catalog-sync list --catalog c.sqlite --json").json().as_array().unwrap().len(),
            42
        );
        assert_eq!(counts(&folder.ok(SYNC).json()), [0, 0, 42, 0]);
    }
}

#[test]
fn a_renamed_set_moves_and_a_copied_record_is_left_out() {
    let folder = two_sets();
    folder.ok(SYNC);
    std::fs::rename(folder.join("sets/a.set.json"), folder.join("sets/h.set.json")).unwrap();
    assert_eq!(counts(&folder.ok(SYNC).json())[0], 1);
    assert_eq!(folder.ok("catalog-sync list --catalog c.sqlite --json").json().as_array().unwrap().len(), 2);
    std::fs::copy(folder.join("sets/h.set.json"), folder.join("sets/copy.set.json")).unwrap();
    folder.fails(SYNC, 3, &["another set names this shard too"]);
    folder.ok("catalog-sync verify --catalog c.sqlite");
}

#[test]
fn what_a_sync_passes_over_is_not_missing_and_pipes_do_not_stop_it() {
    let folder = two_sets();
    std::fs::rename(folder.join("sets"), folder.join(".hidden")).unwrap();
    folder.ok("catalog-sync sync .hidden --catalog c.sqlite");
    assert_eq!(counts(&folder.ok("catalog-sync sync . --catalog c.sqlite --json").json()), [0, 0, 0, 0]);
    let made = std::process::Command::new("mkfifo").arg(folder.join(".hidden/x.set.json")).status().unwrap();
    assert!(made.success());
    folder.ok("catalog-sync sync .hidden --catalog c.sqlite");
    folder.fails("catalog-sync list --catalog .hidden/x.set.json", 2, &["no regular file"]);
    folder.ok("catalog-sync sync .hidden --catalog :memory:");
    assert!(folder.join(":memory:").exists());
}
