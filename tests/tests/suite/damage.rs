//! Damaged streams: each file fails with exit 3, or is a valid stream. Never a panic, never a silent loss.

use common::formats::mpk1::{Reader, validate};
use end_to_end::data;

use crate::folder;

/// A stream of the first records of the bundled games, and where each record ends.
fn small(folder: &end_to_end::Folder, records: usize) -> (Vec<u8>, Vec<usize>) {
    folder.ok(&format!("stream-write selfplay {} -o all.mpk1", data("selfplay_games.jsonl").display()));
    let bytes = folder.bytes("all.mpk1");
    let chunk = Reader::new(&bytes[..]).unwrap().next_chunk().unwrap().unwrap();
    let mut ends = vec![24];
    for record in chunk.records().take(records) {
        let (place, record) = record.unwrap();
        ends.push(place.offset as usize + record.bytes().len());
    }
    (bytes[..ends[records]].to_vec(), ends)
}

/// What a reader makes of bytes: records, or the error.
fn read(bytes: &[u8]) -> Result<u64, common::formats::mpk1::Error> {
    let mut reader = Reader::new(bytes)?;
    let (header, mut records) = (*reader.header(), 0);
    while let Some(chunk) = reader.next_chunk()? {
        for record in chunk.records() {
            let (place, record) = record?;
            validate(&header, &record)
                .map_err(|defect| common::formats::mpk1::Error::Record { place, defect })?;
            records += 1;
        }
    }
    Ok(records)
}

#[test]
fn a_cut_fails_within_a_record_and_is_a_shorter_stream_at_its_end() {
    let folder = folder();
    let (bytes, ends) = small(&folder, 12);
    for len in 0..=bytes.len() {
        let outcome = read(&bytes[..len]);
        match ends.iter().position(|&end| end == len) {
            Some(records) => assert_eq!(outcome.unwrap(), records as u64, "cut at {len}"),
            None if len < 24 => assert!(outcome.unwrap_err().to_string().contains("header is cut off")),
            None => {
                let record = ends.iter().rposition(|&end| end < len).unwrap();
                let place = format!("record {record} at byte {} is cut off", ends[record]);
                assert!(outcome.unwrap_err().to_string().starts_with(&place), "cut at {len}");
            }
        }
    }
    // and the jobs say so
    for (len, says) in
        [(0, "header is cut off"), (23, "header is cut off"), (ends[3] + 5, "record 3 at byte")]
    {
        folder.put("cut.mpk1", &bytes[..len]);
        for line in
            ["stream-write check cut.mpk1", "stream-write stats cut.mpk1", "fold-pack pack cut.mpk1 -o x"]
        {
            folder.fails(line, 3, &["cut.mpk1", says]);
        }
    }
    assert_eq!(folder.names(), ["all.mpk1", "cut.mpk1"]);
}

#[test]
fn flipped_bits_zeroed_records_and_noise_never_panic() {
    let folder = folder();
    let (bytes, ends) = small(&folder, 6);
    let whole = read(&bytes).unwrap();
    let mut refused = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            // a stream has no checksum: a flip is refused, or changes a value or a length within the rules
            refused += u64::from(read(&flipped).is_err());
        }
    }
    assert!(refused > bytes.len() as u64, "{refused} of {} flips are refused", bytes.len() * 8);
    for pair in ends.windows(2) {
        let mut zeroed = bytes.clone();
        zeroed[pair[0]..pair[1]].fill(0);
        assert!(read(&zeroed).unwrap_err().to_string().contains("it has no candidates"));
    }
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2000 {
        let mut random = bytes.clone();
        for byte in &mut random[24..] {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            *byte = noise as u8;
        }
        assert!(read(&random).is_err());
    }
    assert_eq!(read(&bytes).unwrap(), whole);
}

#[test]
fn the_jobs_name_record_and_offset_of_what_they_refuse() {
    let folder = folder();
    let (bytes, ends) = small(&folder, 6);
    let broken = |at: usize, with: &[u8]| {
        let mut broken = bytes.clone();
        broken[at..at + with.len()].copy_from_slice(with);
        folder.put("broken.mpk1", broken);
    };
    let place = format!("record 2 at byte {}", ends[2]);
    let refuses = |says: &str| {
        for line in ["stream-write check broken.mpk1", "fold-pack pack broken.mpk1 -o x --threads 2"] {
            folder.fails(line, 3, &["broken.mpk1", &place, says]);
        }
        folder.fails("stream-write repair broken.mpk1 -o y.mpk1", 3, &[&place]);
    };
    broken(ends[2] + 2, &0.5f32.to_le_bytes());
    refuses("value_z is 0.5");
    broken(ends[2] + 6, &f32::NAN.to_le_bytes());
    refuses("value_q is NaN");
    broken(ends[2] + 12, &[0x0e]);
    refuses("square 9a holds the byte 0x0e");
    broken(ends[2] + 12 + 95, &[2]);
    refuses("the side to move is 2");
    broken(ends[2] + 108, &[0, 0x80]);
    refuses("bit 15 is set");
    broken(ends[2] + 110, &[0, 0, 0, 0]);
    refuses("candidates have visits");
    assert_eq!(folder.names(), ["all.mpk1", "broken.mpk1"]);
}

#[test]
fn an_empty_file_is_an_error_and_a_stream_without_records_is_none() {
    let folder = folder();
    folder.put("empty.mpk1", "");
    folder.fails("stream-write check empty.mpk1", 3, &["header is cut off: 0 bytes"]);
    folder.fails("fold-pack pack empty.mpk1 -o x", 3, &["empty.mpk1", "header is cut off: 0 bytes"]);
    let (bytes, _) = small(&folder, 0);
    folder.put("none.mpk1", &bytes);
    assert_eq!(folder.ok("stream-write check none.mpk1 --json").json()["files"][0]["records"], 0);
    let done = folder.ok("fold-pack pack none.mpk1 -o x");
    assert!(done.stdout.contains("no records, so no shards"), "{}", done.stdout);
    assert_eq!(folder.names(), ["all.mpk1", "empty.mpk1", "none.mpk1", "x.set.json"]);
    folder.ok("fold-pack partition none.mpk1 -o p");
    folder.ok("fold-pack fold p -o y");
    folder.ok("fold-pack verify x.set.json y.set.json");
}

/// A move that stands twice in one record: readers let it be, producers and the fold refuse it.
#[test]
fn the_fold_refuses_a_move_that_is_listed_twice() {
    let folder = folder();
    let (mut bytes, ends) = small(&folder, 3);
    let candidates = ends[1] + 108;
    let (first, second) = (bytes[candidates..candidates + 2].to_vec(), candidates + 8);
    bytes[second..second + 2].copy_from_slice(&first);
    folder.put("twice.mpk1", bytes);
    folder.ok("stream-write check twice.mpk1");
    folder.ok("stream-write head twice.mpk1");
    let place = format!("record 1 at byte {}", ends[1]);
    folder.fails("fold-pack pack twice.mpk1 -o x", 3, &["twice.mpk1", &place, "is listed twice"]);
    folder.fails("fold-pack partition twice.mpk1 -o p", 3, &["is listed twice"]);
}

#[test]
fn repair_keeps_all_whole_records_and_the_stream_itself() {
    let folder = folder();
    let (bytes, ends) = small(&folder, 5);
    folder.put("torn.mpk1", &bytes[..ends[5] - 1]);
    let report = folder.ok("stream-write repair torn.mpk1 -o whole.mpk1 --json").json();
    assert_eq!(
        (report["records"].as_u64(), report["cut_bytes"].as_u64()),
        (Some(4), Some((ends[5] - 1 - ends[4]) as u64))
    );
    assert!(folder.bytes("whole.mpk1") == bytes[..ends[4]]);
    assert!(folder.bytes("torn.mpk1") == bytes[..ends[5] - 1]);
    folder.fails("stream-write repair torn.mpk1 -o torn.mpk1 --force", 2, &["the output is the input"]);
    let report = folder.ok("stream-write repair whole.mpk1 -o copy.mpk1 --json").json();
    assert_eq!((report["records"].as_u64(), report["cut_bytes"].as_u64()), (Some(4), Some(0)));
}

/// Spools of a partition are checked too.
#[test]
fn damaged_partitions_are_refused() {
    let folder = folder().streams();
    folder.ok("fold-pack partition t.mpk1 -o p --buckets 4");
    let spool = folder.bytes("p/records.spool");
    for at in (8..spool.len() - 64).step_by(spool.len() / 30) {
        let mut flipped = spool.clone();
        flipped[at] ^= 4;
        folder.put("p/records.spool", flipped);
        folder.fails(
            "fold-pack fold p -o x",
            3,
            &["records.spool", "the block of the spool at byte", "partition the stream"],
        );
    }
    for len in [0, 7, spool.len() - 100, spool.len() - 1] {
        folder.put("p/records.spool", &spool[..len]);
        folder.fails("fold-pack fold p -o x", 3, &["records.spool", "is cut off"]);
    }
    folder.put("p/records.spool", &spool);
    let json = folder.bytes("p/partition.json");
    for at in 0..json.len() {
        let mut flipped = json.clone();
        flipped[at] ^= 1 << (at % 7);
        folder.put("p/partition.json", flipped);
        if at % 5 == 0 {
            let done = folder.run("fold-pack fold p -o x");
            // white space is no content
            let blank = json[at].is_ascii_whitespace();
            assert!(done.code == Some(3) || blank && done.code == Some(0), "byte {at}: {}", done.stderr);
        }
    }
    folder.put("p/partition.json", &json[..json.len() / 2]);
    folder.fails("fold-pack fold p -o x", 3, &["partition.json", "partition the stream again"]);
    std::fs::remove_file(folder.join("p/partition.json")).unwrap();
    folder.fails("fold-pack fold p -o x", 5, &["no finished partition"]);
}
