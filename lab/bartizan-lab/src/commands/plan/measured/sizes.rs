//! Delay by size: each size that was measured, predicted from the others by the curve that `plan delay` would take.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_budget::curve::DelayCurve;
use bartizan_budget::unit::{Bytes, Microseconds};
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section};
use bartizan_registry::Header;
use bartizan_workbench::runner::trial::Record;
use serde::Serialize;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute};
use crate::Failure;
use bartizan_terminal::answer::number;

/// The metric of the experiments that send echoes of several sizes.
const ECHO: &str = "half-round-trip";
/// The metric of the fronthaul's echo alone.
const ONE_WAY: &str = "one-way";
/// Headers around the data of a kernel's echo in a frame.
const AROUND_ECHO: [Header; 3] = [Header::ETHERNET, Header::IPV4, Header::ICMP_ECHO];

/// A size of a protection.
#[derive(Serialize)]
struct Row {
    experiment: String,
    protection: String,
    frame_bytes: u64,
    n: usize,
    measured_us: f64,
    /// From all other sizes of the protection.
    predicted_us: f64,
    error: f64,
    /// From the smallest and the largest size alone, which is all that a publication has.
    from_ends_us: f64,
    from_ends_error: f64,
}

/// Bytes of the unprotected frame that an echo's trial sent; none where they do not follow from its levels.
///
/// An echo of the kernel (ping) has its data in ICMP and IP; the fronthaul's echo has frames of the
/// size itself. Messages by SCTP or UDP are bundled by the kernel.
fn echo_frame(record: &Record, values: &BTreeMap<String, Vec<f64>>) -> Option<u64> {
    let size: u64 = record.levels.level("size")?.parse().ok()?;
    match record.levels.level("transport") {
        Some("icmp") => {
            let around: Bytes = AROUND_ECHO.iter().map(|header| Bytes::from(header.bytes)).sum();
            Some(size + around.value())
        }
        None if values.contains_key(ONE_WAY) => Some(size),
        _ => None,
    }
}

pub(super) fn compare(files: &[File], _: &Costs) -> Result<Option<Compared>, Failure> {
    let (measured, sources) = read(files);
    let mut all = Vec::new();
    for ((experiment, protection), sizes) in &measured {
        all.extend(of_protection(experiment, protection, sizes)?);
    }
    if all.is_empty() {
        return Ok(None);
    }
    let errors: Vec<f64> = all.iter().map(|row| row.error).collect();
    let from_ends: Vec<f64> = all.iter().map(|row| row.from_ends_error).collect();
    Ok(Some(Compared {
        what: "delay by size",
        answer: format!(
            "Half round trips of an echo are predicted from those of other sizes to {} % (median of {} sizes of {} protections), from the smallest and the largest alone to {} %.",
            number(median_absolute(&errors) * 100.0, 1),
            errors.len(),
            measured.len(),
            number(median_absolute(&from_ends) * 100.0, 1)
        ),
        errors,
        sections: vec![section(&all)],
        limits: vec![
            "Of delay by size, the smallest and the largest size of a protection are not predicted: nothing says how a curve goes on beyond them. Sizes that were cut into fragments are left out."
                .to_owned(),
        ],
        sources,
        rows: super::rows(&all)?,
    }))
}

type Sizes = BTreeMap<u64, Vec<f64>>;

/// Medians of trials by experiment, protection and size of the unprotected frame.
fn read(files: &[File]) -> (BTreeMap<(String, String), Sizes>, Vec<Source>) {
    let mut measured: BTreeMap<(String, String), Sizes> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let mut is_of = false;
        for (record, values) in file.measured() {
            let (Some(halves), Some(protection), Some(frame)) = (
                values.get(ECHO).and_then(|values| median(values)),
                record.levels.level("protection"),
                echo_frame(record, values),
            ) else {
                continue;
            };
            // One of a kernel that fills a packet is in two with any protection, or with none.
            if record.levels.level("transport").is_some() && frame > WHOLE {
                continue;
            }
            let of = (record.experiment.clone(), protection.to_owned());
            let sizes = measured.entry(of).or_default();
            sizes.entry(frame).or_default().push(halves);
            is_of = true;
        }
        if is_of {
            sources.push(file.source("median half round trips of an echo"));
        }
    }
    sources.push(Source::formula("a straight line between two sizes"));
    (measured, sources)
}

/// Bytes of a kernel's echo that fit into a packet of 1500 bytes with every protection of the
/// experiment: 1400 of data, 42 around.
const WHOLE: u64 = 1442;

fn of_protection(experiment: &str, protection: &str, sizes: &Sizes) -> Result<Vec<Row>, Failure> {
    let points: Vec<(u64, f64, usize)> = sizes
        .iter()
        .filter_map(|(size, values)| Some((*size, median(values)?, values.len())))
        .collect();
    let [first, inner @ .., last] = &points[..] else {
        return Ok(Vec::new());
    };
    let curve = |points: &[&(u64, f64, usize)]| -> Result<DelayCurve, Failure> {
        let points = points
            .iter()
            .map(|(size, delay, _)| {
                Ok((
                    Bytes::new(*size).map_err(Failure::usage)?,
                    Microseconds::new(*delay).map_err(Failure::usage)?,
                ))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        DelayCurve::new(points, Source::formula("other sizes")).map_err(Failure::usage)
    };
    let ends = curve(&[first, last])?;
    inner
        .iter()
        .map(|point| {
            let (size, measured, n) = *point;
            let others: Vec<_> = points.iter().filter(|other| other.0 != size).collect();
            let at = |curve: &DelayCurve| -> Result<f64, Failure> {
                let size = Bytes::new(size).map_err(Failure::usage)?;
                Ok(curve.at(size).map_err(Failure::usage)?.value())
            };
            let (predicted, from_ends) = (at(&curve(&others)?)?, at(&ends)?);
            Ok(Row {
                experiment: experiment.to_owned(),
                protection: protection.to_owned(),
                frame_bytes: size,
                n,
                measured_us: measured,
                predicted_us: predicted,
                error: predicted / measured - 1.0,
                from_ends_us: from_ends,
                from_ends_error: from_ends / measured - 1.0,
            })
        })
        .collect()
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("delay by size");
    let mut grid = Grid::under(
        "half round trip in microseconds: measured, predicted from all other sizes, and from the two ends of the curve",
        [
            "experiment",
            "protection",
            "#frame bytes",
            "#trials",
            "#measured",
            "#predicted",
            "#error %",
            "#from the ends",
            "#error %",
        ],
    );
    let mut items: Vec<Line> = Vec::new();
    let is_single = rows.iter().all(|row| row.experiment == rows[0].experiment);
    for row in rows {
        grid.push([
            Field::from(row.experiment.clone()),
            Field::from(row.protection.clone()),
            Field::from(row.frame_bytes.to_string()),
            Field::from(row.n.to_string()),
            Field::from(number(row.measured_us, 1)),
            Field::from(number(row.predicted_us, 1)),
            error_field(row.error),
            Field::from(number(row.from_ends_us, 1)),
            error_field(row.from_ends_error),
        ]);
        let point = Point {
            x: row.frame_bytes as f64,
            value: row.measured_us,
            interval: None,
            published: vec![row.predicted_us],
        };
        let name = if is_single {
            row.protection.clone()
        } else {
            format!("{}, {}", row.protection, row.experiment)
        };
        match items.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => items.push(Line {
                name,
                tone: items.len(),
                points: vec![point],
            }),
        }
    }
    section.tables.push(grid);
    let axis = Axis {
        quantity: "half round trip".to_owned(),
        unit: Shown::in_unit("µs"),
    };
    section.drawings.push((
        lines(
            "Delay by size",
            &axis,
            "bytes of the unprotected frame",
            &[Panel { heading: None, items }],
        ),
        "Medians as measured, joined; diamonds are what is predicted from all other sizes.".to_owned(),
    ));
    section
}
