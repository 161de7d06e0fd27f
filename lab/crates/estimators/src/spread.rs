//! Spread of a sample.

use bartizan_stats::Sample;

/// Third quartile less first quartile.
pub fn interquartile_range(sample: &Sample) -> f64 {
    sample.quantile(0.75) - sample.quantile(0.25)
}

/// Estimated standard deviation of the population (n - 1 below the line); `None` for a single value.
pub fn standard_deviation(sample: &Sample) -> Option<f64> {
    let degrees = sample.n().checked_sub(1).filter(|&degrees| degrees > 0)?;
    let mean = sample.mean();
    let squares: f64 = sample.sorted().iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / degrees as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_has_no_deviation() {
        let sample = Sample::new([7.0]).unwrap();
        assert_eq!(standard_deviation(&sample), None);
        assert_eq!(interquartile_range(&sample), 0.0);
    }
}
