//! What a process has used so far.

use std::fs;
use std::time::Duration;

use crate::Error;

/// Processor time and memory of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on a processor, user and system, of the threads that live, as the scheduler counts it in nanoseconds.
    pub cpu: Duration,
    /// Bytes resident now (`VmRSS` of proc(5)).
    pub resident: u64,
    /// The most bytes that were ever resident (`VmHWM`).
    pub peak_resident: u64,
}

impl Usage {
    /// What the process with this id has used.
    ///
    /// # Errors
    ///
    /// When there is no such process, or the kernel keeps no scheduler statistics.
    pub fn of(process: u32) -> Result<Self, Error> {
        let reading = |source| Error::io(format!("reading the usage of process {process}"))(source);
        let mut cpu = Duration::ZERO;
        for task in fs::read_dir(format!("/proc/{process}/task")).map_err(reading)? {
            // A thread may end between the listing and the reading.
            let Ok(text) = fs::read_to_string(task.map_err(reading)?.path().join("schedstat")) else {
                continue;
            };
            cpu += text
                .split(' ')
                .next()
                .and_then(|ns| ns.parse().ok())
                .map_or(Duration::ZERO, Duration::from_nanos);
        }
        let status = fs::read_to_string(format!("/proc/{process}/status")).map_err(reading)?;
        Ok(Self {
            cpu,
            resident: kilobytes(&status, "VmRSS:"),
            peak_resident: kilobytes(&status, "VmHWM:"),
        })
    }
}

fn kilobytes(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(0, |kb| kb * 1024)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn a_process_that_computes_shows_processor_time_and_memory() {
        let before = Usage::of(std::process::id()).expect("our own usage");
        let mut sum = 0_u64;
        while Usage::of(std::process::id()).expect("our own usage").cpu < before.cpu + Duration::from_millis(20) {
            sum = (0..100_000_u64).fold(sum, |sum, value| black_box(sum ^ value));
        }
        assert!(
            before.resident > 0 && before.peak_resident >= before.resident,
            "{before:?}"
        );
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(Usage::of(u32::MAX).is_err());
    }
}
