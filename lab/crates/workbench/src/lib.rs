//! Workloads for measurements and demonstrations.
//!
//! Three rooms, and what is measured without an experiment's file:
//!
//! - [`runner`]: an experiment's file, the order of its trials, their run and their records.
//! - [`workload`]: what a trial does, one kind of workload per module.
//! - [`stand_in`]: what workloads need at the other end: network functions of our own, the replay
//!   of recorded ones, pairs of proxies.
//! - [`captures`] and [`inspection`]: captures of
//!   any size, and the cost of reading one; [`calibration`]: what each primitive takes on this machine.
#![forbid(unsafe_code)]

pub mod calibration;
pub mod captures;
mod cpu_time;
mod error;
pub mod inspection;
pub mod runner;
pub mod stand_in;
pub mod workload;

pub use bartizan_testing::Discovery;
pub use error::Error;
pub use runner::experiment::Experiment;
pub use runner::published::Published;
pub use stand_in::exchange::Exchange;
