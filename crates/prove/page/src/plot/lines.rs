//! A quantity over another.

use bartizan_stats::Interval;

use super::canvas::{Anchor, Canvas, Drawing};
use super::scale::{Scale, Start, WIDTH, ticks};
use super::{Axis, Panel, mark};
use crate::quantity::Shown;

const HEIGHT: f64 = 260.0;

/// One level over the whole of x.
#[derive(Debug, Clone)]
pub struct Line {
    /// The level.
    pub name: String,
    /// Its colour, one of eight; from the ninth on dashed.
    pub tone: usize,
    /// In ascending order of x.
    pub points: Vec<Point>,
}

bartizan_registry::made! {
    /// A median on a line.
    #[derive(Debug, Clone)]
    pub struct Point,
    /// A value by itself.
    pub at(x: f64, value: f64) {
        /// The level of the factor along the axis.
        pub x: f64,
        /// The median.
        pub value: f64,
        /// Its interval, where there is one.
        pub interval: Option<Interval> = None,
        /// Values that a publication has in its place.
        pub published: Vec<f64> = Vec::new(),
    }
}

/// Medians with intervals, joined in order of x; either axis is logarithmic where its values span
/// more than twenty times.
pub fn lines(title: &str, axis: &Axis, along: &str, panels: &[Panel<Line>]) -> Drawing {
    let mut canvas = Canvas::default();
    let along = Axis {
        quantity: along.to_owned(),
        unit: Shown::bare(),
    };
    let points = || {
        panels
            .iter()
            .flat_map(|panel| &panel.items)
            .flat_map(|line| &line.points)
    };
    let left = 64.0;
    let across = Scale::new(points().map(|point| point.x), &along, Start::Free, left, WIDTH - 24.0);
    let levels: Vec<f64> = points()
        .flat_map(|point| {
            let ends = point.interval.map(|interval| [interval.low, interval.high]);
            let published = mark::near(&point.published, point.value);
            std::iter::once(point.value)
                .chain(ends.into_iter().flatten())
                .chain(published)
        })
        .collect();
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut top = 24.0;
    let mut up_label = axis.label();
    for (index, panel) in panels.iter().enumerate() {
        if let Some(heading) = &panel.heading {
            canvas.text(0.0, top - 8.0 + 5.0, "heading", Anchor::Start, heading);
            top += 24.0;
        }
        let up = Scale::new(levels.iter().copied(), axis, Start::Free, top + HEIGHT, top);
        if up.logarithmic && index == 0 {
            up_label.push_str(", logarithmic");
        }
        canvas.text(left - 8.0, top - 9.0, "axis", Anchor::Start, &up_label);
        for (y, label) in ticks(&up, HEIGHT) {
            canvas.line((left, y), (WIDTH - 24.0, y), "grid");
            canvas.text(left - 8.0, y + 4.0, "tick", Anchor::End, &label);
        }
        for (x, label) in ticks(&across, WIDTH - left) {
            canvas.line((x, top), (x, top + HEIGHT), "grid");
            canvas.text(x, top + HEIGHT + 17.0, "tick", Anchor::Middle, &label);
        }
        for line in &panel.items {
            let (tone, class) = tone_class(line.tone);
            canvas.open(&tone, &line.name);
            let path: Vec<(f64, f64)> = line
                .points
                .iter()
                .map(|point| (across.place(point.x), up.place(point.value)))
                .collect();
            canvas.path(&path, false, class);
            for (point, at) in line.points.iter().zip(&path) {
                canvas.open(
                    "",
                    &format!(
                        "{}, {} {}: {}",
                        line.name,
                        along.quantity,
                        along.unit.number(point.x),
                        axis.unit.estimate(point.value, point.interval)
                    ),
                );
                if let Some(interval) = point.interval {
                    canvas.line(
                        (at.0, up.place(interval.low)),
                        (at.0, up.place(interval.high)),
                        "whisker",
                    );
                }
                canvas.circle(*at, 3.6, "point");
                for mark in point.published.iter().filter(|mark| up.holds(**mark)) {
                    mark::diamond(&mut canvas, (at.0, up.place(*mark)));
                }
                canvas.close();
            }
            canvas.close();
            if !names.iter().any(|(name, _)| *name == line.name) {
                names.push((line.name.clone(), line.tone));
            }
        }
        top += HEIGHT + 44.0;
    }
    let mut label = along.label();
    if across.logarithmic {
        label.push_str(", logarithmic");
    }
    canvas.text((left + WIDTH) / 2.0, top - 8.0, "axis", Anchor::Middle, &label);
    let described = names
        .iter()
        .map(|(name, _)| name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    canvas.finish(title, described, WIDTH, top + 4.0).with_keys(&names)
}

/// Colour and dash of a curve.
pub fn tone_class(tone: usize) -> (String, &'static str) {
    (
        format!("t{}", tone % 8),
        if tone % 16 < 8 { "curve" } else { "curve dash" },
    )
}
