//! Storms of real handshakes with one responder next to the simulation of the same storm.

use std::collections::BTreeMap;

use bartizan_plan::Source;
use bartizan_plan::cost::{Authentication, Engine, Suite};
use bartizan_plan::simulation::{Stop, Timers, run};
use bartizan_plan::storm::Laboratory;
use bartizan_report::plot::{Axis, Line, Panel, Point, lines};
use bartizan_report::quantity::Shown;
use bartizan_report::sheet::{Field, Grid, Section};
use bartizan_stats::{Interval, Sample};
use serde::Serialize;

use super::super::answer::number;
use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute};
use crate::Failure;

/// Shares of the clients at which both are compared, in hundredths.
const SHARES: [usize; 21] = [
    5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 99, 100,
];
/// Those that a table has.
const SHOWN: [usize; 4] = [50, 95, 99, 100];

/// What was set up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Combination {
    protocol: &'static str,
    key_exchange: String,
    authentication: String,
    clients: u64,
}

/// One storm, and what was known before it.
struct Storm {
    connected_s: Sample,
    client_us: f64,
    responder_us: f64,
    beyond_us: f64,
    began_within_s: f64,
    in_storm_us: [f64; 2],
    retransmissions: f64,
}

#[derive(Serialize)]
struct Row {
    protocol: &'static str,
    key_exchange: String,
    authentication: String,
    clients: u64,
    storms: usize,
    /// Medians over the storms: what a set-up takes each end, in microseconds.
    client_us: f64,
    responder_us: f64,
    /// The same in the storm itself, client and responder: more where tables grow.
    in_storm_us: [f64; 2],
    retransmissions: f64,
    predicted_retransmissions: f64,
    median_absolute_error: f64,
    shares: Vec<Share>,
}

#[derive(Serialize)]
struct Share {
    percent: usize,
    /// Median over the storms, and the fastest and the slowest.
    measured_s: f64,
    range_s: (f64, f64),
    predicted_s: f64,
    error: f64,
}

pub(super) fn compare(files: &[File], costs: &Costs) -> Result<Option<Compared>, Failure> {
    let (measured, mut sources) = read(files);
    let rows = measured
        .iter()
        .map(|(of, storms)| row(of, storms, costs))
        .collect::<Result<Vec<_>, Failure>>()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let errors: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.shares.iter().map(|share| share.error))
        .collect();
    sources.push(Source::record(
        costs.name.clone(),
        "which part of a set-up's time is in which exchange",
    ));
    sources.push(Source::formula(
        "the simulation of `plan storm`, one core for the responder and one for all clients",
    ));
    Ok(Some(Compared {
        what: "storms of handshakes",
        answer: format!(
            "When which share of the clients of a storm is connected is predicted to {} % (median of {} shares of {} storms with their repetitions).",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len(),
            rows.len()
        ),
        errors,
        sections: vec![section(&rows)],
        limits: vec![
            "Of storms, what a set-up takes each end is measured a few at a time just before; the storm itself is predicted."
                .to_owned(),
            "One charon begins all set-ups of IKEv2 and is what they wait for: that they begin evenly within the time in which it began them is taken from the record, and with it \
             about when the last is up."
                .to_owned(),
            "A set-up is simulated with the same cost throughout; where the record's time in the storm is longer than before, tables of an end grow with its SAs.".to_owned(),
        ],
        sources,
        rows: super::rows(&rows)?,
    }))
}

fn read(files: &[File]) -> (BTreeMap<Combination, Vec<Storm>>, Vec<Source>) {
    let mut measured: BTreeMap<Combination, Vec<Storm>> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let mut is_of = false;
        for (record, values) in file.measured() {
            let level = |factor: &str| record.levels.level(factor).map(str::to_owned);
            let (protocol, key_exchange, authentication) = match (level("group"), level("key-exchange")) {
                (Some(group), _) => ("TLS 1.3", group, level("certificate")),
                // Where the experiment does not vary it, both ends have the workload's first.
                (_, Some(key_exchange)) => (
                    "IKEv2",
                    key_exchange,
                    Some(level("authentication").unwrap_or_else(|| "ecdsa-p256".to_owned())),
                ),
                _ => continue,
            };
            let one = |metric: &str| values.get(metric).and_then(|values| median(values));
            let connected = values
                .get("connected-after")
                .and_then(|values| Sample::new(values.iter().copied()).ok());
            let (Some(connected_s), Some(client_us), Some(responder_us), Some(beyond_us), Some(authentication)) = (
                connected,
                one("client-cpu"),
                one("responder-cpu"),
                one("beyond-cpu"),
                authentication,
            ) else {
                continue;
            };
            let combination = Combination {
                protocol,
                key_exchange,
                authentication,
                clients: connected_s.n() as u64,
            };
            measured.entry(combination).or_default().push(Storm {
                connected_s,
                client_us,
                responder_us,
                beyond_us,
                began_within_s: one("began-within").unwrap_or(0.0),
                in_storm_us: [
                    one("storm-client-cpu").unwrap_or(client_us),
                    one("storm-responder-cpu").unwrap_or(responder_us),
                ],
                retransmissions: one("retransmissions").unwrap_or(0.0),
            });
            is_of = true;
        }
        if is_of {
            sources.push(file.source("storms of real handshakes, and handshakes a few at a time before each"));
        }
    }
    (measured, sources)
}

fn row(of: &Combination, storms: &[Storm], costs: &Costs) -> Result<Row, Failure> {
    let (engine, timers) = if of.protocol == "IKEv2" {
        (Engine::StrongSwan, Timers::Bartizan)
    } else {
        (Engine::Bartizan, Timers::Tcp)
    };
    let suite = Suite {
        engine,
        key_exchange: of.key_exchange.clone(),
        authentication: Authentication::named(&of.authentication).map_err(Failure::usage)?,
        chain: 1,
        resumes: false,
    };
    let exchanges = suite.primitives(&costs.crypto).map_err(Failure::usage)?;
    // Each storm by what was measured just before it: a machine that is slower for a while is so for both.
    let mut predicted = Vec::with_capacity(storms.len());
    for storm in storms {
        let laboratory = Laboratory {
            clients: of.clients,
            client_us: storm.client_us,
            responder_us: storm.responder_us,
            beyond_us: storm.beyond_us,
            window_us: storm.began_within_s * 1e6,
            exchanges: exchanges.clone(),
            timers,
        };
        predicted.push(run(&laboratory.scenario(), 1, &mut |_| Stop::No).map_err(Failure::usage)?);
    }
    let over = |value: &dyn Fn(usize) -> Option<f64>| -> Option<Sample> {
        let values: Vec<f64> = (0..storms.len()).map(value).collect::<Option<_>>()?;
        Sample::new(values).ok()
    };
    let share = |percent: usize| -> Option<Share> {
        let measured = over(&|storm| Some(storms[storm].connected_s.quantile(percent as f64 / 100.0)))?;
        let said = over(&|storm| Some(predicted[storm].reached(percent)? as f64 / 1e9))?;
        Some(Share {
            percent,
            measured_s: measured.median(),
            range_s: (measured.quantile(0.0), measured.quantile(1.0)),
            predicted_s: said.median(),
            error: said.median() / measured.median() - 1.0,
        })
    };
    let shares: Vec<Share> = SHARES.into_iter().filter_map(share).collect();
    let errors: Vec<f64> = shares.iter().map(|share| share.error).collect();
    let typical = |value: &dyn Fn(usize) -> f64| over(&|storm| Some(value(storm))).map_or(0.0, |all| all.median());
    Ok(Row {
        protocol: of.protocol,
        key_exchange: of.key_exchange.clone(),
        authentication: of.authentication.clone(),
        clients: of.clients,
        storms: storms.len(),
        client_us: typical(&|storm| storms[storm].client_us),
        responder_us: typical(&|storm| storms[storm].responder_us),
        in_storm_us: [0, 1].map(|end| typical(&|storm| storms[storm].in_storm_us[end])),
        retransmissions: typical(&|storm| storms[storm].retransmissions),
        predicted_retransmissions: typical(&|storm| predicted[storm].counters.retransmissions as f64),
        median_absolute_error: median_absolute(&errors),
        shares,
    })
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("storms of handshakes with one responder");
    let mut grid = Grid::under(
        "until so many of a hundred clients are connected, seconds: measured (median, fastest and slowest storm) and predicted",
        [
            "protocol",
            "key exchange",
            "authentication",
            "#clients",
            "#storms",
            "#share %",
            "#measured",
            "#from",
            "#to",
            "#predicted",
            "#error %",
        ],
    );
    for row in rows {
        for share in row.shares.iter().filter(|share| SHOWN.contains(&share.percent)) {
            grid.push([
                Field::from(row.protocol),
                Field::from(row.key_exchange.clone()),
                Field::from(row.authentication.clone()),
                Field::from(row.clients.to_string()),
                Field::from(row.storms.to_string()),
                Field::from(share.percent.to_string()),
                Field::from(format!("{:.3}", share.measured_s)),
                Field::from(format!("{:.3}", share.range_s.0)),
                Field::from(format!("{:.3}", share.range_s.1)),
                Field::from(format!("{:.3}", share.predicted_s)),
                error_field(share.error),
            ]);
        }
    }
    section.tables.push(grid);
    section.tables.push(overview(rows));
    for row in rows {
        section.drawings.push((drawing(row), caption(row)));
    }
    section
}

fn overview(rows: &[Row]) -> Grid {
    let mut grid = Grid::under(
        "median absolute error over the shares; processor time of a set-up a few at a time before the storm and in it; messages sent again",
        [
            "protocol",
            "key exchange",
            "authentication",
            "#error %",
            "#client us",
            "#in the storm",
            "#responder us",
            "#in the storm",
            "#sent again",
            "#predicted",
        ],
    );
    for row in rows {
        grid.push([
            Field::from(row.protocol),
            Field::from(row.key_exchange.clone()),
            Field::from(row.authentication.clone()),
            error_field(row.median_absolute_error),
            Field::from(number(row.client_us, 0)),
            Field::from(number(row.in_storm_us[0], 0)),
            Field::from(number(row.responder_us, 0)),
            Field::from(number(row.in_storm_us[1], 0)),
            Field::from(number(row.retransmissions, 1)),
            Field::from(number(row.predicted_retransmissions, 1)),
        ]);
    }
    grid
}

fn drawing(row: &Row) -> bartizan_report::plot::Drawing {
    let line = |name: &str, tone, of: &dyn Fn(&Share) -> (f64, Option<Interval>)| Line {
        name: name.to_owned(),
        tone,
        points: row
            .shares
            .iter()
            .map(|share| {
                let (value, interval) = of(share);
                Point {
                    x: share.percent as f64,
                    value,
                    interval,
                    published: Vec::new(),
                }
            })
            .collect(),
    };
    let items = vec![
        line("predicted", 0, &|share| (share.predicted_s, None)),
        line("measured", 1, &|share| {
            let (low, high) = share.range_s;
            (share.measured_s, Some(Interval { low, high }))
        }),
    ];
    let axis = Axis {
        quantity: "time until they are connected".to_owned(),
        unit: Shown::in_unit("s"),
    };
    let title = format!(
        "{} set-ups at once: {}, {}, {}",
        row.clients, row.protocol, row.key_exchange, row.authentication
    );
    lines(
        &title,
        &axis,
        "share of the clients (%)",
        &[Panel { heading: None, items }],
    )
}

fn caption(row: &Row) -> String {
    format!(
        "Median absolute error {} %; whiskers reach from the fastest to the slowest of {} storms.",
        number(row.median_absolute_error * 100.0, 1),
        row.storms
    )
}
