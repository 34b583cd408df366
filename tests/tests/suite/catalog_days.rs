//! `catalog-sync` and decision days that were built from real replays.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Stdio;

use common::formats::decisions::{Data, Day, column};
use end_to_end::{Done, Folder, tcg};
use rusqlite::Connection;
use serde_json::Value;

use crate::folder;

const SYNC: &str = "catalog-sync sync days --catalog c.sqlite --json";
const DAYS: [&str; 3] = ["2026-11-21", "2026-11-23", "2026-11-25"];

/// The bundled days, in row groups of few episodes.
fn three_days() -> Folder {
    let folder = folder();
    for day in DAYS {
        folder.build(&format!("{day}.zip"), "days", "--flush 5 --competition-start 2026-11-21");
    }
    folder
}

fn counts(done: &Done) -> [u64; 4] {
    let report = done.json();
    ["added", "updated", "unchanged", "missing"].map(|key| report[key].as_u64().unwrap())
}

fn select(folder: &Folder, flags: &str) -> Value {
    folder.ok(&format!("catalog-sync list --catalog c.sqlite --json {flags}")).json()
}

fn sql(folder: &Folder, query: &str) -> Vec<String> {
    let db = Connection::open(folder.join("c.sqlite")).unwrap();
    let mut query = db.prepare(query).unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn zips() -> Vec<String> {
    DAYS.iter().map(|day| tcg("replays").join(format!("{day}.zip")).display().to_string()).collect()
}

#[test]
fn days_are_found_once_and_can_be_asked_for() {
    let folder = three_days();
    assert_eq!(counts(&folder.ok(&format!("{SYNC} --dry-run"))), [3, 0, 0, 0]);
    assert!(!folder.join("c.sqlite").exists());
    assert_eq!(counts(&folder.ok(&SYNC.replace("days", ". days ."))), [3, 0, 0, 0]);
    assert_eq!(counts(&folder.ok(SYNC)), [0, 0, 3, 0]);
    assert_eq!(counts(&folder.ok(&format!("{SYNC} --deep"))), [0, 0, 3, 0]);
    folder.ok("catalog-sync verify --deep --catalog c.sqlite");
    let list = folder.ok("catalog-sync list --catalog c.sqlite --json").json();
    let rows: Vec<_> = list.as_array().unwrap().iter().map(|day| day["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [3774, 1583, 113]);
    let day = folder.ok("catalog-sync show 2026-11-25 --catalog c.sqlite --json").json();
    let members = serde_json::json!({"used": 1, "draw": 1, "duplicate": 1, "malformed": 2, "no_reward": 6});
    assert_eq!((&day["members"], &day["state"]), (&members, &"present".into()));
    assert!(day["not_used"].to_string().contains("EOF while parsing"));
    assert_eq!(folder.ok("catalog-sync show 2026-11-25.parquet --catalog c.sqlite --json").json(), day);
    folder.fails("catalog-sync show 2026-11-22 --catalog c.sqlite", 5, &["no day \"2026-11-22\""]);
    // and with SQL
    let days = "SELECT group_concat((id - 20777) || ' ' || date || ' ' || competition_day, ', ') FROM days";
    assert_eq!(sql(&folder, days), ["1 2026-11-21 1, 3 2026-11-23 3, 5 2026-11-25 5"]);
    let decks = "SELECT group_concat(DISTINCT cards) FROM decks JOIN
        (SELECT deck_id, sum(quantity) AS n FROM deck_cards GROUP BY deck_id) ON deck_id = id AND n = cards";
    assert_eq!(sql(&folder, decks), ["60"]);
}

#[test]
fn a_day_is_recorded_from_one_place() {
    let folder = three_days();
    folder.ok(SYNC);
    folder.build("2026-11-23.zip", "other", "--flush 3");
    let both = "catalog-sync sync days other --catalog c.sqlite --json";
    let path = |folder: &Folder| select(folder, "--days 2026-11-23")["days"][0]["path"].to_string();
    for line in [both.to_owned(), format!("{both} --dry-run"), format!("{both} --deep")] {
        let done = folder.fails(&line, 4, &["another file is the dataset of 2026-11-23", "--replace"]);
        assert_eq!(counts(&done), [0, 0, 3, 0]);
        assert!(path(&folder).contains("/days/"));
    }
    let replace = "catalog-sync sync other --catalog c.sqlite --json --replace";
    assert_eq!(counts(&folder.ok(&format!("{replace} --dry-run"))), [0, 1, 0, 0]);
    assert_eq!(counts(&folder.ok(replace)), [0, 1, 0, 0]);
    assert!(path(&folder).contains("/other/"));
    assert_eq!(sql(&folder, "SELECT count(*) || '' FROM episodes"), ["79"]);
    // of the two the one that is recorded is it, until it goes
    folder.fails(SYNC, 4, &["another file is the dataset"]);
    std::fs::rename(folder.join("other"), folder.join("moved")).unwrap();
    assert_eq!(
        counts(&folder.ok("catalog-sync sync moved --catalog c.sqlite --json --dry-run")),
        [0, 1, 0, 0]
    );
    assert_eq!(counts(&folder.ok("catalog-sync sync moved --catalog c.sqlite --json")), [0, 1, 0, 0]);
    assert!(path(&folder).contains("/moved/"));
}

#[test]
fn changes_on_the_disk_are_seen() {
    let folder = three_days();
    folder.ok(SYNC);
    let (name, state) = ("days/2026-11-23.parquet", "SELECT state FROM datasets ORDER BY path");
    // touched, and the same: looked at again
    let file = File::options().append(true).open(folder.join(name)).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    folder.ok("catalog-sync verify --catalog c.sqlite");
    assert_eq!(counts(&folder.ok(SYNC)), [0, 1, 2, 0]);
    // damaged
    let whole = folder.bytes(name);
    let mut flipped = whole.clone();
    flipped[5000] ^= 1;
    folder.put(name, &flipped);
    folder.fails("catalog-sync verify --catalog c.sqlite", 8, &[name, "SHA-256"]);
    let done = folder.fails(SYNC, 3, &["1 files are left out", name, "SHA-256"]);
    assert_eq!(counts(&done), [0, 0, 2, 0]);
    assert_eq!(sql(&folder, state), ["present", "damaged", "present"]);
    folder.fails("catalog-sync list --catalog c.sqlite --days 2026-11-23", 5, &["no day 2026-11-23"]);
    assert_eq!(select(&folder, "--all-days")["days"].as_array().unwrap().len(), 2);
    folder.put(name, &whole[..whole.len() - 9]);
    folder.fails(SYNC, 3, &[name]);
    folder.put(name, &whole);
    assert_eq!(counts(&folder.ok(SYNC)), [0, 1, 2, 0]);
    // gone, and back
    std::fs::rename(folder.join("days"), folder.join("elsewhere")).unwrap();
    std::fs::create_dir(folder.join("days")).unwrap();
    folder.fails("catalog-sync verify --catalog c.sqlite", 5, &["2026-11-21.parquet"]);
    assert_eq!(counts(&folder.ok(SYNC)), [0, 0, 0, 3]);
    assert_eq!(counts(&folder.ok(SYNC)), [0, 0, 0, 0]);
    folder.fails("catalog-sync list --catalog c.sqlite --all-days", 5, &["none of these days"]);
    std::fs::remove_dir(folder.join("days")).unwrap();
    std::fs::rename(folder.join("elsewhere"), folder.join("days")).unwrap();
    assert_eq!(counts(&folder.ok(SYNC)), [0, 3, 0, 0]);
    // one file of the two
    std::fs::rename(folder.join(name), folder.join("away")).unwrap();
    folder.fails(SYNC, 3, &["2026-11-23.parquet", "No such file"]);
    assert_eq!(sql(&folder, state), ["present", "missing", "present"]);
    std::fs::rename(folder.join("away"), folder.join(name)).unwrap();
    assert_eq!(counts(&folder.ok(SYNC)), [0, 1, 2, 0]);
    std::fs::remove_file(folder.join("days/2026-11-23.manifest.json")).unwrap();
    folder.fails(SYNC, 3, &["2026-11-23.parquet", "no manifest stands beside"]);
    assert_eq!(sql(&folder, state), ["present", "missing", "present"]);
}

/// A manifest says what the catalog believes, so it has to agree with itself and with the file.
#[test]
fn a_manifest_that_contradicts_itself_is_left_out() {
    let folder = folder();
    folder.build("2026-11-25.zip", "days", "");
    let name = "days/2026-11-25.manifest.json";
    let manifest: Value = serde_json::from_slice(&folder.bytes(name)).unwrap();
    let used = manifest["members"].as_array().unwrap().iter().position(|m| m["status"] == "used").unwrap();
    let lie = |pointer: &str, value: Value, code: i32, says: &str| {
        let mut manifest = manifest.clone();
        *manifest.pointer_mut(pointer).unwrap() = value;
        folder.put(name, manifest.to_string());
        folder.fails(SYNC, code, &["2026-11-25", says]);
        folder.fails("catalog-sync list --catalog c.sqlite --all-days", 5, &[]);
    };
    let of_used = |field: &str| format!("/members/{used}/{field}");
    lie("/format", "something".into(), 3, "not the manifest of a decision day");
    lie("/schema_version", 2.into(), 4, "schema 2");
    lie("/date", "2026-11-24".into(), 3, "day_id");
    lie("/day_id", 1.into(), 3, "day_id");
    lie("/rows", 112.into(), 3, "row groups do not sum up");
    lie("/row_groups", serde_json::json!([u64::MAX, 114]), 3, "row groups do not sum up");
    lie("/episodes", 2.into(), 3, "113 rows of 1 episodes");
    lie(&of_used("rows"), serde_json::json!([1, 1]), 3, "its members have 2 rows");
    lie(&of_used("rows"), serde_json::json!([u64::MAX, 2]), 3, "does not follow the one before");
    lie(&of_used("first_row"), 1.into(), 3, "does not follow the one before");
    lie(&of_used("row_group"), 1.into(), 3, "does not follow the one before");
    lie(&of_used("episode_id"), Value::Null, 3, "lacks an id of its own");
    lie(&of_used("status"), "draw".into(), 3, "is not used, and has rows");
    lie(&of_used("status"), "unheard of".into(), 3, "a status or a number of steps");
    lie(&of_used("steps"), u64::MAX.into(), 3, "a status or a number of steps");
    lie(&of_used("name"), manifest["members"][(used + 1) % 2]["name"].clone(), 3, "is there twice");
    lie(&of_used("decks/0"), "0".repeat(64).into(), 3, "a deck that is not listed");
    let hash = manifest["decks"].as_object().unwrap().keys().next().unwrap();
    lie(&format!("/decks/{hash}/0"), 9999.into(), 3, "holds other cards");
    lie("/fingerprint", "0".repeat(64).into(), 3, "the fingerprint in the footer");
    lie("/parquet_sha256", "0".repeat(64).into(), 3, "SHA-256");
    folder.put(name, &manifest.to_string()[..2000]);
    folder.fails(SYNC, 3, &["2026-11-25"]);
    folder.put(name, manifest.to_string());
    assert_eq!(counts(&folder.ok(SYNC)), [1, 0, 0, 0]);
}

/// The same replays under two dates: each episode is read from the earlier day, whatever came first.
#[test]
fn an_episode_of_two_days_is_selected_once() {
    let folder = folder();
    let replays = std::fs::read(tcg("replays/2026-11-23.zip")).unwrap();
    for (day, out) in [("2026-11-22", "early"), ("2026-11-23", "late")] {
        folder.put(&format!("{day}.zip"), &replays);
        folder.build(&format!("{day}.zip"), out, "");
    }
    let days = |folder: &Folder| {
        let selection = select(folder, "--all-days");
        let days = selection["days"].as_array().unwrap();
        days.iter().map(|day| (day["date"].to_string(), day["rows"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    let expected = [("\"2026-11-22\"".into(), 1583), ("\"2026-11-23\"".into(), 0)];
    let games = "SELECT group_concat(games, ' ') FROM
        (SELECT sum(games) AS games FROM agent_elo_daily GROUP BY day_id ORDER BY day_id)";
    for order in [["early", "late"], ["late", "early"]] {
        let _ = std::fs::remove_file(folder.join("c.sqlite"));
        for (at, out) in order.into_iter().enumerate() {
            let done = folder.ok(&format!("catalog-sync sync {out} --catalog c.sqlite --json"));
            assert_eq!(counts(&done), [1, 0, 0, 0]);
            // told with the day that has them without being read from
            assert_eq!(done.json()["elsewhere"].to_string().contains("8"), at == 1 && out == "late");
        }
        assert_eq!(days(&folder), expected);
        // the games count once
        assert_eq!(sql(&folder, games), ["16 16"]);
    }
    let table = folder.ok("catalog-sync sync early late --catalog c.sqlite").stdout;
    assert!(table.contains("2026-11-23: 8 episodes are read from the file of another day"), "{table}");
    // the earlier day goes: the later one is read
    std::fs::rename(folder.join("early"), folder.join("away")).unwrap();
    std::fs::create_dir(folder.join("early")).unwrap();
    folder.ok("catalog-sync sync early --catalog c.sqlite");
    assert_eq!(days(&folder), [("\"2026-11-23\"".into(), 1583)]);
}

#[test]
fn ratings_are_those_of_the_reference() {
    let folder = three_days();
    folder.ok(SYNC);
    let zips = zips();
    let compared = |args: &[&str]| -> u64 {
        let args: Vec<&str> = args.iter().copied().chain(zips.iter().map(String::as_str)).collect();
        folder.python("reference_elo.py", &args).trim().parse().unwrap()
    };
    assert_eq!(compared(&["daily", "c.sqlite"]), 184);
    folder.ok(&format!("day-build scan {} -o scans", zips.join(" ")));
    for (before, ratings) in [("2026-11-21", 0), ("2026-11-22", 85), ("2026-11-24", 85), ("2026-11-26", 86)] {
        let elo =
            format!("catalog-sync elo --scans scans --before {before} -o {before}.json --store store --json");
        let first = folder.ok(&elo);
        assert_eq!(compared(&["snapshot", &format!("{before}.json"), before]), ratings, "{before}");
        // and found the second time
        let bytes = folder.bytes(&format!("{before}.json"));
        folder.ok(&format!("{elo} --receipt r.json"));
        let receipt: Value = serde_json::from_slice(&folder.bytes("r.json")).unwrap();
        assert_eq!((&receipt["cached"], &receipt["report"]), (&true.into(), &first.json()));
        assert_eq!(folder.bytes(&format!("{before}.json")), bytes);
    }
    // what a build takes its buckets from
    folder.build("2026-11-23.zip", "rated", "--elo 2026-11-22.json");
    assert_ne!(folder.bytes("rated/2026-11-23.parquet"), folder.bytes("days/2026-11-23.parquet"));
}

#[test]
fn what_is_no_scan_gives_no_ratings() {
    let folder = folder();
    std::fs::create_dir(folder.join("scans")).unwrap();
    let elo = "catalog-sync elo --scans scans --before 2026-11-24 -o elo.json";
    folder.fails(elo, 5, &["there is no DATE.scan.json", "day-build scan"]);
    folder.fails(&elo.replace("scans scans", "scans nowhere"), 5, &["nowhere"]);
    folder.fails(&elo.replace("2026-11-24", "2026-11-31"), 2, &["no date"]);
    folder.ok(&format!("day-build scan {} -o scans -q", zips()[1]));
    let scan: Value = serde_json::from_slice(&folder.bytes("scans/2026-11-23.scan.json")).unwrap();
    let lie = |pointer: &str, value: Value, says: &str| {
        let mut scan = scan.clone();
        *scan.pointer_mut(pointer).unwrap() = value;
        folder.put("scans/2026-11-23.scan.json", scan.to_string());
        folder.fails(elo, 3, &["2026-11-23.scan.json", says]);
        assert!(!folder.join("elo.json").exists());
    };
    lie("/date", "2026-11-22".into(), "of another day");
    lie("/version", 2.into(), "is expected");
    lie("/episodes/0/rewards", Value::Null, "lacks its id, rewards, names or decks");
    lie("/episodes/0/decks/1", "0".repeat(64).into(), "lacks its id, rewards, names or decks");
    // one of a later day is not read
    folder.put("scans/2026-11-24.scan.json", "{}");
    folder.put("scans/2026-11-23.scan.json", scan.to_string());
    folder.ok(elo);
}

/// The rows of a selection are those of its episodes, in the files themselves.
#[test]
fn selections_name_the_rows_of_their_episodes() {
    let folder = three_days();
    folder.ok(SYNC);
    let ids = const { column("episode_id") };
    let mut sizes = BTreeSet::new();
    for flags in [
        "--all-days",
        "--last-n-days 2 --max-rows-per-day 300",
        "--days 2026-11-21,2026-11-22..2026-11-24 --top-elo 4",
        "--all-days --top-elo 3 --max-rows-per-day 100",
    ] {
        let selection = select(&folder, flags);
        sizes.insert(selection["rows"].as_u64().unwrap());
        for day in selection["days"].as_array().unwrap() {
            let numbers = |value: &Value| -> Vec<u64> {
                value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
            };
            let file = Day::open(File::open(day["path"].as_str().unwrap()).unwrap()).unwrap();
            let projection = file.project(["episode_id"]).unwrap();
            let (mut at, mut rows) = (0, vec![]);
            for group in 0..file.footer().groups() {
                let read = file.read(group, &projection).unwrap();
                let Some(Data::I64(values)) = read.get(ids) else { panic!("no episode ids") };
                let named = numbers(&day["row_groups"]).contains(&(group as u64));
                rows.extend(values.iter().enumerate().map(|(i, id)| (at + i as u64, *id, named)));
                at += values.len() as u64;
            }
            let wanted: BTreeSet<i64> = day["episodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|e| e["episode_id"].as_i64().unwrap())
                .collect();
            let ranges = day["ranges"].as_array().unwrap();
            let within = |row: u64| {
                ranges.iter().any(|range| {
                    let (first, n) = (range["first_row"].as_u64().unwrap(), range["rows"].as_u64().unwrap());
                    (first..first + n).contains(&row)
                })
            };
            for (row, id, named) in rows {
                assert_eq!(within(row), wanted.contains(&id), "{flags}: row {row} of episode {id}");
                assert!(named || !within(row));
            }
        }
    }
    assert_eq!(sizes.len(), 4);
    assert!(sizes.contains(&(3774 + 1583 + 113)), "{sizes:?}");
    for flags in ["--top-elo 3", "--max-rows-per-day 9"] {
        folder.fails(&format!("catalog-sync list --catalog c.sqlite {flags}"), 2, &["--all-days"]);
    }
    folder.fails("catalog-sync list --catalog c.sqlite --all-days --last-n-days 2", 2, &["cannot be used"]);
}

/// Writers wait for each other, and a reader for nobody.
#[test]
fn two_syncs_and_a_reader_at_once() {
    let folder = three_days();
    let spawn =
        |line: &str| folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..3 {
        let _ = std::fs::remove_file(folder.join("c.sqlite"));
        let syncs = [spawn(SYNC), spawn(SYNC), spawn(SYNC)];
        for _ in 0..20 {
            let done = folder.run("catalog-sync list --catalog c.sqlite --all-days --top-elo 5");
            assert!(matches!(done.code, Some(0 | 5)), "{}", done.stderr);
        }
        for sync in syncs {
            let done = Done::from(sync.wait_with_output().unwrap());
            assert_eq!(done.code, Some(0), "{}", done.stderr);
        }
        assert_eq!(select(&folder, "--all-days")["rows"], 3774 + 1583 + 113);
        assert_eq!(sql(&folder, "SELECT count(*) || '' FROM episodes"), ["79"]);
    }
}
