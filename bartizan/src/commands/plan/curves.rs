//! Processing delay curves: the published one, a table of the user, records of the lab.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use bartizan_budget::Source;
use bartizan_budget::curve::{CurveError, DelayCurve};
use bartizan_budget::fronthaul::Mode;
use bartizan_budget::published;
use bartizan_budget::unit::{Bytes, Microseconds};
use bartizan_registry::Header;
use bartizan_stats::Sample;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::Failure;

/// The word for the curve that a publication prints.
pub(super) const PUBLISHED: &str = "published";
/// A table of delays is smaller than this.
const MOST_TABLE: u64 = 1 << 20;
/// Name of half a round trip in experiments with echoes of several sizes.
const ECHO: &str = "half-round-trip";
/// Name of the fronthaul echo's time: one of the two directions.
const ONE_WAY: &str = "one-way";
/// Headers around the data of a kernel's echo in a frame.
const AROUND_ECHO: [Header; 3] = [Header::ETHERNET, Header::IPV4, Header::ICMP_ECHO];

bartizan_registry::made! {
    /// Curves by name.
    pub(super) struct Curves,
    /// Those of a file by its name, or the published ones.
    pub(super) read(name: &str) -> Result<Self, Failure> {
        let curves = if name == PUBLISHED {
            Mode::ALL
                .into_iter()
                .map(|mode| Ok((word(mode).to_owned(), published::macsec_added(mode)?)))
                .collect::<Result<_, CurveError>>()
                .map_err(Failure::new)?
        } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            of_records(name)?
        } else {
            of_table(name)?
        };
        name: String = name.to_owned(),
        curves: Vec<(String, DelayCurve)>,
    }
}

impl Curves {
    /// The first curve that has one of these names.
    pub(super) fn named(&self, names: &[&str]) -> Option<&DelayCurve> {
        let of = |name: &&str| self.curves.iter().find(|(known, _)| known == name);
        names.iter().find_map(of).map(|(_, curve)| curve)
    }

    /// The same, or what there is in its place.
    pub(super) fn needed(&self, names: &[&str]) -> Result<&DelayCurve, Failure> {
        self.named(names).ok_or_else(|| {
            let known: Vec<_> = self.curves.iter().map(|(name, _)| name.as_str()).collect();
            Failure::usage(format!(
                "{} has no delay curve called {}",
                self.name,
                names.join(" or ")
            ))
            .hint(format!("it has {}", known.join(", ")))
        })
    }
}

/// Name of a mode in the lab's fronthaul records, with keys of a suite's length.
pub(super) const fn lab_word(mode: Mode, is_256: bool) -> &'static str {
    match (mode, is_256) {
        (Mode::Encryption, false) => "encrypted-128",
        (Mode::Encryption, true) => "encrypted-256",
        (Mode::Integrity, false) => "integrity-128",
        (Mode::Integrity, true) => "integrity-256",
        (Mode::Unprotected, _) => "none",
    }
}

/// The word for a mode of MACsec in a table's heading.
pub(super) const fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Encryption => "encryption",
        Mode::Integrity => "integrity",
        Mode::Unprotected => "none",
    }
}

fn of_table(name: &str) -> Result<Vec<(String, DelayCurve)>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("--delay-curve {name}: {error}")).hint(format!(
            "write {PUBLISHED}, a table of commas (size,delay), or records of e2-delay-by-size or fh-delay-by-size (.jsonl or .jsonl.gz)"
        ))
    };
    let path = Path::new(name);
    let length = fs::metadata(path).map_err(failed)?.len();
    if length > MOST_TABLE {
        return Err(Failure::usage(format!(
            "{name}: {length} bytes, a table of delays has {MOST_TABLE} at most"
        )));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    DelayCurve::parse_csv(&text, &Source::file(name)).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// The fields of a record of the laboratory that a curve needs (schema `bartizan-lab-trial/1`).
#[derive(Deserialize)]
struct Record {
    run: String,
    levels: BTreeMap<String, String>,
    environment: Environment,
    outcome: String,
    #[serde(default)]
    values: BTreeMap<String, Vec<f64>>,
}

#[derive(Deserialize)]
struct Environment {
    kernel_kind: String,
}

impl Record {
    /// Bytes of the unprotected frame that an echo's trial sent; none where they do not follow from its levels.
    ///
    /// An echo of the kernel (ping) has its data in ICMP and IP; the fronthaul's echo has frames of the size itself. Messages
    /// by SCTP or UDP are bundled by the kernel.
    fn echo_frame(&self) -> Option<u64> {
        let size: u64 = self.levels.get("size")?.parse().ok()?;
        match self.levels.get("transport").map(String::as_str) {
            Some("icmp") => {
                let around: Bytes = AROUND_ECHO.iter().map(|header| Bytes::from(header.bytes)).sum();
                Some(size + around.value())
            }
            None if self.values.contains_key(ONE_WAY) => Some(size),
            _ => None,
        }
    }
}

/// The measured trials of a file of records; lines of other schemas and damaged lines are passed over.
fn records(name: &str) -> Result<Vec<Record>, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("{name}: {error}"));
    let file = fs::File::open(name).map_err(failed)?;
    let input: Box<dyn BufRead> = if name.ends_with(".gz") {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    let mut records = Vec::new();
    for line in input.lines() {
        if let Ok(record) = serde_json::from_str::<Record>(&line.map_err(failed)?)
            && record.outcome == "measured"
        {
            records.push(record);
        }
    }
    Ok(records)
}

/// Half round trips of echoes by protection and size: medians of the trials' medians.
fn of_records(name: &str) -> Result<Vec<(String, DelayCurve)>, Failure> {
    let mut medians: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    let (mut guest, mut run) = (false, String::new());
    for record in records(name)? {
        let (Some(halves), Some(frame), Some(protection)) = (
            record.values.get(ECHO),
            record.echo_frame(),
            record.levels.get("protection"),
        ) else {
            continue;
        };
        let Ok(sample) = Sample::new(halves.iter().copied()) else {
            continue;
        };
        guest |= record.environment.kernel_kind == "guest";
        run.clone_from(&record.run);
        medians
            .entry((protection.to_owned(), frame))
            .or_default()
            .push(sample.median());
    }
    let kernel = if guest {
        ", on a guest's kernel, whose speed is not this machine's"
    } else {
        ""
    };
    let source = Source::record(name, format!("run {run}, median half round trip of an echo{kernel}"));
    let mut points: BTreeMap<String, Vec<(Bytes, Microseconds)>> = BTreeMap::new();
    for ((protection, size), values) in medians {
        let Ok(sample) = Sample::new(values) else { continue };
        let (size, delay) = (
            Bytes::new(size).map_err(Failure::usage)?,
            Microseconds::new(sample.median()).map_err(Failure::usage)?,
        );
        points.entry(protection).or_default().push((size, delay));
    }
    if points.is_empty() {
        return Err(Failure::usage(format!("{name} has no {ECHO} by protection and size"))
            .hint("records of the experiments e2-delay-by-size and fh-delay-by-size have it: bartizan lab run ID"));
    }
    points
        .into_iter()
        .map(|(name, points)| Ok((name, DelayCurve::new(points, source.clone()).map_err(Failure::usage)?)))
        .collect()
}
