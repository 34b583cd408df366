//! The whole suite from the outside: every job as a program, on the bundled real data.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cache;
mod catalog;
mod catalog_days;
mod cli;
mod crash;
mod damage;
mod days;
mod days_damage;
mod days_golden;
mod engine;
mod engine_real;
mod fold;
mod formats;
mod limits;
mod mixing;
mod selfplay;
mod sets;
mod shuffle;
mod store;
mod teacher;
mod workflow;
mod workflow_tcg;

use end_to_end::Folder;

fn folder() -> Folder {
    Folder::new(env!("CARGO_BIN_EXE_job"))
}

/// SHA-256 of each shard, and nothing else, from a `pack` or `fold` with `--json`.
fn digests(done: &end_to_end::Done) -> Vec<String> {
    let summary = done.json();
    let shards = summary["shards"].as_array().unwrap();
    shards.iter().map(|shard| shard["sha256"].as_str().unwrap().to_owned()).collect()
}
