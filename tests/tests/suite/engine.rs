//! The look-ahead through a library that misbehaves as told, see `tests/fake-engine`.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use day_build::engine::{
    Counts, Decision, Engine, Fault, Features, LookAhead, LookAheads, Trust, Version, WouldKo,
};
use end_to_end::Folder;
use serde_json::{Value, json};

use crate::folder;

const DETERMINISATIONS: u32 = 4;
const KO: [f32; 3] = [1.0, 1.0 / 6.0, 0.0];
const NOTHING: [f32; 3] = [0.0; 3];

/// Names of both libraries on this platform, in the package's folder.
fn names() -> [&'static str; 2] {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", _) => ["v1/libcg.dylib", "libcg.dylib"],
        (_, "aarch64") => ["v1/libcg-arm64.so", "libcg-arm64.so"],
        _ => ["v1/libcg.so", "libcg.so"],
    }
}

fn fake() -> Vec<u8> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let tests = std::env::current_exe().unwrap();
    fs_err::read(tests.with_file_name(format!("{DLL_PREFIX}fake_engine{DLL_SUFFIX}"))).unwrap()
}

/// A folder with the fake engine in `cg`, as the package holds the real one.
fn with_engine() -> Folder {
    let folder = folder();
    fs_err::create_dir_all(folder.join("cg/v1")).unwrap();
    for name in names() {
        folder.put(&format!("cg/{name}"), fake());
    }
    folder
}

fn start(folder: &Folder) -> LookAhead {
    let engine = Engine::open(folder.path(), Trust::Found).unwrap();
    LookAhead::start(&engine.with_worker(env!("CARGO_BIN_EXE_job")), DETERMINISATIONS)
}

fn card(id: i32, serial: i32, player: i32) -> Value {
    json!({"id": id, "serial": serial, "playerIndex": player})
}

/// A side of the table with an active Pokémon, its prizes face down.
fn side(player: i32, serial: i32, prizes: usize) -> Value {
    let pokemon = json!({"id": 700, "serial": serial, "playerIndex": player, "hp": 60, "maxHp": 60,
        "energies": [], "energyCards": [], "tools": [], "preEvolution": []});
    json!({"active": [pokemon], "bench": [], "deckCount": 53, "discard": [], "prize": vec![Value::Null; prizes],
        "handCount": 0, "hand": [], "poisoned": false, "burned": false, "asleep": false, "paralyzed": false,
        "confused": false})
}

/// Side 0 may attack in two ways, or end its turn.
fn root() -> Value {
    let options = json!([{"type": 13, "attackId": 1}, {"type": 14}, {"type": 13, "attackId": 2}]);
    json!({
        "select": {"type": 0, "context": 0, "minCount": 1, "maxCount": 1, "deck": null, "option": options},
        "current": {"turn": 1, "yourIndex": 0, "result": -1, "stadium": [], "looking": null,
            "players": [side(0, 1, 6), side(1, 61, 6)]},
    })
}

/// The next turn.
fn nothing() -> Value {
    let mut node = json!({"observation": root()});
    node["observation"]["current"]["turn"] = 2.into();
    node
}

/// The next turn, where the opponent's active Pokémon is gone and a prize is taken.
fn ko() -> Value {
    let mut node = nothing();
    let players = &mut node["observation"]["current"]["players"];
    players[0] = side(0, 1, 5);
    players[1]["active"] = json!([]);
    players[1]["discard"] = json!([card(700, 61, 1)]);
    node
}

/// A game where both attacks lead to the same node.
fn game(then: Value) -> Value {
    json!({"observation": root(), "then": {"*": then}})
}

fn told(what: &str) -> Value {
    game(json!({"observation": root(), "do": what}))
}

fn record(game: &Value) -> String {
    game.to_string().bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What a side sees, with a record of the game.
fn observation(mut seen: Value, record: &str) -> String {
    seen["search_begin_input"] = record.into();
    seen.to_string()
}

/// Looks ahead in a game of an episode. What the side sees is the root as it should be.
fn look_at(look: &mut LookAhead, episode: i64, game: &Value) -> Vec<Option<Features>> {
    look_with(look, episode, &observation(root(), &record(game)), Some(Version::V1))
}

fn look_with(
    look: &mut LookAhead,
    episode: i64,
    observation: &str,
    version: Option<Version>,
) -> Vec<Option<Features>> {
    let deck: Vec<i32> = [700].into_iter().chain(1..60).collect();
    let (attacks, deck, revealed) = (&[0, 2], &deck, &[(99, 80)]);
    look.look(&Decision { episode, step: 7, side: 0, version, observation, attacks, deck, revealed })
}

/// Counts of a look-ahead where all trials failed for one reason.
fn failed(fault: Fault, decisions: u64) -> impl Fn(&Counts) -> bool {
    move |counts| {
        let trials = 2 * decisions * u64::from(DETERMINISATIONS);
        let Counts { eligible, computed, zero_results, skipped, valid_trials, failed_trials } = counts;
        (*eligible, *computed, *zero_results, *skipped, *valid_trials) == (2 * decisions, 0, 0, 0, 0)
            && (failed_trials.of(fault), failed_trials.total()) == (trials, trials)
    }
}

#[test]
fn every_attack_gets_features() {
    let folder = with_engine();
    let mut look = start(&folder);
    let game = json!({"observation": root(), "then": {"0": ko(), "2": nothing()}});
    assert_eq!(look_at(&mut look, 1, &game), [Some(KO), Some(NOTHING)]);
    let counts = look.take_counts();
    let Counts { eligible, computed, zero_results, skipped, valid_trials, .. } = counts;
    assert_eq!((eligible, computed, zero_results, skipped, valid_trials), (2, 2, 1, 0, 8));
    assert!(counts.reproducible() && counts.failed_trials.total() == 0);
    assert_eq!(look.take_counts(), Counts::default());
}

/// Each list is what it is named for; the order of the engine's arguments is not to be seen from its answers.
#[test]
fn lists_come_in_the_order_of_the_interface() {
    let folder = with_engine();
    let mut look = start(&folder);
    let mut game = game(ko());
    // all cards of either side are hidden in one place of it; a list is filled up with energy
    let filled = |ids: std::ops::Range<i32>| {
        let mut ids: Vec<i32> = ids.chain([3; 4]).collect();
        ids.sort_unstable();
        json!(ids)
    };
    let players = &mut game["observation"]["current"]["players"];
    (players[0]["prize"], players[0]["deckCount"]) = (json!([]), 59.into());
    (players[1]["prize"], players[1]["deckCount"], players[1]["handCount"]) = (json!([]), 0.into(), 2.into());
    game["lists"] = json!({"my_deck": filled(100..159), "my_prizes": [3, 3, 3], "opp_deck": [3, 3, 3],
        "opp_prizes": [3, 3, 3], "opp_hand": [3, 80, 81], "opp_active": [700, 700]});
    let observation = observation(game["observation"].clone(), &record(&game));
    let deck: Vec<i32> = [700].into_iter().chain(100..159).collect();
    let mut decision = Decision {
        episode: 1,
        step: 7,
        side: 0,
        version: Some(Version::V2),
        observation: &observation,
        attacks: &[0, 2],
        deck: &deck,
        revealed: &[(99, 80), (98, 81)],
    };
    assert_eq!(look.look(&decision)[0].map(|features| features[0]), Some(1.0));
    decision.revealed = &[];
    assert_eq!(look.look(&decision)[0], None);
    assert_eq!(look.take_counts().failed_trials.of(Fault::BeginError), 2 * u64::from(DETERMINISATIONS));
}

#[test]
fn what_the_engine_refuses_is_counted_by_reason() {
    let folder = with_engine();
    let mut look = start(&folder);
    let mut other = game(ko());
    other["observation"]["current"]["players"][1]["active"][0]["hp"] = 50.into();
    let again = {
        let mut asks = nothing();
        asks["observation"]["current"]["turn"] = 1.into();
        asks["observation"]["select"] =
            json!({"type": 1, "context": 0, "minCount": 1, "maxCount": 2, "option": [{}]});
        asks["then"] = json!({"*": {"do": "again"}});
        game(asks)
    };
    let refuse = |mut game: Value| {
        game["do"] = "refuse".into();
        game
    };
    let cases = [
        (Fault::BeginError, refuse(game(ko()))),
        (Fault::RootMismatch, other),
        (Fault::StepError, told("refuse")),
        (Fault::StepError, told("rubbish")),
        (Fault::StepError, told("silence")),
        (Fault::StepLimit, again),
    ];
    for (fault, game) in cases {
        assert_eq!(look_at(&mut look, 1, &game), [None; 2], "{fault:?}");
        let counts = look.take_counts();
        assert!(failed(fault, 1)(&counts) && counts.reproducible(), "{fault:?} {counts:?}");
    }
    // that worker has seen all of it, and still answers
    assert_eq!(look_at(&mut look, 1, &game(ko())), [Some(KO); 2]);
}

#[test]
fn what_never_comes_to_the_engine_is_counted_too() {
    let folder = with_engine();
    let mut look = start(&folder);
    let mut unreadable = vec![String::new(), "{}".into(), root().to_string(), "{\"select\":".into()];
    unreadable
        .extend(["", "41", &"é".repeat(100), &" ".repeat(100)].map(|record| observation(root(), record)));
    for observation in unreadable {
        assert_eq!(look_with(&mut look, 1, &observation, Some(Version::V1)), [None; 2], "{observation}");
        assert!(failed(Fault::BadState, 1)(&look.take_counts()), "{observation}");
    }
    let good = observation(root(), &record(&game(ko())));
    look_with(&mut look, 1, &good, None);
    assert!(failed(Fault::NoLibrary, 1)(&look.take_counts()));
    let (version, attacks, deck) = (Some(Version::V1), &[0, 2], &[1; 60]);
    look.look(&Decision {
        episode: 1,
        step: 7,
        side: 0,
        version,
        observation: &good,
        attacks,
        deck,
        revealed: &[],
    });
    assert!(failed(Fault::CountMismatch, 1)(&look.take_counts()));
}

/// A decision that is too much for the engine costs its own features; two of an episode cost the rest of it.
#[test]
fn a_crash_costs_a_decision_and_two_cost_the_episode() {
    let folder = with_engine();
    let mut look = start(&folder);
    let both = [Some(KO); 2];
    // macOS has no limit of address space
    let eat = cfg!(target_os = "linux").then_some("eat");
    for what in ["crash", "abort", "babble"].into_iter().chain(eat) {
        assert_eq!(look_at(&mut look, 1, &game(ko())), both);
        look.take_counts();
        assert_eq!(look_at(&mut look, 2, &told(what)), [None; 2], "{what}");
        let counts = look.take_counts();
        assert!(failed(Fault::Crash, 1)(&counts) && !counts.reproducible(), "{what} {counts:?}");
        assert_eq!(look_at(&mut look, 2, &game(ko())), both, "{what}");
        look_at(&mut look, 2, &told(what));
        look.take_counts();
        assert_eq!(look_at(&mut look, 2, &game(ko())), [None; 2], "{what}");
        let counts = look.take_counts();
        assert_eq!((counts.eligible, counts.skipped, counts.computed), (2, 2, 0));
        assert_eq!((counts.valid_trials, counts.failed_trials.total()), (0, 0));
    }
    assert_eq!(look_at(&mut look, 3, &game(ko())), both);
}

#[test]
fn threads_do_not_share_a_worker() {
    let folder = with_engine();
    let engine = Engine::open(folder.path(), Trust::Found).unwrap().with_worker(env!("CARGO_BIN_EXE_job"));
    let looks = LookAheads::new(Some((engine, DETERMINISATIONS)));
    let lend = |meanwhile: &(dyn Fn() + Sync)| {
        looks.lend(|look| {
            assert_eq!(look_at(look, 1, &game(ko())), [Some(KO); 2]);
            meanwhile();
            look.workers().collect::<Vec<_>>()
        })
    };
    let both_have_one = std::sync::Barrier::new(2);
    let wait = || _ = both_have_one.wait();
    let [first, second] = std::thread::scope(|scope| {
        [scope.spawn(|| lend(&wait)), scope.spawn(|| lend(&wait))].map(|thread| thread.join().unwrap())
    });
    assert!(first.len() == 1 && second.len() == 1 && first != second);
    assert!([first, second].contains(&lend(&|| ())), "a third worker was started");
    let none = LookAheads::new(None);
    assert_eq!(none.lend(|look| look_at(look, 1, &game(ko()))), [None; 2]);
}

#[test]
fn a_hang_ends_in_time() {
    let folder = with_engine();
    let mut look = start(&folder);
    let start = Instant::now();
    assert_eq!(look_at(&mut look, 1, &told("hang")), [None; 2]);
    assert!((2..10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    let counts = look.take_counts();
    assert!(failed(Fault::Timeout, 1)(&counts) && !counts.reproducible(), "{counts:?}");
    assert_eq!(look_at(&mut look, 1, &game(ko()))[0], Some(KO));
}

#[test]
fn an_engine_that_says_much_is_heard() {
    let folder = with_engine();
    let mut ko = ko();
    ko["do"] = "mutter".into();
    assert_eq!(look_at(&mut start(&folder), 1, &game(ko))[0], Some(KO));
}

#[test]
fn without_an_engine_attacks_are_counted() {
    let mut look = LookAhead::off();
    assert_eq!(look_at(&mut look, 1, &game(ko())), [None; 2]);
    let would_ko = json!(WouldKo::off("no engine was given", look.take_counts()));
    assert_eq!((&would_ko["enabled"], &would_ko["reason"]), (&false.into(), &"no engine was given".into()));
    assert_eq!(
        (&would_ko["eligible"], &would_ko["computed"], &would_ko["skipped"]),
        (&2.into(), &0.into(), &0.into())
    );
    assert_eq!(would_ko["failed_trials"]["crash"], 0);
}

#[test]
fn a_package_is_a_folder_or_a_wheel_of_known_libraries() {
    let folder = with_engine();
    let mut wheel = zip::ZipWriter::new(File::create(folder.join("x.whl")).unwrap());
    for name in names() {
        let options = zip::write::SimpleFileOptions::default();
        wheel.start_file(format!("kaggle_environments/envs/cabt/cg/{name}"), options).unwrap();
        wheel.write_all(&fake()).unwrap();
    }
    wheel.finish().unwrap();
    fs_err::create_dir(folder.join("tmp")).unwrap();
    for package in ["x.whl", "cg", "."] {
        folder.fails(&format!("day-build engine {package}"), 8, &["SHA-256", "kaggle-environments 1.33.2"]);
        let mut command = folder.command(&format!("day-build engine {package} --any-engine --json"));
        let done = end_to_end::Done::from(command.env("TMPDIR", folder.join("tmp")).output().unwrap());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let libraries = &done.json()["libraries"];
        assert_eq!([&libraries[0]["cards"], &libraries[1]["attacks"]], [1, 2]);
    }
    assert_eq!(fs_err::read_dir(folder.join("tmp")).unwrap().count(), 0);

    folder.put("cg/v1/other", "");
    folder.fails("day-build engine nowhere", 5, &["nowhere"]);
    folder.fails("day-build engine cg/v1", 5, &["the engine is not in this folder"]);
    folder.fails("day-build engine cg/v1/other", 3, &["a wheel of kaggle-environments"]);
    folder.put(&format!("cg/{}", names()[1]), "no library");
    folder.fails(
        "day-build engine cg --any-engine",
        8,
        &["version 2 does not work here", "cannot be loaded"],
    );
}

#[test]
fn a_library_that_changes_is_not_loaded() {
    let folder = with_engine();
    let mut look = start(&folder);
    let mut other = fake();
    other.push(0);
    folder.put(&format!("cg/{}", names()[0]), other);
    assert_eq!(look_at(&mut look, 1, &game(ko())), [None; 2]);
    assert!(failed(Fault::Crash, 1)(&look.take_counts()));
}

/// A worker as a builder starts it.
fn worker(folder: &Folder) -> Child {
    let engine = Engine::open(folder.path(), Trust::Found).unwrap();
    let sha256 = &engine.digests()["1"];
    let mut command = folder.command(&format!("engine-worker --library cg/{} --sha256 {sha256}", names()[0]));
    let mut worker =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(message(&mut worker), "Ready");
    worker
}

fn send(worker: &mut Child, message: &Value) {
    let text = message.to_string();
    let bytes = [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    worker.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
}

fn message(worker: &mut Child) -> Value {
    let out = worker.stdout.as_mut().unwrap();
    let mut length = [0; 4];
    out.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    out.read_exact(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn ends(worker: &mut Child) -> std::process::ExitStatus {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(status) = worker.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    worker.kill().unwrap();
    panic!("the worker did not end");
}

/// The first Ctrl-C goes to all processes of a build; which decisions are still looked ahead in is up to the builder.
#[test]
fn a_worker_outlives_the_first_signal_but_not_its_builder() {
    let folder = with_engine();
    let mut idle = worker(&folder);
    let interrupt =
        std::process::Command::new("kill").args(["-INT", &idle.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    std::thread::sleep(Duration::from_millis(100));
    send(&mut idle, &json!("Catalog"));
    assert_eq!(message(&mut idle), json!({"Catalog": {"cards": 1, "attacks": 2}}));
    drop(idle.stdin.take());
    ends(&mut idle);

    let mut busy = worker(&folder);
    let state = record(&told("hang"));
    let hidden = json!({"pool": [], "shown": [], "my_prizes": [], "opp_prizes": [], "opp_deck": 0, "opp_hand": 0,
        "pokemon": 1});
    let seed = json!({"episode": 1, "step": 1, "side": 0});
    send(
        &mut busy,
        &json!({"Look": {"seed": seed, "determinisations": 1, "state": state, "expected": root(), "hidden": hidden,
            "attacks": [0]}}),
    );
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(busy.try_wait().unwrap(), None);
    drop(busy.stdin.take());
    assert!(!ends(&mut busy).success());
}

#[test]
fn a_worker_ends_at_what_is_no_message() {
    let folder = with_engine();
    for bytes in [&b"\xff\xff\xff\xff"[..], b"\x02\0\0\0{}", b"\x09\0\0\0\"Cata"] {
        let mut worker = worker(&folder);
        let mut stdin = worker.stdin.take().unwrap();
        stdin.write_all(bytes).unwrap();
        drop(stdin);
        ends(&mut worker);
    }
    folder.fails("engine-worker --library cg/none --sha256 x", 5, &["cg/none"]);
}

/// A build asks the engine where it is told to, and says in the manifest what came of it.
#[test]
fn a_build_says_whether_it_looked_ahead() {
    let folder = with_engine();
    let build = |out: &str, flags: &str| {
        folder.ok(&folder.build_line("2026-11-23.zip", out, &format!("--would-ko {flags}")));
        let manifest: Value =
            serde_json::from_slice(&folder.bytes(&format!("{out}/2026-11-23.manifest.json"))).unwrap();
        (
            folder.bytes(&format!("{out}/2026-11-23.parquet")),
            manifest["would_ko"].clone(),
            manifest["fingerprint"].clone(),
        )
    };
    let trials = |would_ko: &Value| -> u64 {
        would_ko["failed_trials"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
    };
    let (rows, off, fingerprint) = build("off", "");
    let (enabled, reason, eligible) = (&off["enabled"], &off["reason"], off["eligible"].as_u64().unwrap());
    assert_eq!((enabled, reason), (&false.into(), &"no engine is named".into()));
    assert!(eligible > 0 && trials(&off) == 0, "{off}");
    // the library is not the one that it should be
    let (_, off, _) = build("untrusted", "--engine cg");
    assert_eq!(off["enabled"], false, "{off}");
    let line = folder.build_line("2026-11-23.zip", "required", "--would-ko --require-engine --engine cg");
    let refused = folder.run(&line);
    assert_ne!(refused.code, Some(0));
    assert!(!folder.join("required").exists(), "{}", refused.stderr);
    // it is used, and makes nothing of these records: the features stay 0, and every trial has its reason
    let (tried, on, other) = build("on", "--engine cg --any-engine --wk-nvar 3 --threads 1");
    assert_eq!(
        (on["enabled"].as_bool(), on["computed"].as_u64(), trials(&on)),
        (Some(true), Some(0), 3 * eligible)
    );
    assert_ne!(fingerprint, other);
    let (again, same, _) = build("again", "--engine cg --any-engine --wk-nvar 3 --threads 4");
    assert_eq!((&tried, on), (&again, same));
    // but for the fingerprint in the footer, the rows are those of a build without
    assert_eq!(rows.len(), tried.len());
}
