//! Test for a level that changes on the way (Pettitt, 1979): a machine that is busy, or slower,
//! from some moment on, or slower and slower.

use serde::Serialize;

use crate::Error;
use crate::median::median_in_place;
use crate::serial::variance_factor;

/// Below this nothing can be distinguished from chance at 5 %.
const LEAST: usize = 8;

/// The place where values before and after differ most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Index of the first value after it.
    pub at: usize,
    /// Median after less median before, in the unit of the values.
    pub change: f64,
    /// Probability that values without a step look at least as parted.
    pub p: f64,
}

/// The most likely step of values in the order in which they were taken. Dependence between
/// neighbours makes steps where there are none: the variance of the statistic is multiplied by what
/// is left of it once the step is taken out, or the line where values rise or fall all the way.
///
/// # Errors
/// [`Error::TooFew`] below eight values; [`Error::NotFinite`].
pub fn step(values: &[f64]) -> Result<Step, Error> {
    let n = values.len();
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { index });
    }
    if n < LEAST {
        return Err(Error::TooFew { n });
    }
    // Each end keeps three values, two of eight: less is an outlier.
    let margin = (n / 4).min(3);
    // U of Pettitt grows from one place to the next by how many values lie above the one in
    // between, less how many below.
    let mut score = 0_i64;
    let (mut at, mut most) = (margin, 0_i64);
    for (index, value) in values.iter().enumerate().take(n - margin) {
        let above = values.iter().filter(|other| *other > value).count() as i64;
        let below = values.iter().filter(|other| *other < value).count() as i64;
        score += above - below;
        if index + 1 >= margin && score.abs() > most {
            (at, most) = (index + 1, score.abs());
        }
    }
    let (mut before, mut after) = (values[..at].to_vec(), values[at..].to_vec());
    let (one, other) = (median_in_place(&mut before), median_in_place(&mut after));
    let rest: Vec<f64> = values[..at]
        .iter()
        .map(|value| value - one)
        .chain(values[at..].iter().map(|value| value - other))
        .collect();
    let factor =
        variance_factor(&centred_ranks(&rest)).min(variance_factor(&centred_ranks(&residuals_of_line(values))));
    let (n, most) = (n as f64, most as f64);
    let p = 2.0 * (-6.0 * most * most / ((n * n * n + n * n) * factor)).exp();
    Ok(Step {
        at,
        change: other - one,
        p: p.min(1.0),
    })
}

/// Values less the line through them, by the median of all slopes (Theil, 1950).
fn residuals_of_line(values: &[f64]) -> Vec<f64> {
    let mut slopes: Vec<f64> = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (index, before) in values.iter().enumerate() {
        let after = values[index + 1..].iter().enumerate();
        slopes.extend(after.map(|(steps, after)| (after - before) / (steps + 1) as f64));
    }
    let slope = median_in_place(&mut slopes);
    let values = values.iter().enumerate();
    values.map(|(index, value)| value - slope * index as f64).collect()
}

/// Ranks less their mean; those of equal values are the mean of theirs.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + equal as f64 / 2.0 - values.len() as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn noise(random: &mut Random) -> f64 {
        random.below(1000) as f64 / 1000.0
    }

    #[test]
    fn a_machine_that_slows_down_at_repetition_21_is_found_there() {
        let mut random = Random::seeded(5);
        let values: Vec<f64> = (0..100)
            .map(|index| noise(&mut random) + if index >= 21 { 0.8 } else { 0.0 })
            .collect();
        let step = step(&values).unwrap();
        assert!(step.at.abs_diff(21) <= 2 && step.p < 0.001, "{step:?}");
        assert!((step.change - 0.8).abs() < 0.25, "{step:?}");
    }

    #[test]
    fn a_machine_that_slows_down_all_the_way_is_found_too() {
        let mut random = Random::seeded(8);
        let values: Vec<f64> = (0..30)
            .map(|index| f64::from(index) / 15.0 + noise(&mut random))
            .collect();
        let step = step(&values).unwrap();
        assert!(step.p < 0.01 && step.change > 0.5, "{step:?}");
    }

    #[test]
    fn noise_without_a_step_shows_one_seldom_also_where_neighbours_are_alike() {
        let mut random = Random::seeded(6);
        for (n, keeps) in [(12, 0.0), (30, 0.0), (100, 0.0), (30, 0.3), (100, 0.3)] {
            let found = (0..500)
                .filter(|_| {
                    let mut value = 0.0;
                    let values: Vec<f64> = (0..n + 20)
                        .map(|_| {
                            value = keeps * value + noise(&mut random) - 0.5;
                            value
                        })
                        .collect();
                    step(&values[20..]).unwrap().p < 0.01
                })
                .count();
            // One of a hundred is five of 500; a third dependence leaves some over.
            assert!(found <= 20, "{found} of 500 with {n} values that keep {keeps}");
        }
    }

    #[test]
    fn values_that_never_change_have_no_step_and_seven_are_too_few() {
        assert_eq!(step(&[1.0; 20]).unwrap().p, 1.0);
        assert_eq!(step(&[1.0; 7]), Err(Error::TooFew { n: 7 }));
        assert_eq!(
            step(&[0.0, 1.0, f64::NAN, 0.0, 1.0, 0.0, 1.0, 0.0]),
            Err(Error::NotFinite { index: 2 })
        );
    }
}
