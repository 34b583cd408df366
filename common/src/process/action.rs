//! Actions: work whose results depend on its parameters and inputs alone, so that a store may hold them.
//!
//! Without `--store` an action runs where its outputs belong. With it, results that the store holds are linked into place;
//! others are computed in the store's scratch folder, published, and then linked. Either way the verb gets the value
//! that describes them, and goes on in the same way.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cli::{self, Common, Report, Run};
use super::failure::{Exit, Failure, InFile};
use super::receipt::{self, Done};
use super::stop;
use crate::state::digest::Digest;
use crate::state::output::{Output, folder_of};
use crate::state::store::record::{self, Cost, Identity, Keep, Parameters, Record};
use crate::state::store::{KeyLock, Known, Store, StoreError};

/// How often a lock is tried that another process holds.
const PATIENCE: Duration = Duration::from_millis(20);

/// What is to be done, but for the doing.
#[derive(Debug)]
pub struct Action<'a> {
    /// Everything but the inputs that the results depend on; no path is part of it.
    pub parameters: Parameters,
    /// What is read, with what each file is for.
    pub inputs: Vec<(&'static str, PathBuf)>,
    /// Where the outputs belong.
    pub place: Place<'a>,
    /// How long the store keeps the results.
    pub keep: Keep,
}

/// Where outputs belong.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// Nowhere: the value is the result.
    Nowhere,
    /// One file.
    File(&'a Path),
    /// Files whose names begin with that of a path. Those names are part of the results.
    Prefix(&'a Path),
    /// Files in a folder.
    Folder(&'a Path),
}

/// What an action came to.
#[derive(Debug)]
pub struct Made<T> {
    /// What the verb says of its outputs; it names no path.
    pub value: T,
    /// Outputs, the one that makes the others whole last.
    pub files: Vec<PathBuf>,
    /// Whether doing it again gives the same bytes. What does not is never stored.
    pub reproducible: bool,
}

impl<T> Made<T> {
    /// Outputs that are the same every time.
    pub fn new(value: T, files: Vec<PathBuf>) -> Self {
        Self { value, files, reproducible: true }
    }
}

/// Results, computed or found, but not yet in place.
#[derive(Debug)]
pub struct Obtained<'a, T> {
    /// What the verb says of its outputs.
    pub value: T,
    place: Place<'a>,
    done: Done,
    held: Option<Held>,
}

/// What is kept until the results are in place.
#[derive(Debug)]
struct Held {
    store: Store,
    record: Record,
    _lock: KeyLock,
}

impl Place<'_> {
    /// The path that the verb writes to.
    fn path(&self) -> &Path {
        match self {
            Self::Nowhere => Path::new(""),
            Self::File(path) | Self::Prefix(path) | Self::Folder(path) => path,
        }
    }

    /// The same path in another folder.
    fn within(&self, folder: &Path) -> PathBuf {
        folder.join(self.path().file_name().unwrap_or_default())
    }

    /// Name of a file that was written to `path`, among the results.
    fn name(&self, path: &Path, file: &Path) -> String {
        let base = match self {
            Self::Nowhere | Self::File(_) => return "output".into(),
            Self::Prefix(_) => folder_of(path),
            Self::Folder(_) => path,
        };
        file.strip_prefix(base).unwrap_or(file).to_string_lossy().into_owned()
    }

    /// Where the result of a name belongs.
    fn target(&self, name: &str) -> PathBuf {
        match self {
            Self::Nowhere | Self::File(_) => self.path().into(),
            Self::Prefix(path) => folder_of(path).join(name),
            Self::Folder(path) => path.join(name),
        }
    }
}

impl<'a> Action<'a> {
    /// Finds the results, or runs `run` to make them at the path that it is given.
    pub fn obtain<T: Serialize + DeserializeOwned>(
        self,
        common: &Common,
        run: impl FnOnce(&Path) -> Result<Made<T>, Failure>,
    ) -> Result<Obtained<'a, T>, Failure> {
        // what a pipe brings is known when it is gone
        let are_files = self.inputs.iter().all(|(_, path)| path.is_file());
        match &common.store {
            Some(root) if are_files && !common.dry_run => self.obtain_from(common, root, run),
            _ => self.compute(common, run),
        }
    }

    fn compute<T>(
        self,
        common: &Common,
        run: impl FnOnce(&Path) -> Result<Made<T>, Failure>,
    ) -> Result<Obtained<'a, T>, Failure> {
        let clock = Clock::start();
        let Made { value, files, .. } = run(self.place.path())?;
        let mut done = Done { parameters: self.parameters, cost: Some(clock.stop()), ..Done::default() };
        if common.receipt.is_some() && !common.dry_run {
            let files = files.iter().filter(|file| file.is_file());
            done.outputs = files.map(|file| receipt::output(file)).collect::<Result<_, _>>()?;
            let inputs = self.inputs.iter().filter(|(_, path)| path.is_file());
            done.inputs = inputs.map(|(role, path)| receipt::input(role, path)).collect::<Result<_, _>>()?;
        }
        Ok(Obtained { value, place: self.place, done, held: None })
    }

    fn obtain_from<T: Serialize + DeserializeOwned>(
        self,
        common: &Common,
        root: &Path,
        run: impl FnOnce(&Path) -> Result<Made<T>, Failure>,
    ) -> Result<Obtained<'a, T>, Failure> {
        let store = Store::open(root).in_file(root)?;
        let known = self.inputs.iter().map(|(_, path)| store.know(path).in_file(path));
        let known = known.collect::<Result<Vec<_>, _>>()?;
        let roles = self.inputs.iter().zip(&known);
        let inputs: Vec<_> =
            roles.map(|((role, _), known)| record::Input::new(role, &known.path, &known.sha256)).collect();
        let Run { job, build, .. } = &common.run;
        let identity = Identity { job, build, parameters: &self.parameters, inputs: &inputs };
        let key = identity.key();
        let lock = lock(common, &store, &key).in_file(root)?;
        if let Some(record) = store.lookup(&key).in_file(root)?
            && let Ok(value) = serde_json::from_value(record.result.clone())
        {
            tracing::info!("found in the store: {key}");
            let done = Done::stored(&record, true);
            return Ok(Obtained {
                value,
                place: self.place,
                done,
                held: Some(Held { store, record, _lock: lock }),
            });
        }
        let clock = Clock::start();
        let at = self.place.within(&store.scratch(&key).in_file(root)?);
        let made = run(&at).and_then(|made| are_as_known(&store, &known).map(|()| made));
        let made = made.inspect_err(|failure| {
            // what a signal stopped may go on where it was
            if !matches!(failure.exit(), Exit::Interrupted | Exit::Terminated) {
                store.discard(&key);
            }
        });
        let Made { value, files, reproducible } = made?;
        let named = files.iter().map(|file| (self.place.name(&at, file), file.clone()));
        let named: Vec<(String, PathBuf)> = named.collect();
        let cost = clock.stop();
        if !reproducible {
            let mut done = Done { cost: Some(cost), inputs, parameters: self.parameters, ..Done::default() };
            for (name, file) in &named {
                let target = self.place.target(name);
                copy(file, &target).in_file(&target)?;
                done.outputs.push(receipt::output(&target)?);
            }
            store.discard(&key);
            return Ok(Obtained { value, place: self.place, done, held: None });
        }
        let result = serde_json::to_value(&value).map_err(|error| Failure::new(Exit::Unexpected, error))?;
        let record = identity.record(key.clone(), self.keep, store.sources(&known), result, cost);
        let record = store.publish(record, &named).in_file(root)?;
        store.discard(&key);
        let done = Done::stored(&record, false);
        Ok(Obtained { value, place: self.place, done, held: Some(Held { store, record, _lock: lock }) })
    }
}

impl<T> Obtained<'_, T> {
    /// Whether the results were found in the store.
    pub fn is_cached(&self) -> bool {
        self.done.cached
    }

    /// Makes the results appear where they belong.
    pub fn place(&mut self, common: &Common) -> Result<(), Failure> {
        self.place_after(common, || Ok(())).map(|_| ())
    }

    /// Makes the results appear where they belong, after what stands there was cleared away; does neither where they
    /// are in place already. Says whether it did. Nobody else obtains the same results meanwhile.
    pub fn place_after(
        &mut self,
        common: &Common,
        clear: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(Held { store, record, .. }) = self.held.take() else { return Ok(false) };
        let results = record.outputs.iter().map(|blob| (blob, self.place.target(&blob.name)));
        let results: Vec<_> = results.collect();
        for (blob, target) in &results {
            self.done.outputs.push(receipt::Output::new(target, blob.bytes, &blob.sha256));
        }
        if store.are_placed(&results, common.force)? {
            return Ok(false);
        }
        clear()?;
        store.place(&results, common.force)?;
        Ok(true)
    }

    /// Names a file that was made of the results, for the receipt.
    pub fn add_output(&mut self, common: &Common, path: &Path) -> Result<(), Failure> {
        if common.receipt.is_some() {
            self.done.outputs.push(receipt::output(path)?);
        }
        Ok(())
    }

    /// As [`emit`](Self::emit), for a verb that did several actions.
    pub fn emit_all(all: &[Self], common: &Common, report: &impl Report) -> Result<(), Failure> {
        if let [one] = all {
            return one.emit(common, report);
        }
        receipt::write(common, report, Some(&Done::join(all.iter().map(|obtained| &obtained.done))))?;
        cli::print(common, report)
    }

    /// Prints the verb's report, and writes the receipt where one is wanted.
    pub fn emit(&self, common: &Common, report: &impl Report) -> Result<(), Failure> {
        receipt::write(common, report, Some(&self.done))?;
        cli::print(common, report)
    }
}

/// Refuses results of inputs that changed while they were read.
fn are_as_known(store: &Store, inputs: &[Known]) -> Result<(), Failure> {
    for known in inputs {
        if store.know(&known.path).in_file(&known.path)?.sha256 != known.sha256 {
            return Err(Failure::from(StoreError::Changed).in_file(&known.path));
        }
    }
    Ok(())
}

/// Waits for whoever works on the same key.
fn lock(common: &Common, store: &Store, key: &Digest) -> Result<KeyLock, Failure> {
    let mut said = false;
    loop {
        if let Some(lock) = store.try_lock(key)? {
            return Ok(lock);
        }
        if !std::mem::replace(&mut said, true) {
            common.note("another process works on the same; waiting for it");
        }
        stop::check()?;
        std::thread::sleep(PATIENCE);
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut output = Output::create(to)?;
    io::copy(&mut File::open(from)?, &mut output)?;
    Ok(output.publish()?)
}

/// What an action costs.
struct Clock {
    wall: Instant,
    cpu_s: f64,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu_s: cpu_s() }
    }

    fn stop(self) -> Cost {
        let ended_at =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Cost { ended_at, wall_s: self.wall.elapsed().as_secs_f64(), cpu_s: cpu_s() - self.cpu_s }
    }
}

/// Seconds of all processors that this process has used.
pub fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        common: Common,
    }

    /// A folder with an input, and the common options of a job that uses a store in it.
    fn start() -> (tempfile::TempDir, Common) {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("in"), "input").unwrap();
        let store = folder.path().join("store");
        let args = ["job", "--quiet", "--store"].map(Into::into).into_iter().chain([store.into_os_string()]);
        (folder, Cli::parse_from(args).common)
    }

    fn action<'a>(folder: &Path, output: &'a Path) -> Action<'a> {
        let (parameters, inputs) = (Parameters::new(), vec![("input", folder.join("in"))]);
        Action { parameters, inputs, place: Place::File(output), keep: Keep::Dataset }
    }

    fn write(at: &Path, reproducible: bool) -> Result<Made<u32>, Failure> {
        fs_err::write(at, "output")?;
        Ok(Made { value: 7, files: vec![at.into()], reproducible })
    }

    #[test]
    fn an_input_that_changes_meanwhile_gives_no_result() {
        let (folder, common) = start();
        let output = folder.path().join("out");
        let failed = action(folder.path(), &output).obtain(&common, |at| {
            fs_err::write(folder.path().join("in"), "other")?;
            write(at, true)
        });
        assert_eq!(failed.unwrap_err().exit(), Exit::Unlike);
        assert_eq!(fs_err::read_dir(folder.path().join("store/tmp")).unwrap().count(), 0);
        let mut done = action(folder.path(), &output).obtain(&common, |at| write(at, true)).unwrap();
        assert!(!done.is_cached());
        done.place(&common).unwrap();
        assert!(output.is_symlink());
        let never = |_: &Path| -> Result<Made<u32>, Failure> { unreachable!("the store has it") };
        drop(done);
        assert_eq!(action(folder.path(), &output).obtain(&common, never).unwrap().value, 7);
    }

    #[test]
    fn what_is_not_reproducible_is_never_stored() {
        let (folder, common) = start();
        let output = folder.path().join("out");
        for _ in 0..2 {
            let mut done = action(folder.path(), &output).obtain(&common, |at| write(at, false)).unwrap();
            done.place(&common).unwrap();
            assert!(!done.is_cached());
            assert_eq!(fs_err::read(&output).unwrap(), b"output");
            assert!(!output.is_symlink());
        }
        assert_eq!(
            fs_err::read_dir(folder.path().join("store"))
                .unwrap()
                .filter(|entry| { entry.as_ref().is_ok_and(|entry| entry.file_name() == "blobs") })
                .count(),
            0
        );
    }

    #[test]
    fn a_run_that_fails_leaves_nothing() {
        let (folder, common) = start();
        let output = folder.path().join("out");
        let failed = action(folder.path(), &output).obtain(&common, |at| -> Result<Made<u32>, Failure> {
            write(at, true)?;
            Err(Failure::bad_data("no"))
        });
        assert_eq!(failed.unwrap_err().exit(), Exit::BadData);
        assert!(!output.exists());
        assert_eq!(fs_err::read_dir(folder.path().join("store/tmp")).unwrap().count(), 0);
    }
}
