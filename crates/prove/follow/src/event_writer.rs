//! Events on standard output, one line each.

use std::io::{self, BufWriter, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_inspect::follow::{Event, event};
use serde::Serialize;

use super::stdout_writer::StdoutWriter;
use bartizan_terminal::Failure;

/// Format of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A JSON object.
    Json,
    /// Words.
    Text,
}

bartizan_registry::made! {
    /// Writes events to standard output.
    pub struct EventWriter,
    /// Nothing written yet.
    pub new(form: Form, out: StdoutWriter) {
        form: Form = form,
        out: StdoutWriter = out,
        reported: u64 = 0,
        /// The reader is gone, or accepted nothing until the end.
        pub unheard: bool = false,
        stalled: bool = false,
    }
}

impl EventWriter {
    /// Returns the failure about output that the reader did not accept until the end.
    pub fn left(&self) -> Option<Failure> {
        self.stalled.then(|| {
            Failure::new("standard output: whoever reads it took nothing more, and the last lines are lost")
                .hint("a file, or --otlp with --queue, keeps events while nobody reads")
        })
    }

    /// The number that the next event will have.
    pub fn upcoming(&self) -> u64 {
        self.reported + 1
    }

    /// The number of the next event.
    pub fn advance(&mut self) -> u64 {
        self.reported += 1;
        self.reported
    }

    /// Writes the one with the newest number, which was reported at this time since 1970, at once.
    pub fn tell(&mut self, event: &Event, at: Duration) -> Result<(), Failure> {
        let mut line = match self.form {
            Form::Json => serde_json::to_string(&event::json(event, self.reported, at)).map_err(Failure::new)?,
            Form::Text => event::text(event, at),
        };
        line.push('\n');
        let written = self.out.write_all(line.as_bytes());
        self.wrote(written)
    }

    /// Writes the last one, with the newest number, which holds the report.
    pub fn report(&mut self, report: &impl Serialize, at: Duration) -> Result<(), Failure> {
        let line = event::json_report(report, self.reported, at);
        self.put(|out| {
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")
        })
    }

    /// Writes what is no event.
    pub fn put(&mut self, text: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Failure> {
        let mut out = BufWriter::with_capacity(64 << 10, &mut self.out);
        let written = text(&mut out).and_then(|()| out.flush());
        // Output left in the buffer has no destination.
        let _ = out.into_parts();
        self.wrote(written)
    }

    fn wrote(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unheard = true,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.unheard = true;
                self.stalled = true;
            }
            Err(error) => return Err(Failure::new(format!("standard output: {error}"))),
            Ok(()) => {}
        }
        Ok(())
    }
}

/// The time by the clock.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
