//! Progress of a run on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_workbench::runner::experiment::Part;
use bartizan_workbench::runner::run::Observer;
use bartizan_workbench::runner::trial::{Outcome, Record};
use bartizan_workbench::workload::Lack;
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt::Interrupt;
use crate::output::errln;

/// Interval between plain lines.
const EVERY: Duration = Duration::from_secs(20);

pub(in crate::commands) struct Progress {
    bar: ProgressBar,
    interrupt: Interrupt,
    terminal: bool,
    file: Option<PathBuf>,
    /// True if the records stay in the named file.
    kept: bool,
    part: String,
    /// Finished trials of this part.
    done: u64,
    trials: u64,
    began: Instant,
    said: Instant,
}

impl Progress {
    pub(in crate::commands) fn new(interrupt: Interrupt) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            interrupt,
            terminal: std::io::stderr().is_terminal(),
            file: None,
            kept: true,
            part: String::new(),
            done: 0,
            trials: 0,
            began: Instant::now(),
            said: Instant::now(),
        }
    }

    /// Progress of a run that deletes its records at its end.
    pub(in crate::commands) fn without_file(self) -> Self {
        Self { kept: false, ..self }
    }

    /// The file of records, once there is one.
    pub(in crate::commands) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(in crate::commands) fn finish(&mut self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| errln!("{line}"));
    }

    /// From what the trials of this part have taken since its first, before which it was made ready.
    fn left(&self) -> Duration {
        let each = self.began.elapsed().as_secs_f64() / self.done.saturating_sub(1).max(1) as f64;
        Duration::from_secs((each * (self.trials - self.done) as f64) as u64)
    }
}

impl Observer for Progress {
    fn begins(&mut self, file: &Path, recorded: u64, trials: u64) {
        let already = if recorded == 0 {
            String::new()
        } else {
            format!(", {recorded} are there")
        };
        let records = if self.kept {
            format!("; records: {}", file.display())
        } else {
            String::new()
        };
        self.say(&format!("{trials} trials{already}{records}"));
        self.file = Some(file.to_owned());
    }

    fn left_out(&mut self, lack: &Lack) {
        self.say(&format!("left out {}: {}", lack.what, lack.reason));
        self.say(&format!("hint: {}", lack.hint));
    }

    fn part(&mut self, part: &Part, trials: u64) {
        self.bar.finish_and_clear();
        self.part.clone_from(&part.id);
        (self.done, self.trials) = (0, trials);
        (self.began, self.said) = (Instant::now(), Instant::now());
        if self.terminal {
            let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len}, {eta} left");
            self.bar = ProgressBar::new(trials).with_message(part.id.clone());
            self.bar
                .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        } else {
            errln!("{}: {trials} trials", part.id);
        }
    }

    fn recorded(&mut self, record: &Record) {
        self.done += 1;
        if self.done == 1 {
            self.began = Instant::now();
            self.bar.reset_eta();
        }
        self.bar.inc(1);
        if let Outcome::Failed { error } = &record.outcome {
            self.say(&format!(
                "trial {} ({} {}) failed: {error}",
                record.trial, record.part, record.levels
            ));
        }
        if !self.terminal && self.done > 1 && self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            let (part, left) = (&self.part, self.left().as_secs());
            errln!("{part}: {} of {} trials, {left} s left", self.done, self.trials);
        }
    }

    fn note(&mut self, note: &str) {
        self.say(note);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}
