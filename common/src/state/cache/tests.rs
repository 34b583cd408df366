//! The cache around the policy, on days and shards that are made here.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::spill::Spilled;
use super::*;
use crate::formats::decisions::{self, COLUMNS, Cell, Data, Group, day_writer, encode};
use crate::formats::folded::{self, Conventions, Rows, ShardWriter};
use crate::formats::mpk1::{Header as Mpk1Header, PACKED_LEN};

const CALM: fn() -> Option<Usage> = || None;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

/// Rows of all columns; most lists end in padding, as real ones do.
fn group(random: &mut Random, rows: usize) -> Group {
    let mut group = Group::whole();
    for _ in 0..rows {
        for (at, column) in COLUMNS.iter().enumerate() {
            let name = ["ash", "misty", "brock"][random.next(3) as usize];
            let list: Vec<i32> = (0..column.list.unwrap_or(0))
                .map(|slot| {
                    let used = (slot as u64) < random.next(12) || slot + 1 == column.list.unwrap_or(0);
                    if used { random.next(9) as i32 } else { decisions::Word::padding(column.pad, slot) }
                })
                .collect();
            let floats: Vec<f32> = list.iter().map(|&value| value as f32).collect();
            group.push(
                at,
                match Data::new(column) {
                    Data::I8(_) => Cell::I8(random.next(100) as i8),
                    Data::I32(_) => Cell::I32(random.next(1000) as i32),
                    Data::I64(_) => Cell::I64(random.next(1 << 40) as i64),
                    Data::F32(_) => Cell::F32(random.next(1000) as f32 / 7.0),
                    Data::Text(_) => Cell::Text(name),
                    Data::I32s(_) => Cell::I32s(&list),
                    Data::F32s(_) => Cell::F32s(&floats),
                },
            );
        }
        group.end_row();
    }
    group
}

/// Writes a day of these row groups.
fn write_day(path: &Path, groups: &[Group]) {
    let mut day = day_writer(File::create(path).unwrap(), &[]).unwrap();
    groups.iter().for_each(|group| day.append(encode(group).unwrap()).unwrap());
    day.finish().unwrap();
}

/// Two days in a folder, and what is in them.
struct Fixture {
    folder: tempfile::TempDir,
    days: Vec<Vec<Group>>,
}

impl Fixture {
    fn new(seed: u64, sizes: &[&[usize]]) -> Self {
        let (folder, mut random) = (tempfile::tempdir().unwrap(), Random(seed));
        let days: Vec<Vec<Group>> =
            sizes.iter().map(|sizes| sizes.iter().map(|&rows| group(&mut random, rows)).collect()).collect();
        let fixture = Self { folder, days };
        for (number, groups) in fixture.days.iter().enumerate() {
            write_day(&fixture.day(number), groups);
        }
        fixture
    }

    fn day(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("{number}.parquet"))
    }

    fn source(&self, columns: ColumnSet) -> Days {
        let mut source = Days::new(columns);
        (0..self.days.len()).for_each(|number| source.add(&self.day(number), None).unwrap());
        source
    }

    fn spill(&self) -> SpillFolder {
        SpillRun::start(&self.folder.path().join("spill"), "test").unwrap().folder("train", 0).unwrap()
    }

    fn rows(&self) -> Vec<Row> {
        let rows = |(dataset, groups): (usize, &Vec<Group>)| {
            let rows: usize = groups.iter().map(Group::rows).sum();
            (0..rows as u64).map(move |row| Row { dataset: dataset as u32, row })
        };
        self.days.iter().enumerate().flat_map(rows).collect()
    }

    /// The rows, one after the other, without a cache.
    fn expected(&self, rows: &[Row], columns: ColumnSet) -> Group {
        let mut out = Group::whole();
        for row in rows {
            let (mut left, mut groups) = (row.row as usize, self.days[row.dataset as usize].iter());
            let group = loop {
                let group = groups.next().unwrap();
                if left < group.rows() {
                    break group;
                }
                left -= group.rows();
            };
            for (at, column) in COLUMNS.iter().enumerate() {
                push_cell(&mut out, at, column, group.get(at).unwrap(), left);
            }
            out.end_row();
        }
        let wanted: Vec<&str> = columns.names().collect();
        let mut kept = Group::new(columns.names().filter_map(decisions::columns::find));
        let rows = out.rows();
        let data = out.into_data().filter(|(column, _)| wanted.contains(&column.name)).map(|(_, data)| data);
        kept.replace(rows, data.collect()).unwrap();
        kept
    }
}

fn push_cell(out: &mut Group, at: usize, column: &decisions::Column, data: &Data, row: usize) {
    let slots = 0..column.list.unwrap_or(0);
    match data {
        Data::I8(all) => out.push(at, Cell::I8(all[row])),
        Data::I32(all) => out.push(at, Cell::I32(all[row])),
        Data::I64(all) => out.push(at, Cell::I64(all[row])),
        Data::F32(all) => out.push(at, Cell::F32(all[row])),
        Data::Text(all) => out.push(at, Cell::Text(all.row(row))),
        Data::I32s(all) => {
            let list: Vec<i32> = slots.map(|slot| all.get(column, row, slot)).collect();
            out.push(at, Cell::I32s(&list));
        }
        Data::F32s(all) => {
            let list: Vec<f32> = slots.map(|slot| all.get(column, row, slot)).collect();
            out.push(at, Cell::F32s(&list));
        }
    }
}

/// Equal but for the numbers of texts, which no order is promised for.
fn assert_same(found: &Group, expected: &Group) {
    assert_eq!(found.rows(), expected.rows());
    for ((column, found), (_, wanted)) in found.columns().zip(expected.columns()) {
        match (found, wanted) {
            (Data::Text(found), Data::Text(wanted)) => {
                (0..expected.rows()).for_each(|row| assert_eq!(found.row(row), wanted.row(row)));
            }
            _ => assert!(found == wanted, "{} differs", column.name),
        }
    }
    assert_eq!(found.columns().count(), expected.columns().count());
}

/// Bytes of the largest group in memory.
fn largest(fixture: &Fixture, columns: ColumnSet) -> u64 {
    let source = fixture.source(columns);
    let bytes = |slot| source.decode(slot).unwrap().into_columns().bytes();
    source.slots().into_iter().map(bytes).max().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any rows in any order, several times over, of any columns, through any capacity from one group on.
    #[test]
    fn rows_come_in_the_order_of_the_request(
        seed: u64,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
        times in 1u64..5,
        columns in prop_oneof![Just(ColumnSet::Train), Just(ColumnSet::Val), Just(ColumnSet::All)],
        spills: bool,
    ) {
        let fixture = Fixture::new(seed, &[&[3, 7, 1], &[5, 5]]);
        let all = fixture.rows();
        let options = Options::new(times * largest(&fixture, columns));
        let spill = spills.then(|| fixture.spill());
        let cache = Cache::with_disk(fixture.source(columns), options, CALM, spill, None).unwrap();
        for picks in picks.chunks(17).chain([&picks[..], &[]]) {
            let rows: Vec<Row> = picks.iter().map(|pick| *pick.get(&all)).collect();
            assert_same(&cache.gather(&rows).unwrap(), &fixture.expected(&rows, columns));
            let counters = cache.counters();
            prop_assert!(counters.resident_bytes <= options.capacity);
            prop_assert_eq!(counters.spill_errors, 0);
        }
    }
}

#[test]
fn lists_are_padded_to_any_number_of_slots_that_holds_them() {
    let lists = decisions::Lists { offsets: vec![0, 2, 2], values: vec![7, 8], apart: vec![5, 6] };
    let column = &COLUMNS[decisions::column("opt_group")];
    assert_eq!(lists.padded(column, 4), Some(vec![7, 8, 2, 3, 5, 0, 1, 2, 3, 6]));
    assert_eq!(lists.padded(column, 2), Some(vec![7, 8, 5, 0, 1, 6]));
    assert_eq!(lists.padded(column, 1), None);
}

#[test]
fn under_pressure_groups_go_to_the_disk_and_come_back_the_same() {
    let fixture = Fixture::new(1, &[&[4, 4, 4], &[4, 4]]);
    let pressed = Arc::new(AtomicBool::new(false));
    let probe = {
        let pressed = Arc::clone(&pressed);
        move || Some(Usage { used: if pressed.load(Ordering::SeqCst) { 86 } else { 84 }, limit: 100 })
    };
    let spill = Some(fixture.spill());
    let options = Options { hot_share: 0.0, ..Options::new(1 << 30) };
    let cache = Cache::with_disk(fixture.source(ColumnSet::All), options, probe, spill, None).unwrap();
    let rows = fixture.rows();
    let expected = fixture.expected(&rows, ColumnSet::All);
    assert_same(&cache.gather(&rows).unwrap(), &expected);
    assert_eq!((cache.counters().evictions, cache.counters().decodes), (0, 5));
    pressed.store(true, Ordering::SeqCst);
    assert_same(&cache.gather(&rows).unwrap(), &expected);
    let counters = cache.counters();
    assert_eq!((counters.evictions, counters.decodes), (5, 5), "each of five accesses evicts one");
    assert!(counters.ssd_hits > 0 && counters.ssd_spills > 0, "{counters:?}");
    // within the guard nothing goes, however tight it is
    let step = cache.in_opt_step();
    assert_same(&cache.gather(&rows).unwrap(), &expected);
    assert_eq!(cache.counters().evictions, 5);
    drop(step);
    pressed.store(false, Ordering::SeqCst);
    assert_same(&cache.gather(&rows).unwrap(), &expected);
    assert_eq!(cache.counters().decodes, 5);
}

#[test]
fn the_guard_lets_groups_in_beyond_the_capacity_until_it_is_dropped() {
    let fixture = Fixture::new(2, &[&[4, 4, 4, 4]]);
    let capacity = 2 * largest(&fixture, ColumnSet::Train);
    let cache = Cache::new(fixture.source(ColumnSet::Train), Options::new(capacity), CALM).unwrap();
    let (outer, inner) = (cache.in_opt_step(), cache.in_opt_step());
    cache.gather(&fixture.rows()).unwrap();
    drop(inner);
    assert!(cache.counters().resident_bytes > capacity);
    assert_eq!(cache.counters().evictions, 0);
    drop(outer);
    assert!(cache.counters().resident_bytes <= capacity);
    assert!(cache.counters().dropped >= 2);
}

#[test]
fn a_disk_without_room_costs_decoding_and_no_more() {
    let fixture = Fixture::new(3, &[&[4, 4, 4, 4]]);
    let run = SpillRun::start(&fixture.folder.path().join("spill"), "test").unwrap();
    let options = Options::new(2 * largest(&fixture, ColumnSet::All));
    let (rows, columns) = (fixture.rows(), ColumnSet::All);
    let expected = fixture.expected(&rows, columns);
    // no room above the floor, then no room below the cap
    for (name, floor, spill) in [("floor", u64::MAX, u64::MAX), ("cap", 0, 1)] {
        let folder = Some(run.folder(name, floor).unwrap());
        let options = Options { spill, ..options };
        let cache = Cache::with_disk(fixture.source(columns), options, CALM, folder, None).unwrap();
        for _ in 0..3 {
            assert_same(&cache.gather(&rows).unwrap(), &expected);
        }
        let counters = cache.counters();
        assert!(counters.dropped > 0 && counters.decodes > 4, "{counters:?}");
        assert_eq!((counters.ssd_spills, counters.ssd_resident, counters.ssd_hits), (0, 0, 0));
        assert_eq!(counters.spill_errors > 0, name == "floor");
    }
}

#[test]
fn a_capacity_below_one_group_is_refused_at_the_start() {
    let fixture = Fixture::new(4, &[&[2, 9, 3]]);
    let needed = largest(&fixture, ColumnSet::Val);
    let open = |capacity| Cache::new(fixture.source(ColumnSet::Val), Options::new(capacity), CALM);
    assert!(open(needed).is_ok());
    match open(needed - 1) {
        Err(CacheError::TooSmall { needed: said, .. }) => assert_eq!(said, needed),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        Cache::new(fixture.source(ColumnSet::Val), Options { hot_share: 1.5, ..Options::new(1 << 30) }, CALM),
        Err(CacheError::Options(_))
    ));
}

#[test]
fn rows_that_are_not_there_are_named() {
    let fixture = Fixture::new(5, &[&[2]]);
    let cache = Cache::new(fixture.source(ColumnSet::Val), Options::new(1 << 30), CALM).unwrap();
    for row in [Row { dataset: 0, row: 2 }, Row { dataset: 1, row: 0 }, Row { dataset: 0, row: u64::MAX }] {
        let error = cache.gather(&[Row { dataset: 0, row: 0 }, row]).unwrap_err();
        assert!(matches!(error, CacheError::NoRow(named) if named == row), "{error}");
    }
    assert!(matches!(
        cache.gather(&vec![Row { dataset: 0, row: 0 }; gather::MOST + 1]),
        Err(CacheError::TooManyRows(_))
    ));
}

/// A source that counts, and takes its time.
struct Slow {
    days: Days,
    decodes: AtomicUsize,
    fails: AtomicUsize,
}

impl Slow {
    fn new(days: Days) -> Self {
        Self { days, decodes: AtomicUsize::new(0), fails: AtomicUsize::new(0) }
    }
}

impl Source for Slow {
    type Rows = Group;

    fn groups(&self, dataset: u32) -> &[usize] {
        self.days.groups(dataset)
    }

    fn datasets(&self) -> u32 {
        self.days.datasets()
    }

    fn key(&self, slot: Slot) -> Option<Key> {
        self.days.key(slot)
    }

    fn decode(&self, slot: Slot) -> Result<Group, CacheError> {
        self.decodes.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(30));
        if self.fails.load(Ordering::SeqCst) > 0 {
            self.fails.fetch_sub(1, Ordering::SeqCst);
            return Err(CacheError::NoGroup(slot));
        }
        self.days.decode(slot)
    }

    fn dense_row_bytes(&self) -> Option<u64> {
        self.days.dense_row_bytes()
    }

    fn empty(&self) -> Group {
        self.days.empty()
    }
}

/// Gathers the last row on 16 threads at once, and says how many got it.
fn sixteen(cache: &Cache<Slow>, row: Row) -> usize {
    let barrier = Barrier::new(16);
    std::thread::scope(|scope| {
        let thread = || {
            barrier.wait();
            cache.gather(&[row]).is_ok()
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(thread)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|&got| got).count()
    })
}

#[test]
fn sixteen_threads_on_one_missing_group_decode_it_once() {
    let fixture = Fixture::new(6, &[&[5, 2]]);
    let cache = Cache::new(Slow::new(fixture.source(ColumnSet::Val)), Options::new(1 << 30), CALM).unwrap();
    let decodes = || cache.source().decodes.load(Ordering::SeqCst);
    assert_eq!(decodes(), 1, "the largest group is there from the start");
    assert_eq!(sixteen(&cache, Row { dataset: 0, row: 6 }), 16);
    assert_eq!(decodes(), 2);
    let counters = cache.counters();
    assert_eq!((counters.misses, counters.coalesced), (16, 15));
    // also where it does not fit, and goes at once
    let capacity = largest(&fixture, ColumnSet::Val);
    let cache = Cache::new(Slow::new(fixture.source(ColumnSet::Val)), Options::new(capacity), CALM).unwrap();
    assert_eq!(sixteen(&cache, Row { dataset: 0, row: 6 }), 16);
    assert_eq!(cache.source().decodes.load(Ordering::SeqCst), 2);
}

#[test]
fn who_waited_for_a_failure_tries_again() {
    let fixture = Fixture::new(7, &[&[5, 2]]);
    let cache = Cache::new(Slow::new(fixture.source(ColumnSet::Val)), Options::new(1 << 30), CALM).unwrap();
    cache.source().fails.store(1, Ordering::SeqCst);
    assert_eq!(sixteen(&cache, Row { dataset: 0, row: 6 }), 15);
    assert_eq!(cache.source().decodes.load(Ordering::SeqCst), 3);
}

#[test]
fn a_plan_is_read_ahead() {
    let fixture = Fixture::new(8, &[&[5, 2, 2, 2, 2]]);
    let cache = Cache::new(Slow::new(fixture.source(ColumnSet::Val)), Options::new(1 << 30), CALM).unwrap();
    let rows = fixture.rows();
    let plan = cache.accesses(&rows).unwrap();
    let ahead = cache.read_ahead(plan, 2, 1);
    for (group, rows) in [(0, &rows[..5]), (1, &rows[5..7]), (2, &rows[7..9]), (3, &rows[9..11])] {
        let start = Instant::now();
        while cache.counters().decodes <= group && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_same(&cache.gather(rows).unwrap(), &fixture.expected(rows, ColumnSet::Val));
        assert_eq!(cache.counters().misses, 0, "group {group} was there");
    }
    drop(ahead);
    let counters = cache.counters();
    assert_eq!((counters.hits, counters.misses, counters.decodes), (4, 0, 5));
    assert_eq!(counters.read_ahead, 4);
}

/// A plan through a cache of two groups pushes nothing out that is needed sooner.
#[test]
fn reading_ahead_costs_no_second_decode() {
    let fixture = Fixture::new(9, &[&[4, 4, 4, 4, 4, 4]]);
    let options = Options { hot_share: 0.0, ..Options::new(3 * largest(&fixture, ColumnSet::Val)) };
    let cache = Cache::new(Slow::new(fixture.source(ColumnSet::Val)), options, CALM).unwrap();
    let rows = fixture.rows();
    let ahead = cache.read_ahead(cache.accesses(&rows).unwrap(), 2, 2);
    for row in rows.chunks(2) {
        cache.gather(row).unwrap();
    }
    drop(ahead);
    assert_eq!(cache.source().decodes.load(Ordering::SeqCst), 6);
}

#[test]
fn a_file_that_is_cut_while_it_is_mapped_is_decoded_anew() {
    let fixture = Fixture::new(10, &[&[40, 40, 40]]);
    let options = Options { hot_share: 0.0, ..Options::new(2 * largest(&fixture, ColumnSet::All)) };
    let spill = Some(fixture.spill());
    let cache = Cache::with_disk(fixture.source(ColumnSet::All), options, CALM, spill, None).unwrap();
    let rows = fixture.rows();
    let expected = fixture.expected(&rows, ColumnSet::All);
    for _ in 0..3 {
        assert_same(&cache.gather(&rows).unwrap(), &expected);
    }
    let decodes = cache.counters().decodes;
    assert_eq!(decodes, 3);
    for file in spill_files(fixture.folder.path()) {
        let mut open = fs_err::metadata(&file).unwrap().permissions();
        #[expect(clippy::permissions_set_readonly_false, reason = "the test breaks a seal")]
        open.set_readonly(false);
        fs_err::set_permissions(&file, open).unwrap();
        File::options().write(true).open(&file).unwrap().set_len(5000).unwrap();
    }
    // from the end: the last groups are still mapped, and the first one's file is met when it is to be mapped
    let backwards: Vec<Row> = rows.iter().rev().copied().collect();
    assert_same(&cache.gather(&backwards).unwrap(), &fixture.expected(&backwards, ColumnSet::All));
    assert_same(&cache.gather(&rows).unwrap(), &expected);
    let counters = cache.counters();
    assert!(counters.decodes > decodes && counters.spill_errors > 0, "{counters:?}");
}

fn spill_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(spill_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "spill") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn a_dataset_that_was_built_again_is_another() {
    let fixture = Fixture::new(11, &[&[6]]);
    let warm_folder = fixture.folder.path().join("warm");
    let (columns, rows, slot) = (ColumnSet::All, fixture.rows(), Slot { dataset: 0, group: 0 });
    let old = fixture.source(columns);
    let path = warm_folder.join(old.key(slot).unwrap().file_name());
    Decoded::new(&old, slot).unwrap().write(&path).unwrap();
    let open = |source| {
        Cache::with_disk(source, Options::new(1 << 30), CALM, None, Some(warm_folder.clone())).unwrap()
    };
    let cache = open(old);
    assert_eq!((cache.counters().warm_hits, cache.counters().decodes), (1, 0));
    let rebuilt = Fixture::new(12, &[&[6]]);
    fs_err::rename(rebuilt.day(0), fixture.day(0)).unwrap();
    // who has it open goes on with the old rows; who opens it gets the new ones
    assert_same(&cache.gather(&rows).unwrap(), &fixture.expected(&rows, columns));
    let cache = open(fixture.source(columns));
    assert_same(&cache.gather(&rows).unwrap(), &rebuilt.expected(&rows, columns));
    assert_eq!((cache.counters().warm_hits, cache.counters().decodes), (0, 1));
}

#[test]
fn a_dataset_that_is_written_to_is_an_error() {
    let fixture = Fixture::new(13, &[&[6, 3]]);
    let cache = Cache::new(fixture.source(ColumnSet::All), Options::new(1 << 30), CALM).unwrap();
    let grown = [fs_err::read(fixture.day(0)).unwrap(), vec![0]].concat();
    fs_err::write(fixture.day(0), grown).unwrap();
    let error = cache.gather(&[Row { dataset: 0, row: 8 }]).unwrap_err();
    assert!(matches!(error, CacheError::Changed { .. }), "{error}");
    // a file that is cut is an error, too
    File::options().write(true).open(fixture.day(0)).unwrap().set_len(100).unwrap();
    assert!(cache.gather(&[Row { dataset: 0, row: 8 }]).is_err());
}

/// A key that a digest is known for is not read again, unless the file is another one.
#[test]
fn a_known_digest_is_taken_only_for_the_file_as_it_was() {
    let fixture = Fixture::new(14, &[&[2]]);
    let (path, slot) = (fixture.day(0), Slot { dataset: 0, group: 0 });
    let mut file = File::open(&path).unwrap();
    let sha256 = crate::state::digest::Digest::of_file(&mut file).unwrap();
    let stat = crate::state::stat::Stat::of(&path).unwrap();
    let known = crate::state::store::Known {
        path: path.clone(),
        sha256: crate::state::digest::Digest::of(b"x"),
        stat,
    };
    let key = |known| {
        let mut days = Days::new(ColumnSet::All);
        days.add(&path, known).unwrap();
        days.key(slot).unwrap().dataset
    };
    assert_eq!(key(Some(&known)), known.sha256);
    assert_eq!(key(None), sha256);
    fs_err::copy(&path, fixture.day(7)).unwrap();
    fs_err::rename(fixture.day(7), &path).unwrap();
    assert_eq!(key(Some(&known)), sha256);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A file with any byte changed, or cut anywhere, is a miss or the same rows, never others.
    #[test]
    fn a_damaged_spill_file_is_a_miss(at in any::<prop::sample::Index>(), flip in 1u8.., cut: bool) {
        let fixture = Fixture::new(15, &[&[3]]);
        let (source, slot) = (fixture.source(ColumnSet::All), Slot { dataset: 0, group: 0 });
        let (path, key) = (fixture.folder.path().join("x.spill"), source.key(slot).unwrap());
        Decoded::new(&source, slot).unwrap().write(&path).unwrap();
        let mut bytes = fs_err::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= flip;
        }
        fs_err::remove_file(&path).unwrap();
        fs_err::write(&path, bytes).unwrap();
        let opened = Spilled::open(&path, &key, Group::KIND, true);
        if let Ok(Some(spilled)) = opened {
            prop_assert!(!cut);
            let (mut group, views) = (source.empty(), [spilled.views()]);
            group.gather(Gather::new(&views, &[Run { group: 0, rows: 0..3 }])).unwrap();
            assert_same(&group, &fixture.expected(&fixture.rows(), ColumnSet::All));
        }
    }

    /// What is not looked at in depth gives other numbers at worst; never a panic.
    #[test]
    fn a_file_without_its_sums_is_no_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let fixture = Fixture::new(16, &[&[3]]);
        let (source, slot) = (fixture.source(ColumnSet::All), Slot { dataset: 0, group: 0 });
        let (path, key) = (fixture.folder.path().join("x.spill"), source.key(slot).unwrap());
        Decoded::new(&source, slot).unwrap().write(&path).unwrap();
        let mut bytes = fs_err::read(&path).unwrap();
        // entries too: the header's sum is made to fit
        let head = u32::from_le_bytes(*bytes[8..].first_chunk().unwrap()) as usize;
        flips.iter().for_each(|(at, value)| {
            let at = if value % 2 == 0 { at.index(bytes.len()) } else { at.index(head - 4) };
            bytes[at] = *value;
        });
        let sum = crc32fast::hash(&bytes[..head - 4]);
        bytes[head - 4..head].copy_from_slice(&sum.to_le_bytes());
        fs_err::remove_file(&path).unwrap();
        fs_err::write(&path, bytes).unwrap();
        if let Ok(Some(spilled)) = Spilled::open(&path, &key, Group::KIND, false) {
            let (mut group, views) = (source.empty(), [spilled.views()]);
            let _ = group.gather(Gather::new(&views, &[Run { group: 0, rows: 0..3 }]));
        }
    }
}

#[test]
fn shards_are_cached_alike() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(17);
    let groups: Vec<Rows> = [folded::GROUP_ROWS, 9].map(|rows| shard_rows(&mut random, rows)).into();
    let path = folder.path().join("v1-00000.parquet");
    let conventions = Conventions::of_fold(&Mpk1Header::visits(), 100.0, 7);
    let mut shard = ShardWriter::new(File::create(&path).unwrap(), &conventions).unwrap();
    groups.iter().for_each(|group| shard.append(folded::encode(group).unwrap()).unwrap());
    shard.finish().unwrap();
    let mut source = Shards::new();
    source.add(&path, None).unwrap();
    let run = SpillRun::start(&folder.path().join("spill"), "test").unwrap();
    let options = Options {
        hot_share: 0.0,
        ..Options::new(source.decode(Slot { dataset: 0, group: 0 }).unwrap().into_columns().bytes())
    };
    let cache = Cache::with_disk(source, options, CALM, Some(run.folder("train", 0).unwrap()), None).unwrap();
    for _ in 0..4 {
        let picks: Vec<usize> = (0..300)
            .map(|_| random.next(folded::GROUP_ROWS as u64 + 9) as usize)
            .chain([8200, 3, 4, 5])
            .collect();
        let rows: Vec<Row> = picks.iter().map(|&row| Row { dataset: 0, row: row as u64 }).collect();
        let mut expected = Rows::default();
        for &row in &picks {
            let (group, row) = (row / folded::GROUP_ROWS, row % folded::GROUP_ROWS);
            expected.extend(&groups[group], row..row + 1);
        }
        assert_eq!(cache.gather(&rows).unwrap(), expected);
    }
    let counters = cache.counters();
    assert!(counters.ssd_hits > 0 && counters.decodes <= 2, "{counters:?}");
}

fn shard_rows(random: &mut Random, n: usize) -> Rows {
    let mut rows = Rows::default();
    for _ in 0..n {
        rows.packed.extend((0..PACKED_LEN).map(|_| random.next(256) as u8));
        rows.ply.push(random.next(300) as u16);
        rows.value_z.push(random.next(100) as f32);
        rows.value_q.push(random.next(100) as f32);
        rows.weight.push(random.next(1 << 32) as u32);
        for _ in 0..=random.next(6) {
            rows.mv.push(random.next(1 << 16) as u16);
            rows.prob.push(random.next(100) as f32);
            rows.cp.push((random.next(3) > 0).then(|| random.next(1 << 16) as i16));
        }
        rows.offsets.push(rows.mv.len() as u32);
    }
    rows
}

#[test]
fn a_run_removes_its_folder_and_a_purge_what_the_dead_left() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("spill");
    let (live, dead) = (SpillRun::start(&root, "live").unwrap(), SpillRun::start(&root, "dead").unwrap());
    let name = "0".repeat(64) + ".spill";
    for run in [&live, &dead] {
        run.folder("train", 0).unwrap();
        fs_err::write(run.path().join("train").join(&name), "torn").unwrap();
        fs_err::write(run.path().join("train").join(format!(".{name}.partial")), "torn too").unwrap();
    }
    fs_err::write(root.join("mine.txt"), "not yours").unwrap();
    fs_err::create_dir(root.join("run-of-mine")).unwrap();
    fs_err::write(root.join("run-of-mine/notes"), "not yours either").unwrap();
    // as kill -9 leaves it: the lock is gone, the files are not
    let path = dead.path().to_owned();
    let left = folder.path().join("left");
    copy_all(&path, &left);
    drop(dead);
    assert!(!path.exists(), "a run cleans up");
    fs_err::rename(&left, &path).unwrap();
    let found: Vec<(String, bool, u64)> =
        list(&root).unwrap().into_iter().map(|found| (found.lease.run, found.live, found.bytes)).collect();
    assert_eq!(
        HashMap::<String, (bool, u64)>::from_iter(
            found.into_iter().map(|(run, live, bytes)| (run, (live, bytes)))
        ),
        HashMap::from([("live".to_owned(), (true, 12)), ("dead".to_owned(), (false, 12))])
    );
    let purged = |age, dry_run| purge(&root, age, dry_run).unwrap();
    assert_eq!(purged(Some(Duration::from_secs(60)), false).0.len(), 0);
    assert_eq!(purged(None, true).0.len(), 1);
    assert!(path.join("train").join(&name).exists());
    fs_err::write(path.join("train/keep.me"), "a user's").unwrap();
    let (dead, live_runs) = purged(None, false);
    assert_eq!((dead.len(), dead[0].bytes, dead[0].foreign, live_runs), (1, 12, 1, 1));
    assert_eq!(fs_err::read_dir(path.join("train")).unwrap().count(), 1);
    fs_err::remove_file(path.join("train/keep.me")).unwrap();
    purged(None, false);
    assert!(!path.exists() && live.path().join("train").join(&name).exists());
    assert!(root.join("mine.txt").exists() && root.join("run-of-mine/notes").exists());
    drop(live);
    assert_eq!(list(&root).unwrap().len(), 0);
}

fn copy_all(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target)
        } else {
            fs_err::copy(entry.path(), target).unwrap();
        }
    }
}
