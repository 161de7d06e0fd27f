//! Events on standard output, one line each.

use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_inspect::follow::{Event, event};
use serde::Serialize;

use crate::Failure;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Text,
}

/// Writes events to standard output.
#[derive(Debug)]
pub(super) struct Teller {
    form: Form,
    reported: u64,
    /// Whoever read them has gone.
    pub(super) unheard: bool,
}

impl Teller {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            reported: 0,
            unheard: false,
        }
    }

    /// The number that the next event will have.
    pub(super) fn upcoming(&self) -> u64 {
        self.reported + 1
    }

    /// The number of the next event.
    pub(super) fn next(&mut self) -> u64 {
        self.reported += 1;
        self.reported
    }

    /// Writes the one with the newest number, which was reported at this time since 1970, at once.
    pub(super) fn tell(&mut self, event: &Event, at: Duration) -> Result<(), Failure> {
        let line = match self.form {
            Form::Json => serde_json::to_string(&event::json(event, self.reported, at)).map_err(Failure::new)?,
            Form::Text => event::text(event, at),
        };
        let mut out = io::stdout().lock();
        self.wrote(writeln!(out, "{line}").and_then(|()| out.flush()))
    }

    /// Writes the last one, with the newest number, which holds the report.
    pub(super) fn report(&mut self, report: &impl Serialize, at: Duration) -> Result<(), Failure> {
        let line = event::json_report(report, self.reported, at);
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = serde_json::to_writer(&mut out, &line).map_err(io::Error::from);
        self.wrote(written.and_then(|()| writeln!(out)).and_then(|()| out.flush()))
    }

    fn wrote(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unheard = true,
            Err(error) => return Err(Failure::new(format!("standard output: {error}"))),
            Ok(()) => {}
        }
        Ok(())
    }
}

/// The time by the clock.
pub(super) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
