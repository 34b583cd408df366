//! A training session: from a run's start or its newest checkpoint to its end, or to the next signal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use common::process::{ByteSize, Common, Exit, Failure, Progress, stop};
use common::state::cache::{ColumnSet, Counters};
use serde::Serialize;
use tch::{Device, Tensor};

use crate::baseline::verb_frequency;
use crate::cards::CardTable;
use crate::checkpoint::{self, Beside, Best, Checkpoint};
use crate::config::{Config, Train};
use crate::data::rows::capacity;
use crate::data::split::Split;
use crate::data::{Cached, Days, Lanes, Provenance};
use crate::loss::{NAMES, SUMS, factors};
use crate::model::{Model, to_host};
use crate::plan::{Cursor, Planner};
use crate::report;
use crate::run::Run;
use crate::trainer::{Trainer, Update};
use crate::validate::{Metrics, validate};
use crate::window::Window;

/// Windows that wait for the device.
const AHEAD: usize = 2;

/// What a session works with.
#[derive(Debug)]
pub(crate) struct Data {
    days: Arc<Days>,
    lanes: Lanes,
    split: Split,
    /// Bytes of row groups that each of the caches, for training and for validation, keeps in memory.
    capacity: u64,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    run: Run,
    data: Data,
    cards: CardTable,
    trainer: Trainer,
    cursor: Cursor,
    best: Best,
    threads: usize,
    /// Updates whose values are still on the device.
    pending: Vec<(Update, Line)>,
    waited: Duration,
    started: Instant,
    rows: u64,
    last: Option<Metrics>,
    caches: Option<Caches>,
}

/// Where rows come from; validation leaves what training has in memory alone.
#[derive(Debug)]
struct Caches {
    train: Cached,
    validation: Cached,
}

/// A line of `metrics.jsonl` about an update. What is measured in time comes last: all else is the same every time.
#[derive(Debug, Clone, Default, Serialize)]
struct Line {
    step: u64,
    epoch: u32,
    rows: usize,
    aux_rows: usize,
    loss: f64,
    policy: f64,
    value: f64,
    ko: f64,
    prize_delta: f64,
    terminal: f64,
    returns: f64,
    top1: f64,
    norm: f64,
    rate: f64,
    wait_s: f64,
    step_s: f64,
}

/// A line about a validation.
#[derive(Debug, Serialize)]
struct Validated<'a> {
    step: u64,
    epoch: u32,
    validation: &'a Metrics,
}

/// What a session would do.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    /// The run.
    #[serde(serialize_with = "common::process::cli::path_text")]
    pub(crate) run: PathBuf,
    /// Rows of its days.
    pub(crate) rows: u64,
    /// Lanes of its days.
    pub(crate) lanes: usize,
    /// Lanes that are held out.
    pub(crate) held_out: usize,
    /// Updates that are done.
    pub(crate) from: u64,
    /// Updates in all.
    pub(crate) total: u64,
}

/// How a session ended.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The run.
    #[serde(serialize_with = "common::process::cli::path_text")]
    pub(crate) run: PathBuf,
    /// Updates that are done.
    pub(crate) step: u64,
    /// Epochs that are over.
    pub(crate) epochs: u32,
    /// Episodes and lanes.
    pub(crate) lanes: usize,
    /// Lanes that are held out.
    pub(crate) held_out: usize,
    /// Rows of this session.
    pub(crate) rows: u64,
    /// Rows a second of this session.
    pub(crate) rows_per_second: f64,
    /// Share of the time that the device waited for data.
    pub(crate) data_wait: f64,
    /// What the caches counted.
    pub(crate) cache_train: Option<Counters>,
    /// That of validation.
    pub(crate) cache_val: Option<Counters>,
    /// The last validation of this session.
    pub(crate) validation: Option<Metrics>,
    /// The best validation of the run.
    pub(crate) best: Best,
    /// Digest of the last checkpoint's tensors.
    pub(crate) sha256: String,
}

impl Data {
    /// Opens days, and splits their lanes as a configuration says.
    pub(crate) fn open(
        paths: &[PathBuf],
        config: &Config,
        memory: Option<ByteSize>,
    ) -> Result<Self, Failure> {
        let days = Days::open(paths)?;
        let lanes = Lanes::of(&days)?;
        let split = Split::of(&lanes, config.validation.share, config.train.seed)?;
        let capacity = memory.map_or_else(capacity, |memory| memory.0) / 2;
        Ok(Self { days: Arc::new(days), lanes, split, capacity })
    }

    /// What the days were made with.
    pub(crate) fn provenance(&self) -> &Provenance {
        &self.days.provenance
    }

    /// Updates of a run from its start to its end.
    pub(crate) fn updates(&self, config: &Train) -> u64 {
        let plan = Planner::train(&self.lanes, &self.split.train, config, Cursor::default());
        let most = if config.max_updates == 0 { u64::MAX } else { config.max_updates };
        plan.updates_left(config.epochs, config.accumulate).min(most)
    }

    /// What a run from update `from` on would do.
    pub(crate) fn plan(&self, run: &Path, from: u64, total: u64) -> Planned {
        Planned {
            run: run.into(),
            rows: self.days.used().iter().map(|used| used.rows).sum(),
            lanes: self.lanes.all().len(),
            held_out: self.split.validation.len(),
            from,
            total,
        }
    }

    /// Lanes that are held out.
    pub(crate) fn held_out(&self) -> Vec<u32> {
        self.split.validation.clone()
    }

    /// All lanes.
    pub(crate) fn all(&self) -> Vec<u32> {
        (0..self.lanes.all().len() as u32).collect()
    }

    /// What a model says of lanes.
    pub(crate) fn validate(&self, model: &Model, lanes: &[u32], config: &Train) -> Result<Metrics, Failure> {
        validate(model, &self.lanes, lanes, &mut self.source(ColumnSet::Val)?, config)
    }

    /// Cross-entropy of the held-out choices by the frequency of verbs in the others.
    pub(crate) fn verb_frequency(&self) -> Result<f64, Failure> {
        verb_frequency(&self.days, &self.lanes, &self.split.train, &self.split.validation)
    }

    /// A cache of its own.
    fn source(&self, columns: ColumnSet) -> Result<Cached, Failure> {
        Cached::open(&self.days, columns, self.capacity)
    }
}

impl Session {
    /// Starts a run. A folder that has checkpoints already is refused (exit 2).
    pub(crate) fn start(
        folder: &Path,
        config: Config,
        data: Data,
        cards: CardTable,
        (device, threads): (Device, usize),
    ) -> Result<Self, Failure> {
        if !checkpoint::steps(&crate::run::checkpoints(folder))?.is_empty() {
            return Err(Failure::usage("the run has checkpoints already")
                .in_file(folder)
                .hint("`train-tbptt resume` goes on with it; or name another folder"));
        }
        let total = data.updates(&config.train);
        let model = Model::new(config.model, &cards, config.train.seed, device);
        let trainer = Trainer::new(model, config, total);
        let run = Run::open(folder)?;
        run.save(&trainer.config)?;
        Ok(Self::new(run, data, cards, trainer, threads))
    }

    /// Goes on with a run from a checkpoint of it. Days that are not what it was trained on are exit 8.
    pub(crate) fn resume(
        folder: &Path,
        from: &Checkpoint,
        data: Data,
        (device, threads): (Device, usize),
    ) -> Result<Self, Failure> {
        let record = &from.record;
        for (now, then) in data.days.used().iter().zip(&record.datasets) {
            if now.sha256 != then.sha256 {
                return Err(Failure::new(Exit::Unlike, "the day is not the one that the run was trained on")
                    .found(&now.sha256, &then.sha256)
                    .in_file(&now.path));
            }
        }
        record.provenance.hold(&data.days.provenance, "the checkpoint")?;
        let cards = from.cards()?;
        let model = Model::new(record.config.model, &cards, record.config.train.seed, device);
        let mut trainer = Trainer::new(model, record.config.clone(), record.total);
        from.restore(&mut trainer)?;
        let run = Run::open(folder)?;
        let mut session = Self::new(run, data, cards, trainer, threads);
        (session.cursor, session.best) = (record.cursor.clone(), record.best);
        Ok(session)
    }

    fn new(run: Run, data: Data, cards: CardTable, trainer: Trainer, threads: usize) -> Self {
        Self {
            run,
            data,
            cards,
            trainer,
            cursor: Cursor::default(),
            best: Best::default(),
            threads,
            pending: vec![],
            waited: Duration::ZERO,
            started: Instant::now(),
            rows: 0,
            last: None,
            caches: None,
        }
    }

    /// Starts from the weights of a checkpoint.
    pub(crate) fn init_from(&mut self, from: &Checkpoint) -> Result<(), Failure> {
        from.record.provenance.hold(&self.data.days.provenance, "the checkpoint")?;
        from.load(&mut self.trainer.model)
    }

    /// Trains to the end.
    pub(crate) fn train(mut self, common: &Common, folder: &Path) -> Result<Summary, Failure> {
        let mut progress = common.progress("training", "updates", Some(self.trainer.total));
        progress.add(self.trainer.step);
        self.started = Instant::now();
        let (lanes, part) = (std::mem::take(&mut self.data.lanes), self.data.split.train.clone());
        let caches = Caches {
            train: self.data.source(ColumnSet::Train)?,
            validation: self.data.source(ColumnSet::Val)?,
        };
        let mut rows = caches.train.clone();
        self.caches = Some(caches);
        let plan = Planner::train(&lanes, &part, &self.trainer.config.train, self.cursor.clone());
        let left = self.trainer.total.saturating_sub(self.trainer.step);
        let config = self.trainer.config.train.clone();
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(AHEAD);
            let (mut plan, lanes) = (plan.clone(), &lanes);
            scope.spawn(move || {
                for _ in 0..left {
                    let window = Window::next(&mut plan, lanes, &mut rows, &config);
                    let failed = window.is_err();
                    if send.send(window).is_err() || failed {
                        return;
                    }
                }
            });
            self.run_windows(&receive, lanes, &mut progress)
        })?;
        drop(progress);
        self.flush(&mut Progress::hidden())?;
        self.finish(folder, &lanes)
    }

    fn run_windows(
        &mut self,
        windows: &Receiver<Result<Window, Failure>>,
        lanes: &Lanes,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let patience = self.trainer.config.validation.patience;
        while self.trainer.step < self.trainer.total && (patience == 0 || self.best.since < patience) {
            if let Err(stopped) = stop::check() {
                self.flush(progress)?;
                self.checkpoint()?;
                let what = format!("stopped by a signal behind update {}", self.trainer.step);
                return Err(Failure::new(stopped.exit(), what).hint("`train-tbptt resume` goes on from here"));
            }
            let before = Instant::now();
            let window = windows.recv().map_err(|_| Failure::new(Exit::Unexpected, "the loader ended"))??;
            let waited = before.elapsed();
            self.step(&window, waited, progress)?;
            let config = &self.trainer.config;
            let (step, every) = (self.trainer.step, config.validation.every);
            let is_last = step == self.trainer.total;
            let validates =
                is_last || (every > 0 && step.is_multiple_of(every)) || (every == 0 && window.ends_epoch);
            let saves = validates || step.is_multiple_of(config.train.checkpoint_every);
            if validates {
                self.flush(progress)?;
                self.validate(lanes)?;
            }
            if saves {
                self.checkpoint()?;
            }
        }
        Ok(())
    }

    fn step(&mut self, window: &Window, waited: Duration, progress: &mut Progress) -> Result<(), Failure> {
        let started = Instant::now();
        let epoch = self.cursor.epoch;
        let update = self.trainer.update(window);
        self.cursor = window.cursor.clone();
        if window.ends_epoch {
            self.trainer.forget();
        }
        self.waited += waited;
        self.rows += window.counts.rows as u64;
        let line = Line {
            step: update.step,
            epoch,
            rows: window.counts.rows,
            aux_rows: window.counts.aux,
            rate: update.rate,
            wait_s: waited.as_secs_f64(),
            step_s: started.elapsed().as_secs_f64(),
            ..Line::default()
        };
        self.pending.push((update, line));
        if self.trainer.step.is_multiple_of(self.trainer.config.train.log_every) {
            self.flush(progress)?;
        }
        progress.add(1);
        Ok(())
    }

    /// Brings the values of pending updates to the host, and writes them down.
    fn flush(&mut self, progress: &mut Progress) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let values =
            pending.iter().map(|(update, _)| Tensor::cat(&[&update.sums, &update.norm.view([1])], 0));
        let values = to_host(&Tensor::stack(&values.collect::<Vec<_>>(), 0));
        let lines: Vec<Line> = pending
            .into_iter()
            .zip(values.chunks(SUMS + 1))
            .map(|((update, line), values)| line.with(&self.trainer.config, &update, values))
            .collect();
        self.run.lines(&lines)?;
        for line in &lines {
            self.run.scalars(line.step, line.scalars())?;
        }
        if let Some(line) = lines.last() {
            if let Some(caches) = &self.caches {
                let train = caches.train.counters();
                self.run.scalars(line.step, cache_scalars(&train))?;
            }
            if !line.loss.is_finite() {
                return Err(Failure::new(
                    Exit::Unexpected,
                    format!("the loss of update {} is {}", line.step, line.loss),
                )
                .hint("a lower learning rate may help; `resume` goes on from the last checkpoint"));
            }
            let per_second = self.rows as f64 / self.started.elapsed().as_secs_f64();
            let wait = 100.0 * self.waited.as_secs_f64() / self.started.elapsed().as_secs_f64();
            progress.say(format!("loss {:.4}, {per_second:.0} rows/s, data wait {wait:.1} %", line.loss));
        }
        Ok(())
    }

    fn validate(&mut self, lanes: &Lanes) -> Result<(), Failure> {
        let rows = self.caches.as_ref().map(|caches| caches.validation.clone());
        let mut rows = rows.map_or_else(|| self.data.source(ColumnSet::Val), Ok)?;
        let config = &self.trainer.config.train;
        let metrics = validate(&self.trainer.model, lanes, &self.data.split.validation, &mut rows, config)?;
        let (step, epoch) = (self.trainer.step, self.cursor.epoch);
        self.run.lines(&[Validated { step, epoch, validation: &metrics }])?;
        self.run.scalars(
            step,
            [
                ("validation/policy", metrics.policy as f32),
                ("validation/top1", metrics.top1 as f32),
                ("validation/top1_dedup", metrics.top1_dedup as f32),
                ("validation/value", metrics.aux.value as f32),
            ],
        )?;
        if self.best.policy.is_none_or(|best| metrics.policy < best) {
            self.best = Best { step: Some(step), policy: Some(metrics.policy), since: 0 };
        } else {
            self.best.since += 1;
        }
        self.last = Some(metrics);
        Ok(())
    }

    fn checkpoint(&self) -> Result<checkpoint::Record, Failure> {
        let folder = self.run.checkpoints();
        let datasets = self.data.days.used();
        let beside = Beside {
            cards: &self.cards,
            provenance: &self.data.days.provenance,
            datasets: &datasets,
            threads: self.threads,
        };
        let record = checkpoint::write(&folder, &self.trainer, &self.cursor, self.best, &beside)?;
        checkpoint::prune(&folder, self.trainer.config.train.keep, self.best.step)?;
        Ok(record)
    }

    fn finish(self, folder: &Path, lanes: &Lanes) -> Result<Summary, Failure> {
        let seconds = self.started.elapsed().as_secs_f64();
        let (newest, _) = checkpoint::newest(&self.run.checkpoints())?;
        let summary = Summary {
            run: folder.into(),
            step: self.trainer.step,
            epochs: self.cursor.epoch,
            lanes: lanes.all().len(),
            held_out: self.data.split.validation.len(),
            rows: self.rows,
            rows_per_second: self.rows as f64 / seconds,
            data_wait: self.waited.as_secs_f64() / seconds,
            cache_train: self.caches.as_ref().map(|caches| caches.train.counters()),
            cache_val: self.caches.as_ref().map(|caches| caches.validation.counters()),
            validation: self.last,
            best: self.best,
            sha256: newest.map(|newest| newest.record.sha256.to_string()).unwrap_or_default(),
        };
        self.run.finish(&summary)?;
        report::write(folder)?;
        Ok(summary)
    }
}

fn cache_scalars(counters: &Counters) -> [(&'static str, f32); 6] {
    [
        ("cache_train/hit_rate_pct", counters.hit_rate_pct() as f32),
        ("cache_train/hits", counters.hits as f32),
        ("cache_train/misses", counters.misses as f32),
        ("cache_train/evictions", counters.evictions as f32),
        ("cache_train/resident_bytes", counters.resident_bytes as f32),
        ("cache_train/bytes_loaded", counters.bytes_loaded as f32),
    ]
}

/// Refuses a card catalog that days were not built with.
pub(crate) fn hold_cards(cards: &CardTable, data: &Data) -> Result<(), Failure> {
    let expected = &data.days.provenance.card_catalog_sha256;
    if &cards.digest == expected {
        return Ok(());
    }
    Err(Failure::new(Exit::Mixed, "the card catalog is not the one that the days were built with")
        .found(&cards.digest, expected)
        .hint("`--cards` and `--attacks` name the tables that `day-build` was given"))
}

impl Line {
    /// With the values of its update: `SUMS` sums and the norm.
    fn with(self, config: &Config, update: &Update, values: &[f32]) -> Self {
        let divisors = update.counts.divisors();
        let mean = |at: usize| f64::from(values[at]) / divisors[at];
        let factors = factors(&config.loss, update.counts);
        let loss = values.iter().zip(factors).map(|(&sum, factor)| f64::from(sum) * f64::from(factor)).sum();
        Self {
            loss,
            policy: mean(0),
            value: mean(1),
            ko: mean(2),
            prize_delta: mean(3),
            terminal: mean(4),
            returns: mean(5),
            top1: mean(6),
            norm: f64::from(values[SUMS]),
            ..self
        }
    }

    fn scalars(&self) -> [(&'static str, f32); 11] {
        debug_assert_eq!(NAMES.len(), SUMS);
        [
            ("train/loss", self.loss as f32),
            ("train/policy", self.policy as f32),
            ("train/value", self.value as f32),
            ("train/ko", self.ko as f32),
            ("train/prize_delta", self.prize_delta as f32),
            ("train/terminal", self.terminal as f32),
            ("train/return", self.returns as f32),
            ("train/top1", self.top1 as f32),
            ("train/norm", self.norm as f32),
            ("train/rate", self.rate as f32),
            ("train/data_wait_s", self.wait_s as f32),
        ]
    }
}
