//! Samples, their quantiles, intervals of estimates, and chance by a seed: pure functions.
//!
//! The estimators of the laboratory are made of these (`lab/crates/estimators`).
#![forbid(unsafe_code)]

mod error;
mod interval;
mod quantile;
mod random;
mod sample;

pub use error::Error;
pub use interval::{Estimate, Interval};
pub use quantile::quantile;
pub use random::Random;
pub use sample::Sample;
