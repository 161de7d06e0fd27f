//! Under which conditions a trial was taken: what was built, the machine, and how fast it was just before.

use std::fs;

use serde::{Deserialize, Serialize};

/// Origin of the program: sources, compiler and libraries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Name of the commit; absent where it is not known.
    pub commit: Option<String>,
    /// Reason why the commit is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_commit: Option<String>,
    /// True if sources differed from the commit; absent if that cannot be determined, as in an
    /// archive.
    pub modified: Option<bool>,
    /// `release` or `debug`, with the level of optimisation.
    pub profile: String,
    /// Features of cargo.
    pub features: Vec<String>,
    /// Target triple of the compiler.
    pub target: String,
    /// The compiler and its flags.
    pub compiler: String,
    /// Libraries that take time in what is measured, with their versions.
    pub libraries: Vec<String>,
}

/// Duration of fixed work just before a trial, in microseconds: each the median of five. It shows
/// everything that makes the whole machine faster or slower.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The processor that it ran on.
    pub processor: usize,
    /// Arithmetic in registers.
    pub arithmetic: f64,
    /// Copies within the second-level cache.
    pub memory: f64,
    /// System calls: some that do nothing, some that pass bytes through a pair of sockets.
    pub system: f64,
}

/// Processor time that a hypervisor gave to others while this machine wanted it, of all processors
/// since it was started, in milliseconds. The kernel counts it by ticks of its clock, 10 ms or
/// less.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steal {
    /// At the begin of the trial.
    pub before: f64,
    /// At its end.
    pub after: f64,
}

impl Calibration {
    /// All of it in one number, in microseconds: the geometric mean, so that each kind of work
    /// counts by how many times it takes longer.
    #[must_use]
    pub fn pace(&self) -> f64 {
        (self.arithmetic * self.memory * self.system).cbrt()
    }
}

impl Steal {
    /// During the trial, in milliseconds.
    #[must_use]
    pub fn during(&self) -> f64 {
        (self.after - self.before).max(0.0)
    }
}

/// Load average over a minute; absent where the kernel does not tell.
#[must_use]
pub fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_half_as_fast_at_everything_has_twice_the_pace() {
        let fast = Calibration {
            processor: 1,
            arithmetic: 300.0,
            memory: 40.0,
            system: 20.0,
        };
        let slow = Calibration {
            arithmetic: 600.0,
            memory: 80.0,
            system: 40.0,
            ..fast
        };
        assert!((slow.pace() / fast.pace() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_counter_that_went_back_has_stolen_nothing() {
        let steal = Steal {
            before: 30.0,
            after: 10.0,
        };
        assert_eq!(steal.during(), 0.0);
    }
}
