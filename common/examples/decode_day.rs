//! Decodes the first row group of a decision day, as a trainer reads it, and says what that costs:
//!
//!     cargo run --release --example decode_day -- 2026-11-21.parquet ragged 20 [COLUMN...]

#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use common::formats::decisions::{COLUMNS, Data, Day, Kind};
use common::formats::parquet;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, form, repeats, named @ ..] = &args[..] else {
        return Err("wanted: FILE, ragged or flat, repeats, and columns".into());
    };
    let day = Day::open(File::open(path)?)?;
    // what a trainer reads: all but the texts
    let all = COLUMNS.iter().filter(|column| column.kind != Kind::Text).map(|column| column.name);
    let named = named.iter().map(String::as_str);
    let projection = day.project(if named.len() == 0 { all.collect::<Vec<_>>() } else { named.collect() })?;
    let once = || -> Result<usize, parquet::Error> {
        Ok(match form.as_str() {
            "flat" => day.read_flat(0, &projection)?.iter().map(Data::bytes).sum(),
            _ => day.read(0, &projection)?.bytes(),
        })
    };
    let (start, repeats, mut bytes) = (Instant::now(), repeats.parse::<u32>()?.max(1), 0);
    for _ in 0..repeats {
        bytes = once()?;
    }
    let (rows, columns) = (day.footer().group_rows(0), projection.columns().count());
    println!("{form}: {rows} rows, {columns} columns, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    println!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3 / f64::from(repeats));
    Ok(())
}
