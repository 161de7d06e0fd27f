//! `bartizan plan capacity`.

use bartizan_plan::capacity::{Capacity, capacity};
use bartizan_plan::simulation::{Storm, StormKind};
use bartizan_plan::unit::Share;
use bartizan_report::quantity::Shown;
use serde::Serialize;

use super::{costs, network};
use crate::output::print;
use crate::table::{Side, Table};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-capacity/1";

/// Predict the cores, the bandwidth and the waits of gateways that serve N sites when nothing happens.
///
/// Closed forms: offered load, Erlang C and the mean wait of M/M/c, held against the simulation of `bartizan plan storm --storm none` by tests. What a
/// set-up of all sites at once takes is the least that a storm of them lasts. Memory is printed where a record has it: of TLS connections of the sidecar, not
/// yet of IPsec SAs.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan capacity --sites 50000 --gateways 200 --cores 8\n  \
    bartizan plan capacity --sites 50000 --gateways 20 --dead-peer 10s --target 40% --json")]
pub(crate) struct Args {
    /// Share of a gateway's cores that may be busy when nothing happens
    #[arg(long, allow_hyphen_values = true, value_name = "SHARE", default_value = "50%")]
    target: Share,
    #[command(flatten)]
    network: network::NetworkArgs,
    #[command(flatten)]
    costs: costs::CostArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    suite: String,
    #[serde(flatten)]
    capacity: Capacity,
    /// A gateway that keeps this many cores busy on average has room for all it has.
    suffices: bool,
    /// Resident bytes of its connections; absent where no record has those of one.
    memory_bytes: Option<u64>,
    sources: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    target: Share,
    rows: Vec<Row>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let costs = args.costs.read()?;
    let storm = Storm {
        kind: StormKind::None,
        share_ppm: 0,
        window_ns: 0,
    };
    let target = (args.target.value() * 100.0).round() as u64;
    let variants = args.network.variants(&costs, &storm)?;
    let memory = costs
        .engines
        .engine(args.network.engine())
        .map_err(Failure::usage)?
        .memory
        .clone();
    let rows = variants.into_iter().map(|variant| {
        let of = capacity(&variant.scenario, target).map_err(|error| network::refused(&error, &error))?;
        let suffices = of.cores_needed <= variant.scenario.network.cores;
        Ok(Row {
            memory_bytes: memory
                .as_ref()
                .map(|memory| memory.bytes.saturating_mul(of.sites_per_gateway)),
            suite: variant.name,
            capacity: of,
            suffices,
            sources: variant
                .sources
                .into_iter()
                .chain(
                    memory
                        .iter()
                        .map(|memory| format!("memory of a connection: {}", memory.record)),
                )
                .collect(),
        })
    });
    let report = Report {
        schema: SCHEMA,
        target: args.target,
        rows: rows.collect::<Result<_, Failure>>()?,
    };
    if args.json {
        print(&(serde_json::to_string_pretty(&report).map_err(Failure::new)? + "\n"))?;
    } else {
        print(&table(&report, args))?;
    }
    let suffices = report.rows.iter().all(|row| row.suffices);
    Ok(if suffices { Outcome::Clean } else { Outcome::Finding })
}

fn table(report: &Report, args: &Args) -> String {
    let mut table = Table::new([
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
    ]);
    table.push([
        "suite",
        "requests/s",
        "cores busy",
        "of its cores",
        "cores needed",
        "mean wait",
        "link",
        "memory",
        "all at once",
    ]);
    let shown = |value: f64, unit: &str| Shown::for_values(unit, value).value(value);
    for row in &report.rows {
        let of = &row.capacity;
        table.push([
            row.suite.clone(),
            format!("{:.1}", of.requests_per_second),
            format!("{:.4}", of.erlangs),
            format!("{:.2} %", of.utilisation * 100.0),
            of.cores_needed.to_string(),
            match of.mean_wait_us {
                None => "grows without end".to_owned(),
                // No clock would show it.
                Some(wait) if wait < 1e-3 => "below 1 ns".to_owned(),
                Some(wait) => shown(wait, "us"),
            },
            shown(of.bits_per_second / 8.0, "bytes/s"),
            row.memory_bytes
                .map_or("no record".to_owned(), |bytes| shown(bytes as f64, "bytes")),
            shown(of.all_at_once_s, "s"),
        ]);
    }
    let sites = report.rows.first().map_or(0, |row| row.capacity.sites_per_gateway);
    let mut text = format!(
        "One gateway with {sites} sites; cores needed so that at most {} % are busy; all at once: its cores' time for a set-up of each site\n\n{}\n\
         Where the numbers come from:\n  Erlang C and M/M/c: Kleinrock, Queueing Systems, volume 1, section 3.5\n",
        args.target.value() * 100.0,
        table.render()
    );
    let mut seen: Vec<&str> = Vec::new();
    for source in report.rows.iter().flat_map(|row| &row.sources) {
        if !seen.contains(&source.as_str()) {
            seen.push(source);
            text.push_str(&format!("  {source}\n"));
        }
    }
    text
}
