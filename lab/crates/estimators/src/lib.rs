//! Estimators over measured samples: pure functions, no clock, and no chance beyond the seed a
//! caller gives.
//!
//! Latencies are skewed and have a long tail, so everything here rests on ranks (medians,
//! quartiles, the shift of Hodges and Lehmann), with one exception: [`t_interval`], which published
//! experiments use over the medians of their repetitions. Every estimator is held against SciPy in
//! `tests/reference`.
#![forbid(unsafe_code)]

mod bootstrap;
mod confidence;
mod dip;
mod enough;
mod median;
mod modes;
mod normal;
mod pairs;
mod ranks;
mod serial;
mod shift;
mod shuffle;
mod spread;
mod step;
mod student;
mod summary;
mod trend;

pub use bartizan_stats::{Error, Estimate, Interval, Random, Sample};
pub use bootstrap::{Resampling, median_interval, ratio_of_medians, ratio_of_sample_medians};
pub use confidence::Confidence;
pub use dip::{OneMode, dip};
pub use enough::{repetitions_for_estimate, repetitions_for_mean};
pub use modes::Modes;
pub use pairs::Pairs;
pub use serial::{SerialMedian, difference, serial_median};
pub use shift::{paired_ratio, paired_shift, shift};
pub use shuffle::shuffle;
pub use spread::{interquartile_range, standard_deviation};
pub use step::{Step, step};
pub use student::t_interval;
pub use summary::Summary;
pub use trend::{Trend, first_against_rest, trend};
