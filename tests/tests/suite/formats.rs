//! Vectors of positions and moves, and other people's readers on our files.

use common::formats::mpk1::{Move16, Packed};
use end_to_end::data;

use crate::folder;

#[test]
fn packed_vectors_hold() {
    let text = fs_err::read_to_string(data("packed_vectors.tsv")).unwrap();
    let mut checked = 0;
    for line in text.lines() {
        let (sfen, hex) = line.split_once('\t').unwrap();
        let packed: Packed = sfen.parse().unwrap();
        assert_eq!(
            packed.bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            hex,
            "{sfen}"
        );
        assert_eq!(sfen.rsplit_once(' ').unwrap().0, packed.to_string());
        checked += 1;
    }
    assert_eq!(checked, 73);
}

#[test]
fn move16_vectors_hold() {
    let text = fs_err::read_to_string(data("move16_vectors.tsv")).unwrap();
    let mut checked = 0;
    for line in text.lines() {
        let (usi, number) = line.split_once('\t').unwrap();
        let mv = Move16::from_usi(usi).unwrap();
        assert_eq!((mv, mv.to_string().as_str(), mv.defect()), (Move16(number.parse().unwrap()), usi, None));
        checked += 1;
    }
    assert_eq!(checked, 200);
}

/// The documented Python reader sees what `head` shows.
#[test]
fn python_reads_streams() {
    let folder = folder().streams();
    for stream in ["t.mpk1", "s.mpk1"] {
        let said = folder.python("read_mpk1.py", &[stream, "50"]);
        let python: Vec<serde_json::Value> =
            said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let head = folder.ok(&format!("stream-write head {stream} -n 50 --json")).json();
        let shown = head["records"].as_array().unwrap();
        assert_eq!(python.len(), 50);
        for (python, shown) in python.iter().zip(shown) {
            let values = |of: &serde_json::Value, z: &str, q: &str| {
                [of["ply"].as_f64(), of[z].as_f64(), of[q].as_f64()]
            };
            for (a, b) in values(python, "z", "q").into_iter().zip(values(shown, "value_z", "value_q")) {
                assert!((a.unwrap() - b.unwrap()).abs() < 1e-6, "{python} {shown}");
            }
            assert_eq!(python["sfen"], shown["position"]);
            let candidates = shown["candidates"].as_array().unwrap().iter();
            let pairs: Vec<_> = candidates
                .map(|c| serde_json::json!([c["move"], c.get("visits").unwrap_or(&c["cp"])]))
                .collect();
            assert_eq!(python["candidates"], serde_json::Value::from(pairs));
        }
    }
    let torn = folder.bytes("t.mpk1")[..500].to_vec();
    folder.put("torn.mpk1", torn);
    assert_ne!(folder.try_python("read_mpk1.py", &["torn.mpk1"]).code, Some(0));
}

/// pyarrow and DuckDB read every shard: schema, groups of 8,192, footer pairs, order, sums.
#[test]
fn pyarrow_and_duckdb_read_shards() {
    let folder = folder().streams();
    for (name, shards) in [("t", 1), ("s", 4)] {
        folder.ok(&format!("fold-pack pack {name}.mpk1 -o {name} --shards {shards} --seed 7"));
        folder.python("read_shard.py", &[format!("{name}.set.json")]);
        folder.python("check_duckdb.py", &[format!("{name}.set.json")]);
    }
    let mut bytes = folder.bytes("t-00000.parquet");
    bytes[1000] ^= 1;
    folder.put("t-00000.parquet", bytes);
    assert_ne!(folder.try_python("read_shard.py", &["t.set.json"]).code, Some(0));
}

/// Shards that pyarrow wrote anew still open, where pages are plain; a dictionary is refused by name.
#[test]
fn rewritten_shards_open_or_say_why() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t");
    folder.put(
        "rewrite.py",
        "import pyarrow.parquet as p\n\
         f = p.ParquetFile('t-00000.parquet')\n\
         pairs = {k: v for k, v in f.metadata.metadata.items() if k != b'ARROW:schema'}\n\
         t = f.read().replace_schema_metadata(pairs)\n\
         p.write_table(t, 'plain.parquet', use_dictionary=False, compression='zstd', row_group_size=5000)\n\
         p.write_table(t, 'dictionary.parquet', compression='zstd', row_group_size=5000)\n\
         p.write_table(t.drop_columns('weight'), 'fewer.parquet')\n\
         p.write_table(t.replace_schema_metadata(), 'silent.parquet', use_dictionary=False, compression='zstd')",
    );
    folder.python(folder.join("rewrite.py").to_str().unwrap(), &[] as &[&str]);
    let stats = |file: &str| folder.ok(&format!("fold-pack stats {file} --json")).json();
    let (ours, theirs) = (stats("t-00000.parquet"), stats("plain.parquet"));
    assert_eq!((&ours["records"], &ours["ply"]), (&theirs["records"], &theirs["ply"]));
    folder.fails(
        "fold-pack stats dictionary.parquet",
        3,
        &["dictionary.parquet", "a dictionary is not read"],
    );
    folder.fails("fold-pack stats fewer.parquet", 3, &["schema is not this format's"]);
    folder.fails("fold-pack stats silent.parquet", 3, &["states no mate_scale", "--assume"]);
    let all = "pov=0,mate_scale=32000,fv_scale=0,policy_source=1,eval_coef=600,temperature=100,packed_len=96,shuffle_seed=0";
    folder.ok(&format!("fold-pack stats silent.parquet --assume {all},mate_slack=100"));
    folder.ok(&format!("fold-pack stats silent.parquet --assume {all}"));
}
