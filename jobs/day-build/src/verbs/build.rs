//! `build`: the day of each archive.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use common::formats::decisions::look_ahead::WouldKo;
use common::formats::decisions::manifest::{BuildConfig, Manifest, manifest_path, parquet_path};
use common::process::cli::path_text;
use common::process::{Action, ByteSize, Common, Failure, Made, Obtained, Place, stop};
use common::state::store::record::{self, Keep};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::build::{Built, EngineState, Inputs, Outcome, build, check_place, day_of};
use crate::cards::Catalog;
use crate::cli::{BuildArgs, LookAheadArgs};
use crate::effects::Effects;
use crate::elo::Ratings;
use crate::engine::{Engine, Trust, Version};

#[derive(Serialize)]
struct BuildReport {
    days: Vec<DayReport>,
}

#[derive(Serialize)]
struct DayReport {
    #[serde(serialize_with = "path_text")]
    day: PathBuf,
    #[serde(flatten)]
    day_built: DayBuilt,
}

#[derive(Clone, Serialize, Deserialize)]
struct DayBuilt {
    outcome: Outcome,
    #[serde(flatten)]
    made: Option<DayMade>,
}

#[derive(Clone, Serialize, Deserialize)]
struct DayMade {
    rows: u64,
    episodes: u64,
    row_groups: usize,
    bytes: u64,
    episode_failures: BTreeMap<String, u64>,
    /// Episodes that an earlier run had done.
    resumed: u64,
    reproducible: bool,
    would_ko: WouldKo,
    /// Seconds of all threads together.
    stages: Stages,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Stages {
    read: f64,
    parse: f64,
    encode: f64,
    write: f64,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &BuildArgs) -> Result<(), Failure> {
    different_days(&args.archives)?;
    let cards = Catalog::read(&args.catalog.cards, &args.catalog.attacks)?;
    let ratings = Ratings::read(args.elo.as_deref())?;
    let effects = Effects::read(args.effects.as_deref())?;
    let (config, engine) = (config_of(args), engine_of(args)?);
    let mut days = vec![];
    for archive in &args.archives {
        stop::check()?;
        let inputs = Inputs {
            archive,
            cards: &cards,
            ratings: &ratings,
            effects: &effects,
            config: &config,
            engine: &engine,
        };
        days.push(obtain(common, args, &inputs)?);
    }
    let report = |(archive, day): (&PathBuf, &Obtained<'_, DayBuilt>)| {
        Ok(DayReport { day: parquet_path(&args.output, day_of(archive)?), day_built: day.value.clone() })
    };
    let report = args.archives.iter().zip(&days).map(report).collect::<Result<_, Failure>>()?;
    Obtained::emit_all(&days, common, &BuildReport { days: report })
}

/// Builds a day, or finds it in the store, and puts it into the folder.
fn obtain<'a>(
    common: &Common,
    args: &'a BuildArgs,
    inputs: &Inputs<'_>,
) -> Result<Obtained<'a, DayBuilt>, Failure> {
    let date = day_of(inputs.archive)?;
    let optional = [("elo", &args.elo), ("effects", &args.effects)];
    let optional = optional.into_iter().filter_map(|(role, path)| Some((role, path.clone()?)));
    let files =
        [("archive", inputs.archive), ("cards", &args.catalog.cards), ("attacks", &args.catalog.attacks)];
    let action = Action {
        parameters: record::parameters([
            ("date", json!(date)),
            ("config", json!(inputs.config)),
            ("engine", json!(inputs.engine.digests())),
        ]),
        inputs: files.map(|(role, path)| (role, path.to_path_buf())).into_iter().chain(optional).collect(),
        place: Place::Folder(&args.output),
        keep: Keep::Dataset,
    };
    if common.store.is_some() {
        check_place(common, inputs, &args.output)?;
    }
    let mut day = action.obtain(common, |folder| {
        let built = build(common, inputs, folder)?;
        let reproducible = built.manifest.as_ref().is_none_or(|manifest| manifest.reproducible);
        let files = vec![parquet_path(folder, date), manifest_path(folder, date)];
        Ok(Made { value: DayBuilt::of(built), files, reproducible })
    })?;
    if day.is_cached() {
        day.value.outcome = Outcome::Cached;
    }
    day.place(common)?;
    Ok(day)
}

fn config_of(args: &BuildArgs) -> BuildConfig {
    let mut self_aliases = args.self_aliases.clone();
    self_aliases.sort();
    self_aliases.dedup();
    BuildConfig {
        would_ko: args.look_ahead.would_ko,
        wk_nvar: if args.look_ahead.would_ko { args.look_ahead.wk_nvar } else { 0 },
        both_sides: !args.self_only,
        self_aliases,
        flush: args.flush,
        ep_timeout: args.ep_timeout.as_secs(),
        keep_draws: args.keep_draws,
        competition_start: args.competition_start,
    }
}

/// The engine, where look-ahead is asked for and it works here.
fn engine_of(args: &BuildArgs) -> Result<EngineState, Failure> {
    let LookAheadArgs { would_ko, engine, any_engine, require_engine, .. } = &args.look_ahead;
    if !would_ko {
        return Ok(EngineState::Off("no look-ahead was asked for".into()));
    }
    let opened = match engine {
        Some(path) => open(path, *any_engine),
        None => {
            Err(Failure::usage("no engine is named").hint("`--engine PATH` names the wheel or its folder"))
        }
    };
    match opened {
        Ok(engine) => Ok(EngineState::On(engine)),
        Err(failure) if *require_engine => Err(failure),
        Err(failure) => {
            tracing::warn!("the look-ahead features are 0\n{failure}");
            Ok(EngineState::Off(failure.what().to_owned()))
        }
    }
}

fn open(path: &Path, any_engine: bool) -> Result<Engine, Failure> {
    let engine = Engine::open(path, if any_engine { Trust::Found } else { Trust::Known })?;
    for version in Version::ALL {
        engine.test(version).map_err(|failure| failure.in_file(path))?;
    }
    Ok(engine)
}

fn different_days(archives: &[PathBuf]) -> Result<(), Failure> {
    let mut days: BTreeMap<_, &Path> = BTreeMap::new();
    for archive in archives {
        if let Some(other) = days.insert(day_of(archive)?, archive) {
            return Err(Failure::usage("two archives of one day")
                .found(format!("{}, {}", other.display(), archive.display()), "one archive a day"));
        }
    }
    Ok(())
}

impl DayBuilt {
    fn of(built: Built) -> Self {
        let Built { outcome, manifest, resumed, spent, write } = built;
        let stages = Stages {
            read: spent.read.as_secs_f64(),
            parse: spent.parse.as_secs_f64(),
            encode: spent.encode.as_secs_f64(),
            write: write.as_secs_f64(),
        };
        let made = manifest.map(|manifest| DayMade::of(manifest, resumed, stages));
        Self { outcome, made }
    }
}

impl DayMade {
    fn of(manifest: Manifest, resumed: u64, stages: Stages) -> Self {
        Self {
            rows: manifest.rows,
            episodes: manifest.episodes,
            row_groups: manifest.row_groups.len(),
            bytes: manifest.parquet_bytes,
            episode_failures: manifest.episode_failures,
            resumed,
            reproducible: manifest.reproducible,
            would_ko: manifest.would_ko,
            stages,
        }
    }
}

impl fmt::Display for BuildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.days.iter().try_for_each(|day| write!(f, "{day}"))
    }
}

impl fmt::Display for DayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DayBuilt { outcome, made } = &self.day_built;
        let outcome_text = match outcome {
            Outcome::Built => "built",
            Outcome::Unchanged => "unchanged",
            Outcome::Cached => "found in the store",
            Outcome::Planned => "planned, not written",
        };
        writeln!(f, "{}: {outcome_text}", self.day.display())?;
        let Some(made) = made else { return Ok(()) };
        let DayMade { rows, episodes, row_groups, bytes, resumed, .. } = made;
        writeln!(f, "  {rows} rows of {episodes} episodes in {row_groups} row groups, {}", ByteSize(*bytes))?;
        if *resumed > 0 {
            writeln!(f, "  {resumed} episodes were there from an earlier run")?;
        }
        for (reason, n) in &made.episode_failures {
            writeln!(f, "  {n} without rows: {reason}")?;
        }
        if *outcome == Outcome::Built {
            let Stages { read, parse, encode, write } = &made.stages;
            writeln!(
                f,
                "  seconds of all threads: read {read:.2}, parse {parse:.2}, encode {encode:.2}, write {write:.2}"
            )?;
        }
        Ok(())
    }
}
