//! `bartizan plan capacity`.

use bartizan_budget::Source;
use bartizan_budget::unit::Share;
use bartizan_estimators::Interval;
use bartizan_page::plot::{Axis, Drawing, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Column, Field, Grid, Section, Sheet, Tone};
use bartizan_simulation::Sourced;
use bartizan_simulation::capacity::{Capacity, CapacitySpread, Unknowns, capacity, capacity_spread};
use bartizan_simulation::simulation::{ProcedureKind, Scenario, ScenarioError, Storm, StormKind};
use bartizan_simulation::storm::Spread;
use serde::Serialize;

use super::storm::said;
use super::{costs, network};
use crate::{Failure, Outcome};
use bartizan_terminal::answer::{Form, again, give, number};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-capacity/1";
/// Number of draws of loss and cost.
const DRAWS: u32 = 400;
/// So many times the sites are on the plot.
const SITES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// Predict the cores, the memory, the bandwidth and the waits of gateways that serve N sites when nothing happens.
///
/// Closed forms: offered load, Erlang C and the mean wait of M/M/c, held against the simulation of
/// `bartizan plan storm --storm none` by tests. Intervals hold 95 of 100 draws of loss, of the
/// factor of cost, and of the 95 % interval of the measured times. What a set-up of all sites at
/// once takes is the least that a storm of them lasts. Memory is that of SAs or connections as a
/// record has it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan capacity --sites 50000 --gateways 200 --cores 8\n  \
    bartizan plan capacity --sites 50000 --gateways 200 --cost-factor 0.8..1.3 --out plan\n  \
    bartizan plan capacity --suite x25519-ke1_mlkem768/ml-dsa-65 --handshake 0.8ms\n  \
    bartizan plan capacity --sites 50000 --gateways 20 --dead-peer 10s --target 40% --json")]
pub(crate) struct Args {
    /// Share of a gateway's cores that may be busy when nothing happens
    #[arg(long, allow_hyphen_values = true, value_name = "SHARE", default_value = "50%")]
    target: Share,
    /// Decides what is drawn for intervals
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    network: network::NetworkArgs,
    #[command(flatten)]
    costs: costs::CostArgs,
    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Row {
    suite: String,
    #[serde(flatten)]
    capacity: Capacity,
    /// Over draws of what is not known exactly.
    spread: CapacitySpread,
    /// In 95 of 100 draws or more a gateway has as many cores as are needed.
    suffices: bool,
    /// Bytes of a gateway's SAs or connections; absent where no record has those of one.
    memory_bytes: Option<u64>,
    sources: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    target: Share,
    seed: u64,
    rows: Vec<Row>,
    /// Sources of the memory figures, or the reason why there are none.
    memory: Vec<String>,
}

/// Note for an engine without a record of an SA's memory.
const NO_MEMORY: &str = "No record has the memory of an SA of this engine, and none is given: `bartizan lab run sa-memory` measures it, `bartizan plan engines` collects it. \
     Otero-García et al. 2025, section VI and figure 6, print 950 to 3,750 kB without a KEM and 2,820 to 5,160 kB with Kyber for one link, and neither whose memory that is nor \
     what of it an SA has.";

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let costs = args.costs.read()?;
    let storm = Storm {
        kind: StormKind::None,
        share_ppm: 0,
        window_ns: 0,
    };
    let target = (args.target.value() * 100.0).round() as u64;
    let planned = args.network.planned(&costs, &storm)?;
    let mut rows = Vec::with_capacity(planned.len());
    let mut drawn: Vec<Line> = Vec::with_capacity(planned.len());
    for (tone, suite) in planned.into_iter().enumerate() {
        let scenario = &suite.variant.scenario;
        let unknowns = Unknowns {
            loss_ppm: args.network.loss(),
            cost_permille: args.network.cost(&costs),
            cost_interval: suite.cost_interval,
        };
        let refused = |error: ScenarioError| network::refused(&error, &error);
        let of = capacity(scenario, target).map_err(refused)?;
        let spread = capacity_spread(scenario, target, &unknowns, DRAWS, args.seed).map_err(refused)?;
        drawn.push(by_sites(
            &suite.variant.name,
            tone,
            scenario,
            target,
            &unknowns,
            args.seed,
        ));
        let cores = scenario.network.cores as f64;
        rows.push(Row {
            suffices: spread.cores_needed.is_some_and(|needed| needed.high <= cores),
            memory_bytes: suite
                .memory
                .as_ref()
                .map(|memory| memory.value.saturating_mul(of.sites_per_gateway)),
            suite: suite.variant.name,
            capacity: of,
            spread,
            sources: suite
                .variant
                .sources
                .into_iter()
                .chain(suite.memory.iter().map(|Sourced { source, .. }| source.to_string()))
                .collect(),
        });
    }
    let without = rows.iter().any(|row| row.memory_bytes.is_none());
    let report = Report {
        schema: SCHEMA,
        target: args.target,
        seed: args.seed,
        rows,
        memory: without.then(|| NO_MEMORY.to_owned()).into_iter().collect(),
    };
    give("capacity", &sheet(&report, drawn), &report, &args.form)?;
    let suffices = report.rows.iter().all(|row| row.suffices);
    Ok(if suffices { Outcome::Clean } else { Outcome::Finding })
}

/// Cores that are busy with more and with fewer sites; sites that a scenario cannot have are left out.
fn by_sites(name: &str, tone: usize, scenario: &Scenario, target: u64, unknowns: &Unknowns, seed: u64) -> Line {
    let point = |times: f64| {
        let mut other = scenario.clone();
        other.network.sites = (scenario.network.sites as f64 * times).round() as u64;
        let busy = capacity_spread(&other, target, unknowns, DRAWS, seed).ok()?.erlangs?;
        Some(Point {
            x: other.network.sites.div_ceil(other.network.gateways.max(1)) as f64,
            value: busy.median,
            interval: Some(Interval {
                low: busy.low,
                high: busy.high,
            }),
            published: Vec::new(),
        })
    };
    Line {
        name: name.to_owned(),
        tone,
        points: SITES.into_iter().filter_map(point).collect(),
    }
}

fn sheet(report: &Report, drawn: Vec<Line>) -> Sheet {
    let sites = report.rows.first().map_or(0, |row| row.capacity.sites_per_gateway);
    let mut section = Section::new("a gateway");
    section.text.push(format!(
        "One gateway with {sites} sites; cores needed so that at most {} % are busy; all at once: its cores' time for a set-up of each site.",
        number(report.target.value() * 100.0, 1)
    ));
    section.tables.push(gateway(&report.rows));
    section.drawings.push((
        drawing(drawn),
        "Medians over the draws; whiskers hold 95 of 100.".to_owned(),
    ));
    let mut duties = Section::new("what keeps its cores busy");
    duties.tables.push(by_duty(&report.rows));
    Sheet {
        command: "bartizan plan capacity".to_owned(),
        title: "What gateways need when nothing happens".to_owned(),
        question: format!(
            "How many cores, how much memory and which bandwidth does a gateway with {sites} sites need?"
        ),
        answer: answer(report),
        sections: vec![section, duties],
        limits: limits(report),
        sources: sources(report),
        again: again(),
    }
}

fn answer(report: &Report) -> String {
    let busy = |row: &Row| row.spread.erlangs.map_or(row.capacity.erlangs, |busy| busy.median);
    let least = report
        .rows
        .iter()
        .min_by(|one, other| busy(one).total_cmp(&busy(other)));
    let most = report
        .rows
        .iter()
        .max_by(|one, other| busy(one).total_cmp(&busy(other)));
    let short: Vec<&str> = report
        .rows
        .iter()
        .filter(|row| !row.suffices)
        .map(|row| row.suite.as_str())
        .collect();
    let mut text = assumption(report, busy);
    text.push_str(&match (least, most) {
        (Some(least), Some(most)) if least.suite != most.suite => format!(
            "A gateway keeps {} cores busy with {}, and {} with {}, the most that was compared.",
            Shown::bare().value(busy(least)),
            least.suite,
            Shown::bare().value(busy(most)),
            most.suite
        ),
        (Some(one), _) => format!(
            "A gateway keeps {} cores busy with {}.",
            Shown::bare().value(busy(one)),
            one.suite
        ),
        _ => String::new(),
    });
    if short.is_empty() {
        text.push_str(" Its cores suffice for all of them.");
    } else {
        text.push_str(&format!(" Its cores do not suffice for {}.", short.join("; ")));
    }
    text
}

/// Share of the cores above which the cost of dead peer detection decides a comparison.
const DECIDES: f64 = 0.5;

/// The assumption behind most of the load, with the comparison that it hides.
fn assumption(report: &Report, busy: impl Fn(&Row) -> f64) -> String {
    let share = |row: &Row| {
        let demands = row.capacity.demands.iter();
        let assumed = demands.filter(|demand| demand.duty == ProcedureKind::DeadPeer);
        assumed.map(|demand| demand.cores).sum::<f64>() / row.capacity.erlangs.max(f64::MIN_POSITIVE)
    };
    let most = report.rows.iter().map(share).fold(0.0, f64::max);
    if most < DECIDES {
        return String::new();
    }
    let without = |row: &Row| busy(row) * (1.0 - share(row));
    let others: Vec<f64> = report.rows.iter().map(without).collect();
    let least = others.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = others.iter().copied().fold(0.0, f64::max);
    format!(
        "Up to {} % of what follows is dead peer detection, whose cost is an assumed upper bound (no more than a rekey takes) and no measurement: \
         without it suites differ by a factor of up to {} ({} to {} cores; --dead-peer 0s). ",
        number(most * 100.0, 1),
        number(greatest / least.max(f64::MIN_POSITIVE), 1),
        Shown::bare().value(least),
        Shown::bare().value(greatest),
    )
}

fn gateway(rows: &[Row]) -> Grid {
    let mut grid = Grid::under(
        "medians and the range that holds 95 of 100 draws",
        [
            "suite",
            "#requests/s",
            "#cores busy",
            "#of its cores",
            "#cores needed",
            "#mean wait",
            "#link",
            "#memory",
            "#all at once",
        ],
    );
    for row in rows {
        let of = &row.spread;
        let hundredths = |spread: Spread| Spread {
            low: spread.low * 100.0,
            median: spread.median * 100.0,
            high: spread.high * 100.0,
            ..spread
        };
        let tone = if row.suffices { Tone::Plain } else { Tone::Bad };
        grid.push([
            Field::from(row.suite.clone()),
            Field::from(format!("{:.1}", row.capacity.requests_per_second)),
            Field::from(said(of.erlangs, "")),
            Field::from(said(of.utilisation.map(hundredths), "%")),
            Field::toned(said(of.cores_needed, ""), tone),
            Field::from(match of.mean_wait_us {
                None => "grows without end".to_owned(),
                // No clock would show it.
                Some(wait) if wait.high < 1e-3 && wait.without == 0 => "below 1 ns".to_owned(),
                Some(wait) => said(Some(wait), "us"),
            }),
            Field::from(said(of.bits_per_second.map(bytes), "bytes/s")),
            Field::from(row.memory_bytes.map_or_else(
                || "no record".to_owned(),
                |bytes| bartizan_report::quantity::for_values("bytes", bytes as f64).value(bytes as f64),
            )),
            Field::from(said(of.all_at_once_s, "s")),
        ]);
    }
    grid
}

fn bytes(bits: Spread) -> Spread {
    Spread {
        low: bits.low / 8.0,
        median: bits.median / 8.0,
        high: bits.high / 8.0,
        ..bits
    }
}

/// Duties in the order of the table, in words.
const DUTIES: [(ProcedureKind, &str); 7] = [
    (ProcedureKind::DeadPeer, "dead peer detection"),
    (ProcedureKind::RekeyChild, "rekeys of CHILD_SAs"),
    (ProcedureKind::RekeyIke, "rekeys of IKE_SAs"),
    (ProcedureKind::SetUp, "reconnections"),
    (ProcedureKind::Resume, "resumptions"),
    (ProcedureKind::Renew, "certificates"),
    (ProcedureKind::FetchList, "CRLs"),
];

/// Cores and bits a second of each duty. A duty that no suite has is left out.
fn by_duty(rows: &[Row]) -> Grid {
    let has = |kind: ProcedureKind| {
        let mut demands = rows.iter().flat_map(|row| &row.capacity.demands);
        demands.any(|demand| demand.duty == kind)
    };
    let duties: Vec<_> = DUTIES.into_iter().filter(|(kind, _)| has(*kind)).collect();
    let column = |heading: &str, is_number| Column {
        heading: heading.to_owned(),
        is_number,
    };
    let mut grid = Grid {
        caption: "thousandths of a core, and bytes a second in both directions, at the least loss and cost".to_owned(),
        columns: std::iter::once(column("suite", false))
            .chain(duties.iter().map(|(_, name)| column(name, true)))
            .collect(),
        ..Grid::default()
    };
    for row in rows {
        let cell = |kind: ProcedureKind| {
            let demand = row.capacity.demands.iter().find(|demand| demand.duty == kind);
            Field::from(demand.map_or_else(
                || "-".to_owned(),
                |demand| {
                    let bytes = demand.bits_per_second / 8.0;
                    format!(
                        "{}, {}",
                        Shown::bare().value(demand.cores * 1e3),
                        bartizan_report::quantity::for_values("bytes/s", bytes).value(bytes)
                    )
                },
            ))
        };
        grid.push(std::iter::once(Field::from(row.suite.clone())).chain(duties.iter().map(|(kind, _)| cell(*kind))));
    }
    grid
}

fn drawing(items: Vec<Line>) -> Drawing {
    let axis = Axis {
        quantity: "cores busy".to_owned(),
        unit: Shown::bare(),
    };
    lines(
        "Cores by sites",
        &axis,
        "sites of a gateway",
        &[Panel { heading: None, items }],
    )
}

fn limits(report: &Report) -> Vec<String> {
    let mut limits = vec![
        "Arrivals of many sites with periods of their own are taken as Poisson; what happens to all at once is `bartizan plan storm`.".to_owned(),
        "What is sent again for a lost packet is counted in bytes, not in cores.".to_owned(),
        "Memory is that of SAs or connections alone: a program's own comes on top.".to_owned(),
    ];
    limits.extend(report.memory.iter().cloned());
    limits
}

/// Every source once.
fn sources(report: &Report) -> Vec<String> {
    let mut sources = vec![
        Source::paper(
            "Kleinrock, Queueing Systems, volume 1",
            "section 3.5: Erlang C and M/M/c",
        )
        .to_string(),
        format!("intervals: {DRAWS} draws by --seed {}", report.seed),
    ];
    for source in report.rows.iter().flat_map(|row| &row.sources) {
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
    sources
}
