//! The tcg workflow under its engine: days are built with the ratings of the days before, once.

use end_to_end::{Folder, tcg};
use serde_json::Value;

use crate::folder;
use crate::workflow::{command_of, computed, digests, link_jobs, receipts, succeed};

fn workflow() -> Folder {
    let folder = folder();
    link_jobs(&folder);
    for file in
        ["replays/2026-11-21.zip", "replays/2026-11-23.zip", "cards/cards_v2.tsv", "cards/attacks_v2.tsv"]
    {
        folder.put(file, fs_err::read(tcg(file)).unwrap());
    }
    folder.put(
        "tcg.yaml",
        "results: results\nstore: store\nreplays: [replays/2026-11-23.zip, replays/2026-11-21.zip]\n\
         cards: cards/cards_v2.tsv\nattacks: cards/attacks_v2.tsv\n\
         build: {flush: 20, self-alias: [tide-rush, it's me], competition-start: 2026-11-21}\n",
    );
    folder
}

fn run(folder: &Folder) -> end_to_end::Done {
    succeed(command_of("tcg", folder, "tcg.yaml"))
}

#[test]
fn the_chain_of_days_is_built_once() {
    let folder = workflow();
    let results = folder.join("results");
    let done = run(&folder);
    assert!(done.stdout.contains("report.html"), "{}", done.stdout);
    let made = digests(&results);
    // two scans, two snapshots, two days
    assert_eq!(computed(&results).len(), 6);
    folder.ok("catalog-sync verify --deep --catalog results/catalog.sqlite");
    let select = "catalog-sync list --all-days --catalog results/catalog.sqlite --json";
    assert_eq!(folder.ok(select).json()["rows"], 3774 + 1583);
    let elo = receipts(&results).remove("receipts/elo/2026-11-21.json").unwrap();
    assert_eq!((&elo["inputs"], &elo["report"]["games"]), (&Value::Array(vec![]), &0.into()));
    let day = receipts(&results).remove("receipts/days/2026-11-23.json").unwrap();
    assert!(day["inputs"].to_string().contains("\"elo\""), "{day}");
    assert_eq!(day["parameters"]["config"]["self_aliases"], serde_json::json!(["it's me", "tide-rush"]));

    let done = run(&folder);
    assert!(done.stderr.contains("Nothing to be done"), "{}", done.stderr);

    // other cards: days are built anew, and neither scans nor ratings
    let cards = String::from_utf8(folder.bytes("cards/cards_v2.tsv")).unwrap();
    folder.put("cards/cards_v2.tsv", cards.trim_end());
    run(&folder);
    let mut again = computed(&results);
    again.retain(|name| !name.contains("scans") && !name.contains("elo"));
    assert_eq!(again, ["receipts/days/2026-11-21.json", "receipts/days/2026-11-23.json"]);
    folder.put("cards/cards_v2.tsv", cards);

    // the results are gone: all is found in the store
    fs_err::remove_dir_all(&results).unwrap();
    run(&folder);
    assert_eq!(computed(&results), Vec::<String>::new());
    assert_eq!(digests(&results), made);
}
