//! Processing delay by size, as it was measured or published.

use serde::Serialize;
use thiserror::Error;

use crate::Source;
use crate::unit::{Bytes, Microseconds, UnitError};

/// More points than a curve has use for.
const MOST_POINTS: usize = 10_000;

bartizan_registry::made! {
    /// Processing delay of both ends together, by the size of the unprotected frame; straight lines between the points.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub struct DelayCurve,
    /// The same delay for frames up to this size.
    pub constant(delay: Microseconds, up_to: Bytes, source: Source) {
        points: Vec<(Bytes, Microseconds)> = vec![(up_to, delay)],
        source: Source,
    }
}

/// Why there is no such curve, or no such point of it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CurveError {
    /// Nothing to draw a curve through.
    #[error("the curve has no point; hint: a line for each size, such as 1500,42.5")]
    Empty,
    /// Too many points.
    #[error("the curve has {0} points: {MOST_POINTS} at most")]
    TooMany(usize),
    /// Two delays of one size.
    #[error("the curve has two delays of {0} bytes")]
    Twice(u64),
    /// A size the curve does not reach.
    #[error(
        "a frame of {size} bytes: the curve of {source_name} ends at {last} bytes, and nothing says how it goes on"
    )]
    Beyond {
        /// Requested frame size, in bytes.
        size: u64,
        /// Largest size on the curve, in bytes.
        last: u64,
        /// Which curve.
        source_name: String,
    },
    /// A line of a file.
    #[error("line {line}: {cause}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Fault in the curve.
        cause: String,
    },
    /// A quantity out of bounds.
    #[error(transparent)]
    Unit(#[from] UnitError),
}

impl DelayCurve {
    /// A curve through these points, in any order; one point is a constant delay up to its size.
    pub fn new(mut points: Vec<(Bytes, Microseconds)>, source: Source) -> Result<Self, CurveError> {
        if points.is_empty() {
            return Err(CurveError::Empty);
        }
        if points.len() > MOST_POINTS {
            return Err(CurveError::TooMany(points.len()));
        }
        points.sort_by_key(|(size, _)| *size);
        if let Some(two) = points.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(CurveError::Twice(two[0].0.value()));
        }
        Ok(Self { points, source })
    }

    /// The columns of a table of commas: a heading `size,NAME,...`, then a line for each size with delays in microseconds. A curve for each column.
    pub fn parse_csv(text: &str, source: &Source) -> Result<Vec<(String, Self)>, CurveError> {
        let fault = |line: usize, cause: String| CurveError::Line { line: line + 1, cause };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, heading) = lines.next().ok_or(CurveError::Empty)?;
        let names: Vec<&str> = heading.split(',').map(str::trim).collect();
        if names.first() != Some(&"size") || names.len() < 2 {
            return Err(fault(
                0,
                "the heading is `size,delay`, or `size,none,integrity,encryption`".to_owned(),
            ));
        }
        let mut columns: Vec<Vec<(Bytes, Microseconds)>> = vec![Vec::new(); names.len() - 1];
        for (number, line) in lines.take(MOST_POINTS + 1) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                return Err(fault(
                    number,
                    format!("{} cells under {} headings", cells.len(), names.len()),
                ));
            }
            let size: Bytes = cells[0]
                .parse()
                .map_err(|error: UnitError| fault(number, error.to_string()))?;
            for (column, cell) in columns.iter_mut().zip(&cells[1..]) {
                let delay: f64 = cell
                    .parse()
                    .map_err(|_| fault(number, format!("`{cell}` is no number of microseconds")))?;
                let delay = Microseconds::new(delay).map_err(|error| fault(number, error.to_string()))?;
                column.push((size, delay));
            }
        }
        let curves = names[1..].iter().zip(columns);
        curves
            .map(|(name, points)| Ok(((*name).to_owned(), Self::new(points, source.clone())?)))
            .collect()
    }

    /// The delay of a frame of this size: the first point's below it, on the line between two, refused beyond the last.
    pub fn at(&self, size: Bytes) -> Result<Microseconds, CurveError> {
        let after = self.points.partition_point(|(point, _)| *point < size);
        let Some(&(upper_size, upper)) = self.points.get(after) else {
            return Err(CurveError::Beyond {
                size: size.value(),
                last: self.last().value(),
                source_name: self.source.to_string(),
            });
        };
        let Some(&(lower_size, lower)) = after.checked_sub(1).and_then(|index| self.points.get(index)) else {
            return Ok(upper);
        };
        let share = size.beyond(lower_size).value() as f64 / upper_size.beyond(lower_size).value() as f64;
        Ok(Microseconds::new(
            lower.value() + (upper.value() - lower.value()) * share,
        )?)
    }

    /// The largest size it knows.
    pub fn last(&self) -> Bytes {
        self.points.last().map_or(Bytes::ZERO, |(size, _)| *size)
    }

    /// Its points in order of size.
    pub fn points(&self) -> &[(Bytes, Microseconds)] {
        &self.points
    }

    /// Origin of the measured points.
    pub const fn source(&self) -> &Source {
        &self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(u32, f64)]) -> DelayCurve {
        let points = points
            .iter()
            .map(|(size, delay)| (Bytes::from(*size), Microseconds::new(*delay).unwrap()));
        DelayCurve::new(points.collect(), Source::input("a test")).unwrap()
    }

    fn at(curve: &DelayCurve, size: u32) -> f64 {
        curve.at(Bytes::from(size)).unwrap().value()
    }

    #[test]
    fn a_curve_is_straight_between_its_points_and_ends_at_its_last() {
        let curve = curve(&[(1000, 30.0), (100, 10.0)]);
        assert_eq!(
            (at(&curve, 0), at(&curve, 100), at(&curve, 550), at(&curve, 1000)),
            (10.0, 10.0, 20.0, 30.0)
        );
        let beyond = curve.at(Bytes::from(1001_u32)).unwrap_err().to_string();
        assert!(beyond.contains("ends at 1000 bytes"), "{beyond}");
    }

    #[test]
    fn a_table_gives_a_curve_for_each_column_and_names_the_line_that_is_wrong() {
        let source = Source::file("delays.csv");
        let curves = DelayCurve::parse_csv("size,none,encryption\n64,1,40\n9000, 2.5, 218\n", &source).unwrap();
        assert_eq!(curves.len(), 2);
        assert_eq!((curves[1].0.as_str(), at(&curves[1].1, 9000)), ("encryption", 218.0));
        let refused = |text: &str| DelayCurve::parse_csv(text, &source).unwrap_err().to_string();
        assert!(refused("").contains("no point"));
        assert!(refused("size,delay\n").contains("no point"));
        assert!(refused("64,1\n").contains("the heading is"));
        assert_eq!(refused("size,delay\n64,1\n65\n"), "line 3: 1 cells under 2 headings");
        assert_eq!(
            refused("size,delay\n64,fast\n"),
            "line 2: `fast` is no number of microseconds"
        );
        assert!(refused("size,delay\n64,-1\n").starts_with("line 2: time of -1 us"));
        assert!(refused("size,delay\n64,1\n64,2\n").contains("two delays of 64 bytes"));
    }

    proptest! {
        #[test]
        fn a_curve_whose_points_rise_never_falls(mut delays in prop::collection::vec(0.0..1e6_f64, 2..12), size in 0_u32..1100) {
            delays.sort_by(f64::total_cmp);
            let points: Vec<(u32, f64)> = delays.iter().enumerate().map(|(index, delay)| (index as u32 * 100, *delay)).collect();
            let curve = curve(&points);
            let last = curve.last().value() as u32;
            let size = size.min(last - 1);
            prop_assert!(at(&curve, size) <= at(&curve, size + 1) + 1e-9);
        }

        #[test]
        fn no_table_panics(text in "(size,delay\n)?[0-9,.\n a-z-]{0,60}") {
            let _ = DelayCurve::parse_csv(&text, &Source::file("x"));
        }
    }
}
