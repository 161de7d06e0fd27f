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
        /// Nothing more can be written: the reader is gone or accepts nothing, or the disk is full.
        pub unheard: bool = false,
        failure: Option<Failure> = None,
    }
}

impl EventWriter {
    /// Returns the failure about output that could not be written, once.
    pub fn left(&mut self) -> Option<Failure> {
        self.failure.take()
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
        self.wrote(written);
        Ok(())
    }

    /// Writes the last one, with the newest number, which holds the report.
    pub fn report(&mut self, report: &impl Serialize, at: Duration) {
        let line = event::json_report(report, self.reported, at);
        self.put(|out| {
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")
        });
    }

    /// Writes what is no event.
    pub fn put(&mut self, text: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) {
        let mut out = BufWriter::with_capacity(64 << 10, &mut self.out);
        let written = text(&mut out).and_then(|()| out.flush());
        // Output left in the buffer has no destination.
        let _ = out.into_parts();
        self.wrote(written);
    }

    /// A failed write ends the run in order: documents are written, and waiting events delivered.
    fn wrote(&mut self, written: io::Result<()>) {
        let Err(error) = written else { return };
        // A reader that has left is gone for later writes too, which the writer says of each error.
        if !self.unheard && error.kind() != io::ErrorKind::BrokenPipe {
            let failure = match error.kind() {
                io::ErrorKind::TimedOut => "its reader took nothing more, and the last lines are lost".to_owned(),
                _ => format!("{error}: the last lines are lost"),
            };
            self.failure = Some(
                Failure::new(format!("standard output: {failure}"))
                    .hint("a file with room, or --otlp with --queue, keeps events while no reader takes them"),
            );
        }
        self.unheard = true;
    }
}

/// The time by the clock.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_full_disk_is_a_failure_at_the_end_and_does_not_end_the_run_before_its_documents() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let out = StdoutWriter::new(full, Box::new(|| false), Duration::ZERO).unwrap();
        let mut writer = EventWriter::new(Form::Text, out);
        for _ in 0..2 {
            writer.tell(&Event::new("begin", "following"), Duration::ZERO).unwrap();
            assert!(writer.unheard);
        }
        writer.put(|out| out.write_all(b"the report"));
        let failure = writer.left().unwrap();
        assert!(failure.message.contains("No space left"), "{}", failure.message);
    }
}
