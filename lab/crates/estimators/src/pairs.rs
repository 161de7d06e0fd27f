//! Values that belong together in twos.

use crate::{Error, Sample};

/// Results of two alternatives in the same repetition, one pair per repetition: at least one, all
/// finite.
///
/// If repetitions are interleaved, anything that slowed the machine for a while slowed both of a
/// pair; estimators over pairs do not mistake it for a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Pairs {
    /// Pairs the values of two alternatives by their order.
    ///
    /// # Errors
    /// [`Error::Unpaired`], [`Error::Empty`] and [`Error::NotFinite`].
    pub fn new(first: &[f64], second: &[f64]) -> Result<Self, Error> {
        if first.len() != second.len() {
            return Err(Error::Unpaired {
                first: first.len(),
                second: second.len(),
            });
        }
        for values in [first, second] {
            Sample::new(values.iter().copied())?;
        }
        Ok(Self {
            first: first.to_vec(),
            second: second.to_vec(),
        })
    }

    /// Number of pairs.
    #[must_use]
    pub fn n(&self) -> usize {
        self.first.len()
    }

    /// The values of the first way, in the order of the repetitions.
    #[must_use]
    pub fn first(&self) -> &[f64] {
        &self.first
    }

    /// The values of the second way, in the order of the repetitions.
    #[must_use]
    pub fn second(&self) -> &[f64] {
        &self.second
    }

    /// First less second, pair by pair.
    pub fn differences(&self) -> impl Iterator<Item = f64> {
        self.first
            .iter()
            .zip(&self.second)
            .map(|(first, second)| first - second)
    }
}
