//! Samples that cannot be wrong.

use crate::Error;
use crate::quantile::quantile;

/// At least one value, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// The sample of these values, in any order.
    ///
    /// # Errors
    /// [`Error::Empty`] and [`Error::NotFinite`].
    pub fn new(values: impl IntoIterator<Item = f64>) -> Result<Self, Error> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        if sorted.is_empty() {
            return Err(Error::Empty);
        }
        if let Some(index) = sorted.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { index });
        }
        sorted.sort_by(f64::total_cmp);
        Ok(Self { sorted })
    }

    /// Number of values.
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// The values in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The median, in the unit of the values.
    pub fn median(&self) -> f64 {
        quantile(&self.sorted, 0.5)
    }

    /// The value below which this share (0 to 1, others are taken as the nearer end) of the sample lies, by linear
    /// interpolation (type 7 of Hyndman and Fan).
    pub fn quantile(&self, share: f64) -> f64 {
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        quantile(&self.sorted, share)
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.n() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_number_is_no_sample() {
        assert_eq!(Sample::new([]), Err(Error::Empty));
        assert_eq!(Sample::new([1.0, f64::NAN]).unwrap_err(), Error::NotFinite { index: 1 });
        assert_eq!(Sample::new([f64::INFINITY]).unwrap_err(), Error::NotFinite { index: 0 });
    }

    #[test]
    fn a_single_value_is_every_quantile() {
        let sample = Sample::new([7.0]).unwrap();
        assert_eq!(
            (sample.quantile(0.0), sample.median(), sample.quantile(1.0)),
            (7.0, 7.0, 7.0)
        );
    }

    #[test]
    fn shares_beyond_the_ends_are_the_ends() {
        let sample = Sample::new([1.0, 2.0]).unwrap();
        assert_eq!(sample.quantile(-1.0), 1.0);
        assert_eq!(sample.quantile(7.0), 2.0);
        assert_eq!(sample.quantile(f64::NAN), 1.0);
    }

    proptest! {
        #[test]
        fn order_does_not_matter(mut values in prop::collection::vec(1.0..1e6_f64, 1..40)) {
            let before = Sample::new(values.iter().copied()).unwrap();
            values.reverse();
            prop_assert_eq!(before, Sample::new(values).unwrap());
        }
    }
}
