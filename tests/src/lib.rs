//! What the end-to-end tests share: a folder, jobs to run in it, and the bundled real data.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder of its own for a test.
pub struct Folder {
    dir: TempDir,
    job: &'static str,
}

/// A job that has ended.
pub struct Done {
    /// Exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

/// A bundled file.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/shogi").join(name)
}

/// A bundled file of the card game.
pub fn tcg(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tcg").join(name)
}

/// Flags that name the bundled cards.
pub fn cards() -> String {
    format!(
        "--cards {} --attacks {}",
        tcg("cards/cards_v2.tsv").display(),
        tcg("cards/attacks_v2.tsv").display()
    )
}

/// Flags that state how the bundled corpus was made.
pub const TEACHER: [&str; 6] = ["--mate-scale", "32000", "--mate-slack", "100", "--eval-coef", "600"];

impl Folder {
    /// A new folder; `job` is the program that holds all jobs.
    pub fn new(job: &'static str) -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder"), job }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A job's command, the folder its current one. Words are split at spaces.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(self.job);
        command.args(line.split_whitespace()).current_dir(self.path());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FOLDLINE_"))
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs a job.
    pub fn run(&self, line: &str) -> Done {
        Done::from(self.command(line).stdin(Stdio::null()).output().expect("the job starts"))
    }

    /// Runs a job with bytes on stdin.
    pub fn pipe(&self, line: &str, stdin: &[u8]) -> Done {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the job starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            // a job that refuses its input closes the pipe before its end
            scope.spawn(move || pipe.write_all(stdin));
            Done::from(child.wait_with_output().expect("the job ends"))
        })
    }

    /// Runs a job that must succeed.
    pub fn ok(&self, line: &str) -> Done {
        let done = self.run(line);
        assert_eq!(done.code, Some(0), "{line}\n{}", done.stderr);
        done
    }

    /// Runs a job that must fail with this exit code and say all of these.
    pub fn fails(&self, line: &str, code: i32, says: &[&str]) -> Done {
        let done = self.run(line);
        done.assert_fails(line, code, says);
        done
    }

    /// Streams of the bundled corpus and games: `t.mpk1` and `s.mpk1`.
    pub fn streams(self) -> Self {
        self.teacher("t.mpk1");
        self.ok(&format!("stream-write selfplay {} -o s.mpk1", data("selfplay_games.jsonl").display()));
        self
    }

    /// A stream of the bundled corpus.
    pub fn teacher(&self, name: &str) {
        let corpus = data("teacher_corpus.parquet");
        self.ok(&format!("stream-write teacher {} -o {name} {}", corpus.display(), TEACHER.join(" ")));
    }

    /// Builds the day of an archive, of the bundled ones where there is no such file, into the folder `out`.
    pub fn build(&self, archive: &str, out: &str, flags: &str) -> Done {
        self.ok(&self.build_line(archive, out, flags))
    }

    /// The command line of [`build`](Self::build).
    pub fn build_line(&self, archive: &str, out: &str, flags: &str) -> String {
        let there = self.join(archive);
        let archive = if there.exists() { there } else { tcg("replays").join(archive) };
        format!("day-build build {} -o {out} {} --json {flags}", archive.display(), cards())
    }

    /// Bytes of a file in the folder.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs_err::read(self.join(name)).expect("the file is there")
    }

    /// Puts a file into the folder.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs_err::create_dir_all(self.join(name).parent().expect("a folder")).expect("the folder is writable");
        fs_err::write(self.join(name), bytes).expect("the folder is writable");
    }

    /// Names of all files, hidden ones too, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs_err::read_dir(self.path()).expect("the folder is readable");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs a script of `tests/python` that must succeed. It needs the packages that `./run test` installs.
    pub fn python(&self, script: &str, args: &[impl AsRef<OsStr>]) -> String {
        let done = self.try_python(script, args);
        assert_eq!(done.code, Some(0), "{script}\n{}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// Runs a script of `tests/python`.
    pub fn try_python(&self, script: &str, args: &[impl AsRef<OsStr>]) -> Done {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(script);
        let mut python = Command::new("python3");
        python.arg(script).args(args).current_dir(self.path()).env("PYTHONDONTWRITEBYTECODE", "1");
        let done = Done::from(python.output().expect("python3 starts"));
        assert!(!done.stderr.contains("No module named"), "run the tests with `./run test`\n{}", done.stderr);
        done
    }
}

impl Done {
    /// Its stdout as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).expect("one JSON document on stdout")
    }

    /// Asserts a failure.
    pub fn assert_fails(&self, line: &str, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{line}\n{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for text in says {
            assert!(self.stderr.contains(text), "{line}\nmissing: {text}\n{}", self.stderr);
        }
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
