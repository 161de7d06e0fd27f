//! Results of a plan as a page, which the report crate draws.

use bartizan_report::storm::{self, Answer};
use bartizan_simulation::storm::{Part, Summary, VariantSummary};

use super::table::{described, said, sources};

/// Limits of the simulation.
const LIMITS: [&str; 3] = [
    "Congestion between sites and gateways, routing, losses that come in bursts, and gateways that fail are not simulated.",
    "Sites compute as fast as the machine of the records; their time is their own.",
    "A set-up costs a gateway the same, however many of its SAs are up. charon with libipsec takes 0.4 us more for each, measured up to 2,000 (experiments/handshake-storm, run \
     2026-11-24T191214Z): with ten thousand SAs a gateway of that kind would take milliseconds more.",
];

/// The quickest and the slowest suite, by when 99 of 100 sites are back.
fn sentence(summary: &Summary) -> String {
    let quantity = |of: &VariantSummary| {
        of.quantities
            .iter()
            .find(|one| one.name == NEARLY_ALL)
            .map(|one| (one.spread, one.unit))
    };
    let mut all: Vec<(&str, f64, String)> = summary
        .variants
        .iter()
        .filter_map(|of| {
            let (spread, unit) = quantity(of)?;
            Some((of.name.as_str(), spread?.median, said(spread, unit)))
        })
        .collect();
    all.sort_by(|one, other| one.1.total_cmp(&other.1));
    match (all.first(), all.last()) {
        (Some(one), Some(other)) if one.0 != other.0 => format!(
            "99 of 100 sites are back after {} with {}, and after {} with {}, the slowest that was compared.",
            one.2, one.0, other.2, other.0
        ),
        (Some(one), _) => format!("99 of 100 sites are back after {} with {}.", one.2, one.0),
        _ => "99 of 100 sites were back with no suite before the time was over, or none was to come back.".to_owned(),
    }
}

/// Quantity of the sentence, by its name in summaries.
const NEARLY_ALL: &str = "99 % of sites";

/// Cells of the page.
fn answer<'a>(part: &Part, summary: &'a Summary) -> Answer<'a> {
    let rows = summary.variants.iter().map(|variant| {
        let cells = variant.quantities.iter();
        cells.map(|quantity| said(quantity.spread, quantity.unit)).collect()
    });
    Answer {
        described: described(part),
        said: sentence(summary),
        summary,
        cells: rows.collect(),
        sources: sources(summary)
            .into_iter()
            .map(|(source, of)| format!("{source}{of}"))
            .collect(),
        limits: LIMITS.iter().map(|limit| (*limit).to_owned()).collect(),
    }
}

pub(super) fn page(part: &Part, summary: &Summary) -> String {
    storm::page(&answer(part, summary))
}

/// The plot alone.
pub(super) fn picture(part: &Part, summary: &Summary) -> String {
    storm::plot(summary).standalone(&described(part))
}
