//! Results of a plan as a page, which the report crate draws.

use bartizan_report::standalone;
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

/// The quickest and the slowest suite, by when 99 of 100 sites are back, and what limits them.
pub(super) fn sentence(part: &Part, summary: &Summary) -> String {
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
    let scenario = part.plan.variants.first().map(|variant| &variant.scenario);
    let window = scenario.map_or(0.0, |scenario| scenario.storm.window_ns as f64 / 1e9);
    let limit = limit(window, all.first().map(|one| one.1), all.last().map(|one| one.1));
    let said = match (all.first(), all.last()) {
        (Some(one), Some(other)) if one.0 != other.0 => format!(
            "99 of 100 sites are back after {} with {}, and after {} with {}, the slowest that was compared.",
            one.2, one.0, other.2, other.0
        ),
        (Some(one), _) => format!("99 of 100 sites are back after {} with {}.", one.2, one.0),
        _ => "99 of 100 sites were back with no suite before the time was over, or none was to come back.".to_owned(),
    };
    said + &limit
}

/// Slower than the window by this share, gateways and suites are seen next to it.
const SEEN: f64 = 1.1;

/// The limiting factor of the times of the quickest and the slowest suite, in seconds.
fn limit(window: f64, quickest: Option<f64>, slowest: Option<f64>) -> String {
    match (quickest, slowest) {
        (Some(_), Some(slowest)) if slowest <= window * SEEN => format!(
            " That is the window of {window} s within which sites begin (--window), not the cryptography: gateways keep up with all suites."
        ),
        (Some(quickest), Some(_)) if quickest <= window * SEEN => format!(
            " The quickest is limited by the window of {window} s within which sites begin (--window); slower suites by the gateways."
        ),
        (Some(_), Some(_)) => format!(
            " Sites begin within {window} s (--window); the rest is what set-ups take at gateways and on the way."
        ),
        _ => String::new(),
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
        said: sentence(part, summary),
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
    standalone(&storm::plot(summary), &described(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_window_where_all_suites_keep_up_with_it() {
        assert!(limit(1.0, Some(1.0), Some(1.022)).contains("not the cryptography"));
        assert!(limit(1.0, Some(1.0), Some(3.0)).contains("slower suites by the gateways"));
        assert!(limit(0.0, Some(0.2), Some(0.9)).contains("what set-ups take"));
        assert_eq!(limit(1.0, None, None), "");
    }
}
