//! A day from its archive. What it depends on is given as [`Inputs`]; it writes two files into a folder, and nothing else
//! is kept but what a stopped build goes on with.

mod journal;
mod writer;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use common::formats::decisions::look_ahead::{self, HEURISTIC_VERSION, WouldKo};
use common::formats::decisions::manifest::{
    self, AUX_CONTRACT, BuildConfig, FORMAT, Manifest, manifest_path, parquet_path,
};
use common::formats::decisions::{COLUMNS, Date, SCHEMA_VERSION, date};
use common::formats::folded::set::to_json;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered, pool};
use common::process::{Common, Exit, Failure, space, stop};
use common::state::digest::Digest;
use common::state::output::{remove_if_there, write_whole};
use serde::{Deserialize, Serialize};

use crate::archive::{Archive, Entry};
use crate::cards::Catalog;
use crate::effects::Effects;
use crate::elo::Ratings;
use crate::encode::{ENCODER_VERSION, Encoder};
use crate::engine::{Engine, LookAheads};
use crate::examine::{Examined, Spent, examine};
use crate::game::Reason;
use writer::DayWriter;

/// All that a day depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) archive: &'a Path,
    pub(crate) cards: &'a Catalog,
    pub(crate) ratings: &'a Ratings,
    pub(crate) effects: &'a Effects,
    pub(crate) config: &'a BuildConfig,
    pub(crate) engine: &'a EngineState,
}

/// The game's engine, for look-ahead, or why there is none.
#[derive(Debug)]
pub(crate) enum EngineState {
    On(Engine),
    Off(String),
}

impl EngineState {
    /// The digest of each library, by its version; none without an engine.
    pub(crate) fn digests(&self) -> BTreeMap<String, Digest> {
        match self {
            Self::On(engine) => engine.digests(),
            Self::Off(_) => BTreeMap::new(),
        }
    }

    fn look_aheads(&self, config: &BuildConfig) -> LookAheads {
        LookAheads::new(match self {
            Self::On(engine) => Some((engine.clone(), config.wk_nvar)),
            Self::Off(_) => None,
        })
    }

    fn audit(&self, counts: look_ahead::Counts) -> WouldKo {
        match self {
            Self::On(engine) => WouldKo::on(engine.digests(), counts),
            Self::Off(reason) => WouldKo::off(reason, counts),
        }
    }
}

/// What a day was made from, known before it is made.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) date: Date,
    pub(crate) source: Digest,
    pub(crate) fingerprint: Digest,
}

/// How a build ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Built,
    Unchanged,
    /// The store had it.
    Cached,
    Planned,
}

/// What a build made.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) outcome: Outcome,
    /// Absent where the build was only planned.
    pub(crate) manifest: Option<Manifest>,
    /// Episodes that an earlier run had done.
    pub(crate) resumed: u64,
    pub(crate) spent: Spent,
    /// Time that columns and files took.
    pub(crate) write: Duration,
}

impl Built {
    fn without_work(outcome: Outcome, manifest: Option<Manifest>) -> Self {
        Self { outcome, manifest, resumed: 0, spent: Spent::default(), write: Duration::ZERO }
    }
}

impl Inputs<'_> {
    /// The day and its fingerprint.
    pub(crate) fn identity(&self) -> Result<Identity, Failure> {
        #[derive(Serialize)]
        struct All<'a> {
            schema_version: u32,
            encoder_version: &'a str,
            date: Date,
            source_sha256: &'a Digest,
            card_catalog_sha256: &'a Digest,
            elo_sha256: Option<&'a Digest>,
            effects_sha256: Option<&'a Digest>,
            engine_sha256: BTreeMap<String, Digest>,
            heuristic_version: u32,
            build_config: &'a BuildConfig,
        }
        let date = day_of(self.archive)?;
        let mut file = fs_err::File::open(self.archive).in_file(self.archive)?.into_parts().0;
        let source = Digest::of_file(&mut file).in_file(self.archive)?;
        let all = All {
            schema_version: SCHEMA_VERSION,
            encoder_version: ENCODER_VERSION,
            date,
            source_sha256: &source,
            card_catalog_sha256: &self.cards.digest,
            elo_sha256: self.ratings.digest.as_ref(),
            effects_sha256: self.effects.stated.as_ref().map(|stated| &stated.sha256),
            engine_sha256: self.engine.digests(),
            heuristic_version: HEURISTIC_VERSION,
            build_config: self.config,
        };
        let fingerprint = Digest::of(to_json(&all).as_bytes());
        Ok(Identity { date, source, fingerprint })
    }

    /// What the footer of the Parquet file states.
    fn pairs(&self, identity: &Identity) -> Vec<(String, String)> {
        let pair = |key: &str, value: &dyn ToString| (key.to_owned(), value.to_string());
        vec![
            pair("format", &FORMAT),
            pair("schema_version", &SCHEMA_VERSION),
            pair("date", &identity.date),
            pair("encoder_version", &ENCODER_VERSION),
            pair("aux_contract_version", &AUX_CONTRACT),
            pair("card_catalog_sha256", &self.cards.digest),
            pair("unknown_card", &self.cards.unknown()),
            pair("fingerprint", &identity.fingerprint),
        ]
    }
}

/// Refuses a folder in which the day stands, built from something else. Links into a store are nobody's work.
pub(crate) fn check_place(common: &Common, inputs: &Inputs<'_>, folder: &Path) -> Result<(), Failure> {
    let date = day_of(inputs.archive)?;
    let (parquet, manifest) = (parquet_path(folder, date), manifest_path(folder, date));
    if manifest.is_symlink() || !manifest.exists() {
        return Ok(());
    }
    finished(common, &parquet, &manifest, &inputs.identity()?).map(|_| ())
}

/// The day that an archive is named after.
pub(crate) fn day_of(archive: &Path) -> Result<Date, Failure> {
    let stem = archive.file_stem().unwrap_or_default().to_string_lossy();
    stem.parse().map_err(|what: String| {
        Failure::usage(what).in_file(archive).hint("an archive is named after its day: 2026-07-28.zip")
    })
}

/// Builds the day into `folder`, unless it is there already.
pub(crate) fn build(common: &Common, inputs: &Inputs<'_>, folder: &Path) -> Result<Built, Failure> {
    let identity = inputs.identity()?;
    let (parquet, manifest) = (parquet_path(folder, identity.date), manifest_path(folder, identity.date));
    if let Some(there) = finished(common, &parquet, &manifest, &identity)? {
        return Ok(Built::without_work(Outcome::Unchanged, Some(there)));
    }
    let archive = Archive::open(inputs.archive)?;
    let bytes = fs_err::metadata(inputs.archive).in_file(inputs.archive)?.len();
    space::check(common, &parquet, "the day's files", bytes)?;
    if common.dry_run {
        return Ok(Built::without_work(Outcome::Planned, None));
    }
    let mut day = DayWriter::open(&parquet, &identity.fingerprint, &inputs.pairs(&identity))?;
    let resumed = day.members().iter().filter(|member| member.status == manifest::USED).count() as u64;
    let spent = add_members(common, inputs, &identity, &archive, &mut day)?;
    let start = Instant::now();
    // the manifest of a day that is replaced must not be found beside another file
    remove_if_there(&manifest).in_file(&manifest)?;
    let (finished, ended) = (day.finish()?, start.elapsed());
    let made = manifest_of(inputs, identity, &archive, &finished);
    write_whole(&manifest, to_json(&made).as_bytes()).in_file(&manifest)?;
    finished.forget_journal()?;
    Ok(Built { outcome: Outcome::Built, manifest: Some(made), resumed, spent, write: finished.spent + ended })
}

/// The day that is there, where it is the one that is wanted. Another one is refused, or replaced where that is asked for.
fn finished(
    common: &Common,
    parquet: &Path,
    manifest: &Path,
    identity: &Identity,
) -> Result<Option<Manifest>, Failure> {
    if !manifest.exists() {
        return Ok(None);
    }
    let found = match Manifest::read(manifest) {
        Ok(found) => Some(found),
        Err(_) if common.force => None,
        Err(error) => return Err(Failure::from(error).in_file(manifest)),
    };
    let Some(found) = found else { return Ok(None) };
    let same = found.fingerprint == identity.fingerprint;
    let whole = fs_err::metadata(parquet).is_ok_and(|meta| meta.len() == found.parquet_bytes);
    match (same, whole) {
        (true, true) => Ok(Some(found)),
        (true, false) => {
            tracing::warn!("{} is missing or of another size: the day is built anew", parquet.display());
            Ok(None)
        }
        (false, _) if common.force => Ok(None),
        (false, _) => Err(Failure::new(Exit::Mixed, "a day that was built from something else is there")
            .in_file(manifest)
            .found(format!("fingerprint {}", found.fingerprint), &identity.fingerprint)
            .hint("`--force` builds it anew; archive, cards, ratings, effects and parameters make the fingerprint")),
    }
}

/// Examines the members that are left, on all threads, and adds them in the archive's order.
fn add_members(
    common: &Common,
    inputs: &Inputs<'_>,
    identity: &Identity,
    archive: &Archive,
    day: &mut DayWriter,
) -> Result<Spent, Failure> {
    let config = inputs.config;
    let encoder = Encoder {
        cards: inputs.cards,
        ratings: inputs.ratings,
        effects: inputs.effects,
        date: identity.date,
        start: config.competition_start,
        self_aliases: &config.self_aliases,
        self_only: !config.both_sides,
    };
    let timeout = Duration::from_secs(config.ep_timeout);
    let episodes: Vec<&Entry> = archive.entries().iter().filter(|entry| entry.is_episode()).collect();
    let done = day.members().len();
    let left = episodes.get(done..).unwrap_or_default();
    let mut progress = common.progress("build", "episodes", Some(left.len() as u64));
    let look_aheads = inputs.engine.look_aheads(config);
    let work = |entry: &'_ &Entry| {
        (examine(archive, entry, &encoder, &look_aheads, config.keep_draws, timeout), entry.name.clone())
    };
    let (threads, mut spent) = (common.threads(), Spent::default());
    pool(threads)?.in_place_scope(|scope| {
        for (examined, name) in ordered(scope, left.iter(), ahead(threads, u64::MAX), &work) {
            stop::check()?;
            progress.add(1);
            spent.add(examined.spent);
            add(day, name, examined);
            if day.is_full(config.flush) {
                day.close_group(scope, threads)?;
            }
        }
        stop::check()?;
        day.close_group(scope, threads)
    })?;
    Ok(spent)
}

fn add(day: &mut DayWriter, name: String, examined: Examined) {
    let Examined { facts, outcome, .. } = examined;
    let outcome = match (facts.id, outcome) {
        // this check comes first
        (_, Err(Reason::Draw)) => Err(Reason::Draw),
        (Some(id), _) if day.has(id) => Err(Reason::Duplicate),
        (_, outcome) => outcome,
    };
    if let Err(reason) = &outcome {
        let why = reason.why().map_or(String::new(), |why| format!(": {why}"));
        tracing::warn!("{name} has no rows, {}{why}", reason.name());
    }
    day.add(name, facts, outcome);
}

fn manifest_of(
    inputs: &Inputs<'_>,
    identity: Identity,
    archive: &Archive,
    finished: &writer::Finished,
) -> Manifest {
    let mut failures = BTreeMap::new();
    for member in finished.members.iter().filter(|member| member.status != manifest::USED) {
        *failures.entry(member.status.clone()).or_insert(0) += 1;
    }
    let ignored = archive.entries().iter().filter(|entry| !entry.is_episode() && !entry.is_folder()).count();
    let counts = manifest::Counts { ignored_members: ignored as u64, ..finished.tally.counts };
    Manifest {
        format: FORMAT.into(),
        schema_version: SCHEMA_VERSION,
        date: identity.date,
        day_id: identity.date.days(),
        source_zip: inputs.archive.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        source_sha256: identity.source,
        parquet_bytes: finished.bytes,
        parquet_sha256: finished.digest.clone(),
        fingerprint: identity.fingerprint,
        rows: finished.row_groups.iter().sum(),
        episodes: (finished.members.len() as u64) - failures.values().sum::<u64>(),
        row_groups: finished.row_groups.clone(),
        reproducible: !failures.contains_key(Reason::Timeout.name())
            && finished.tally.look_ahead.reproducible(),
        episode_failures: failures,
        counts,
        encoder_version: ENCODER_VERSION.into(),
        card_catalog_sha256: inputs.cards.digest.clone(),
        unknown_card: inputs.cards.unknown(),
        elo_sha256: inputs.ratings.digest.clone(),
        effects: inputs.effects.stated.clone(),
        aux_targets: true,
        aux_contract_version: AUX_CONTRACT,
        would_ko: inputs.engine.audit(finished.tally.look_ahead.clone()),
        build_config: inputs.config.clone(),
        columns: COLUMNS.iter().map(|column| (column.name.into(), column.list.unwrap_or(1))).collect(),
        members: finished.members.clone(),
        decks: finished.decks.clone(),
        written_at: date::now(),
    }
}
