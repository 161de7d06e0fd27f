//! Room on a map: what has a place keeps it, and what finds none is left out.

use super::layout::{HEIGHT, Layout, NAME, node_width};
use crate::plot::canvas::text_width;

/// Half the side of the squares that a name written aslant is taken to be made of.
const HALF: f64 = 7.0;

/// Rectangles that are taken: left, top, right, bottom.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<[f64; 4]>);

impl Taken {
    /// By nodes and their names.
    pub(super) fn by_nodes(names: &[String], layout: &Layout) -> Self {
        let mut taken = Self::default();
        for (name, spot) in names.iter().zip(&layout.spots) {
            match spot.outward {
                None => taken.0.push(around((spot.x, spot.y), node_width(name), HEIGHT)),
                Some(angle) => {
                    let length = 9.0 + text_width(name, NAME);
                    let steps = (length / HALF).ceil();
                    for step in 0..=steps as usize {
                        let away = length * step as f64 / steps;
                        let at = (spot.x + away * angle.cos(), spot.y + away * angle.sin());
                        taken.0.push(around(at, 2.0 * HALF, 2.0 * HALF));
                    }
                }
            }
        }
        taken
    }

    /// Takes the first of these places, each the middle of something so large, where nothing
    /// stands; none where there is none.
    pub(super) fn place(&mut self, (width, height): (f64, f64), places: &[(f64, f64)]) -> Option<(f64, f64)> {
        let free = |at: &&(f64, f64)| {
            let [left, top, right, bottom] = around(**at, width, height);
            let apart =
                |other: &[f64; 4]| right <= other[0] || other[2] <= left || bottom <= other[1] || other[3] <= top;
            self.0.iter().all(apart)
        };
        let at = *places.iter().find(free)?;
        self.0.push(around(at, width, height));
        Some(at)
    }
}

fn around(at: (f64, f64), width: f64, height: f64) -> [f64; 4] {
    [
        at.0 - width / 2.0,
        at.1 - height / 2.0,
        at.0 + width / 2.0,
        at.1 + height / 2.0,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_left_out_and_nothing_overlaps() {
        let mut taken = Taken::default();
        let places = [(0.0, 0.0), (10.0, 0.0)];
        assert_eq!(taken.place((8.0, 8.0), &places), Some((0.0, 0.0)));
        assert_eq!(taken.place((8.0, 8.0), &places), Some((10.0, 0.0)));
        assert_eq!(taken.place((8.0, 8.0), &places), None);
    }
}
