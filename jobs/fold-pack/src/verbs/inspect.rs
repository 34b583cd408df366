//! `inspect`: what shards state and hold.

use std::fmt;

use common::formats::folded::{Conventions, Rows, schema};
use common::formats::mpk1::{Move16, Packed};
use common::process::failure::InFile;
use common::process::{Common, Failure, emit};
use serde::Serialize;

use super::shard_files::{ShardFile, open_all};
use crate::cli::InspectArgs;

#[derive(Serialize)]
struct InspectReport {
    schema: Vec<(String, String)>,
    shards: Vec<Inspected>,
}

#[derive(Serialize)]
struct Inspected {
    file: String,
    created_by: Option<String>,
    rows: u64,
    /// Rows of each row group.
    row_groups: Vec<usize>,
    conventions: Conventions,
    first_rows: Vec<ShownRow>,
}

#[derive(Serialize)]
struct ShownRow {
    position: String,
    ply: u16,
    value_z: f32,
    value_q: f32,
    weight: u32,
    candidates: Vec<ShownCandidate>,
}

#[derive(Serialize)]
struct ShownCandidate {
    #[serde(rename = "move")]
    mv: String,
    prob: f32,
    cp: Option<i16>,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &InspectArgs) -> Result<(), Failure> {
    let inspect = |file: &ShardFile| inspect(file, args);
    let shards = open_all(&args.files)?.iter().map(inspect).collect::<Result<_, _>>()?;
    let columns = schema().fields.into_iter().map(|field| (field.name, format!("{:?}", field.data_type)));
    emit(common, &InspectReport { schema: columns.collect(), shards })
}

fn inspect(file: &ShardFile, args: &InspectArgs) -> Result<Inspected, Failure> {
    let footer = file.shard.footer();
    let (mut rows, mut first_rows) = (Rows::default(), vec![]);
    for group in 0..footer.groups() {
        if first_rows.len() >= args.rows {
            break;
        }
        file.shard.read(group, &mut rows).in_file(&file.path)?;
        let wanted = (args.rows - first_rows.len()).min(rows.len());
        first_rows.extend((0..wanted).map(|row| show(&rows, row)));
    }
    Ok(Inspected {
        file: file.path.display().to_string(),
        created_by: footer.created_by().map(Into::into),
        rows: file.shard.rows(),
        row_groups: (0..footer.groups()).map(|group| footer.group_rows(group)).collect(),
        conventions: file.conventions(&args.assume.assume.0)?,
        first_rows,
    })
}

fn show(rows: &Rows, row: usize) -> ShownRow {
    let position = Packed::new(*rows.board(row));
    let candidate =
        |i: usize| ShownCandidate { mv: Move16(rows.mv[i]).to_string(), prob: rows.prob[i], cp: rows.cp[i] };
    ShownRow {
        position: position
            .map_or_else(|defect| format!("no position: {defect}"), |packed| packed.to_string()),
        ply: rows.ply[row],
        value_z: rows.value_z[row],
        value_q: rows.value_q[row],
        weight: rows.weight[row],
        candidates: rows.candidates(row).map(candidate).collect(),
    }
}

impl fmt::Display for InspectReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, kind) in &self.schema {
            writeln!(f, "{name:<11} {kind}")?;
        }
        self.shards.iter().try_for_each(|shard| write!(f, "\n{shard}"))
    }
}

impl fmt::Display for Inspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.file)?;
        writeln!(f, "  {} rows in {} row groups", self.rows, self.row_groups.len())?;
        writeln!(f, "  {}", self.conventions)?;
        for row in &self.first_rows {
            writeln!(f, "  {}", row.position)?;
            let ShownRow { ply, value_z, value_q, weight, .. } = row;
            write!(f, "    ply {ply} z {value_z:+.3} q {value_q:+.3} weight {weight} ")?;
            for c in &row.candidates {
                let cp = c.cp.map_or(String::new(), |cp| format!(" ({cp:+})"));
                write!(f, " {} {:.3}{cp}", c.mv, c.prob)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
