//! Workloads for measurements and demonstrations.
//!
//! Three rooms, and what is measured without an experiment's file:
//!
//! - [`runner`]: an experiment's file, the order of its trials, their run and their records.
//! - [`workload`]: what a trial does, one kind of workload per module.
//! - [`stand_in`]: network functions of our own for the workloads, and the replay of recorded ones.
//! - [`bench`]: what a pair of proxies costs the requests that pass through it, ours and others'; [`captures`] and [`inspection`]: captures of
//!   any size, and the cost of reading one; [`calibration`]: what each primitive takes on this machine.
#![forbid(unsafe_code)]

pub mod bench;
pub mod calibration;
pub mod captures;
pub mod inspection;
pub mod runner;
pub mod stand_in;
pub mod workload;

pub use runner::experiment::Experiment;
pub use runner::published::Published;
pub use stand_in::discovery::Discovery;
pub use stand_in::exchange::Exchange;
