//! Results of a plan, as tables.

use bartizan_estimators::Interval;
use bartizan_page::quantity::Shown;
use bartizan_simulation::simulation::{StormKind, Variation};
use bartizan_simulation::storm::{Part, Spread, Summary, range_over};

use super::page::sentence;
use crate::table::{Side, Table};

/// A quantity with its range.
pub(in crate::commands::plan) fn said(spread: Option<Spread>, unit: &str) -> String {
    let Some(spread) = spread else {
        return "never".to_owned();
    };
    let interval = Interval {
        low: spread.low,
        high: spread.high,
    };
    let typical = spread.median;
    let text = match unit {
        "" | "sites" | "requests" | "set-ups" => Shown::bare().estimate(typical, Some(interval)),
        unit => bartizan_report::quantity::for_values(unit, typical).estimate(typical, Some(interval)),
    };
    if spread.without > 0 {
        format!("{text}, never in {} seeds", spread.without)
    } else {
        text
    }
}

/// Description of the simulation, in one line.
pub(super) fn described(part: &Part) -> String {
    let Some(first) = part.plan.variants.first() else {
        return String::new();
    };
    let scenario = &first.scenario;
    let network = &scenario.network;
    let storm = match scenario.storm.kind {
        StormKind::None => "steady state".to_owned(),
        StormKind::Reattach => concerned(
            "sites come back after an outage",
            scenario.storm.share_ppm,
            scenario.storm.window_ns,
        ),
        StormKind::Rollover => concerned(
            "sites change to another authority",
            scenario.storm.share_ppm,
            scenario.storm.window_ns,
        ),
        StormKind::Revocation => concerned(
            "sites have their certificates revoked",
            scenario.storm.share_ppm,
            scenario.storm.window_ns,
        ),
    };
    let variation = match scenario.variation {
        Variation::Constant => "",
        Variation::Exponential => ", exponentially distributed service",
    };
    format!(
        "{} sites, {} of {} cores each, {} s of network time{variation}: {storm}; seeds {}, {}",
        network.sites,
        match network.gateways {
            1 => "1 gateway".to_owned(),
            several => format!("{several} gateways"),
        },
        network.cores,
        scenario.horizon_ns as f64 / 1e9,
        part.seeds,
        range_over(part.seeds.count())
    )
}

fn concerned(what: &str, share_ppm: u64, window_ns: u64) -> String {
    format!(
        "{} % of {what} within {} s",
        share_ppm as f64 / 1e4,
        window_ns as f64 / 1e9
    )
}

pub(super) fn tables(part: &Part, summary: &Summary) -> String {
    let mut text = format!("{}\n{}\n\n", described(part), sentence(part, summary));
    // Two tables: how sites fare, and what it asks of gateways.
    let names: Vec<&str> = summary
        .variants
        .first()
        .map(|variant| variant.quantities.iter().map(|quantity| quantity.name).collect())
        .unwrap_or_default();
    for columns in [0..5, 5..10, 10..names.len()] {
        let mut sides = vec![Side::Left];
        sides.extend(columns.clone().map(|_| Side::Right));
        let mut table = Table::new(sides);
        let headings = columns.clone().filter_map(|column| names.get(column).copied());
        table.push(std::iter::once("").chain(headings));
        for variant in &summary.variants {
            let cells = columns.clone().filter_map(|column| variant.quantities.get(column));
            let cells = cells.map(|quantity| said(quantity.spread, quantity.unit));
            table.push(std::iter::once(variant.name.clone()).chain(cells));
        }
        text.push_str(&table.render());
        text.push('\n');
    }
    text.push_str("Where the numbers come from:\n");
    for (source, variants) in sources(summary) {
        text.push_str(&format!("  {source}{variants}\n"));
    }
    text
}

/// Every source once, with the variants it is of where it is not of all.
pub(super) fn sources(summary: &Summary) -> Vec<(String, String)> {
    let mut list: Vec<(String, Vec<&str>)> = Vec::new();
    for variant in &summary.variants {
        for source in &variant.sources {
            match list.iter_mut().find(|(known, _)| known == source) {
                Some((_, names)) => names.push(&variant.name),
                None => list.push((source.clone(), vec![&variant.name])),
            }
        }
    }
    let all = summary.variants.len();
    list.into_iter()
        .map(|(source, names)| {
            let of = if names.len() == all {
                String::new()
            } else {
                format!(" (of {})", names.join("; "))
            };
            (source, of)
        })
        .collect()
}
