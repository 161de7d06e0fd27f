//! Bars of medians with their intervals; points where a bar would mislead.

use bartizan_estimators::Interval;

use bartizan_page::plot::canvas::Canvas;
use bartizan_page::plot::scale::{Scale, Start};
use bartizan_page::plot::{Axis, Drawing, Panel, mark};

use super::frame::{Labels, Row, frame};
use super::rows::labels;

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// The level.
    pub(crate) name: String,
    /// Its colour, one of eight.
    pub(crate) tone: usize,
    /// The median.
    pub(crate) value: f64,
    /// Its interval, where there is one.
    pub(crate) interval: Option<Interval>,
    /// Limits that it cannot pass: a line across it for each that is known, every bar's in the same
    /// order.
    pub(crate) limits: Vec<Option<f64>>,
    /// Values that a publication has in its place.
    pub(crate) published: Vec<f64>,
    /// A caveat for the reader in a word or two, such as that it has two modes.
    pub(crate) note: Option<String>,
}

/// The line style of the limit of this number, for the words next to a plot.
#[must_use]
pub(crate) fn line_of(index: usize) -> &'static str {
    ["Line across a bar", "Dashed line", "Dotted line"][index.min(2)]
}

/// Medians with intervals: bars from 0, or points on a logarithmic axis where medians span more than twenty times.
#[must_use]
pub(crate) fn bars(title: &str, axis: &Axis, panels: &[Panel<Bar>]) -> Drawing {
    // Bars of each panel begin at 0 where none of them is lost next to another.
    let lost = panels.iter().any(|panel| {
        let values = || panel.items.iter().flat_map(Row::values);
        let least = values().fold(f64::INFINITY, f64::min);
        least > 0.0 && values().fold(0.0, f64::max) / least > 20.0
    });
    let start = if lost { Start::Free } else { Start::ZeroApart };
    frame(title, panels, axis, start)
}

impl Row for Bar {
    const HEIGHT: f64 = 34.0;

    fn labels(&self, axis: &Axis) -> Labels {
        labels(&self.name, self.value, self.interval, axis).with_note(self.note.as_deref())
    }

    fn values(&self) -> Vec<f64> {
        let ends = self.interval.map(|interval| [interval.low, interval.high]);
        let limits = self.limits.iter().flatten().copied();
        let ends = ends.into_iter().flatten();
        let published = mark::near(&self.published, self.value);
        std::iter::once(self.value)
            .chain(ends)
            .chain(limits)
            .chain(published)
            .collect()
    }

    fn draw(&self, canvas: &mut Canvas, scale: &Scale, axis: &Axis, top: f64, bottom: f64) {
        let middle = (top + bottom) / 2.0;
        let (origin, end) = (scale.origin(), scale.place(self.value));
        canvas.open(&format!("t{}", self.tone % 8), "");
        if scale.logarithmic {
            canvas.line((origin, middle), (end, middle), "leader");
        } else {
            canvas.rect(
                (origin.min(end), top + 8.0),
                (end - origin).abs(),
                bottom - top - 16.0,
                "bar",
            );
        }
        if let Some(interval) = self.interval {
            let (low, high) = (scale.place(interval.low), scale.place(interval.high));
            canvas.line((low, middle), (high, middle), "interval");
            for end in [low, high] {
                canvas.line((end, middle - 4.0), (end, middle + 4.0), "interval");
            }
        }
        if scale.logarithmic {
            canvas.circle((end, middle), 5.0, "point");
        }
        for (index, limit) in self.limits.iter().enumerate() {
            let class = ["limit", "limit dashed", "limit dotted"][index.min(2)];
            if let Some(at) = limit.map(|limit| scale.place(limit)) {
                canvas.line((at, top + 3.0), (at, bottom - 3.0), class);
            }
        }
        canvas.close();
        super::mark::draw(&self.published, canvas, scale, axis, middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_page::quantity::Shown;

    #[test]
    fn a_limit_is_a_line_across_its_bar_and_the_axis_reaches_it() {
        let bar = |value: f64, limits: &[Option<f64>]| Bar {
            name: format!("at {value}"),
            tone: 0,
            value,
            interval: None,
            limits: limits.to_vec(),
            published: Vec::new(),
            note: None,
        };
        let axis = Axis {
            quantity: "rate".to_owned(),
            unit: Shown::bare(),
        };
        let panel = Panel {
            heading: None,
            items: vec![bar(1.0, &[Some(5.0), Some(9.0)]), bar(2.0, &[None, Some(9.0)])],
        };
        let drawn = bars("Rates", &axis, &[panel]).inline();
        assert_eq!(drawn.matches("class=\"limit\"").count(), 1);
        assert_eq!(drawn.matches("class=\"limit dashed\"").count(), 2);
        assert!(drawn.contains(">8<"), "{drawn}");
    }

    #[test]
    fn a_published_value_is_a_diamond_and_one_far_away_an_arrow_with_its_number() {
        let axis = Axis {
            quantity: "time".to_owned(),
            unit: Shown::in_unit("ms"),
        };
        let row = |published: &[f64]| Bar {
            name: "x".to_owned(),
            tone: 0,
            value: 1.0,
            interval: None,
            limits: Vec::new(),
            published: published.to_vec(),
            note: Some("two modes".to_owned()),
        };
        let drawn = |published: &[f64]| {
            let panel = Panel {
                heading: None,
                items: vec![row(published)],
            };
            bars("Times", &axis, &[panel]).inline()
        };
        let near = drawn(&[2.0]);
        assert!(
            near.contains("class=\"published\"") && !near.contains("published 2"),
            "{near}"
        );
        assert!(near.contains("two modes"), "{near}");
        let far = drawn(&[54.05]);
        assert!(
            far.contains("published 54.0\u{a0}ms") || far.contains("published 54.1\u{a0}ms"),
            "{far}"
        );
        assert!(!far.contains(">50<"), "the axis ends before it");
    }
}
