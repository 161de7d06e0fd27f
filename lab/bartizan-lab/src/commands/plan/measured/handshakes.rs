//! TLS handshakes between two ends of ours: their time and their bytes.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_budget::mtu::{Certificates, TlsHandshake, segment};
use bartizan_budget::overhead::IpVersion;
use bartizan_budget::unit::Bytes;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section};
use bartizan_registry::{Header, group_named, signature_named};
use bartizan_simulation::cost::{Authentication, CryptoCost, Engine, Suite};
use serde::Serialize;
use serde_json::Value;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute, numeric};
use crate::Failure;
use bartizan_terminal::answer::number;

/// TCP timestamps with padding (RFC 7323, section 3.2), which every segment has.
const TIMESTAMPS: u64 = 12;

/// Negotiated parameters, in a part of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Combination {
    part: String,
    group: String,
    certificate: String,
    chain: u8,
    mtu: u64,
}

#[derive(Default)]
struct Measured {
    time_ms: Vec<f64>,
    bytes: Vec<f64>,
    packets: Vec<f64>,
}

#[derive(Serialize)]
struct Row {
    part: String,
    group: String,
    certificate: String,
    chain: u8,
    n: usize,
    measured_us: f64,
    /// None where the time beyond primitives is taken from this combination.
    predicted_us: Option<f64>,
    error: Option<f64>,
    measured_bytes: f64,
    predicted_bytes: u64,
    bytes_error: f64,
}

/// A combination with what is known of it before anything is fitted.
struct Known<'a> {
    of: &'a Combination,
    n: usize,
    measured_us: f64,
    measured_bytes: f64,
    primitives_us: f64,
    predicted: Sent,
}

pub(super) fn compare(files: &[File], costs: &Costs) -> Result<Option<Compared>, Failure> {
    let (measured, mut sources) = read(files);
    let mut known: BTreeMap<&str, Vec<Known<'_>>> = BTreeMap::new();
    for (of, values) in &measured {
        if let Some(one) = Known::of(of, values, &costs.crypto)? {
            known.entry(&of.part).or_default().push(one);
        }
    }
    let rows: Vec<Row> = known.values().flat_map(|of| rows(of)).collect();
    let errors: Vec<f64> = rows.iter().filter_map(|row| row.error).collect();
    if errors.is_empty() {
        return Ok(None);
    }
    let bytes: Vec<f64> = rows.iter().map(|row| row.bytes_error).collect();
    sources.push(Source::record(
        costs.name.clone(),
        format!("time of primitives, {}", costs.crypto.described()),
    ));
    sources.push(Source::formula(
        "time = primitives + a + b * segments with data; a and b from the two combinations of a part with the fewest and the most segments",
    ));
    sources.push(Source::standard("RFC 9846, RFC 9293", "messages and segments"));
    Ok(Some(Compared {
        what: "TLS handshakes",
        answer: format!(
            "Times of TLS handshakes are predicted to {} % (median of {} combinations), their bytes to {} %.",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len(),
            number(median_absolute(&bytes) * 100.0, 1)
        ),
        errors,
        sections: vec![section(&rows)],
        limits: vec![
            "Of TLS handshakes, time beyond primitives is taken from two combinations of each part; acknowledgements without data are not predicted."
                .to_owned(),
            format!(
                "The primitives are those of {}; where a record is of another processor (--cost, --scale), its primitives took another time.",
                costs.crypto.described()
            ),
        ],
        sources,
        rows: super::rows(&rows)?,
    }))
}

fn read(files: &[File]) -> (BTreeMap<Combination, Measured>, Vec<Source>) {
    let mut measured: BTreeMap<Combination, Measured> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let before = measured.len();
        for (record, values) in file.measured() {
            let level = |factor: &str| record.levels.level(factor);
            let (Some(group), Some(certificate), Some("bartizan"), Some(times)) = (
                level("group"),
                level("certificate"),
                level("server"),
                values.get("handshake-time"),
            ) else {
                continue;
            };
            let combination = Combination {
                part: format!("{} {}", record.experiment, record.part),
                group: group.to_owned(),
                certificate: certificate.to_owned(),
                chain: numeric(record, "chain").unwrap_or(1),
                mtu: file.fact(record, "mtu").and_then(Value::as_u64).unwrap_or(1500),
            };
            let of = measured.entry(combination).or_default();
            of.time_ms.extend(times);
            of.bytes.extend(values.get("handshake-bytes").into_iter().flatten());
            of.packets.extend(values.get("handshake-packets").into_iter().flatten());
        }
        if measured.len() > before {
            sources.push(file.source("TLS handshakes between two ends of Bartizan's"));
        }
    }
    (measured, sources)
}

/// Segments with data of a handshake and the bytes of their frames.
#[derive(Clone, Copy)]
struct Sent {
    segments: u64,
    frame_bytes: u64,
}

impl Sent {
    /// ClientHello, the server's flight, the client's.
    fn of(combination: &Combination) -> Result<Option<Self>, Failure> {
        let scheme = match combination.certificate.as_str() {
            "ecdsa-p256" => "ecdsa_secp256r1_sha256".to_owned(),
            other => other.replace('-', ""),
        };
        let (Some(group), Some(scheme)) = (group_named(&combination.group), signature_named(&scheme)) else {
            return Ok(None);
        };
        let handshake = TlsHandshake {
            group,
            scheme,
            certificates: Certificates {
                chain: combination.chain,
                extra: Bytes::from(Certificates::CAPTURED_EXTRA),
            },
        };
        let mtu = Bytes::new(combination.mtu).map_err(Failure::usage)?;
        let (Some(server), Some(client), Some(room)) = (
            handshake.server_flight().map_err(Failure::usage)?,
            handshake.client_flight().map_err(Failure::usage)?,
            segment(mtu, IpVersion::V4),
        ) else {
            return Ok(None);
        };
        let around = u64::from(Header::ETHERNET.bytes + Header::IPV4.bytes + Header::TCP.bytes) + TIMESTAMPS;
        let flights = [handshake.client_hello(), server, client];
        let segments: u64 = flights.iter().filter_map(|flight| flight.pieces_of(room)).sum();
        let data: Bytes = flights.into_iter().sum();
        Ok(Some(Self {
            segments,
            frame_bytes: data.value() + segments * around,
        }))
    }
}

impl<'a> Known<'a> {
    fn of(of: &'a Combination, values: &Measured, crypto: &CryptoCost) -> Result<Option<Self>, Failure> {
        let (Some(time_ms), Some(bytes), Some(predicted)) =
            (median(&values.time_ms), median(&values.bytes), Sent::of(of)?)
        else {
            return Ok(None);
        };
        let Ok(authentication) = Authentication::named(&of.certificate) else {
            return Ok(None);
        };
        let suite = Suite {
            engine: Engine::Bartizan,
            key_exchange: of.group.clone(),
            authentication,
            chain: of.chain,
            resumes: false,
        };
        let exchanges = suite.primitives(crypto).map_err(Failure::usage)?;
        // The clock runs from ClientHello to the client's Finished: its key pair was made before,
        // its signature is verified after.
        let [hello, finished] = &exchanges[..] else {
            return Ok(None);
        };
        Ok(Some(Self {
            of,
            n: values.time_ms.len(),
            measured_us: time_ms * 1e3,
            measured_bytes: bytes,
            primitives_us: hello.responder_us + hello.after_us + finished.before_us,
            predicted,
        }))
    }

    fn beyond_us(&self) -> f64 {
        self.measured_us - self.primitives_us
    }
}

/// The combinations of a part; two of them say what everything but primitives takes.
fn rows(known: &[Known<'_>]) -> Vec<Row> {
    let fewest = known.iter().min_by_key(|one| one.predicted.segments);
    let most = known.iter().max_by_key(|one| one.predicted.segments);
    let (Some(fewest), Some(most)) = (fewest, most) else {
        return Vec::new();
    };
    let apart = most.predicted.segments - fewest.predicted.segments;
    if apart == 0 {
        return Vec::new();
    }
    let each = (most.beyond_us() - fewest.beyond_us()) / apart as f64;
    let row = |one: &Known<'_>| {
        let is_reference = std::ptr::eq(one, fewest) || std::ptr::eq(one, most);
        let more = (one.predicted.segments - fewest.predicted.segments) as f64;
        let predicted_us = (!is_reference).then(|| one.primitives_us + fewest.beyond_us() + each * more);
        Row {
            part: one.of.part.clone(),
            group: one.of.group.clone(),
            certificate: one.of.certificate.clone(),
            chain: one.of.chain,
            n: one.n,
            measured_us: one.measured_us,
            predicted_us,
            error: predicted_us.map(|predicted| predicted / one.measured_us - 1.0),
            measured_bytes: one.measured_bytes,
            predicted_bytes: one.predicted.frame_bytes,
            bytes_error: one.predicted.frame_bytes as f64 / one.measured_bytes - 1.0,
        }
    };
    known.iter().map(row).collect()
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("TLS handshakes");
    let mut grid = Grid::under(
        "from ClientHello to the client's Finished, microseconds; bytes of frames in both directions",
        [
            "part",
            "group",
            "certificate",
            "#chain",
            "#n",
            "#measured us",
            "#predicted us",
            "#error %",
            "#bytes",
            "#predicted",
            "#error %",
        ],
    );
    for row in rows {
        grid.push([
            Field::from(row.part.clone()),
            Field::from(row.group.clone()),
            Field::from(row.certificate.clone()),
            Field::from(row.chain.to_string()),
            Field::from(row.n.to_string()),
            Field::from(number(row.measured_us, 0)),
            Field::from(
                row.predicted_us
                    .map_or_else(|| "taken from it".to_owned(), |time| number(time, 0)),
            ),
            row.error.map_or_else(|| Field::from("-"), error_field),
            Field::from(number(row.measured_bytes, 0)),
            Field::from(row.predicted_bytes.to_string()),
            error_field(row.bytes_error),
        ]);
    }
    section.tables.push(grid);
    let mut points: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, row.predicted_us?))).collect();
    points.sort_by(|one, other| one.0.measured_bytes.total_cmp(&other.0.measured_bytes));
    let line = |name: &str, tone, of: &dyn Fn(&(&Row, f64)) -> f64| Line {
        name: name.to_owned(),
        tone,
        points: points
            .iter()
            .map(|point| Point {
                x: point.0.measured_bytes,
                value: of(point),
                interval: None,
                published: Vec::new(),
            })
            .collect(),
    };
    let items = vec![
        line("predicted", 0, &|point| point.1),
        line("measured", 1, &|point| point.0.measured_us),
    ];
    let axis = Axis {
        quantity: "handshake".to_owned(),
        unit: Shown::in_unit("µs"),
    };
    section.drawings.push((
        lines(
            "TLS handshakes",
            &axis,
            "bytes of the handshake",
            &[Panel { heading: None, items }],
        ),
        "Combinations in the order of their bytes.".to_owned(),
    ));
    section
}
