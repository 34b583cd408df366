//! `stream-write teacher`: bad rows, forms of a corpus, column names.

use end_to_end::{TEACHER, data};

use crate::folder;

/// Line in the file and the reason that it is refused for.
const BAD_ROWS: [(u64, &str); 31] = [
    (2, "side-mismatch"),
    (3, "played-not-candidate"),
    (4, "no-candidates"),
    (5, "candidate-lengths"),
    (6, "duplicate-move"),
    (7, "score-absent-marker"),
    (8, "score-missing"),
    (9, "score-range"),
    (10, "root-past-mate-scale"),
    (11, "result"),
    (12, "missing-value"),
    (13, "ply-range"),
    (14, "ply-range"),
    (15, "drop-promotes"),
    (16, "drop-piece"),
    (17, "drop-piece"),
    (18, "square-outside"),
    (19, "from-equals-to"),
    (20, "from-empty-square"),
    (21, "not-a-move"),
    (22, "not-a-move"),
    (23, "sfen-ranks"),
    (24, "sfen-files"),
    (25, "sfen-kings"),
    (26, "sfen-piece"),
    (27, "sfen-fields"),
    (28, "sfen-too-many"),
    (29, "sfen-hand"),
    (30, "sfen-side"),
    (31, "sfen-leading-word"),
    (32, "ply-mismatch"),
];

#[test]
fn every_bad_row_is_refused_for_its_own_reason() {
    let folder = folder();
    let line = format!(
        "stream-write teacher {} -o x.mpk1 {}",
        data("teacher_bad_rows.jsonl").display(),
        TEACHER.join(" ")
    );
    let done = folder.fails(&line, 3, &["31 lines are refused, so nothing is written", "--skip-bad"]);
    let refused: Vec<&str> = done.stderr.lines().filter(|line| line.contains("refused line")).collect();
    assert_eq!(refused.len(), BAD_ROWS.len());
    for (text, (line, reason)) in refused.iter().zip(BAD_ROWS) {
        assert!(
            text.contains(&format!("refused line {line}: ")) && text.ends_with(&format!("({reason})")),
            "{text}"
        );
    }
    assert_eq!(folder.names(), [] as [&str; 0]);

    let report = folder.ok(&format!("{line} --skip-bad --json")).json();
    assert_eq!(
        (&report["rows"], &report["records"], &report["refused"]),
        (&32.into(), &1.into(), &31.into())
    );
    let reasons = report["refused_by_reason"].as_object().unwrap();
    assert_eq!(reasons.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), 31);
}

#[test]
fn parquet_and_jsonl_make_the_same_stream_at_any_thread_count() {
    let folder = folder();
    folder.teacher("parquet.mpk1");
    let script = "import pyarrow.parquet as p, json, sys\n\
                  for r in p.read_table(sys.argv[1]).to_pylist(): print(json.dumps(r))";
    folder.put("dump.py", script);
    let corpus = folder.python(folder.join("dump.py").to_str().unwrap(), &[data("teacher_corpus.parquet")]);
    folder.put("corpus.jsonl", &corpus);
    for threads in [1, 2, 8] {
        let line = format!(
            "stream-write teacher corpus.jsonl -o {threads}.mpk1 --threads {threads} {}",
            TEACHER.join(" ")
        );
        folder.ok(&line);
        assert!(folder.bytes(&format!("{threads}.mpk1")) == folder.bytes("parquet.mpk1"));
    }
    let done =
        folder.pipe(&format!("stream-write teacher - -o pipe.mpk1 {}", TEACHER.join(" ")), corpus.as_bytes());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(folder.bytes("pipe.mpk1") == folder.bytes("parquet.mpk1"));
}

#[test]
fn columns_are_mapped_by_flags_and_missing_ones_are_named() {
    let folder = folder();
    folder.teacher("plain.mpk1");
    let script = "import pyarrow.parquet as p, pyarrow as a, sys\n\
                  t = p.read_table(sys.argv[1])\n\
                  t = t.rename_columns(['board' if n == 'sfen' else n for n in t.column_names])\n\
                  cast = lambda n, k: t.set_column(t.column_names.index(n), n, t[n].cast(k))\n\
                  t = cast('board', a.large_string()); t = cast('ply', a.uint64()); t = cast('cand_cp', a.large_list(a.int32()))\n\
                  p.write_table(t, 'other.parquet', compression='snappy')\n\
                  p.write_table(cast('cp', a.float32()), 'float.parquet')";
    folder.put("other.py", script);
    folder.python(folder.join("other.py").to_str().unwrap(), &[data("teacher_corpus.parquet")]);
    let line = |file: &str, flags: &str| {
        format!("stream-write teacher {file} -o x.mpk1 {flags} {}", TEACHER.join(" "))
    };
    folder.fails(&line("other.parquet", ""), 3, &["no column \"sfen\"", "board", "--column-sfen"]);
    folder.fails(
        &line("float.parquet", "--column-sfen board"),
        3,
        &["column \"cp\" has another type", "Float32"],
    );
    folder.ok(&line("other.parquet", "--column-sfen board"));
    assert!(folder.bytes("x.mpk1") == folder.bytes("plain.mpk1"));
}

#[test]
fn a_stream_is_not_replaced_by_accident() {
    let folder = folder();
    folder.teacher("t.mpk1");
    let line = format!("stream-write teacher {} -o t.mpk1 --json", data("teacher_corpus.parquet").display());
    let same = folder.ok(&format!("{line} {}", TEACHER.join(" "))).json();
    assert_eq!(same["outcome"], "unchanged");
    let other = "--mate-scale 32000 --mate-slack 100 --eval-coef 756.0865";
    folder.fails(&format!("{line} {other}"), 2, &["other content is already there", "--force"]);
    let forced = folder.ok(&format!("{line} {other} --force")).json();
    assert_eq!((&forced["outcome"], folder.names()), (&"written".into(), vec!["t.mpk1".to_owned()]));
}

#[test]
fn the_corpus_is_never_the_output() {
    let folder = folder();
    let corpus = fs_err::read(data("teacher_corpus.parquet")).unwrap();
    folder.put("c.parquet", &corpus);
    let line = format!("stream-write teacher c.parquet -o c.parquet --force {}", TEACHER.join(" "));
    folder.fails(&line, 2, &["the output is the input"]);
    folder.fails(
        &format!("stream-write teacher c.parquet -o /dev/null --force {}", TEACHER.join(" ")),
        2,
        &["no regular file"],
    );
    assert!(folder.bytes("c.parquet") == corpus);
}

#[test]
fn a_byte_order_mark_is_passed_over_and_parquet_is_no_jsonl() {
    let folder = folder();
    let row =
        fs_err::read_to_string(data("teacher_bad_rows.jsonl")).unwrap().lines().next().unwrap().to_owned();
    folder.put("bom.jsonl", format!("\u{feff}{row}\r\n"));
    folder.ok(&format!("stream-write teacher bom.jsonl -o x.mpk1 {}", TEACHER.join(" ")));
    let games = format!("stream-write selfplay {} -o y.mpk1", data("teacher_corpus.parquet").display());
    folder.fails(&games, 3, &["a Parquet file where lines of JSON are expected"]);
}

#[test]
fn broken_corpora_are_errors() {
    let folder = folder();
    let line = |file: &str| format!("stream-write teacher {file} -o x.mpk1 {}", TEACHER.join(" "));
    let whole = fs_err::read(data("teacher_corpus.parquet")).unwrap();
    folder.put("empty.parquet", "");
    folder.fails(&line("empty.parquet"), 3, &["an empty file"]);
    folder.put("cut.parquet", &whole[..whole.len() / 2]);
    folder.fails(&line("cut.parquet"), 3, &["cut.parquet"]);
    folder.put("text.jsonl", "{\"sfen\": 1}\nnot json\n\n{}\n");
    let done = folder.fails(&line("text.jsonl"), 3, &["3 lines are refused", "2 json, 1 missing-value"]);
    assert!(done.stderr.contains("line 2") && done.stderr.contains("line 4"), "{}", done.stderr);
    for at in (100..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        folder.put("flipped.parquet", bytes);
        let done = folder.run(&format!("{} --force", line("flipped.parquet")));
        assert!(
            matches!(done.code, Some(0 | 3)) && !done.stderr.contains("panicked"),
            "byte {at}: {}",
            done.stderr
        );
    }
}
