//! `train` and `resume`.

use std::fmt;
use std::path::Path;

use common::process::{Common, Exit, Failure, emit};

use crate::cards::CardTable;
use crate::checkpoint::{self, Checkpoint};
use crate::cli::{ResumeArgs, TrainArgs};
use crate::run::checkpoints;
use crate::session::{Data, Planned, Session, Summary, hold_cards};

/// Starts a run.
pub(crate) fn train(common: &Common, args: &TrainArgs) -> Result<(), Failure> {
    let config = args.config.effective()?;
    let device = args.device.device.device()?;
    let cards = CardTable::read(&args.cards, &args.attacks)?;
    let data = Data::open(&args.data, &config, args.memory.cache_memory)?;
    hold_cards(&cards, &data)?;
    let init = args.init_from.as_deref().map(Checkpoint::read).transpose()?;
    if common.dry_run {
        return emit(common, &data.plan(&args.run_dir, 0, data.updates(&config.train)));
    }
    let threads = use_threads(common.threads());
    let mut session = Session::start(&args.run_dir, config, data, cards, (device, threads))?;
    if let Some(init) = &init {
        session.init_from(init)?;
    }
    emit(common, &session.train(common, &args.run_dir)?)
}

/// Goes on with a run.
pub(crate) fn resume(common: &Common, args: &ResumeArgs) -> Result<(), Failure> {
    let newest = newest(common, &args.run)?;
    let record = &newest.record;
    let paths: Vec<_> = record.datasets.iter().map(|used| used.path.clone()).collect();
    let paths = if args.data.is_empty() { paths } else { args.data.clone() };
    if paths.len() != record.datasets.len() {
        return Err(Failure::usage("the run was trained on another number of days")
            .found(paths.len(), record.datasets.len()));
    }
    let data = Data::open(&paths, &record.config, args.memory.cache_memory)?;
    if common.dry_run {
        return emit(common, &data.plan(&args.run, record.step, record.total));
    }
    let device = args.device.device.device()?;
    let threads = use_threads(common.threads.map_or(record.threads, usize::from));
    if threads != record.threads {
        common.note(format!(
            "note: {threads} threads where the run had {}: sums may differ in their last bits",
            record.threads
        ));
    }
    let session = Session::resume(&args.run, &newest, data, (device, threads))?;
    emit(common, &session.train(common, &args.run)?)
}

/// The newest whole checkpoint of a run: none at all is exit 5, none that is whole exit 4.
pub(crate) fn newest(common: &Common, run: &Path) -> Result<Checkpoint, Failure> {
    let (newest, notes) = checkpoint::newest(&checkpoints(run))?;
    notes.iter().for_each(|note| common.note(format!("passed over: {note}").trim_end()));
    newest.ok_or_else(|| {
        let (exit, what) = match notes.len() {
            0 => (Exit::Missing, "the run has no checkpoint"),
            _ => (Exit::Mixed, "no checkpoint of the run is whole"),
        };
        Failure::new(exit, what).in_file(run).hint("`train-tbptt train` starts a run")
    })
}

/// Sets the number of threads that compute.
pub(crate) fn use_threads(threads: usize) -> usize {
    tch::set_num_threads(i32::try_from(threads).unwrap_or(1));
    threads
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, rows, lanes, held_out, from, total } = self;
        match from {
            from if from < total => {
                writeln!(f, "{}: would do updates {} to {total}", run.display(), from + 1)?
            }
            _ => writeln!(f, "{}: nothing is left of {total} updates", run.display())?,
        }
        write!(f, "  {rows} rows, {lanes} lanes, {held_out} of them held out")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} updates, {} epochs", self.run.display(), self.step, self.epochs)?;
        writeln!(f, "  {} lanes, {} of them held out", self.lanes, self.held_out)?;
        let (rate, wait) = (self.rows_per_second, 100.0 * self.data_wait);
        writeln!(f, "  {} rows, {rate:.0} a second, data wait {wait:.1} %", self.rows)?;
        if let Some(cache) = &self.cache_train {
            writeln!(f, "  cache: hit rate {:.1} %, {} evictions", cache.hit_rate_pct(), cache.evictions)?;
        }
        if let Some(found) = &self.validation {
            writeln!(f, "  held out: {found}")?;
        }
        if let (Some(step), Some(policy)) = (self.best.step, self.best.policy) {
            writeln!(f, "  best: update {step}, cross-entropy {policy:.4}")?;
        }
        write!(f, "  last checkpoint {}", self.sha256)
    }
}
