//! IKEv2 set-ups by round trip and loss.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_budget::mtu::{Leg, Port, Retransmission, SetUp, set_up_within, share_interval};
use bartizan_budget::unit::{Bytes, Microseconds, Share};
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section, Tone};
use serde::Serialize;

use super::super::costs::Costs;
use super::fragments::handshake;
use super::{Compared, File, TARGET, error_field, median, median_absolute, numeric};
use crate::Failure;
use bartizan_terminal::answer::number;

/// By when a set-up under loss is to have ended: between a first retransmission of strongSwan's settings and none.
const DEADLINE_MS: f64 = 900.0;

/// A combination of the experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Combination {
    configuration: String,
    key_exchange: String,
    round_trip_ms: u32,
    loss_percent: u32,
}

#[derive(Default)]
struct Measured {
    total_ms: Vec<f64>,
    packets: Vec<f64>,
}

#[derive(Serialize)]
struct Rows {
    times: Vec<Time>,
    under_loss: Vec<UnderLoss>,
}

/// A set-up without loss.
#[derive(Serialize)]
struct Time {
    configuration: String,
    key_exchange: String,
    round_trip_ms: u32,
    n: usize,
    measured_ms: f64,
    predicted_ms: f64,
    error: f64,
    measured_packets: f64,
    predicted_packets: u64,
}

/// Set-ups under loss.
#[derive(Serialize)]
struct UnderLoss {
    configuration: String,
    key_exchange: String,
    round_trip_ms: u32,
    loss_percent: u32,
    n: usize,
    measured: f64,
    interval: (f64, f64),
    predicted: f64,
    within: bool,
}

pub(super) fn compare(files: &[File], _: &Costs) -> Result<Option<Compared>, Failure> {
    let (measured, sources) = read(files);
    if measured.is_empty() {
        return Ok(None);
    }
    let rows = Rows {
        times: times(&measured),
        under_loss: under_loss(&measured)?,
    };
    if rows.times.is_empty() {
        return Err(Failure::usage("no set-up with and without delay is in these records")
            .hint("records of the experiment sa-setup-path have both"));
    }
    Ok(Some(Compared {
        what: "IKEv2 set-ups by round trip",
        errors: rows.times.iter().map(|time| time.error).collect(),
        answer: answer(&rows),
        sections: vec![without_loss(&rows), with_loss(&rows)],
        limits: vec![
            "Of IKEv2 set-ups, what the ends compute is taken from the same records without delay, not predicted."
                .to_owned(),
            "Few set-ups of a combination met a loss: intervals are wide.".to_owned(),
        ],
        sources,
        rows: super::rows(&rows)?,
    }))
}

/// Set-ups by combination, and the files that they are in.
fn read(files: &[File]) -> (BTreeMap<Combination, Measured>, Vec<Source>) {
    let mut measured: BTreeMap<Combination, Measured> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let before = measured.len();
        for (record, values) in file.measured() {
            let (Some(key_exchange), Some(round_trip_ms), Some(loss_percent)) = (
                record.levels.level("key-exchange"),
                numeric(record, "round-trip"),
                numeric(record, "loss"),
            ) else {
                continue;
            };
            let combination = Combination {
                // The part without the factor runs as `bartizan up` configures charon.
                configuration: record.levels.level("configuration").unwrap_or("bartizan").to_owned(),
                key_exchange: key_exchange.to_owned(),
                round_trip_ms,
                loss_percent,
            };
            let of = measured.entry(combination).or_default();
            of.total_ms.extend(values.get("total").into_iter().flatten());
            of.packets.extend(values.get("packets").into_iter().flatten());
        }
        if measured.len() > before {
            sources.push(file.source("strongSwan at both ends"));
        }
    }
    sources.push(Source::standard(
        "RFC 7296, RFC 7383, RFC 9242",
        "a round trip for each exchange",
    ));
    (measured, sources)
}

/// Without NAT all stays on port 500.
const PORT: Port = Port::P500;

/// Time for computation at both ends: a set-up without delay and loss.
fn computing(measured: &BTreeMap<Combination, Measured>, key_exchange: &str) -> Option<f64> {
    let still = measured
        .iter()
        .filter(|(of, _)| of.key_exchange == key_exchange && of.round_trip_ms == 0 && of.loss_percent == 0);
    let all: Vec<f64> = still.flat_map(|(_, of)| of.total_ms.iter().copied()).collect();
    median(&all)
}

fn times(measured: &BTreeMap<Combination, Measured>) -> Vec<Time> {
    let mut times = Vec::new();
    for (of, values) in measured
        .iter()
        .filter(|(of, _)| of.loss_percent == 0 && of.round_trip_ms > 0)
    {
        let mtu = Bytes::from(1500_u32);
        let Some(exchanges) =
            handshake(&of.key_exchange, "ecdsa-p256", PORT).and_then(|handshake| handshake.exchanges(mtu))
        else {
            continue;
        };
        let (Some(own), Some(measured_ms), Some(packets)) = (
            computing(measured, &of.key_exchange),
            median(&values.total_ms),
            median(&values.packets),
        ) else {
            continue;
        };
        let predicted_ms = own + exchanges.len() as f64 * f64::from(of.round_trip_ms);
        times.push(Time {
            configuration: of.configuration.clone(),
            key_exchange: of.key_exchange.clone(),
            round_trip_ms: of.round_trip_ms,
            n: values.total_ms.len(),
            measured_ms,
            predicted_ms,
            error: predicted_ms / measured_ms - 1.0,
            measured_packets: packets,
            predicted_packets: exchanges
                .iter()
                .map(|exchange| exchange.request.packets + exchange.response.packets)
                .sum(),
        });
    }
    times
}

fn under_loss(measured: &BTreeMap<Combination, Measured>) -> Result<Vec<UnderLoss>, Failure> {
    let mut rows = Vec::new();
    for (of, values) in measured.iter().filter(|(of, _)| of.loss_percent > 0) {
        let mtu = Bytes::from(1500_u32);
        let Some(exchanges) =
            handshake(&of.key_exchange, "ecdsa-p256", PORT).and_then(|handshake| handshake.exchanges(mtu))
        else {
            continue;
        };
        let Some(own) = computing(measured, &of.key_exchange) else {
            continue;
        };
        let timer = if of.configuration == "default" {
            Retransmission::new(Retransmission::STRONGSWAN).map_err(Failure::usage)?
        } else {
            let most = Microseconds::new(Retransmission::OURS_MOST).map_err(Failure::usage)?;
            Retransmission::new(Retransmission::OURS)
                .map_err(Failure::usage)?
                .no_longer_than(most)
        };
        let packets = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let set_up = SetUp {
            legs: exchanges
                .iter()
                .map(|exchange| Leg::Exchange {
                    request: packets(exchange.request.packets),
                    response: packets(exchange.response.packets),
                    timer,
                })
                .collect(),
            round_trip_us: Microseconds::new(f64::from(of.round_trip_ms) * 1e3).map_err(Failure::usage)?,
        };
        let deadline = Microseconds::new((DEADLINE_MS - own).max(0.0) * 1e3).map_err(Failure::usage)?;
        let loss = Share::new(f64::from(of.loss_percent) / 100.0).map_err(Failure::usage)?;
        let predicted = set_up_within(&set_up, loss, deadline, 20_000, 1)
            .map_err(Failure::usage)?
            .probability;
        let n = values.total_ms.len();
        if n == 0 {
            continue;
        }
        let in_time = values.total_ms.iter().filter(|total| **total <= DEADLINE_MS).count();
        let interval = share_interval(in_time as f64, n as f64);
        rows.push(UnderLoss {
            configuration: of.configuration.clone(),
            key_exchange: of.key_exchange.clone(),
            round_trip_ms: of.round_trip_ms,
            loss_percent: of.loss_percent,
            n,
            measured: in_time as f64 / n as f64,
            interval,
            predicted,
            within: (interval.0..=interval.1).contains(&predicted),
        });
    }
    Ok(rows)
}

fn answer(rows: &Rows) -> String {
    let agree = rows
        .times
        .iter()
        .filter(|time| time.measured_packets == time.predicted_packets as f64)
        .count();
    let within = rows.under_loss.iter().filter(|row| row.within).count();
    let errors: Vec<f64> = rows.times.iter().map(|time| time.error).collect();
    format!(
        "The median absolute error of set-up times is {} % over {} combinations without loss (at most {} % is the aim); packets agree in {agree}. Of {} shares that ended \
         within {DEADLINE_MS} ms under loss, {within} predictions lie within the measured 95 % interval.",
        number(median_absolute(&errors) * 100.0, 1),
        rows.times.len(),
        number(TARGET * 100.0, 0),
        rows.under_loss.len()
    )
}

fn without_loss(rows: &Rows) -> Section {
    let mut section = Section::new("IKEv2 set-ups without loss");
    let mut grid = Grid::under(
        "median milliseconds from the first IKE_SA_INIT to the IKE_AUTH response",
        [
            "configuration",
            "key exchange",
            "#round trip ms",
            "#n",
            "#measured",
            "#predicted",
            "#error %",
            "#packets",
            "#predicted",
        ],
    );
    for time in &rows.times {
        grid.push([
            Field::from(time.configuration.clone()),
            Field::from(time.key_exchange.clone()),
            Field::from(time.round_trip_ms.to_string()),
            Field::from(time.n.to_string()),
            Field::from(number(time.measured_ms, 2)),
            Field::from(number(time.predicted_ms, 2)),
            error_field(time.error),
            Field::from(number(time.measured_packets, 1)),
            Field::from(time.predicted_packets.to_string()),
        ]);
    }
    section.tables.push(grid);
    let mut items: Vec<Line> = Vec::new();
    for time in rows.times.iter().filter(|time| time.configuration == "bartizan") {
        let point = Point {
            x: f64::from(time.round_trip_ms),
            value: time.measured_ms,
            interval: None,
            published: vec![time.predicted_ms],
        };
        match items.iter_mut().find(|line| line.name == time.key_exchange) {
            Some(line) => line.points.push(point),
            None => items.push(Line {
                name: time.key_exchange.clone(),
                tone: items.len(),
                points: vec![point],
            }),
        }
    }
    if !items.is_empty() {
        let axis = Axis {
            quantity: "set-up".to_owned(),
            unit: Shown::in_unit("ms"),
        };
        section.drawings.push((
            lines(
                "Set-up by round trip",
                &axis,
                "milliseconds of round trip",
                &[Panel { heading: None, items }],
            ),
            "Medians as measured, joined; diamonds are what is predicted.".to_owned(),
        ));
    }
    section
}

fn with_loss(rows: &Rows) -> Section {
    let mut section = Section::new("IKEv2 set-ups under loss");
    let mut grid = Grid::under(
        format!(
            "share of set-ups that ended within {DEADLINE_MS} ms, that is without a retransmission; interval by Wilson"
        ),
        [
            "configuration",
            "key exchange",
            "#round trip ms",
            "#loss %",
            "#n",
            "#measured",
            "#95 %",
            "#predicted",
            "within",
        ],
    );
    for row in &rows.under_loss {
        let (words, tone) = if row.within {
            ("yes", Tone::Good)
        } else {
            ("no", Tone::Bad)
        };
        grid.push([
            Field::from(row.configuration.clone()),
            Field::from(row.key_exchange.clone()),
            Field::from(row.round_trip_ms.to_string()),
            Field::from(row.loss_percent.to_string()),
            Field::from(row.n.to_string()),
            Field::from(format!("{:.3}", row.measured)),
            Field::from(format!("{:.3}-{:.3}", row.interval.0, row.interval.1)),
            Field::from(format!("{:.3}", row.predicted)),
            Field::toned(words, tone),
        ]);
    }
    section.tables.push(grid);
    section
}
