//! `bartizan inspect --timing`: times, sizes and losses instead of verdicts.

mod csv;
mod document;
mod text;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bartizan_wire::timing::{Overview, Timed, Timing};
use bartizan_wire::{CaptureError, CaptureReader, Limits};

use super::print;
use crate::{Failure, Outcome};

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;
/// Connections kept for the report; more are in the overview only.
const LISTED: usize = 200_000;

/// How the report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Csv,
}

/// What one capture showed.
struct Timings {
    name: String,
    overview: Overview,
    connections: Vec<Timed>,
    not_listed: u64,
    /// Where the file is cut or damaged.
    damage: Option<String>,
}

/// Reads each file and prints what its packets took.
pub(super) fn run(files: &[std::path::PathBuf], form: Form) -> Result<Outcome, Failure> {
    let (mut all, mut failure) = (Vec::new(), None);
    for file in files {
        match read(file) {
            Ok(timings) => {
                if let Some(damage) = &timings.damage {
                    failure.get_or_insert_with(|| {
                        Failure::new(format!("{}: {damage}", file.display()))
                            .hint("what was read before that is reported")
                    });
                }
                all.push(timings);
            }
            Err(one) => {
                failure.get_or_insert(one);
            }
        }
    }
    if !all.is_empty() {
        print(&match form {
            Form::Text => text::render(&all),
            Form::Json => document::render(&all).map_err(Failure::new)?,
            Form::Csv => csv::render(&all),
        })?;
    }
    failure.map_or(Ok(Outcome::Clean), Err)
}

fn read(path: &Path) -> Result<Timings, Failure> {
    let mut timings = Timings {
        name: path.display().to_string(),
        overview: Overview::default(),
        connections: Vec::new(),
        not_listed: 0,
        damage: None,
    };
    let unreadable = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display())).hint("captures are made with `tcpdump -w FILE`")
    };
    let mut input: Box<dyn io::Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut capture = CaptureReader::new();
    let mut timing = Timing::new(Limits::default());
    let mut piece = vec![0; PIECE];
    let damage = loop {
        let length = match input.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        if length == 0 {
            break capture.finish().err();
        }
        capture.push(&piece[..length]);
        if let Err(error) = packets(&mut capture, &mut timing, &mut timings) {
            break Some(error);
        }
    };
    timing.finish(|timed| timings.add(timed));
    timings.overview = timing.overview().clone();
    timings.connections.sort_by_key(|timed| timed.connection.number);
    if let (Some(error), 0) = (&damage, timing.totals().packets) {
        return Err(
            Failure::new(format!("{}: {error}", path.display())).hint("captures are made with `tcpdump -w FILE`")
        );
    }
    timings.damage = damage.map(|error| error.to_string());
    Ok(timings)
}

fn packets(capture: &mut CaptureReader, timing: &mut Timing, timings: &mut Timings) -> Result<(), CaptureError> {
    while let Some(packet) = capture.next_packet()? {
        timing.packet(&packet, |timed| timings.add(timed));
    }
    Ok(())
}

impl Timings {
    fn add(&mut self, timed: Timed) {
        if self.connections.len() < LISTED {
            self.connections.push(timed);
        } else {
            self.not_listed += 1;
        }
    }
}

/// Nanoseconds as milliseconds.
fn milliseconds(nanoseconds: u64) -> f64 {
    // Captures are shorter than the 104 days that a double counts in nanoseconds exactly.
    nanoseconds as f64 / 1e6
}

/// A ratio; none where there is nothing below the line.
fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}
