//! `stream-write selfplay`: results, policies, appending while games are played.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use end_to_end::data;
use serde_json::{Value, json};

use crate::folder;

/// A game of two searched plies.
fn game() -> Value {
    json!({
        "game": 0,
        "init_sfen": "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
        "moves": ["7g7f", "3c3d", "8h2b+"],
        "result": 1,
        "plies": [
            {"ply": 0, "value": 0.5, "cands": [["7g7f", 700], ["2g2f", 100]]},
            {"ply": 2, "value": 0.25, "cands": [["8h2b+", 800]]},
        ],
    })
}

fn with(path: &str, value: Value) -> Value {
    let mut game = game();
    *game.pointer_mut(path).unwrap() = value;
    game
}

#[test]
fn outcomes_are_the_movers_and_plies_may_be_left_out() {
    let folder = folder();
    folder.put("g.jsonl", format!("{}\n{}\n", game(), with("/result", json!(-1))));
    folder.ok("stream-write selfplay g.jsonl -o g.mpk1");
    let head = folder.ok("stream-write head g.mpk1 --json").json();
    let shown: Vec<_> = head["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["ply"].as_u64(), r["value_z"].as_f64()))
        .collect();
    assert_eq!(
        shown,
        [(Some(0), Some(1.0)), (Some(2), Some(1.0)), (Some(0), Some(-1.0)), (Some(2), Some(-1.0))]
    );
    let first = &head["records"][0]["candidates"][0];
    assert_eq!((&first["move"], &first["visits"]), (&json!("7g7f"), &json!(700)));
    assert_eq!(
        head["records"][1]["position"],
        "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b -"
    );
}

#[test]
fn games_without_a_result_give_no_record() {
    let folder = folder();
    let mut missing = game();
    missing.as_object_mut().unwrap().remove("result");
    folder.put("g.jsonl", format!("{}\n{missing}\n{}", with("/result", Value::Null), game()));
    let report = folder.ok("stream-write selfplay g.jsonl -o g.mpk1 --json").json();
    assert_eq!(
        (&report["games"], &report["unfinished"], &report["records"]),
        (&json!(3), &json!(2), &json!(2))
    );
    folder.put("n.jsonl", missing.to_string());
    let report = folder.ok("stream-write selfplay n.jsonl -o n.mpk1 --json").json();
    assert_eq!((&report["records"], folder.bytes("n.mpk1").len()), (&json!(0), 24));
}

#[test]
fn each_bad_game_is_refused_for_its_reason() {
    let folder = folder();
    let refuses = |game: Value, reason: &str| {
        folder.put("g.jsonl", game.to_string());
        folder.fails(
            "stream-write selfplay g.jsonl -o g.mpk1",
            3,
            &["refused line 1", &format!("({reason})")],
        );
    };
    refuses(with("/result", json!(2)), "result");
    refuses(with("/result", json!("win")), "result");
    refuses(with("/moves/0", json!("7f7e")), "from-empty-square");
    refuses(with("/moves/2", json!("resign")), "not-a-move");
    refuses(with("/moves/2", json!("8h7g+")), "promotion");
    refuses(with("/init_sfen", json!("startpos")), "sfen-fields");
    refuses(with("/plies/1/ply", json!(0)), "ply-order");
    refuses(with("/plies/1/ply", json!(4)), "ply-order");
    refuses(with("/plies/0/value", json!(1.000_000_01)), "value-range");
    refuses(with("/plies/0/cands", json!([])), "record");
    refuses(with("/plies/0/cands/1/0", json!("7g7f")), "duplicate-move");
    refuses(with("/plies/0/cands/1/0", json!("3c3d")), "moves-other-side");
    refuses(with("/plies/0/cands/1/0", json!("9i9g")), "takes-own-piece");
    refuses(with("/plies/0/cands/1/0", json!("P*5e")), "drop-not-in-hand");
    refuses(with("/plies/0/cands/1/1", json!(0)), "visits-range");
    refuses(with("/plies/0/cands/1/1", json!(-1)), "visits-range");
    refuses(with("/plies/0/cands/1/1", json!(4_294_967_296_u64)), "visits-range");
    refuses(with("/plies/0/cands/1/1", json!(0.5)), "visits-fraction");
    refuses(json!([1, 2]), "json");
    assert_eq!(folder.names(), ["g.jsonl"]);
}

#[test]
fn a_policy_is_quantised_at_its_scale() {
    let folder = folder();
    let half_quantum = 0.5 / 65536.0;
    let write = |policy: Value| {
        let mut game = with("/plies/0/cands", policy);
        game["plies"].as_array_mut().unwrap().truncate(1);
        folder.put("g.jsonl", game.to_string());
        "stream-write selfplay g.jsonl -o g.mpk1 --force --policy-scale 65536"
    };
    let policy =
        json!([["7g7f", 0.75], ["2g2f", 0.25 - 1e-5], ["5g5f", half_quantum * 0.99], ["1g1f", half_quantum]]);
    folder.ok(write(policy));
    let head = folder.ok("stream-write head g.mpk1 --json").json();
    let visits: Vec<_> =
        head["records"][0]["candidates"].as_array().unwrap().iter().map(|c| c["visits"].as_u64()).collect();
    assert_eq!(visits, [Some(49152), Some(16383), Some(1)]);
    folder.fails(write(json!([["7g7f", 1e-9]])), 3, &["policy-rounds-to-nothing"]);
    folder.fails(write(json!([["7g7f", 1.5]])), 3, &["policy-range"]);
}

/// A producer's pipe: each game is in the stream before the next is sent.
#[test]
fn appended_games_are_there_before_the_next_is_read() {
    let folder = folder();
    let games = fs_err::read_to_string(data("selfplay_games.jsonl")).unwrap();
    folder.ok(&format!("stream-write selfplay {} -o whole.mpk1", data("selfplay_games.jsonl").display()));
    let mut child = folder
        .command("stream-write selfplay - -o live.mpk1 --append --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let mut len = 0;
    for game in games.lines().take(3) {
        writeln!(pipe, "{game}").unwrap();
        let patience = Instant::now();
        while std::fs::metadata(folder.join("live.mpk1")).map_or(0, |meta| meta.len()) <= len {
            assert!(patience.elapsed() < Duration::from_secs(60), "the game does not arrive");
            std::thread::sleep(Duration::from_millis(2));
        }
        len = std::fs::metadata(folder.join("live.mpk1")).unwrap().len();
    }
    // while it runs, nobody else appends
    folder.fails("stream-write selfplay /dev/null -o live.mpk1 --append", 6, &["another process"]);
    let games_file = data("selfplay_games.jsonl");
    folder.fails(
        &format!("stream-write selfplay {} -o live.mpk1 --force", games_file.display()),
        6,
        &["live.mpk1"],
    );
    games.lines().skip(3).for_each(|game| writeln!(pipe, "{game}").unwrap());
    drop(pipe);
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(folder.bytes("live.mpk1") == folder.bytes("whole.mpk1"));
}

#[test]
fn nothing_is_appended_behind_a_torn_tail_or_other_conventions() {
    let folder = folder().streams();
    folder.put("g.jsonl", game().to_string());
    let torn = folder.bytes("s.mpk1")[..1000].to_vec();
    folder.put("torn.mpk1", &torn);
    let append = |stream: &str| format!("stream-write selfplay g.jsonl -o {stream} --append");
    folder.fails(&append("torn.mpk1"), 3, &["torn.mpk1", "is cut off", "stream-write repair"]);
    assert!(folder.bytes("torn.mpk1") == torn);
    folder.ok("stream-write repair torn.mpk1 -o whole.mpk1");
    let before = folder.bytes("whole.mpk1").len();
    folder.ok(&append("whole.mpk1"));
    assert_eq!(folder.bytes("whole.mpk1").len(), before + 2 * 108 + 3 * 8);
    let teacher = folder.bytes("t.mpk1");
    folder.fails(&append("t.mpk1"), 4, &["other conventions than self-play"]);
    assert!(folder.bytes("t.mpk1") == teacher);
}

#[test]
fn a_bad_game_ends_an_append_and_what_came_before_stays() {
    let folder = folder();
    let games = format!("{}\n{}\n{}\n", game(), with("/result", json!(7)), game());
    let done = folder.pipe("stream-write selfplay - -o a.mpk1 --append", games.as_bytes());
    done.assert_fails("append", 3, &["line 2 is refused", "2 records were appended before it and stay"]);
    assert_eq!(folder.ok("stream-write check a.mpk1 --json").json()["files"][0]["records"], 2);
    let done = folder.pipe("stream-write selfplay - -o b.mpk1 --append --skip-bad --json", games.as_bytes());
    assert_eq!((&done.json()["records"], &done.json()["refused"]), (&json!(4), &json!(1)));
}
