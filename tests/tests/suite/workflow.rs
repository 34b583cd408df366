//! The shogi workflow under its engine: it resumes after anything, and computes nothing twice.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use end_to_end::{Done, Folder, data};
use serde_json::Value;

use crate::folder;

/// A folder with the jobs, copies of the sources, and a configuration of the whole chain.
fn workflow() -> Folder {
    let folder = folder();
    link_jobs(&folder);
    for source in ["teacher_corpus.parquet", "selfplay_games.jsonl"] {
        folder.put(source, fs_err::read(data(source)).unwrap());
    }
    folder.put(
        "shogi.yaml",
        "results: results\nstore: store\nstreams:\n\
         \x20 teacher: {corpus: teacher_corpus.parquet, mate-scale: 32000, mate-slack: 100, eval-coef: 600}\n\
         \x20 other: {corpus: teacher_corpus.parquet, mate-scale: 32000, mate-slack: 100, eval-coef: 600, skip-bad: true}\n\
         \x20 selfplay: {games: selfplay_games.jsonl}\n\
         sets:\n\
         \x20 teacher: {streams: [teacher, other], shards: 4, ranges: 2}\n\
         \x20 selfplay: {streams: [selfplay]}\n",
    );
    folder
}

/// Puts the jobs into `bin`, where a workflow looks for them.
pub(crate) fn link_jobs(folder: &Folder) {
    fs_err::create_dir(folder.join("bin")).unwrap();
    for job in ["stream-write", "fold-pack", "catalog-sync", "spill-purge", "day-build"] {
        symlink(env!("CARGO_BIN_EXE_job"), folder.join("bin").join(job)).unwrap();
    }
}

fn command(folder: &Folder, config: &str) -> Command {
    command_of("shogi", folder, config)
}

/// The command that runs a workflow.
pub(crate) fn command_of(workflow: &str, folder: &Folder, config: &str) -> Command {
    let workflows = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workflows");
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("python3");
    command.arg(workflows.join("run.py")).args([workflow, config]).current_dir(folder.path());
    command
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("XDG_CACHE_HOME", folder.join("cache")).env_remove("FOLDLINE_STORE");
    command
}

fn run(folder: &Folder, config: &str) -> Done {
    succeed(command(folder, config))
}

/// Runs a workflow that must succeed.
pub(crate) fn succeed(mut command: Command) -> Done {
    let done = Done::from(command.output().unwrap());
    assert!(!done.stderr.contains("No module named"), "run the tests with `./run test`\n{}", done.stderr);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    done
}

/// All receipts below the results, by name.
pub(crate) fn receipts(results: &Path) -> BTreeMap<String, Value> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![results.join("receipts")]);
    while let Some(folder) = waiting.pop() {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(results).unwrap().display().to_string();
                found.insert(name, serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap());
            }
        }
    }
    found
}

/// What all files of the results hold, by path.
pub(crate) fn digests(results: &Path) -> BTreeMap<String, String> {
    let outputs =
        receipts(results).into_values().flat_map(|receipt| receipt["outputs"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    outputs.map(|output| (text(&output["path"]), text(&output["sha256"]))).collect()
}

/// Names of the receipts whose results this run computed.
pub(crate) fn computed(results: &Path) -> Vec<String> {
    let stored = |receipt: &Value| receipt["stored"] == true && receipt["cached"] == false;
    receipts(results).into_iter().filter(|(_, receipt)| stored(receipt)).map(|(name, _)| name).collect()
}

/// When each action of the store was computed, by key.
fn computed_at(folder: &Folder) -> BTreeMap<String, Value> {
    let mut at = BTreeMap::new();
    let Ok(fans) = fs_err::read_dir(folder.join("store/actions")) else { return at };
    for fan in fans {
        for entry in fs_err::read_dir(fan.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let Ok(record) = serde_json::from_slice::<Value>(&fs_err::read(&path).unwrap()) else { continue };
            at.insert(record["key"].as_str().unwrap().to_owned(), record["cost"].clone());
        }
    }
    at
}

fn touch(path: &Path, time: SystemTime) {
    fs_err::File::options().append(true).open(path).unwrap().file().set_modified(time).unwrap();
}

#[test]
fn the_chain_is_built_once_and_by_content() {
    let folder = workflow();
    let results = folder.join("results");
    let done = run(&folder, "shogi.yaml");
    assert!(done.stdout.contains("report.html"), "{}", done.stdout);
    let (made, first) = (digests(&results), computed(&results));
    // of the two streams with the same bytes one is partitioned and counted, and found for the other
    assert_eq!(first.len(), 12, "{first:?}");
    folder.ok("catalog-sync verify --deep --catalog results/catalog.sqlite");
    let sets = folder.ok("catalog-sync list --catalog results/catalog.sqlite --json").json();
    assert_eq!(sets.as_array().unwrap().iter().map(|set| &set["records"]).collect::<Vec<_>>(), [5327, 26096]);
    folder.python("check_report.py", &[results.join("report.html"), results.join("receipts")]);

    // nothing to do
    let inodes = |results: &Path| {
        let names = receipts(results).into_keys();
        names.map(|name| results.join(name).metadata().unwrap().ino()).collect::<Vec<_>>()
    };
    let before = inodes(&results);
    let done = run(&folder, "shogi.yaml");
    assert!(done.stderr.contains("Nothing to be done"), "{}", done.stderr);

    // every input is touched: content decides
    for source in ["teacher_corpus.parquet", "selfplay_games.jsonl"] {
        touch(&folder.join(source), SystemTime::now());
    }
    for name in receipts(&results).into_keys() {
        touch(&results.join(name), SystemTime::now());
    }
    run(&folder, "shogi.yaml");
    assert_eq!(inodes(&results), before);

    // new content under an old time
    let games = String::from_utf8(folder.bytes("selfplay_games.jsonl")).unwrap();
    let shorter: Vec<&str> = games.lines().skip(1).collect();
    let old = folder.join("selfplay_games.jsonl").metadata().unwrap().modified().unwrap();
    folder.put("selfplay_games.jsonl", shorter.join("\n"));
    touch(&folder.join("selfplay_games.jsonl"), old - Duration::from_secs(100_000));
    run(&folder, "shogi.yaml");
    let changed = digests(&results);
    let is_selfplay = |name: &&String| name.contains("selfplay");
    for name in made.keys() {
        assert_eq!(made[name] != changed[name], is_selfplay(&name), "{name}");
    }

    // the results are gone: all is found in the store
    fs_err::remove_dir_all(&results).unwrap();
    run(&folder, "shogi.yaml");
    assert_eq!(computed(&results), Vec::<String>::new());
    assert_eq!(digests(&results), changed);

    // a second checkout with the same store
    let other = workflow();
    other.put("selfplay_games.jsonl", folder.bytes("selfplay_games.jsonl"));
    let config = String::from_utf8(folder.bytes("shogi.yaml")).unwrap();
    other.put(
        "shogi.yaml",
        config.replace("store: store", &format!("store: {}", folder.join("store").display())),
    );
    run(&other, "shogi.yaml");
    assert_eq!(computed(&other.join("results")), Vec::<String>::new());
    assert_eq!(digests(&other.join("results")), changed);
}

#[test]
fn damage_and_purges_are_repaired() {
    let folder = workflow();
    let results = folder.join("results");
    run(&folder, "shogi.yaml");
    let made = digests(&results);
    let shard = results.join("sets/teacher-00001.parquet").canonicalize().unwrap();
    let flipped: Vec<u8> = fs_err::read(&shard).unwrap().iter().map(|byte| byte ^ 1).collect();
    fs_err::remove_file(&shard).unwrap();
    fs_err::write(&shard, flipped).unwrap();
    let done = run(&folder, "shogi.yaml");
    assert!(done.stderr.contains("sets/teacher-00001.parquet is not there as it was"), "{}", done.stderr);
    assert_eq!(computed(&results).iter().filter(|name| name.contains("folds/teacher.0-of-2")).count(), 1);
    assert_eq!(digests(&results), made);
    folder.ok("fold-pack verify results/sets/teacher.set.json");

    folder.fails("spill-purge store --store store --max-size 0", 7, &["streams are"]);
    run(&folder, "shogi.yaml");
    assert_eq!(digests(&results), made);
    folder.ok("fold-pack verify results/sets/teacher.set.json results/sets/selfplay.set.json");

    // one link of the work tree, and the catalog
    fs_err::remove_file(results.join("sets/selfplay.set.json")).unwrap();
    fs_err::remove_file(results.join("catalog.sqlite")).unwrap();
    run(&folder, "shogi.yaml");
    folder.ok("catalog-sync verify --catalog results/catalog.sqlite");
    assert_eq!(digests(&results), made);
}

/// Starts the engine as the leader of a group of processes.
fn start(folder: &Folder) -> Child {
    let mut command = command(folder, "shogi.yaml");
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn kill_9_of_engine_and_jobs_then_one_command() {
    let undisturbed = workflow();
    let config = String::from_utf8(undisturbed.bytes("shogi.yaml")).unwrap();
    undisturbed.put("shogi.yaml", config.replace("store: store\n", ""));
    run(&undisturbed, "shogi.yaml");
    assert!(undisturbed.join("cache/foldline/store/store.json").exists(), "the user's own store");
    let folder = workflow();
    for delay in [2200, 2600, 3000, 3600] {
        let mut engine = start(&folder);
        std::thread::sleep(Duration::from_millis(delay));
        let group = format!("-{}", engine.id());
        Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
        engine.wait().unwrap();
    }
    let published = computed_at(&folder);
    run(&folder, "shogi.yaml");
    assert_eq!(digests(&folder.join("results")), digests(&undisturbed.join("results")));
    let after = computed_at(&folder);
    assert!(published.iter().all(|(key, cost)| after[key] == *cost), "a published action was computed again");
}

#[test]
fn mistakes_in_the_configuration_are_named() {
    let folder = workflow();
    let fails = |config: &str, code: i32, says: &[&str]| {
        Done::from(command(&folder, config).output().unwrap()).assert_fails(config, code, says);
    };
    fails("gone.yaml", 5, &["there is no such configuration", "gone.yaml"]);
    folder.put("list.yaml", "[]");
    fails("list.yaml", 2, &["names no `results`"]);
    folder.put("broken.yaml", "a: [");
    fails("broken.yaml", 2, &["no YAML"]);
    let config = String::from_utf8(folder.bytes("shogi.yaml")).unwrap();
    folder.put("typo.yaml", config.replace("ranges: 2", "rangs: 2"));
    fails("typo.yaml", 1, &["rangs"]);
    folder.put("nostream.yaml", config.replace("streams: [selfplay]", "streams: [selfplai]"));
    fails("nostream.yaml", 1, &["selfplai", "selfplay"]);
    folder.put("source.yaml", config.replace("games: selfplay_games.jsonl", "games: gone.jsonl"));
    fails("source.yaml", 1, &["gone.jsonl"]);
    // a job that fails says why, and the other sets are built
    folder.put("mixed.yaml", config.replace("streams: [selfplay]", "streams: [selfplay, teacher]"));
    fails("mixed.yaml", 1, &["the streams differ", "policy_source"]);
    folder.ok("fold-pack verify results/sets/teacher.set.json");
}
