//! Parts of a whole.

use bartizan_page::plot::canvas::{Anchor, Canvas, text_width};
use bartizan_page::plot::scale::{Scale, Start};
use bartizan_page::plot::{Axis, Drawing, Panel};

use super::frame::{Labels, Row, frame};
use super::rows::labels;
use bartizan_estimators::Interval;

/// One level and its parts.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// The level.
    pub(crate) name: String,
    /// Its parts, which add up to the whole, each in the same place in every stack; absent where nothing was measured.
    pub(crate) parts: Vec<(String, Option<f64>)>,
    /// The whole with its interval, where that is known.
    pub(crate) interval: Option<Interval>,
}

impl Stack {
    fn sum(&self) -> f64 {
        self.parts
            .iter()
            .filter_map(|(_, value)| *value)
            .map(|value| value.max(0.0))
            .sum()
    }
}

/// Parts one after the other; the number at the end is the whole. Parts below 0 are not drawn.
#[must_use]
pub(crate) fn stacked(title: &str, axis: &Axis, parts: &[String], panels: &[Panel<Stack>]) -> Drawing {
    let keys: Vec<(String, usize)> = parts.iter().cloned().zip(0..).collect();
    // The meaning of the colours.
    frame(title, panels, axis, Start::Zero)
        .above(&keys, |canvas, (x, y), _| canvas.rect((x, y - 9.0), 11.0, 11.0, "bar"))
}

impl Row for Stack {
    const HEIGHT: f64 = 38.0;

    fn labels(&self, axis: &Axis) -> Labels {
        labels(&self.name, self.sum(), self.interval, axis)
    }

    fn values(&self) -> Vec<f64> {
        vec![self.sum()]
    }

    fn draw(&self, canvas: &mut Canvas, scale: &Scale, axis: &Axis, top: f64, bottom: f64) {
        let mut sum = 0.0;
        for (index, (part, value)) in self.parts.iter().enumerate() {
            let Some(value) = value.filter(|value| *value > 0.0) else {
                continue;
            };
            let (from, to) = (scale.place(sum), scale.place(sum + value));
            sum += value;
            canvas.open(
                &format!("t{}", index % 8),
                &format!("{part}: {}", axis.unit.value(value)),
            );
            canvas.rect((from, top + 7.0), to - from, bottom - top - 14.0, "bar");
            let number = axis.unit.number(value);
            if text_width(&number, 11.0) + 6.0 < to - from {
                canvas.text(
                    (from + to) / 2.0,
                    (top + bottom) / 2.0 + 4.0,
                    "on",
                    Anchor::Middle,
                    &number,
                );
            }
            canvas.close();
        }
    }
}
