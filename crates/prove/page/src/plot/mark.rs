//! The value of a publication, marked in a row of a plot.

use super::Axis;
use super::canvas::{Anchor, Canvas};
use super::scale::Scale;

/// Published values further away than so many times what was measured are not given room on the
/// axis: an arrow at its end names them.
const NEAR: f64 = 3.0;
/// Half of a diamond, and an arrow.
const SIZE: f64 = 5.0;

/// Those of the marks that are near enough to the value to be given room.
pub fn near(marks: &[f64], value: f64) -> impl Iterator<Item = f64> + '_ {
    let near = move |mark: &f64| *mark > 0.0 && value > 0.0 && *mark <= NEAR * value && *mark * NEAR >= value;
    marks.iter().copied().filter(near)
}

/// Draws each as a diamond at this height, or as an arrow with its number where the axis ends before it.
pub fn draw(marks: &[f64], canvas: &mut Canvas, scale: &Scale, axis: &Axis, middle: f64) {
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

/// At this place.
pub fn diamond(canvas: &mut Canvas, (x, y): (f64, f64)) {
    let corners = [(x - SIZE, y), (x, y - SIZE), (x + SIZE, y), (x, y + SIZE)];
    canvas.path(&corners, true, "published");
}
