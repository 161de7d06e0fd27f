//! `bartizan plan delay`.

use bartizan_plan::delay::{Delay, Link, of};
use bartizan_plan::queue::Service;
use bartizan_plan::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share};
use bartizan_plan::{Source, Sourced};
use serde::Serialize;

use crate::output::print;
use crate::table::{Side, Table};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-delay/1";

/// Predict the delay of a packet by its parts: queueing, propagation, transmission, processing.
///
/// The model has one hop and one queue with Poisson arrivals (Groen et al. 2024, equation 1).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan delay --size 1425 --distance 20km\n  \
    bartizan plan delay --size 1425 --rate 1Gb/s --load 40% --processing 82us --json | jq .delay")]
pub(crate) struct Args {
    /// Bytes of the frame.
    #[arg(long, value_name = "BYTES", default_value = "1425")]
    size: Bytes,
    /// Rate of the line.
    #[arg(long, value_name = "RATE", default_value = "10Gb/s")]
    rate: BitsPerSecond,
    /// Length of the fibre.
    #[arg(long, value_name = "DISTANCE", default_value = "100m")]
    distance: Metres,
    /// Share of the rate that other traffic takes.
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    load: Share,
    /// What both ends together need to process the packet.
    #[arg(long, value_name = "TIME", default_value = "0us")]
    processing: Microseconds,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    size_bytes: Bytes,
    link: Link,
    delay: Delay,
    total_us: Sourced<Microseconds>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let link = Link {
        rate: args.rate,
        distance: args.distance,
        load: args.load,
        service: Service::Exponential,
    };
    let delay = of(&link, args.size, args.size, args.processing).map_err(Failure::usage)?;
    let report = Report {
        schema: SCHEMA,
        size_bytes: args.size,
        link,
        delay,
        total_us: Sourced::new(delay.total(), Source::paper("Groen et al. 2024", "equation 1")),
    };
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::new)?;
        print(&(text + "\n"))?;
    } else {
        print(&table(&report))?;
    }
    Ok(Outcome::Clean)
}

fn table(report: &Report) -> String {
    let mut table = Table::new([Side::Left, Side::Right, Side::Left]);
    table.push(["part", "us", "from"]);
    let delay = &report.delay;
    for (part, time, from) in [
        ("queueing", delay.queueing_us, "M/M/1: transmission * load / (1 - load)"),
        ("propagation", delay.propagation_us, "distance / 2e8 m/s"),
        ("transmission", delay.transmission_us, "bits / rate"),
        ("processing", delay.processing_us, "--processing"),
    ] {
        table.push([part.to_owned(), format!("{:.4}", time.value()), from.to_owned()]);
    }
    let total = &report.total_us;
    table.push([
        "total".to_owned(),
        format!("{:.4}", total.value.value()),
        total.source.to_string(),
    ]);
    table.render()
}
