//! Values of a publication, marked in a row of a plot.

use bartizan_page::plot::Axis;
use bartizan_page::plot::canvas::{Anchor, Canvas};
use bartizan_page::plot::mark::{SIZE, diamond};
use bartizan_page::plot::scale::Scale;

/// Draws each as a diamond at this height, or as an arrow with its number where the axis ends before it.
pub(crate) fn draw(marks: &[f64], canvas: &mut Canvas, scale: &Scale, axis: &Axis, middle: f64) {
    for mark in marks {
        let (at, [first, last]) = (scale.place(*mark), scale.ends());
        canvas.open("", &format!("published: {}", axis.unit.value(*mark)));
        if scale.holds(*mark) {
            diamond(canvas, (at, middle));
        } else {
            let number = format!("published {}", axis.unit.value(*mark));
            let (tip, base, text, anchor) = if at > first {
                (last, last - SIZE, last - 2.0 * SIZE, Anchor::End)
            } else {
                (first, first + SIZE, first + 2.0 * SIZE, Anchor::Start)
            };
            canvas.path(
                &[(base, middle - SIZE), (tip, middle), (base, middle + SIZE)],
                false,
                "published",
            );
            canvas.text(text, middle - SIZE, "tick", anchor, &number);
        }
        canvas.close();
    }
}
