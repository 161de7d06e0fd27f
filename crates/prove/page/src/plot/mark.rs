//! The value of a publication, marked in a row of a plot.

use super::canvas::Canvas;

/// Published values further away than so many times what was measured are not given room on the
/// axis: an arrow at its end names them.
const NEAR: f64 = 3.0;
/// Half of a diamond, and an arrow.
pub const SIZE: f64 = 5.0;

/// Those of the marks that are near enough to the value to be given room.
pub fn near(marks: &[f64], value: f64) -> impl Iterator<Item = f64> + '_ {
    let near = move |mark: &f64| *mark > 0.0 && value > 0.0 && *mark <= NEAR * value && *mark * NEAR >= value;
    marks.iter().copied().filter(near)
}

/// A diamond at this place.
pub fn diamond(canvas: &mut Canvas, (x, y): (f64, f64)) {
    let corners = [(x - SIZE, y), (x, y - SIZE), (x + SIZE, y), (x, y + SIZE)];
    canvas.path(&corners, true, "published");
}
