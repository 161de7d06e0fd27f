//! The report of a plan of storms: how sites come back with each suite, what it asks of gateways,
//! where the numbers come from.

use bartizan_estimators::Interval;
use bartizan_simulation::storm::{Summary, range_over};

use bartizan_page::plot::{Axis, Drawing, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Column, Field, Grid, Section, Sheet, sheet_html};

/// Every so many hundredths a point, from a share on: the first sites are back after a round trip
/// and would make the axis logarithmic.
const EVERY: usize = 5;
const FROM: usize = 20;

/// Contents of the page.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Description of the simulation, in a sentence.
    pub described: String,
    /// The answer in a sentence.
    pub said: String,
    /// Results of the simulation.
    pub summary: &'a Summary,
    /// By variant and quantity, with units.
    pub cells: Vec<Vec<String>>,
    /// Limits of the simulation's validity, a line each.
    pub limits: Vec<String>,
    /// Sources of the numbers, a line each.
    pub sources: Vec<String>,
}

/// After which time which share of the sites is back, with each suite; whiskers are ranges over the seeds.
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

/// The answer as a sheet.
#[must_use]
pub fn sheet(answer: &Answer<'_>) -> Sheet {
    let variants = &answer.summary.variants;
    let quantities = variants.first().map_or(&[][..], |variant| &variant.quantities[..]);
    let mut section = Section::new("Sites that are back, and what it asks of gateways");
    if variants.iter().any(|variant| !variant.curve.seconds.is_empty()) {
        section.drawings.push((
            plot(answer.summary),
            format!(
                "Medians over the seeds; whiskers: {}.",
                range_over(answer.summary.seeds.count())
            ),
        ));
    }
    let column = |heading: &str, is_number| Column {
        heading: heading.to_owned(),
        is_number,
    };
    let mut grid = Grid {
        columns: std::iter::once(column("quantity", false))
            .chain(variants.iter().map(|variant| column(&variant.name, true)))
            .collect(),
        ..Grid::default()
    };
    for (index, quantity) in quantities.iter().enumerate() {
        let cells = answer
            .cells
            .iter()
            .map(|row| Field::from(row.get(index).map_or("", String::as_str)));
        grid.push(std::iter::once(Field::from(quantity.name)).chain(cells));
    }
    section.tables.push(grid);
    Sheet {
        command: "bartizan plan storm".to_owned(),
        title: "When all sites shake hands at once".to_owned(),
        question: format!("{}.", answer.described),
        answer: answer.said.clone(),
        sections: vec![section],
        limits: answer.limits.clone(),
        sources: answer.sources.clone(),
        // The same plan and seeds give the same page, in one run or merged from many.
        again: String::new(),
    }
}

/// One page, which needs nothing else.
#[must_use]
pub fn page(answer: &Answer<'_>) -> String {
    sheet_html(&sheet(answer))
}
