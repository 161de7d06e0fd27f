//! The report of a plan of storms: how sites come back with each suite, what it asks of gateways, where the numbers come from.

use bartizan_plan::storm::Summary;
use bartizan_stats::Interval;
use maud::{PreEscaped, html as markup};

use crate::frame;
use crate::plot::{Axis, Drawing, Line, Panel, Point, lines};
use crate::quantity::Shown;

/// Every so many hundredths a point, from a share on: the first sites are back after a round trip and would make the axis logarithmic.
const EVERY: usize = 5;
const FROM: usize = 20;

/// What is on the page.
#[derive(Debug)]
pub struct Answer<'a> {
    /// What was simulated, in a sentence.
    pub described: String,
    /// What came of it.
    pub summary: &'a Summary,
    /// By variant and quantity, with units.
    pub cells: Vec<Vec<String>>,
    /// Where the numbers come from, a line each.
    pub sources: Vec<String>,
}

/// After which time which share of the sites is back, with each suite; whiskers hold 95 of 100 seeds.
#[must_use]
pub fn plot(summary: &Summary) -> Drawing {
    let variants = summary.variants.iter().enumerate();
    let drawn: Vec<Line> = variants
        .map(|(tone, variant)| Line {
            name: variant.name.clone(),
            tone,
            points: variant
                .curve
                .seconds
                .iter()
                .enumerate()
                .filter(|(percent, _)| *percent >= FROM && (percent % EVERY == 0 || *percent == 99))
                .map(|(percent, spread)| Point {
                    x: percent as f64,
                    value: spread.median,
                    interval: Some(Interval {
                        low: spread.low,
                        high: spread.high,
                    }),
                    published: Vec::new(),
                })
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let axis = Axis {
        quantity: "time until they are back".to_owned(),
        unit: Shown::in_unit("s"),
    };
    let panel = Panel {
        heading: None,
        items: drawn,
    };
    lines("Sites that are back", &axis, "share of the sites (%)", &[panel])
}

/// One page, which needs nothing else.
#[must_use]
pub fn page(answer: &Answer<'_>) -> String {
    let variants = &answer.summary.variants;
    let quantities = variants.first().map_or(&[][..], |variant| &variant.quantities[..]);
    let has_curve = variants.iter().any(|variant| !variant.curve.seconds.is_empty());
    let body = markup! {
        header {
            p.kicker { "Bartizan plan storm" }
            h1 { "When all sites shake hands at once" }
            p.question { (answer.described) "." }
        }
        @if has_curve {
            figure { (PreEscaped(plot(answer.summary).inline())) }
        }
        table {
            thead { tr { th { "" } @for variant in variants { th { (variant.name) } } } }
            tbody {
                @for (index, quantity) in quantities.iter().enumerate() {
                    tr {
                        th { (quantity.name) }
                        @for row in &answer.cells { td { (row.get(index).map_or("", String::as_str)) } }
                    }
                }
            }
        }
        h2 { "Where the numbers come from" }
        ul { @for source in &answer.sources { li { (source) } } }
        footer { "Made by Bartizan " (env!("CARGO_PKG_VERSION")) ". The same plan and seeds give the same page." }
    };
    frame::page("When all sites shake hands at once", &[], "broad", &body)
}
