//! `verify`, `inspect`, `stats`, `card`: sets and shards that are not what they should be.

use crate::folder;

#[test]
fn verify_tells_damaged_from_unlike() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t --shards 2");
    folder.ok("fold-pack verify t.set.json");
    folder.ok("fold-pack verify t-00001.parquet --shallow");
    let whole = folder.bytes("t-00001.parquet");

    // damaged: a page does not match its checksum
    let mut flipped = whole.clone();
    flipped[2000] ^= 1;
    folder.put("t-00001.parquet", &flipped);
    folder.fails("fold-pack verify t.set.json", 3, &["t-00001.parquet", "does not match its checksum"]);
    folder.put("t-00001.parquet", &whole[..whole.len() - 9]);
    folder.fails("fold-pack verify t.set.json", 3, &["t-00001.parquet", "does not end with PAR1"]);

    // readable, but another file
    folder.ok("fold-pack pack t.mpk1 -o other --shards 2 --seed 9");
    folder.put("t-00001.parquet", folder.bytes("other-00001.parquet"));
    folder.fails(
        "fold-pack verify t.set.json",
        8,
        &["t-00001.parquet", "the SHA-256 is not what the set records"],
    );
    folder.put("t-00001.parquet", &whole);

    let set = String::from_utf8(folder.bytes("t.set.json")).unwrap();
    folder.put("t.set.json", set.replacen("\"bytes\": ", "\"bytes\": 1", 1));
    folder.fails("fold-pack verify t.set.json", 8, &["the size is not what the set records"]);
    folder.put("t.set.json", &set);

    // a shard that no set names, one that is gone, a record that is none
    folder.put("t-00002.parquet", &whole);
    folder.fails("fold-pack verify t.set.json", 3, &["t-00002.parquet", "no set names this shard"]);
    folder.fails("fold-pack verify t-00002.parquet", 3, &["no set names this shard"]);
    std::fs::remove_file(folder.join("t-00002.parquet")).unwrap();
    std::fs::remove_file(folder.join("t-00000.parquet")).unwrap();
    folder.fails("fold-pack verify t.set.json", 5, &["t-00000.parquet"]);
    folder.put("bad.set.json", set.replacen("t-00000.parquet", "../t-00000.parquet", 1));
    folder.fails("fold-pack verify bad.set.json", 3, &["no file beside it"]);
    folder.put("bad.set.json", &set[..100]);
    folder.fails("fold-pack verify bad.set.json", 3, &["not the record of a folded set"]);
}

/// Rows out of order have no trace in digests or sums: the set is made to agree, and the rows are not.
#[test]
fn verify_reads_the_rows() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t --seed 5");
    folder.put(
        "swap.py",
        "import pyarrow.parquet as p, pyarrow as a, hashlib, json, os\n\
         f = p.ParquetFile('t-00000.parquet'); t = f.read()\n\
         order = [1, 0] + list(range(2, t.num_rows))\n\
         p.write_table(t.take(order), 't-00000.parquet', use_dictionary=False, compression='zstd', row_group_size=8192)\n\
         s = json.load(open('t.set.json')); b = open('t-00000.parquet', 'rb').read()\n\
         s['shards'][0]['sha256'] = hashlib.sha256(b).hexdigest(); s['shards'][0]['bytes'] = len(b)\n\
         json.dump(s, open('t.set.json', 'w'))",
    );
    folder.python(folder.join("swap.py").to_str().unwrap(), &[] as &[&str]);
    folder.ok("fold-pack verify t.set.json --shallow");
    folder.fails("fold-pack verify t.set.json", 3, &["row 1 of a row group", "order of the seed"]);
}

/// Every byte of a shard matters to its reader, or to its digest; none makes it panic.
#[test]
fn damaged_shards_never_panic() {
    let folder = folder().streams();
    folder.ok("fold-pack pack s.mpk1 -o s --shards 16");
    let name = "s-00003.parquet";
    let whole = folder.bytes(name);
    let footer = whole.len() - 1200;
    let places = (0..footer).step_by(footer / 60).chain((footer..whole.len()).step_by(17));
    for at in places {
        let mut bytes = whole.clone();
        bytes[at] = bytes[at].wrapping_add(0x5b);
        folder.put(name, bytes);
        let done = folder.run("fold-pack verify s.set.json");
        assert!(
            matches!(done.code, Some(3 | 8)) && !done.stderr.contains("panicked"),
            "byte {at}: {}",
            done.stderr
        );
        for line in ["inspect", "stats"] {
            let done = folder.run(&format!("fold-pack {line} {name}"));
            assert!(
                matches!(done.code, Some(0 | 3)) && !done.stderr.contains("panicked"),
                "byte {at}: {}",
                done.stderr
            );
        }
    }
}

#[test]
fn a_card_is_not_replaced_by_accident() {
    let folder = folder().streams();
    folder.ok("fold-pack pack t.mpk1 -o t");
    folder.ok("fold-pack card t.set.json -o README.md");
    let card = String::from_utf8(folder.bytes("README.md")).unwrap();
    assert!(
        card.contains("| mate scale | 32000 |") && card.contains("size_categories:\n- 10K<n<100K"),
        "{card}"
    );
    folder.fails("fold-pack card t.set.json -o README.md", 2, &["a card is already there", "--force"]);
    folder.ok("fold-pack card t.set.json -o README.md --force");
}
