//! `bartizan inspect --timing`: times, sizes and losses instead of verdicts.

mod csv;
mod document;
mod text;

use std::fs::File;
use std::io;
use std::path::Path;

use bartizan_follow::packets;
use bartizan_wire::timing::{Overview, Timed, Timing};
use bartizan_wire::{CapturePart, Limits};

use super::print;
use crate::output::errln;
use crate::{Failure, Outcome};

/// Connections kept for the report; more are in the overview only.
const LISTED: usize = 200_000;

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Csv,
}

/// Results of one capture.
struct Timings {
    name: String,
    overview: Overview,
    connections: Vec<Timed>,
    not_listed: u64,
    /// Packets of connections beyond those that memory allowed to follow.
    untracked: u64,
    /// Cut or damage of the file.
    damage: Option<String>,
}

/// Reads each file and prints what its packets took.
pub(super) fn run(files: &[std::path::PathBuf], form: Form, limits: Limits) -> Result<Outcome, Failure> {
    let (mut all, mut failure) = (Vec::new(), None);
    for file in files {
        match read(file, limits) {
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
    for timings in all.iter().filter(|timings| form == Form::Csv && timings.not_listed > 0) {
        errln!(
            "warning: {}: {} connections beyond {LISTED} have no line",
            timings.name,
            timings.not_listed
        );
    }
    let mut outcome = Outcome::Clean;
    for timings in all.iter().filter(|timings| timings.untracked > 0) {
        errln!(
            "warning: {}: {} packets of connections beyond those that memory allowed to follow (`--memory`): they are not timed",
            timings.name,
            timings.untracked
        );
        outcome = Outcome::Finding;
    }
    failure.map_or(Ok(outcome), Err)
}

fn read(path: &Path, limits: Limits) -> Result<Timings, Failure> {
    let mut timings = Timings {
        name: path.display().to_string(),
        overview: Overview::default(),
        connections: Vec::new(),
        not_listed: 0,
        untracked: 0,
        damage: None,
    };
    let unreadable = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display())).hint("captures are made with `tcpdump -w FILE`")
    };
    let input: Box<dyn io::Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut timing = Timing::new(limits);
    let ended = packets::read(input, |part| {
        if let CapturePart::Packet(packet) = part {
            timing.packet(&packet, |timed| timings.add(timed));
        }
    })
    .map_err(unreadable)?;
    timing.finish(|timed| timings.add(timed));
    timings.overview = timing.overview.clone();
    timings.untracked = timing.totals().untracked;
    timings.connections.sort_by_key(|timed| timed.connection.number);
    if let (Some(error), 0) = (&ended.damage, timing.totals().packets) {
        return Err(
            Failure::new(format!("{}: {error}", path.display())).hint("captures are made with `tcpdump -w FILE`")
        );
    }
    timings.damage = ended.damage.map(|error| error.to_string());
    Ok(timings)
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
