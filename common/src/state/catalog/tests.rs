//! A catalog of seven days without files: what a selection finds, and what does not depend on the order of events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use super::{Catalog, Chosen, DayRow, MIGRATIONS, Put, SelectError, State, Wanted, select};
use crate::formats::decisions::look_ahead::{self, WouldKo};
use crate::formats::decisions::manifest::{
    AUX_CONTRACT, BuildConfig, Counts, FORMAT, Manifest, Member, USED, deck_hash,
};
use crate::formats::decisions::{Date, SCHEMA_VERSION};
use crate::state::digest::Digest;
use crate::state::stat::Stat;

/// Numbers that look random, and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn date(day: u64) -> Date {
    format!("2026-08-{day:02}").parse().unwrap()
}

/// A manifest of some forty members: most are used, ids of other days come up, and players are few.
fn manifest(day: u64, seed: u64) -> Manifest {
    let mut dice = Dice(seed * 100 + day);
    let decks: BTreeMap<String, Vec<i32>> = (0..6)
        .map(|deck| {
            let mut dice = Dice(deck);
            let mut cards: Vec<i32> = (0..60).map(|_| dice.below(20) as i32 + 1).collect();
            cards.sort_unstable();
            (deck_hash(&cards).to_string(), cards)
        })
        .collect();
    let hashes: Vec<Digest> = decks.keys().map(|hash| Digest::try_from(hash.clone()).unwrap()).collect();
    let (mut members, mut used, mut row_groups) = (vec![], BTreeSet::new(), vec![0]);
    for i in 0..40 {
        let home = if dice.below(8) == 0 { dice.below(7) + 1 } else { day };
        let id = (home * 1000 + (i * 7) % 40) as i64;
        let status = match dice.below(10) {
            0 => "draw",
            1 => "no_reward",
            2 => "malformed",
            3 => "illegal_label",
            _ if used.insert(id) => USED,
            _ => "duplicate",
        };
        if members.len() % 6 == 5 {
            row_groups.push(0);
        }
        let rewards = [[1.0, -1.0], [-1.0, 1.0]][dice.below(2) as usize];
        let known = status != "malformed";
        let rows = if status == USED { [dice.below(90) + 1, dice.below(90)] } else { [0; 2] };
        let agents = [dice.below(12), dice.below(12)].map(|agent| format!("agent {agent}"));
        let played = [dice.below(6), dice.below(6)].map(|deck| hashes[deck as usize].clone());
        members.push(Member {
            name: format!("{i}.json"),
            status: status.into(),
            why: (status == "malformed").then(|| "it is cut off".into()),
            episode_id: known.then_some(id),
            steps: 30,
            rewards: (known && status != "no_reward").then_some(if status == "draw" {
                [0.0; 2]
            } else {
                rewards
            }),
            names: known.then_some(agents),
            decks: known.then_some(played),
            rows,
            first_row: (status == USED).then(|| row_groups.iter().sum()),
            row_group: (status == USED).then_some(row_groups.len() as u64 - 1),
        });
        *row_groups.last_mut().unwrap() += rows[0] + rows[1];
    }
    let digest = Digest::of(format!("{day} {seed}").as_bytes());
    Manifest {
        format: FORMAT.into(),
        schema_version: SCHEMA_VERSION,
        date: date(day),
        day_id: date(day).days(),
        source_zip: format!("{}.zip", date(day)),
        source_sha256: digest.clone(),
        parquet_bytes: 1,
        parquet_sha256: digest.clone(),
        fingerprint: digest,
        rows: row_groups.iter().sum(),
        episodes: used.len() as u64,
        row_groups,
        episode_failures: BTreeMap::new(),
        counts: Counts::default(),
        encoder_version: "1".into(),
        card_catalog_sha256: Digest::of(b"cards"),
        unknown_card: 21,
        elo_sha256: None,
        effects: None,
        aux_targets: true,
        aux_contract_version: AUX_CONTRACT,
        would_ko: WouldKo::off("no look-ahead was asked for", look_ahead::Counts::default()),
        build_config: BuildConfig {
            would_ko: false,
            wk_nvar: 0,
            both_sides: true,
            self_aliases: vec!["agent 3".into()],
            flush: 6,
            ep_timeout: 30,
            keep_draws: false,
            competition_start: Some(date(1)),
        },
        reproducible: true,
        columns: BTreeMap::new(),
        members,
        decks,
        written_at: "2026-08-08T00:00:00Z".into(),
    }
}

fn row(manifest: &Manifest, folder: &str) -> DayRow {
    let stat = Stat { size: 1, mtime_ns: 2, ctime_ns: 3, inode: 4 };
    let file = |ending: &str| (format!("{folder}/{}.{ending}", manifest.date), stat);
    DayRow::new(manifest, [file("parquet"), file("manifest.json")])
}

fn put(catalog: &mut Catalog, manifest: &Manifest) {
    assert_eq!(catalog.put_day(&row(manifest, "/days"), manifest, |_| false).unwrap(), Put::Done);
}

fn empty() -> (tempfile::TempDir, Catalog) {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::create(&folder.path().join("catalog.sqlite")).unwrap();
    (folder, catalog)
}

fn seven_days() -> (tempfile::TempDir, Catalog) {
    let (folder, mut catalog) = empty();
    (1..=7).for_each(|day| put(&mut catalog, &manifest(day, 0)));
    (folder, catalog)
}

/// All that a catalog says of days, without its own numbers.
fn contents(catalog: &Catalog) -> String {
    let queries = [
        "SELECT * FROM days ORDER BY id",
        "SELECT day_id, path, state, sha256 FROM datasets ORDER BY path",
        "SELECT day_id, archive_member, episode_id, status, first_row, rows0, rows1, a.name, d.hash
         FROM episodes e LEFT JOIN agents a ON a.id = agent1_id LEFT JOIN decks d ON d.id = deck0_id
         ORDER BY day_id, archive_member",
        "SELECT name, is_self FROM agents ORDER BY name",
        "SELECT hash, card_id, quantity FROM decks JOIN deck_cards ON id = deck_id ORDER BY hash, card_id",
        "SELECT name, day_id, elo, games, wins, losses, draws, bucket, place
         FROM agent_elo_daily JOIN agents ON id = agent_id ORDER BY day_id, place",
        "SELECT hash, day_id, elo, games, wins, losses, draws, bucket
         FROM deck_elo_daily JOIN decks ON id = deck_id ORDER BY day_id, hash",
        "SELECT * FROM card_elo_daily ORDER BY day_id, card_id",
    ];
    let mut text = String::new();
    for query in queries {
        for row in rows(&catalog.db, query, &[]) {
            writeln!(text, "{row:?}").unwrap();
        }
    }
    text
}

fn rows(db: &Connection, query: &str, values: &[Value]) -> Vec<Vec<Value>> {
    let mut query = db.prepare(query).unwrap();
    let columns = query.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
    query.query_map(rusqlite::params_from_iter(values), row).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn what_is_recorded_does_not_depend_on_the_order_of_events() {
    let (_folder, expected) = seven_days();
    let expected = contents(&expected);
    assert!(expected.contains("duplicate"));
    for order in [[7, 6, 5, 4, 3, 2, 1], [3, 1, 7, 5, 2, 6, 4]] {
        let (_folder, mut catalog) = empty();
        order.into_iter().for_each(|day| put(&mut catalog, &manifest(day, 0)));
        assert!(contents(&catalog) == expected, "{order:?}");
        // another build of a day, a day that was away, and all as before
        put(&mut catalog, &manifest(2, 1));
        assert!(contents(&catalog) != expected);
        let path = row(&manifest(4, 0), "/days").path;
        assert!(catalog.mark_day(&path, State::Missing).unwrap());
        assert!(!catalog.mark_day(&path, State::Missing).unwrap());
        put(&mut catalog, &manifest(2, 0));
        put(&mut catalog, &manifest(4, 0));
        assert!(contents(&catalog) == expected, "{order:?}, after changes");
    }
}

#[test]
fn an_episode_is_read_from_the_earliest_day_that_is_there() {
    let (_folder, mut catalog) = seven_days();
    let shared = "SELECT min(day_id), max(day_id), episode_id FROM episodes WHERE first_row IS NOT NULL
        GROUP BY episode_id HAVING count(*) > 1 ORDER BY episode_id";
    let shared = rows(&catalog.db, shared, &[]);
    let (&[Value::Integer(first), Value::Integer(last), ref id], true) = (&shared[0][..], shared.len() > 3)
    else {
        panic!("{shared:?}")
    };
    let home = |catalog: &Catalog| {
        let home = "SELECT day_id FROM episodes WHERE status = 'used' AND episode_id = ?";
        rows(&catalog.db, home, std::slice::from_ref(id))
    };
    assert_eq!(home(&catalog), [[Value::Integer(first)]]);
    let of = |day: i64| format!("/days/{}.parquet", date((day - i64::from(date(1).days())) as u64 + 1));
    catalog.mark_day(&of(first), State::Missing).unwrap();
    assert_ne!(home(&catalog), [[Value::Integer(first)]]);
    // where none is there it stays where it is, on the earliest
    (first + 1..=last).for_each(|day| drop(catalog.mark_day(&of(day), State::Damaged)));
    assert_eq!(home(&catalog), [[Value::Integer(first)]]);
}

#[test]
fn a_second_file_of_a_day_is_recorded_where_the_first_gives_way() {
    let (_folder, mut catalog) = seven_days();
    let other = manifest(3, 1);
    let put = |catalog: &mut Catalog, gives_way: bool| {
        catalog.put_day(&row(&other, "/elsewhere"), &other, |_| gives_way).unwrap()
    };
    let before = contents(&catalog);
    assert_eq!(put(&mut catalog, false), Put::Taken("/days/2026-08-03.parquet".into()));
    assert_eq!(contents(&catalog), before);
    assert_eq!(put(&mut catalog, true), Put::Done);
    assert_eq!(catalog.days().unwrap()[2].path, "/elsewhere/2026-08-03.parquet");
    assert_eq!(catalog.days().unwrap().len(), 7);
}

/// Plain SQL, a subquery for each rule, and none of the windows and stored places that the real query goes by.
fn oracle(catalog: &Catalog, wanted: &Wanted) -> Vec<(String, i64)> {
    let days: BTreeSet<i64> = match &wanted.days {
        Chosen::All => (1..=7).collect(),
        Chosen::Last(n) => (8 - i64::from(*n).min(7)..=7).collect(),
        Chosen::Spans(spans) => {
            let within = |day: &i64| spans.iter().any(|(a, b)| (*a..=*b).contains(&date(*day as u64)));
            (1..=7).filter(within).collect()
        }
    };
    let days: Vec<i64> = days.into_iter().map(|day| i64::from(date(day as u64).days())).collect();
    let better = |agent: &str| {
        format!(
            "(SELECT count(*) FROM agent_elo_daily b JOIN agents n ON n.id = b.agent_id
              WHERE b.day_id = e.day_id AND (b.elo > {agent}.elo OR b.elo = {agent}.elo AND
                n.name < (SELECT name FROM agents WHERE id = {agent}.agent_id)))"
        )
    };
    let (top, strength) = match wanted.top_elo {
        Some(n) => (format!("{} < {n} AND {} < {n}", better("x"), better("y")), "x.elo + y.elo"),
        None => ("1".into(), "0.0"),
    };
    let sql = format!(
        "WITH good AS (
           SELECT e.day_id, e.episode_id, e.rows0 + e.rows1 AS rows, {strength} AS strength
           FROM episodes e, agent_elo_daily x, agent_elo_daily y
           WHERE e.status = 'used' AND e.day_id IN (SELECT value FROM json_each(?))
             AND x.agent_id = e.agent0_id AND x.day_id = e.day_id
             AND y.agent_id = e.agent1_id AND y.day_id = e.day_id AND {top})
         SELECT date, episode_id FROM good g JOIN days ON id = day_id
         WHERE (SELECT coalesce(sum(h.rows), 0) FROM good h WHERE h.day_id = g.day_id AND
           (h.strength > g.strength OR h.strength = g.strength AND h.episode_id < g.episode_id)) < {}
         ORDER BY date, strength DESC, episode_id",
        wanted.max_rows_per_day.unwrap_or(1 << 40),
    );
    let found = rows(&catalog.db, &sql, &[Value::Text(format!("{days:?}"))]);
    let pair = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
        Ok([Value::Text(date), Value::Integer(id)]) => (date, id),
        other => panic!("{other:?}"),
    };
    found.into_iter().map(pair).collect()
}

fn all_wanted() -> Vec<Wanted> {
    let mut days = vec![Chosen::All];
    days.extend([1, 3, 7, 9].map(Chosen::Last));
    days.push(Chosen::Spans(vec![(date(2), date(2)), (date(5), date(6)), (date(6), date(20))]));
    let mut all = vec![];
    for days in days {
        for top_elo in [None, Some(1), Some(2), Some(5), Some(9), Some(100)] {
            for max_rows_per_day in [None, Some(1), Some(200), Some(700), Some(1_000_000)] {
                all.push(Wanted { days: days.clone(), top_elo, max_rows_per_day });
            }
        }
    }
    all
}

#[test]
fn selections_are_those_of_plain_sql() {
    let (_folder, catalog) = seven_days();
    let mut sizes = BTreeSet::new();
    for wanted in all_wanted() {
        let selection = catalog.select(&wanted).unwrap();
        let found: Vec<_> = selection
            .days
            .iter()
            .flat_map(|day| day.episodes.iter().map(|episode| (day.date.to_string(), episode.episode_id)))
            .collect();
        assert_eq!(found, oracle(&catalog, &wanted), "{wanted:?}");
        sizes.insert(found.len());
        for day in &selection.days {
            // ranges are the episodes' rows, each once, ascending and apart
            let rows = |first: u64, rows: u64| first..first + rows;
            let in_ranges: Vec<u64> = day.ranges.iter().flat_map(|r| rows(r.first_row, r.rows)).collect();
            let mut of_episodes: Vec<u64> =
                day.episodes.iter().flat_map(|e| rows(e.first_row, e.rows)).collect();
            of_episodes.sort_unstable();
            assert_eq!(in_ranges, of_episodes);
            assert!(day.ranges.windows(2).all(|pair| pair[0].first_row + pair[0].rows < pair[1].first_row));
            let groups: BTreeSet<u64> = day.episodes.iter().map(|episode| episode.row_group_first).collect();
            assert_eq!(day.row_groups, groups.into_iter().collect::<Vec<_>>());
            assert_eq!(day.rows, in_ranges.len() as u64);
        }
    }
    assert!(sizes.len() > 20, "{sizes:?}");
}

/// As many rows as the first episodes have are enough with those; one more takes the next.
#[test]
fn a_bound_on_rows_is_met_by_whole_episodes() {
    let (_folder, catalog) = seven_days();
    for top_elo in [None, Some(9)] {
        let select = |most| {
            let wanted = Wanted { days: Chosen::Last(1), top_elo, max_rows_per_day: most };
            catalog.select(&wanted).unwrap().days.remove(0).episodes
        };
        let all = select(None);
        let three: u64 = all[..3].iter().map(|episode| episode.rows).sum();
        for (most, n) in [(1, 1), (three - 1, 3), (three, 3), (three + 1, 4), (u64::MAX, all.len())] {
            assert_eq!(select(Some(most)), all[..n], "{most}");
        }
    }
}

#[test]
fn a_selection_scans_no_episodes() {
    let (_folder, catalog) = seven_days();
    for wanted in all_wanted() {
        let plan = format!("EXPLAIN QUERY PLAN {}", select::sql(&wanted));
        let mut plan = catalog.db.prepare(&plan).unwrap();
        let steps = plan.query_map(params!["[]", 1, 1, 1], |row| row.get::<_, String>("detail")).unwrap();
        let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        let of_episodes = |step: &&String| step.split(' ').any(|word| word == "e");
        let found: Vec<&String> = steps.iter().filter(of_episodes).collect();
        assert_eq!(found, ["SEARCH e USING INDEX episodes_of_day (day_id=? AND status=?)"], "{steps:?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN r")), "{steps:?}");
    }
}

#[test]
fn days_that_are_not_there_or_do_not_go_together_are_refused() {
    let (_folder, mut catalog) = seven_days();
    let of = |days| Wanted { days, top_elo: None, max_rows_per_day: None };
    let span = |a, b| of(Chosen::Spans(vec![(date(1), date(1)), (date(a), date(b))]));
    assert!(matches!(catalog.select(&span(9, 9)), Err(SelectError::NoDay(day)) if day == date(9)));
    assert_eq!(catalog.select(&span(7, 9)).unwrap().days.len(), 2);
    assert!(matches!(
        catalog.select(&of(Chosen::Spans(vec![(date(9), date(12))]))),
        Err(SelectError::NoDays)
    ));
    catalog.mark_day("/days/2026-08-07.parquet", State::Damaged).unwrap();
    assert!(matches!(catalog.select(&span(7, 7)), Err(SelectError::NoDay(_))));
    assert_eq!(catalog.select(&of(Chosen::Last(2))).unwrap().days[0].date, date(5));
    let other = Manifest { card_catalog_sha256: Digest::of(b"other cards"), ..manifest(2, 0) };
    put(&mut catalog, &other);
    assert!(matches!(catalog.select(&of(Chosen::All)), Err(SelectError::Mixed { what: "card catalog", .. })));
    assert_eq!(catalog.select(&of(Chosen::Last(4))).unwrap().days.len(), 4);
}

#[test]
fn a_catalog_of_sets_gets_days_and_keeps_its_sets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(MIGRATIONS[0]).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute_batch(&format!(
        "INSERT INTO sets VALUES (1, '/s/a.set.json', 'present', 5, 7, 1, 99, '{{}}', 1, 2, 3, 4, 5);
         INSERT INTO datasets VALUES (1, 'folded', '/s/a-00000.parquet', 1, 5, 1, 99, '{}', 1, 0, NULL, 2, 3, 4);",
        "a".repeat(64)
    ))
    .unwrap();
    drop(old);
    assert!(matches!(Catalog::open(&path), Err(super::CatalogError::Older { found: 1, known: 2 })));
    let mut catalog = Catalog::create(&path).unwrap();
    put(&mut catalog, &manifest(1, 0));
    let kept =
        "SELECT s.path, s.records, d.path, d.rows, d.state FROM sets s JOIN datasets d ON d.set_id = s.id";
    let text = |text: &str| Value::Text(text.into());
    let row = [text("/s/a.set.json"), 7.into(), text("/s/a-00000.parquet"), 5.into(), Value::Null];
    assert_eq!(rows(&catalog.db, kept, &[]), [row.to_vec()]);
    drop(catalog);
    assert_eq!(Catalog::open(&path).unwrap().days().unwrap().len(), 1);
}
