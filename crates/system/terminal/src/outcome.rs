//! Exit codes of a command: 0 clean, 1 finding, 2 failure, 64 usage.

use crate::output::{self, errln};
use std::fmt::Display;
use std::process::ExitCode;

/// The end of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No findings: exit code 0.
    Clean,
    /// The command worked and found something its user must look at: exit code 1.
    Finding,
}

/// Reason why a command could not do its work: one line, then hints that say what to do next.
#[derive(Debug)]
pub struct Failure {
    /// The one line.
    pub message: String,
    hints: Vec<String>,
    usage: bool,
    /// Returns true if another command of this program holds what this one needs.
    pub held: bool,
}

impl Failure {
    /// A failure with this line: exit code 2.
    pub fn new(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            hints: Vec::new(),
            usage: false,
            held: false,
        }
    }

    /// A failure by what the user wrote: exit code 64.
    pub fn usage(message: impl Display) -> Self {
        Self {
            usage: true,
            ..Self::new(message)
        }
    }

    /// The same, as the failure to take what another command of this program holds.
    #[must_use]
    pub fn held(self) -> Self {
        Self { held: true, ..self }
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds all of these hints, in their order: none or one where `hints` is what an error has.
    #[must_use]
    pub fn with_hints(self, hints: impl IntoIterator<Item = impl Display>) -> Self {
        hints.into_iter().fold(self, Self::hint)
    }

    /// The same with its hints changed.
    #[must_use]
    pub fn map_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        for hint in &mut self.hints {
            *hint = change(hint);
        }
        self
    }

    /// The hints in one line.
    pub fn hints(&self) -> String {
        self.hints.join("; ")
    }
}

/// Prints a failure, and gives the exit code.
pub fn report(result: Result<Outcome, Failure>) -> ExitCode {
    match result.and_then(|outcome| output::finish().map(|()| outcome)) {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Err(failure) => {
            errln!("error: {}", failure.message);
            for hint in &failure.hints {
                errln!("hint: {hint}");
            }
            ExitCode::from(if failure.usage { 64 } else { 2 })
        }
    }
}

/// Help and version go to standard output and are clean; a mistyped command is a usage error.
pub fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is the reader's choice, not an error of ours.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 64 } else { 0 })
}
