//! A worker, from the builder's side.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::frame::{self, Reply, Request};

/// What a worker may take to load the engine.
const START: Duration = Duration::from_secs(20);
/// Bytes kept of what a worker says on stderr.
const SAID: usize = 2000;

/// A worker that waits for a question. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    /// The end of what it said on stderr.
    said: Vec<u8>,
}

/// Why a worker gives no answer. It is not to be asked again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("the engine took longer than {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("{0}")]
    Crash(String),
}

impl Process {
    /// Starts a worker and waits until it has loaded the engine.
    pub(super) fn start(mut command: Command) -> Result<Self, Ended> {
        let crash = |error: io::Error| Ended::Crash(format!("no worker can be started: {error}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(crash)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(crash(io::ErrorKind::BrokenPipe.into()));
        };
        let mut process = Self { child, stdin, stdout, stderr, said: vec![] };
        match process.receive(START)? {
            Reply::Ready => Ok(process),
            _ => Err(process.crash("the worker did not say that it is ready")),
        }
    }

    /// Asks for something and waits for the answer.
    pub(super) fn ask(&mut self, request: &Request, patience: Duration) -> Result<Reply, Ended> {
        match frame::write(&mut self.stdin, request) {
            Ok(()) => self.receive(patience),
            Err(_) => Err(self.crash("the worker has gone")),
        }
    }

    /// Number of the process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn receive(&mut self, patience: Duration) -> Result<Reply, Ended> {
        let end = Instant::now() + patience;
        let (mut bytes, mut piece) = (vec![], vec![0; 1 << 16]);
        loop {
            match frame::parse(&bytes) {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {}
                Err(error) => return Err(self.crash(&format!("the worker's answer cannot be read: {error}"))),
            }
            let left = end.checked_duration_since(Instant::now()).ok_or(Ended::Timeout(patience))?;
            let (answers, talks) = self.wait(left).map_err(|error| self.crash(&error.to_string()))?;
            if talks {
                self.listen();
            }
            if answers {
                match self.stdout.read(&mut piece) {
                    Ok(0) | Err(_) => return Err(self.crash("the engine ended")),
                    Ok(n) => bytes.extend_from_slice(&piece[..n]),
                }
            }
        }
    }

    /// Waits until there is something to read on stdout or stderr, or the time is over.
    fn wait(&self, left: Duration) -> io::Result<(bool, bool)> {
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut fds = vec![PollFd::new(&self.stdout, PollFlags::IN)];
        fds.extend(self.stderr.iter().map(|stderr| PollFd::new(stderr, PollFlags::IN)));
        match poll(&mut fds, Some(&left)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok((false, false)),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Ok((is_ready(0), is_ready(1)))
    }

    /// Takes in what the worker says on stderr, so that it never waits to be heard.
    fn listen(&mut self) {
        let mut piece = [0; SAID];
        match self.stderr.as_mut().map(|stderr| stderr.read(&mut piece)) {
            Some(Ok(n @ 1..)) => self.said.extend_from_slice(&piece[..n]),
            _ => self.stderr = None,
        }
        let surplus = self.said.len().saturating_sub(SAID);
        self.said.drain(..surplus);
    }

    /// Ends the worker, and says how it ended and what it said last.
    fn crash(&mut self, what: &str) -> Ended {
        let _ = self.child.kill();
        let status = self.child.wait();
        while let Ok((_, true)) = self.wait(Duration::ZERO) {
            self.listen();
        }
        let signal = status.ok().and_then(|status| status.signal());
        let signal = signal.map(|signal| format!(", by signal {signal}")).unwrap_or_default();
        let said = String::from_utf8_lossy(&self.said);
        let said = if said.is_empty() { String::new() } else { format!("; its last words: {}", said.trim()) };
        Ended::Crash(format!("{what}{signal}{said}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
