//! `card`: a draft of the dataset card, with what the files know and gaps for what only its maker knows.

use std::fmt;
use std::path::Path;

use common::formats::folded::Set;
use common::process::failure::InFile;
use common::process::{ByteSize, Common, Failure, emit};
use common::state::output::write_whole;
use serde::Serialize;

use crate::cli::CardArgs;

#[derive(Serialize)]
struct CardReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    card: String,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &CardArgs) -> Result<(), Failure> {
    let set = Set::read(&args.set).in_file(&args.set)?;
    let card = card(&args.set, &set);
    let Some(output) = args.output.as_deref().filter(|_| !common.dry_run) else {
        return emit(common, &CardReport { output: None, card });
    };
    if output.exists() && !common.force {
        return Err(Failure::usage("a card is already there").in_file(output).hint("`--force` replaces it"));
    }
    write_whole(output, card.as_bytes()).in_file(output)?;
    emit(common, &CardReport { output: Some(output.display().to_string()), card })
}

fn card(path: &Path, set: &Set) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".set.json").unwrap_or(&name).to_owned();
    let category = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B"];
    let size = set.rows.checked_ilog10().unwrap_or(0).saturating_sub(2) as usize;
    let bytes = ByteSize(set.shards.iter().map(|shard| shard.bytes).sum());
    let c = &set.conventions;
    let or_none =
        |value: &dyn fmt::Display, none: bool| if none { "not applicable".into() } else { value.to_string() };
    let policy = if c.policy_source == 0 { "visit counts, normalised" } else { "softmax over centipawns" };
    let shards: String = set
        .shards
        .iter()
        .map(|shard| {
            format!("| {} | {} | {} | `{}` |\n", shard.file, shard.rows, ByteSize(shard.bytes), shard.sha256)
        })
        .collect();
    format!(
        "---
license: TODO
size_categories:
- {category}
configs:
- config_name: default
  data_files: {name}-*.parquet
---

# {name}

{rows} shogi positions for training, folded from {records} searches: every position is one row. {bytes} in {n} files.

## What only its maker knows

- Engine and version: TODO
- Evaluation (network, its revision): TODO
- Corpus or self-play run, and its revision: TODO
- Search budgets (nodes, depth, MultiPV or simulations a move): TODO
- Licence, and on whose games it rests: TODO

## Conventions

These stand in the footer of every file.

| | |
|---|---|
| point of view | side to move |
| policy | {policy} |
| temperature | {temperature} |
| mate scale | {mate_scale} |
| mate slack | {mate_slack} |
| FV_SCALE | {fv_scale} |
| eval_coef | {eval_coef} |
| seed of the row order | {seed} |

## Columns

| column | meaning |
|---|---|
| packed | the position, 96 bytes; the last is the side to move |
| ply | lowest move number that it was reached at, from 0 |
| value_z | mean outcome for the side to move, in [-1, 1] |
| value_q | mean search value for the side to move, in [-1, 1] |
| weight | searches that were folded into the row |
| candidates | list of moves (move16), probabilities and centipawns |

Rows are independent and shuffled. Validate against another set, not against a part of this one.

## Files

| file | rows | size | SHA-256 |
|---|---|---|---|
{shards}",
        category = category.get(size).unwrap_or(&"n>1T"),
        rows = set.rows,
        records = set.records,
        n = set.shards.len(),
        temperature = or_none(&c.temperature, c.policy_source == 0),
        mate_scale = or_none(&c.mate_scale, c.mate_scale == 0),
        mate_slack = or_none(&c.mate_slack, c.mate_scale == 0),
        fv_scale = or_none(&c.fv_scale, c.fv_scale == 0),
        eval_coef = or_none(&c.eval_coef, c.eval_coef == 0.0),
        seed = c.shuffle_seed,
    )
}

impl fmt::Display for CardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.output {
            Some(output) => writeln!(f, "{output}"),
            None => f.write_str(&self.card),
        }
    }
}
