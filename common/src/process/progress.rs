//! Progress of long work, with rate and time left; on stderr, a plain line every 10 s where that is no terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};

const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Progress of one stage. Gone from the terminal when it is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: Option<Plain>,
}

#[derive(Debug)]
struct Plain {
    what: &'static str,
    unit: &'static str,
    start: Instant,
    last: Instant,
    more: String,
}

impl Progress {
    /// Starts a stage named `what` that counts `unit`s; of `total`, where that is known.
    pub fn new(what: &'static str, unit: &'static str, total: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            let bar = ProgressBar::hidden();
            bar.set_length(total.unwrap_or(0));
            let now = Instant::now();
            return Self {
                bar,
                plain: Some(Plain { what, unit, start: now, last: now, more: String::new() }),
            };
        }
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{prefix:>12} {wide_bar} {human_pos}/{human_len} {msg} {per_sec} {eta}",
            ),
            None => {
                (ProgressBar::new_spinner(), "{prefix:>12} {spinner} {human_pos} {msg} {per_sec} {elapsed}")
            }
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_prefix(what);
        bar.set_message(unit);
        Self { bar, plain: None }
    }

    /// Shows nothing.
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), plain: None }
    }

    /// What is said beside the numbers from now on.
    pub fn say(&mut self, more: String) {
        match &mut self.plain {
            Some(plain) => plain.more = format!(", {more}"),
            None => self.bar.set_message(more),
        }
    }

    /// Counts `n` more.
    pub fn add(&mut self, n: u64) {
        self.bar.inc(n);
        if let Some(plain) = &mut self.plain
            && plain.last.elapsed() >= PLAIN_EVERY
        {
            plain.last = Instant::now();
            let _ =
                writeln!(io::stderr(), "{}", plain.line(self.bar.position(), self.bar.length().unwrap_or(0)));
        }
    }
}

impl Plain {
    fn line(&self, done: u64, total: u64) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = done as f64 / seconds;
        let line = format!("{}: {} {}", self.what, HumanCount(done), self.unit);
        let more = &self.more;
        let rate_text = format!("{} a second", HumanCount(rate as u64));
        if total <= done || rate <= 0.0 {
            return format!("{line}, {rate_text}{more}");
        }
        let left = Duration::from_secs_f64((total - done) as f64 / rate);
        format!("{line} of {}, {rate_text}, {} left{more}", HumanCount(total), HumanDuration(left))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
