//! `bartizan plan measured`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bartizan_lab::runner::trial::{KernelKind, Outcome as Trial, Records};
use bartizan_plan::Source;
use bartizan_plan::mtu::{Certificates, IkeHandshake, Leg, Port, Retransmission, SetUp, set_up_within, share_interval};
use bartizan_plan::overhead::IpVersion;
use bartizan_plan::unit::{Bytes, Microseconds, Share};
use bartizan_registry::{Transform, TransformKind, signature_named, transform_named};
use bartizan_report::plot::{Axis, Line, Panel, Point, lines};
use bartizan_report::quantity::Shown;
use bartizan_report::sheet::{Field, Grid, Section, Sheet, Tone};
use bartizan_stats::Sample;
use serde::Serialize;

use super::answer::{Form, again, cited, give, number};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-measured/1";
/// By when a set-up under loss is to have ended: between a first retransmission of strongSwan's settings and none.
const DEADLINE_MS: f64 = 900.0;
/// A median absolute error up to this is what the planner is to reach.
const TARGET: f64 = 0.15;

/// Compare what the planner predicts of IKEv2 set-ups with what the lab measured: times by round trip, packets, and how many end in time under loss.
///
/// Records are those of the experiment sa-setup-path: strongSwan 6.1.0 at both ends of a path that delays and loses. What the ends compute is taken from set-ups
/// without delay of the same records; the rest is predicted.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan measured experiments/sa-setup-path/records/RUN.jsonl.gz\n  \
    bartizan plan measured results/sa-setup-path/RUN.jsonl --out plan\n  \
    bartizan plan measured results/sa-setup-path/RUN.jsonl --json | jq .median_absolute_error")]
pub(crate) struct Args {
    /// Records of sa-setup-path (.jsonl, .jsonl.gz)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    form: Form,
}

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
struct Report {
    schema: &'static str,
    /// Of times without loss.
    median_absolute_error: f64,
    target: f64,
    times: Vec<Time>,
    under_loss: Vec<UnderLoss>,
    sources: Vec<Source>,
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

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let (measured, guest) = read(&args.files)?;
    let (times, under_loss) = (times(&measured)?, under_loss(&measured)?);
    let error = Sample::new(times.iter().map(|time| time.error.abs())).map(|sample| sample.median());
    let median_absolute_error = error.map_err(|_| {
        Failure::usage("no set-up with and without delay is in these records")
            .hint("records of the experiment sa-setup-path have both")
    })?;
    let kernel = if guest { ", on a guest's kernel" } else { "" };
    let mut sources: Vec<Source> = args
        .files
        .iter()
        .map(|file| Source::record(file.display().to_string(), format!("strongSwan at both ends{kernel}")))
        .collect();
    sources.push(Source::standard(
        "RFC 7296, RFC 7383, RFC 9242",
        "a round trip for each exchange",
    ));
    let report = Report {
        schema: SCHEMA,
        median_absolute_error,
        target: TARGET,
        times,
        under_loss,
        sources,
    };
    give("measured", &sheet(&report), &report, &args.form)?;
    Ok(if report.median_absolute_error > TARGET {
        Outcome::Finding
    } else {
        Outcome::Clean
    })
}

/// Set-ups by combination, and whether any ran on a guest's kernel.
fn read(files: &[PathBuf]) -> Result<(BTreeMap<Combination, Measured>, bool), Failure> {
    let mut guest = false;
    let mut measured: BTreeMap<Combination, Measured> = BTreeMap::new();
    for file in files {
        for record in &trials(file)?.trials {
            let Trial::Measured { values, .. } = &record.outcome else {
                continue;
            };
            let level = |factor: &str| record.levels.level(factor);
            let number = |factor: &str| level(factor).and_then(|level| level.parse::<u32>().ok());
            let (Some(key_exchange), Some(round_trip_ms), Some(loss_percent)) =
                (level("key-exchange"), number("round-trip"), number("loss"))
            else {
                continue;
            };
            let combination = Combination {
                // The part without the factor runs as `bartizan up` configures charon.
                configuration: level("configuration").unwrap_or("bartizan").to_owned(),
                key_exchange: key_exchange.to_owned(),
                round_trip_ms,
                loss_percent,
            };
            guest |= record.environment.kernel_kind == KernelKind::Guest;
            let of = measured.entry(combination).or_default();
            of.total_ms.extend(values.get("total").into_iter().flatten());
            of.packets.extend(values.get("packets").into_iter().flatten());
        }
    }
    if measured.is_empty() {
        return Err(
            Failure::usage("these records have no set-up by key exchange, round trip and loss")
                .hint("records of the experiment sa-setup-path have: bartizan lab run sa-setup-path"),
        );
    }
    Ok((measured, guest))
}

fn trials(file: &Path) -> Result<Records, Failure> {
    Records::read(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

fn median(values: &[f64]) -> Option<f64> {
    Sample::new(values.iter().copied()).ok().map(|sample| sample.median())
}

/// The set-up as the planner has it: proposals as strongSwan writes them, one ECDSA certificate at each end.
fn handshake(key_exchange: &str) -> Option<IkeHandshake> {
    let method = |(index, name): (usize, &str)| -> Option<&'static Transform> {
        let name = if index == 0 { name } else { name.split_once('_')?.1 };
        transform_named(TransformKind::KeyExchange, name)
    };
    Some(IkeHandshake {
        key_exchanges: key_exchange.split('-').enumerate().map(method).collect::<Option<_>>()?,
        scheme: signature_named("ecdsa_secp256r1_sha256")?,
        certificates: Certificates {
            chain: 1,
            extra: Bytes::from(Certificates::CAPTURED_EXTRA),
        },
        fragment_size: Some(Bytes::from(IkeHandshake::FRAGMENT_SIZE)),
        // Without NAT all stays on port 500.
        port: Port::P500,
        ip: IpVersion::V4,
    })
}

/// What the ends compute: a set-up without delay and loss.
fn computing(measured: &BTreeMap<Combination, Measured>, key_exchange: &str) -> Option<f64> {
    let still = measured
        .iter()
        .filter(|(of, _)| of.key_exchange == key_exchange && of.round_trip_ms == 0 && of.loss_percent == 0);
    let all: Vec<f64> = still.flat_map(|(_, of)| of.total_ms.iter().copied()).collect();
    median(&all)
}

fn times(measured: &BTreeMap<Combination, Measured>) -> Result<Vec<Time>, Failure> {
    let mut times = Vec::new();
    for (of, values) in measured
        .iter()
        .filter(|(of, _)| of.loss_percent == 0 && of.round_trip_ms > 0)
    {
        let mtu = Bytes::from(1500_u32);
        let Some(exchanges) = handshake(&of.key_exchange).and_then(|handshake| handshake.exchanges(mtu)) else {
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
    Ok(times)
}

fn under_loss(measured: &BTreeMap<Combination, Measured>) -> Result<Vec<UnderLoss>, Failure> {
    let mut rows = Vec::new();
    for (of, values) in measured.iter().filter(|(of, _)| of.loss_percent > 0) {
        let mtu = Bytes::from(1500_u32);
        let Some(exchanges) = handshake(&of.key_exchange).and_then(|handshake| handshake.exchanges(mtu)) else {
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
        let interval = share_interval(in_time as u32, n as u32);
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

fn sheet(report: &Report) -> Sheet {
    let packets = report
        .times
        .iter()
        .filter(|time| time.measured_packets == time.predicted_packets as f64)
        .count();
    let within = report.under_loss.iter().filter(|row| row.within).count();
    Sheet {
        command: "bartizan plan measured".to_owned(),
        title: "IKEv2 set-ups, predicted and measured".to_owned(),
        question: "How far is the planner from what strongSwan takes on a path that delays and loses?".to_owned(),
        answer: format!(
            "The median absolute error of set-up times is {} % over {} combinations without loss (at most {} % is the aim); packets agree in {packets}. Of {} shares that ended within {DEADLINE_MS} ms under \
             loss, {within} predictions lie within the measured 95 % interval.",
            number(report.median_absolute_error * 100.0, 1),
            report.times.len(),
            number(TARGET * 100.0, 0),
            report.under_loss.len()
        ),
        sections: vec![without_loss(report), with_loss(report)],
        limits: vec![
            "What the ends compute is taken from the same records without delay, not predicted.".to_owned(),
            "Few set-ups of a combination met a loss: intervals are wide.".to_owned(),
            "Where a record's kernel is a guest's, computing and waking up take longer than on the machine.".to_owned(),
        ],
        sources: cited(report.sources.iter().cloned()),
        again: again(),
    }
}

fn without_loss(report: &Report) -> Section {
    let mut section = Section::new("without loss");
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
    for time in &report.times {
        let tone = if time.error.abs() <= TARGET {
            Tone::Good
        } else {
            Tone::Bad
        };
        grid.push([
            Field::from(time.configuration.clone()),
            Field::from(time.key_exchange.clone()),
            Field::from(time.round_trip_ms.to_string()),
            Field::from(time.n.to_string()),
            Field::from(number(time.measured_ms, 2)),
            Field::from(number(time.predicted_ms, 2)),
            Field::toned(format!("{:+.1}", time.error * 100.0), tone),
            Field::from(number(time.measured_packets, 1)),
            Field::from(time.predicted_packets.to_string()),
        ]);
    }
    section.tables.push(grid);
    let mut items: Vec<Line> = Vec::new();
    for time in report.times.iter().filter(|time| time.configuration == "bartizan") {
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

fn with_loss(report: &Report) -> Section {
    let mut section = Section::new("under loss");
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
    for row in &report.under_loss {
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
