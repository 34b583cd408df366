//! Streams that mean different things by a number are refused, by both names and both values.

use end_to_end::{Folder, data};

use crate::folder;

/// The bundled corpus under a header that is changed at one place.
fn variant(folder: &Folder, name: &str, at: usize, with: &[u8]) {
    let mut bytes = folder.bytes("t.mpk1");
    bytes[at..at + with.len()].copy_from_slice(with);
    folder.put(name, bytes);
}

#[test]
fn each_convention_is_held_to_the_others() {
    let folder = folder().streams();
    let refuses = |at: usize, with: &[u8], field: &str, found: &str, expected: &str| {
        variant(&folder, "other.mpk1", at, with);
        let says = [
            &format!("differ in {field}"),
            &format!("{found} in other.mpk1"),
            &format!("{expected} as in t.mpk1"),
        ];
        let says = says.map(String::as_str);
        folder.fails("fold-pack pack t.mpk1 other.mpk1 -o x", 4, &says);
        folder.ok("fold-pack partition t.mpk1 -o a");
        folder.ok("fold-pack partition other.mpk1 -o b");
        folder.fails("fold-pack fold a b -o x", 4, &[&format!("differ in {field}"), found, expected]);
    };
    refuses(8, &[1], "pov", "Black", "side to move");
    refuses(10, &32001u16.to_le_bytes(), "mate_scale", "32001", "32000");
    refuses(12, &20u16.to_le_bytes(), "fv_scale", "20", "not stated");
    refuses(14, &320u16.to_le_bytes(), "mate_slack", "320", "100");
    refuses(16, &756.0865f32.to_le_bytes(), "eval_coef", "756.0865", "600");
    let done = folder.fails("fold-pack pack t.mpk1 s.mpk1 -o x", 4, &["differ in policy_source"]);
    assert!(
        done.stderr.contains("visits in s.mpk1") && done.stderr.contains("cp as in t.mpk1"),
        "{}",
        done.stderr
    );
    assert!(!folder.names().iter().any(|name| name.starts_with('x')));
}

/// An unstated slack is 320, so it agrees with one that says so.
#[test]
fn an_unstated_slack_agrees_with_its_default() {
    let folder = folder().streams();
    variant(&folder, "stated.mpk1", 14, &320u16.to_le_bytes());
    variant(&folder, "unstated.mpk1", 14, &0u16.to_le_bytes());
    folder.ok("fold-pack pack stated.mpk1 unstated.mpk1 -o x");
    let set: serde_json::Value = serde_json::from_slice(&folder.bytes("x.set.json")).unwrap();
    assert_eq!(set["conventions"]["mate_slack"], 320);
}

#[test]
fn other_seeds_and_other_positions_are_refused() {
    let folder = folder().streams();
    folder.ok("fold-pack partition t.mpk1 -o a --seed 1");
    folder.ok("fold-pack partition t.mpk1 -o b --seed 2");
    folder.fails("fold-pack fold a b -o x", 4, &["differ in their seed", "found    2", "expected 1"]);
    let mut bytes = folder.bytes("t.mpk1")[..24].to_vec();
    bytes[6..8].copy_from_slice(&97u16.to_le_bytes());
    folder.put("wide.mpk1", bytes);
    folder.ok("stream-write check wide.mpk1");
    folder.fails("fold-pack pack wide.mpk1 -o x", 4, &["only positions of 96 bytes", "packed_len 97"]);
}

/// A slack that does not fit misreads ordinary scores as mates: the header decides, row by row.
#[test]
fn the_slack_of_the_header_is_the_threshold_of_the_fold() {
    let folder = folder();
    let corpus = data("teacher_corpus.parquet");
    let mates = |slack: u16| {
        let flags = format!("--mate-scale 32000 --mate-slack {slack} --eval-coef 600 --force");
        folder.ok(&format!("stream-write teacher {} -o t.mpk1 {flags}", corpus.display()));
        folder.ok("fold-pack pack t.mpk1 -o t");
        folder.ok("fold-pack stats t.set.json --json").json()["mates"].as_u64().unwrap()
    };
    assert!(mates(20_000) > mates(100));
}
