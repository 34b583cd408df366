//! One set or one day on the disk.

use std::path::Path;

use common::formats::decisions::{Manifest, check_day};
use common::formats::folded::{Set, check_shard};
use common::process::Failure;
use common::process::failure::InFile;
use common::state::catalog::{DayRow, SetRow, ShardRow, State};
use common::state::output::folder_of;
use common::state::stat::Stat;

use crate::discover::Place;

/// Reads a set and all of its shards, and holds the shards to it.
pub(crate) fn look(path: &Path) -> Result<SetRow, Failure> {
    let stat = stat(path)?;
    let set = Set::read(path).in_file(path)?;
    let mut shards = vec![];
    for record in &set.shards {
        let file = folder_of(path).join(&record.file);
        let stat = self::stat(&file)?;
        let shard = check_shard(&file, record, &set.conventions).in_file(&file)?;
        shards.push(ShardRow {
            path: text(&file),
            rows: record.rows,
            row_groups: shard.footer().groups() as u64,
            sha256: record.sha256.clone(),
            stat,
        });
    }
    Ok(SetRow {
        path: text(path),
        state: State::Present,
        rows: set.rows,
        records: set.records,
        bytes: shards.iter().map(|shard| shard.stat.size).sum(),
        conventions: set.conventions,
        stat,
        shards,
    })
}

/// Reads a day's manifest and holds the Parquet file to it.
pub(crate) fn look_at_day(place: &Place) -> Result<(DayRow, Manifest), Failure> {
    let (parquet, path) = (place.parquet(), place.manifest());
    let stats = [stat(&parquet)?, stat(&path)?];
    let manifest = Manifest::read(&path).in_file(&path)?;
    if manifest.date != place.date {
        return Err(Failure::bad_data("the manifest is of another day")
            .in_file(&path)
            .found(manifest.date, place.date)
            .hint("files of a day are named after it"));
    }
    check_day(&parquet, &manifest).in_file(&parquet)?;
    let [file, beside] = stats;
    Ok((DayRow::new(&manifest, [(text(&parquet), file), (text(&path), beside)]), manifest))
}

/// Whether both files of a day are those that were recorded, told without reading them.
pub(crate) fn is_day_as_recorded(day: &DayRow) -> bool {
    is_same(&day.path, &day.stat) && is_same(&day.manifest_path, &day.manifest_stat)
}

/// Whether all files of a set are those that were recorded, told without reading them.
pub(crate) fn is_as_recorded(set: &SetRow) -> bool {
    is_same(&set.path, &set.stat) && set.shards.iter().all(|shard| is_same(&shard.path, &shard.stat))
}

fn is_same(path: &str, recorded: &Stat) -> bool {
    stat(Path::new(path)).is_ok_and(|found| found == *recorded)
}

fn stat(path: &Path) -> Result<Stat, Failure> {
    let meta = std::fs::metadata(path).in_file(path)?;
    if !meta.is_file() {
        return Err(Failure::bad_data("no regular file").in_file(path));
    }
    Ok(Stat::from(&meta))
}

/// A path as the catalog writes it.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
