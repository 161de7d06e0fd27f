//! Storms of real handshakes with one responder next to the simulation of the same storm.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_estimators::{Interval, Sample};
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section};
use bartizan_simulation::cost::{Authentication, Engine, Suite};
use bartizan_simulation::simulation::{Stop, Timers, run};
use bartizan_simulation::storm::Laboratory;
use serde::Serialize;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute};
use crate::Failure;
use bartizan_terminal::answer::number;

/// Shares of the clients at which both are compared, in hundredths.
const SHARES: [usize; 21] = [
    5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 99, 100,
];
/// Those that a table has.
const SHOWN: [usize; 4] = [50, 95, 99, 100];

/// Algorithms and number of the set-ups.
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

impl Storm {
    /// Processor time of the busier end for a set-up, in microseconds: a few at a time before the
    /// storm, and on average in it.
    fn busier_us(&self) -> (f64, f64) {
        let [client, responder] = self.in_storm_us;
        if client >= responder {
            (self.client_us, client)
        } else {
            (self.responder_us, responder)
        }
    }

    /// By how many microseconds each SA that is up makes the next set-up longer, if the cost grows
    /// evenly from what it was before to its mean in the storm. None where all clients begin at
    /// once, so that most are half open together.
    fn growth_us(&self, clients: f64) -> Option<f64> {
        let (before, mean) = self.busier_us();
        (self.began_within_s > 0.0).then(|| 2.0 * (mean - before) / clients)
    }

    /// Time at which a part of this many clients is connected if one begins after the other and the
    /// `k`th takes the busier end `c + g k`: `n part (c + g n part / 2)`.
    fn growing_s(&self, clients: f64, part: f64, growth_us: f64) -> f64 {
        let done = clients * part;
        (done * (self.busier_us().0 + growth_us * done / 2.0) + self.beyond_us) / 1e6
    }
}

/// Time that each SA adds to the next set-up, and true if it is from storms of other key exchanges.
/// Only then is the result a prediction.
#[derive(Debug, Clone, Copy)]
struct Growth {
    us: f64,
    from_others: bool,
}

impl Growth {
    /// From the storms of the same protocol with another key exchange or authentication; where
    /// there is none, from this combination's own.
    fn of(of: &Combination, measured: &BTreeMap<Combination, Vec<Storm>>) -> Option<Self> {
        let growth = |(of, storms): (&Combination, &Vec<Storm>)| -> Option<f64> {
            let each: Option<Vec<f64>> = storms.iter().map(|storm| storm.growth_us(of.clients as f64)).collect();
            median(&each?)
        };
        let others = measured
            .iter()
            .filter(|(other, _)| *other != of && other.protocol == of.protocol);
        let others: Vec<f64> = others.filter_map(growth).collect();
        match median(&others) {
            Some(us) => Some(Self { us, from_others: true }),
            None => Some(Self {
                us: growth(measured.get_key_value(of)?)?,
                from_others: false,
            }),
        }
    }
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
    /// Microseconds by which each SA that is up makes the next set-up longer, from storms of other
    /// key exchanges or from this one. None where all clients begin at once.
    growth_us: Option<f64>,
    growth_from_others: Option<bool>,
    /// Error of the times with such a growing cost.
    median_absolute_error_growing: Option<f64>,
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
    /// With a cost that grows with the SAs that are up.
    growing_s: Option<f64>,
    growing_error: Option<f64>,
}

/// IKEv2 between two charons.
pub(super) fn ikev2(files: &[File], costs: &Costs) -> Result<Option<Compared>, Failure> {
    compare("storms of IKEv2 set-ups", IKEV2, files, costs)
}

/// TLS between two ends of Bartizan's.
pub(super) fn tls(files: &[File], costs: &Costs) -> Result<Option<Compared>, Failure> {
    compare("storms of TLS handshakes", TLS, files, costs)
}

const IKEV2: &str = "IKEv2";
const TLS: &str = "TLS 1.3";

fn compare(
    what: &'static str,
    protocol: &'static str,
    files: &[File],
    costs: &Costs,
) -> Result<Option<Compared>, Failure> {
    let (measured, mut sources) = read(files, protocol);
    let rows = measured
        .iter()
        .map(|(of, storms)| row(of, storms, Growth::of(of, &measured), costs))
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
    let mut limits = vec![
        "Of storms, what a set-up takes each end is measured a few at a time just before; the storm itself is predicted.".to_owned(),
    ];
    if protocol == IKEV2 {
        limits.push(
            "One charon begins all set-ups of IKEv2 and is what they wait for: that they begin evenly within the time in which it began them is taken from the record, and with it \
             about when the last is up."
                .to_owned(),
        );
        limits.push(
            "A set-up is simulated with the same cost throughout. Where the record's time in the storm is longer than before, the cost of an end grows with its SAs: columns of a \
             growing cost take that growth from the storms of other key exchanges, and where there are none from the storm itself."
                .to_owned(),
        );
    }
    Ok(Some(Compared {
        what,
        answer: format!(
            "When which share of the clients of a storm by {protocol} is connected is predicted to {} % (median of {} shares of {} storms with their repetitions){}.",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len(),
            rows.len(),
            with_growth(&rows)
        ),
        errors,
        sections: vec![section(protocol, &rows)],
        limits,
        sources,
        rows: super::rows(&rows)?,
    }))
}

/// Error with a cost that grows with SAs, in words; empty if all clients begin at once.
fn with_growth(rows: &[Row]) -> String {
    let growing: Vec<f64> = rows
        .iter()
        .flat_map(|row| &row.shares)
        .filter_map(|share| share.growing_error)
        .collect();
    if growing.is_empty() {
        return String::new();
    }
    format!(
        ", and to {} % with a cost of set-ups that grows with the SAs as it does with other key exchanges",
        number(median_absolute(&growing) * 100.0, 1)
    )
}

fn read(files: &[File], wanted: &str) -> (BTreeMap<Combination, Vec<Storm>>, Vec<Source>) {
    let mut measured: BTreeMap<Combination, Vec<Storm>> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let mut is_of = false;
        for (record, values) in file.measured() {
            let level = |factor: &str| record.levels.level(factor).map(str::to_owned);
            let (protocol, key_exchange, authentication) = match (level("group"), level("key-exchange")) {
                (Some(group), _) => (TLS, group, level("certificate")),
                // If the experiment does not vary it, both ends have the workload's first.
                (_, Some(key_exchange)) => (
                    IKEV2,
                    key_exchange,
                    Some(level("authentication").unwrap_or_else(|| "ecdsa-p256".to_owned())),
                ),
                _ => continue,
            };
            if protocol != wanted {
                continue;
            }
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

fn row(of: &Combination, storms: &[Storm], growth: Option<Growth>, costs: &Costs) -> Result<Row, Failure> {
    let (engine, timers) = if of.protocol == IKEV2 {
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
        let part = percent as f64 / 100.0;
        let growing = growth.and_then(|growth| {
            let times = over(&|storm| Some(storms[storm].growing_s(of.clients as f64, part, growth.us)))?;
            Some(times.median())
        });
        let measured = over(&|storm| Some(storms[storm].connected_s.quantile(part)))?;
        let said = over(&|storm| Some(predicted[storm].reached(percent)? as f64 / 1e9))?;
        Some(Share {
            percent,
            measured_s: measured.median(),
            range_s: (measured.quantile(0.0), measured.quantile(1.0)),
            predicted_s: said.median(),
            error: said.median() / measured.median() - 1.0,
            growing_s: growing,
            growing_error: growing.map(|growing| growing / measured.median() - 1.0),
        })
    };
    let shares: Vec<Share> = SHARES.into_iter().filter_map(share).collect();
    let errors: Vec<f64> = shares.iter().map(|share| share.error).collect();
    let growing: Vec<f64> = shares.iter().filter_map(|share| share.growing_error).collect();
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
        growth_us: growth.map(|growth| growth.us),
        growth_from_others: growth.map(|growth| growth.from_others),
        median_absolute_error_growing: (!growing.is_empty()).then(|| median_absolute(&growing)),
        shares,
    })
}

fn section(protocol: &str, rows: &[Row]) -> Section {
    let mut section = Section::new(format!("storms of handshakes with one responder, {protocol}"));
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
            "#cost growing",
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
                Field::from(
                    share
                        .growing_s
                        .map_or_else(|| "-".to_owned(), |growing| format!("{growing:.3}")),
                ),
                share.growing_error.map_or_else(|| Field::from("-"), error_field),
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
            "#cost growing %",
            "#us for each SA",
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
            row.median_absolute_error_growing
                .map_or_else(|| Field::from("-"), error_field),
            Field::from(row.growth_us.map_or_else(|| "-".to_owned(), |growth| number(growth, 3))),
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

/// A time, and its range where several storms have one.
type Drawn = Option<(f64, Option<Interval>)>;

fn drawing(row: &Row) -> bartizan_page::plot::Drawing {
    let line = |name: &str, tone, of: &dyn Fn(&Share) -> Drawn| Line {
        name: name.to_owned(),
        tone,
        points: row
            .shares
            .iter()
            .filter_map(|share| {
                let (value, interval) = of(share)?;
                Some(Point {
                    x: share.percent as f64,
                    value,
                    interval,
                    published: Vec::new(),
                })
            })
            .collect(),
    };
    let mut items = vec![
        line("predicted", 0, &|share| Some((share.predicted_s, None))),
        line("measured", 1, &|share| {
            let (low, high) = share.range_s;
            Some((share.measured_s, Some(Interval { low, high })))
        }),
    ];
    let growing = line("with a cost that grows", 2, &|share| Some((share.growing_s?, None)));
    if !growing.points.is_empty() {
        items.push(growing);
    }
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
