//! The fold against an independent one, and what it must not depend on.

use end_to_end::data;

use crate::{digests, folder};

/// Every row of both real data sets equals that of `reference_fold.py`, which is written from the specification alone.
#[test]
fn equals_the_reference_on_real_data() {
    let folder = folder().streams();
    for (name, expected) in [("t", "expected_fold_teacher.parquet"), ("s", "expected_fold_selfplay.parquet")]
    {
        folder.ok(&format!("fold-pack pack {name}.mpk1 -o {name} --shards 2"));
        let shards = [format!("{name}-00000.parquet"), format!("{name}-00001.parquet")];
        let args: Vec<_> =
            ["compare".into(), data(expected)].into_iter().chain(shards.map(Into::into)).collect();
        let said = folder.python("reference_fold.py", &args);
        assert!(said.contains(" 0 differ"), "{said}");
    }
}

/// The check above can fail: another temperature is another fold.
#[test]
fn the_comparison_with_the_reference_can_fail() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t --temperature 101");
    let args = ["compare".into(), data("expected_fold_teacher.parquet"), folder.join("t-00000.parquet")];
    assert_eq!(folder.try_python("reference_fold.py", &args).code, Some(1));
}

#[test]
fn does_not_depend_on_threads_memory_or_buckets() {
    let folder = folder().streams();
    let expected = digests(&folder.ok("fold-pack pack t.mpk1 -o t --shards 4 --json"));
    for threads in [1, 2, 8] {
        for memory in ["64MiB", "unlimited"] {
            for buckets in [1, 2, 7, 256, 3000] {
                let line = format!(
                    "fold-pack pack t.mpk1 -o x --shards 4 --json --threads {threads} --memory {memory} --buckets {buckets}"
                );
                assert_eq!(digests(&folder.ok(&line)), expected, "{line}");
            }
        }
    }
}

#[test]
fn does_not_depend_on_how_records_are_cut_into_streams_or_their_order() {
    let folder = folder();
    let corpus = data("selfplay_games.jsonl");
    let games = fs_err::read_to_string(&corpus).unwrap();
    let mut parts: Vec<String> = vec![];
    for (i, lines) in games.lines().collect::<Vec<_>>().chunks(17).enumerate() {
        folder.put("part.jsonl", lines.join("\n"));
        folder.ok(&format!("stream-write selfplay part.jsonl -o {i}.mpk1"));
        parts.push(format!("{i}.mpk1"));
    }
    folder.ok(&format!("stream-write selfplay {} -o all.mpk1", corpus.display()));
    let expected = digests(&folder.ok("fold-pack pack all.mpk1 -o x --json"));
    for _ in 0..parts.len() {
        parts.rotate_left(1);
        assert_eq!(digests(&folder.ok(&format!("fold-pack pack {} -o x --json", parts.join(" ")))), expected);
    }
    let done = folder.pipe("fold-pack pack - -o x --json", &folder.bytes("all.mpk1"));
    assert_eq!(digests(&done), expected);
}

/// `partition` on each stream, with buckets of its own, and `fold` in ranges, on as many machines as there are.
#[test]
fn partition_and_fold_make_the_same_set_as_pack() {
    let folder = folder();
    let games = fs_err::read_to_string(data("selfplay_games.jsonl")).unwrap();
    let lines: Vec<_> = games.lines().collect();
    for (name, lines, buckets) in [("a", &lines[..20], 5), ("b", &lines[20..], 64)] {
        folder.put("part.jsonl", lines.join("\n"));
        folder.ok(&format!("stream-write selfplay part.jsonl -o {name}.mpk1"));
        folder.ok(&format!("fold-pack partition {name}.mpk1 -o {name} --buckets {buckets} --seed 3"));
    }
    folder.ok("fold-pack pack a.mpk1 b.mpk1 -o pack --shards 8 --seed 3");
    let expected = folder.bytes("pack.set.json");
    for ranges in [1, 3, 8, 11] {
        let prefix = format!("new{ranges}/pack");
        for range in (0..ranges).rev() {
            let done = folder.ok(&format!(
                "fold-pack fold b a -o {prefix} --shards 8 --range {range}/{ranges} --memory 64MiB --json"
            ));
            assert_eq!(done.json()["set"].is_string(), range == 0, "the set is made by the last range");
        }
        assert!(folder.bytes(&format!("{prefix}.set.json")) == expected);
        for shard in 0..8 {
            let (a, b) = (format!("{prefix}-{shard:05}.parquet"), format!("pack-{shard:05}.parquet"));
            assert!(folder.bytes(&a) == folder.bytes(&b), "{a}");
        }
    }
    folder.ok("fold-pack verify new3/pack.set.json pack.set.json");
}

/// A range that is folded again takes its set away until it is whole again, and parts of another fold make none.
#[test]
fn parts_of_different_folds_make_no_set() {
    let folder = folder().streams();
    folder.ok("fold-pack partition t.mpk1 -o t");
    folder.ok("fold-pack partition s.mpk1 -o s");
    let range = |name: &str, range: &str| {
        folder.ok(&format!("fold-pack fold {name} -o x --shards 4 --range {range} --json")).json()
    };
    assert!(range("t", "0/2")["set"].is_null());
    assert!(range("t", "1/2")["set"].is_string());
    assert!(range("t", "0/2")["set"].is_string());
    assert!(range("s", "0/2")["set"].is_null());
    assert!(!folder.join("x.set.json").exists());
    folder.ok("fold-pack pack t.mpk1 -o x --shards 4");
    assert!(range("s", "1/2")["set"].is_null());
    assert!(range("s", "0/2")["set"].is_string());
    folder.ok("fold-pack verify x.set.json");
}

#[test]
fn shards_are_as_few_as_hold_a_million_records_each_unless_told() {
    let folder = folder().streams();
    assert_eq!(digests(&folder.ok("fold-pack pack t.mpk1 -o t --json")).len(), 1);
    assert_eq!(digests(&folder.ok("fold-pack pack t.mpk1 -o t --json --shards 16")).len(), 16);
    // a rerun with fewer shards leaves no strays
    assert_eq!(digests(&folder.ok("fold-pack pack t.mpk1 -o t --json --shards 2")).len(), 2);
    let shards = folder.names().iter().filter(|name| name.ends_with(".parquet")).count();
    assert_eq!(shards, 2);
}

#[test]
fn another_seed_is_another_order_of_the_same_rows() {
    let folder = folder().streams();
    let one = digests(&folder.ok("fold-pack pack t.mpk1 -o t --json --seed 1"));
    let two = digests(&folder.ok("fold-pack pack t.mpk1 -o t --json --seed 2"));
    assert_ne!(one, two);
    let args = ["compare".into(), data("expected_fold_teacher.parquet"), folder.join("t-00000.parquet")];
    folder.python("reference_fold.py", &args);
}

/// A stream from Black's point of view folds to the rows of its twin from the mover's.
#[test]
fn a_stream_from_blacks_point_of_view_is_turned() {
    let folder = folder().streams();
    let bytes = folder.bytes("t.mpk1");
    let mut turned = bytes[..24].to_vec();
    turned[8] = 1;
    let mut rest = &bytes[24..];
    while !rest.is_empty() {
        let n = usize::from(u16::from_le_bytes([rest[10], rest[11]]));
        let (record, tail) = rest.split_at(108 + 8 * n);
        let mut record = record.to_vec();
        if record[12 + 95] == 1 {
            record[9] ^= 0x80;
            for candidate in record[108..].chunks_mut(8) {
                let cp = -i16::from_le_bytes([candidate[6], candidate[7]]);
                candidate[6..8].copy_from_slice(&cp.to_le_bytes());
            }
        }
        turned.extend(record);
        rest = tail;
    }
    folder.put("black.mpk1", turned);
    let expected = digests(&folder.ok("fold-pack pack t.mpk1 -o x --json"));
    assert_eq!(digests(&folder.ok("fold-pack pack black.mpk1 -o x --json")), expected);
    folder.fails("fold-pack pack t.mpk1 black.mpk1 -o y", 4, &["differ in pov", "Black in black.mpk1"]);
}

/// Files that only look like shards of the set are somebody else's; an input is never an output.
#[test]
fn files_of_others_are_not_touched() {
    let folder = folder().streams();
    let corpus = fs_err::read(data("teacher_corpus.parquet")).unwrap();
    for name in ["t-00000.parquet", "t-00007.parquet"] {
        folder.put(name, &corpus);
        folder.fails("fold-pack pack t.mpk1 -o t", 2, &[name, "no folded shard"]);
        assert!(folder.bytes(name) == corpus);
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let stream = folder.bytes("t.mpk1");
    folder.put("q-00000.parquet", &stream);
    folder.fails("fold-pack pack q-00000.parquet -o q", 2, &["no folded shard"]);
    assert!(folder.bytes("q-00000.parquet") == stream);
    folder.ok("fold-pack pack t.mpk1 -o t --shards 4");
    folder.ok("fold-pack pack t.mpk1 -o t");
}

/// Partitions of the same shape and other content are other inputs.
#[test]
fn a_part_is_bound_to_the_records_it_was_made_of() {
    let folder = folder().streams();
    let mut other = folder.bytes("s.mpk1");
    folder.put("x.mpk1", &other);
    folder.ok("fold-pack partition x.mpk1 -o d");
    let old = folder.bytes("d/partition.json");
    folder.ok("fold-pack fold d -o m --shards 2 --range 0/2");
    other[26..30].copy_from_slice(&0f32.to_le_bytes());
    folder.put("x.mpk1", &other);
    folder.ok("fold-pack partition x.mpk1 -o d");
    assert!(folder.ok("fold-pack fold d -o m --shards 2 --range 1/2 --json").json()["set"].is_null());
    folder.put("d/partition.json", old);
    folder.fails("fold-pack fold d -o m", 3, &["records.spool", "not the one that its record is of"]);
}

#[test]
fn ranges_that_end_together_both_succeed() {
    let folder = folder().streams();
    folder.ok("fold-pack partition s.mpk1 -o d");
    for _ in 0..12 {
        let line = |range: usize| format!("fold-pack fold d -o rc --shards 2 --threads 1 --range {range}/2");
        let mut running = [0, 1]
            .map(|range| folder.command(&line(range)).stdout(std::process::Stdio::null()).spawn().unwrap());
        assert!(running.iter_mut().all(|child| child.wait().unwrap().success()));
        folder.ok("fold-pack verify rc.set.json --shallow");
    }
}
