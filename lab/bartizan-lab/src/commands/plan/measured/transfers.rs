//! Transfers by MTU: what a segment takes beyond its bytes, from the smallest and the largest MTU,
//! and what that makes of those between.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_budget::mtu::segment;
use bartizan_budget::overhead::IpVersion;
use bartizan_budget::unit::Bytes;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section};
use serde::Serialize;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute, numeric};
use crate::Failure;
use bartizan_terminal::answer::number;

#[derive(Serialize)]
struct Row {
    protection: String,
    mtu: u64,
    n: usize,
    measured_mbit_s: f64,
    /// None where what a segment takes is taken from this MTU.
    predicted_mbit_s: Option<f64>,
    error: Option<f64>,
}

/// Rates by MTU.
type Rates = BTreeMap<u64, Vec<f64>>;

pub(super) fn compare(files: &[File], _: &Costs) -> Result<Option<Compared>, Failure> {
    let (mut measured, mut sources) = (BTreeMap::<String, Rates>::new(), Vec::new());
    for file in files {
        let mut is_of = false;
        for (record, values) in file.measured() {
            let (Some(protection), Some(mtu), Some(rates)) = (
                record.levels.level("protection"),
                numeric(record, "mtu"),
                values.get("throughput"),
            ) else {
                continue;
            };
            let of = measured.entry(protection.to_owned()).or_default();
            of.entry(mtu).or_default().extend(rates);
            is_of = true;
        }
        if is_of {
            sources.push(file.source("rates of a transfer by TCP, by MTU"));
        }
    }
    let mut all = Vec::new();
    for (protection, rates) in &measured {
        all.extend(rows(protection, rates)?);
    }
    let errors: Vec<f64> = all.iter().filter_map(|row| row.error).collect();
    if errors.is_empty() {
        return Ok(None);
    }
    sources.push(Source::formula(
        "1 / rate = b + a / bytes of a segment; a and b from the smallest and the largest MTU",
    ));
    sources.push(Source::standard("RFC 9293, RFC 7323", "headers of a segment"));
    Ok(Some(Compared {
        what: "transfers by MTU",
        answer: format!(
            "Rates of a transfer are predicted from the smallest and the largest MTU to {} % (median of {} MTUs between them).",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len()
        ),
        errors,
        sections: vec![section(&all)],
        limits: vec![
            "Of transfers, what a segment and what a byte takes is from two MTUs of the same record; a window that does not fill the link is not in it.".to_owned(),
        ],
        sources,
        rows: super::rows(&all)?,
    }))
}

/// The MTUs of a protection, those between the ends predicted.
fn rows(protection: &str, rates: &Rates) -> Result<Vec<Row>, Failure> {
    let mut points = Vec::with_capacity(rates.len());
    for (mtu, values) in rates {
        let size = Bytes::new(*mtu).map_err(Failure::usage)?;
        if let (Some(rate), Some(room)) = (median(values), segment(size, IpVersion::V4))
            && rate > 0.0
        {
            points.push((*mtu, values.len(), rate, 1.0 / room.value() as f64));
        }
    }
    let [first, .., last] = &points[..] else {
        return Ok(Vec::new());
    };
    // Time for a bit is a straight line over the inverse of a segment.
    let each = (1.0 / first.2 - 1.0 / last.2) / (first.3 - last.3);
    let row = |point: &(u64, usize, f64, f64)| {
        let (mtu, n, rate, inverse) = *point;
        let is_end = mtu == first.0 || mtu == last.0;
        let predicted = (!is_end).then(|| 1.0 / (1.0 / last.2 + each * (inverse - last.3)));
        Row {
            protection: protection.to_owned(),
            mtu,
            n,
            measured_mbit_s: rate,
            predicted_mbit_s: predicted,
            error: predicted.map(|predicted| predicted / rate - 1.0),
        }
    };
    Ok(points.iter().map(row).collect())
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("transfers by MTU");
    let mut grid = Grid::under(
        "megabits per second: median of the trials, and predicted",
        ["protection", "#MTU", "#trials", "#measured", "#predicted", "#error %"],
    );
    let mut items: Vec<Line> = Vec::new();
    for row in rows {
        grid.push([
            Field::from(row.protection.clone()),
            Field::from(row.mtu.to_string()),
            Field::from(row.n.to_string()),
            Field::from(number(row.measured_mbit_s, 1)),
            Field::from(
                row.predicted_mbit_s
                    .map_or_else(|| "taken from it".to_owned(), |rate| number(rate, 1)),
            ),
            row.error.map_or_else(|| Field::from("-"), error_field),
        ]);
        let point = Point {
            x: row.mtu as f64,
            value: row.measured_mbit_s,
            interval: None,
            published: row.predicted_mbit_s.into_iter().collect(),
        };
        match items.iter_mut().find(|line| line.name == row.protection) {
            Some(line) => line.points.push(point),
            None => items.push(Line {
                name: row.protection.clone(),
                tone: items.len(),
                points: vec![point],
            }),
        }
    }
    section.tables.push(grid);
    let axis = Axis {
        quantity: "rate".to_owned(),
        unit: Shown::in_unit("Mb/s"),
    };
    section.drawings.push((
        lines(
            "Transfers by MTU",
            &axis,
            "MTU in bytes",
            &[Panel { heading: None, items }],
        ),
        "Medians as measured, joined; diamonds are what is predicted.".to_owned(),
    ));
    section
}
