//! Throughput by cipher: what a message takes, put together from a message without a cipher and the cipher alone.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section};
use serde::Serialize;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute};
use crate::Failure;
use bartizan_terminal::answer::number;

/// ESP without a cipher.
const WITHOUT: &str = "null";
/// Bytes that the experiment's ciphers are timed with, those of its messages.
const SIZE: &str = "1400";

#[derive(Serialize)]
struct Row {
    protection: String,
    transport: String,
    n: usize,
    measured_mbit_s: f64,
    predicted_mbit_s: f64,
    error: f64,
}

/// By protection and transport, or by protection.
type Rates = BTreeMap<(String, String), Vec<f64>>;

pub(super) fn compare(files: &[File], _: &Costs) -> Result<Option<Compared>, Failure> {
    let (mut achieved, mut limits, mut sources) = (Rates::new(), Rates::new(), Vec::new());
    for file in files {
        let before = achieved.len();
        for (record, values) in file.measured() {
            let level = |factor: &str| record.levels.level(factor).map(str::to_owned);
            let Some(protection) = level("protection") else {
                continue;
            };
            if let (Some(transport), Some(rates), None) = (level("transport"), values.get("achieved"), level("offered"))
            {
                achieved.entry((protection, transport)).or_default().extend(rates);
            } else if let (Some("kernel"), Some(SIZE), Some(rates)) = (
                record.levels.level("provider"),
                record.levels.level("size"),
                values.get("limit"),
            ) {
                limits.entry((protection, String::new())).or_default().extend(rates);
            }
        }
        if achieved.len() > before {
            sources.push(file.source("rates that were achieved, and rates of the ciphers alone"));
        }
    }
    let rows: Vec<Row> = achieved
        .iter()
        .filter_map(|((protection, transport), rates)| {
            let limit = limits.get(&(protection.clone(), String::new()))?;
            let without = achieved.get(&(WITHOUT.to_owned(), transport.clone()))?;
            row(protection, transport, rates, median(without)?, median(limit)?)
        })
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let errors: Vec<f64> = rows.iter().map(|row| row.error).collect();
    sources.push(Source::formula(
        "1 / rate = 1 / rate without a cipher + 1 / rate of the cipher alone, encrypting and decrypting",
    ));
    Ok(Some(Compared {
        what: "throughput by cipher",
        answer: format!(
            "Throughput of ESP is predicted from that without a cipher and the cipher's own rate to {} % (median of {} combinations).",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len()
        ),
        errors,
        sections: vec![section(&rows)],
        limits: vec![
            "Of throughput, the rate without a cipher is measured (protection null), and one processor does all of both ends."
                .to_owned(),
        ],
        sources,
        rows: super::rows(&rows)?,
    }))
}

/// One processor does one after the other: times for a byte add up.
fn row(protection: &str, transport: &str, rates: &[f64], without: f64, limit: f64) -> Option<Row> {
    let measured = median(rates)?;
    let predicted = 1.0 / (1.0 / without + 1.0 / limit);
    Some(Row {
        protection: protection.to_owned(),
        transport: transport.to_owned(),
        n: rates.len(),
        measured_mbit_s: measured,
        predicted_mbit_s: predicted,
        error: predicted / measured - 1.0,
    })
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("throughput by cipher");
    let mut grid = Grid::under(
        "megabits per second: median of what was achieved, and predicted",
        [
            "protection",
            "transport",
            "#trials",
            "#measured",
            "#predicted",
            "#error %",
        ],
    );
    let mut items: Vec<Line> = Vec::new();
    for row in rows {
        grid.push([
            Field::from(row.protection.clone()),
            Field::from(row.transport.clone()),
            Field::from(row.n.to_string()),
            Field::from(number(row.measured_mbit_s, 1)),
            Field::from(number(row.predicted_mbit_s, 1)),
            error_field(row.error),
        ]);
        // One point for each cipher: predicted over measured.
        let point = Point {
            x: row.measured_mbit_s,
            value: row.predicted_mbit_s,
            interval: None,
            published: Vec::new(),
        };
        match items.iter_mut().find(|line| line.name == row.transport) {
            Some(line) => line.points.push(point),
            None => items.push(Line {
                name: row.transport.clone(),
                tone: items.len(),
                points: vec![point],
            }),
        }
    }
    let all = || rows.iter().map(|row| row.measured_mbit_s);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    for line in &mut items {
        line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    let point = |value| Point {
        x: value,
        value,
        interval: None,
        published: Vec::new(),
    };
    items.push(Line {
        name: "predicted as measured".to_owned(),
        tone: items.len(),
        points: vec![point(low), point(high)],
    });
    section.tables.push(grid);
    let axis = Axis {
        quantity: "predicted".to_owned(),
        unit: Shown::in_unit("Mb/s"),
    };
    section.drawings.push((
        lines(
            "Throughput by cipher",
            &axis,
            "measured (Mb/s)",
            &[Panel { heading: None, items }],
        ),
        "A point for each cipher.".to_owned(),
    ));
    section
}
