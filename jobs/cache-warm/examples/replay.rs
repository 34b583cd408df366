//! Replays a trace of batches through the cache, and prints what it cost as a line of JSON: the benchmark's half of ours,
//! and how a trainer uses the cache. Traces: `benches/peers/lanes.py`.
//!
//! ```text
//! cargo run --release -p cache-warm --example replay -- DAY... --trace FILE --capacity BYTES --spill DIR
//! ```

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use common::formats::decisions::{Data, Group};
use common::process::action::cpu_s;
use common::process::{Failure, failure::InFile};
use common::state::cache::{Cache, ColumnSet, Days, Host, Options, Row, SpillRun};

#[derive(Parser)]
struct Args {
    /// Decision days
    #[arg(required = true)]
    days: Vec<PathBuf>,
    /// Batches, a line each
    #[arg(long)]
    trace: PathBuf,
    /// Bytes that the cache may take
    #[arg(long)]
    capacity: u64,
    /// Folder that is spilled into
    #[arg(long)]
    spill: PathBuf,
    /// Folder of a warm set
    #[arg(long)]
    warm: Option<PathBuf>,
    /// Give lists their padding, as arrays of fixed shapes have it
    #[arg(long)]
    dense: bool,
    /// Accesses that are read ahead
    #[arg(long, default_value_t = 0)]
    ahead: usize,
    /// Write every n-th batch as raw arrays
    #[arg(long)]
    dump: Option<PathBuf>,
    #[arg(long, default_value_t = 10)]
    every: usize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = write!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.exit() as u8)
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let (cpu, wall) = (cpu_s(), Instant::now());
    let mut days = Days::new(ColumnSet::Train);
    args.days.iter().try_for_each(|day| days.add(day, None))?;
    let trace = trace(&std::fs::read_to_string(&args.trace).in_file(&args.trace)?)?;
    let spill = SpillRun::start(&args.spill, "replay")?.folder("train", 0)?;
    let options = Options::new(args.capacity);
    let cache = Cache::with_disk(days, options, Host::new(), Some(spill), args.warm.clone())?;
    let plan = trace.iter().map(|batch| cache.accesses(batch)).collect::<Result<Vec<_>, _>>()?.concat();
    let _ahead = (args.ahead > 0).then(|| cache.read_ahead(plan, args.ahead, 1));
    let mut rows = 0;
    for (number, batch) in trace.iter().enumerate() {
        let batch = cache.gather(batch)?;
        rows += batch.rows();
        let dense = if args.dense { dense(&batch)? } else { vec![] };
        if let Some(folder) = args.dump.as_ref().filter(|_| number % args.every == 0) {
            std::fs::create_dir_all(folder).in_file(folder)?;
            std::fs::write(folder.join(format!("{number}.bin")), bytes(&dense)).in_file(folder)?;
        }
    }
    let (cpu_s, wall_s) = (cpu_s() - cpu, wall.elapsed().as_secs_f64());
    let report =
        serde_json::json!({"cpu_s": cpu_s, "wall_s": wall_s, "rows": rows, "counters": cache.counters()});
    Ok(writeln!(std::io::stdout(), "{report}")?)
}

/// Batches of runs `day:first-last`.
fn trace(text: &str) -> Result<Vec<Vec<Row>>, Failure> {
    let run = |run: &str| {
        let (dataset, rows) = run.split_once(':')?;
        let (first, last) = rows.split_once('-')?;
        let dataset = dataset.parse().ok()?;
        Some((first.parse().ok()?..last.parse().ok()?).map(move |row| Row { dataset, row }))
    };
    let batch = |line: &str| {
        let runs = line.split(' ').map(run).collect::<Option<Vec<_>>>();
        runs.map(|runs| runs.into_iter().flatten().collect())
    };
    text.lines().map(batch).collect::<Option<_>>().ok_or_else(|| Failure::bad_data("no trace"))
}

/// The columns as arrays of fixed shapes.
fn dense(batch: &Group) -> Result<Vec<Data>, Failure> {
    let padded = |(column, data): (&common::formats::decisions::Column, &Data)| {
        let slots = column.ragged_len();
        match data {
            Data::I32s(lists) => lists.padded(column, slots).map(Data::I32),
            Data::F32s(lists) => lists.padded(column, slots).map(Data::F32),
            flat => Some(flat.clone()),
        }
    };
    let all = batch.columns().map(padded).collect::<Option<_>>();
    all.ok_or_else(|| Failure::bad_data("a list is longer than its column says"))
}

fn bytes(columns: &[Data]) -> Vec<u8> {
    let mut out = vec![];
    for data in columns {
        match data {
            Data::I8(all) => out.extend(all.iter().flat_map(|value| value.to_le_bytes())),
            Data::I32(all) => out.extend(all.iter().flat_map(|value| value.to_le_bytes())),
            Data::I64(all) => out.extend(all.iter().flat_map(|value| value.to_le_bytes())),
            Data::F32(all) => out.extend(all.iter().flat_map(|value| value.to_le_bytes())),
            Data::Text(_) | Data::I32s(_) | Data::F32s(_) => {}
        }
    }
    out
}
