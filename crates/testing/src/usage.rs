//! Resources that a process has used so far.

use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use bartizan_host::Error;

use crate::group_members;

/// Processor time and memory of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on a processor, user and system, of all threads that live or lived, as the scheduler
    /// counts it in nanoseconds.
    pub cpu: Duration,
    /// Bytes resident now (`VmRSS` of proc(5)).
    pub resident: u64,
    /// The most bytes that were ever resident (`VmHWM`).
    pub peak_resident: u64,
}

impl Usage {
    /// Usage of the process with this id.
    ///
    /// # Errors
    ///
    /// When there is no such process.
    pub fn of(process: u32) -> Result<Self, Error> {
        let reading = |source| Error::io(format!("reading the usage of process {process}"))(source);
        // Numbers beyond those of the kernel are of no process.
        let pid = Pid::from_raw(i32::try_from(process).unwrap_or(i32::MAX));
        let spent = clock_getcpuclockid(pid).and_then(ClockId::now);
        let cpu = spent.map_err(|errno| reading(errno.into()))?.into();
        let status = fs::read_to_string(format!("/proc/{process}/status")).map_err(reading)?;
        Ok(Self {
            cpu,
            resident: kilobytes(&status, "VmRSS:"),
            peak_resident: kilobytes(&status, "VmHWM:"),
        })
    }

    /// Usage of the living processes of a group together: a [`bartizan_host::Process`] leads one
    /// with its own number.
    ///
    /// # Errors
    ///
    /// When no process of it lives.
    pub fn of_group(group: u32) -> Result<Self, Error> {
        let gone = || Error::errno(format!("reading the usage of process group {group}"))(nix::errno::Errno::ESRCH);
        // One may end between the listing and the reading.
        let members: Vec<Self> = group_members(group)
            .into_iter()
            .filter_map(|pid| Self::of(pid).ok())
            .collect();
        if members.is_empty() {
            return Err(gone());
        }
        Ok(members.into_iter().fold(Self::default(), |sum, one| Self {
            cpu: sum.cpu + one.cpu,
            resident: sum.resident + one.resident,
            peak_resident: sum.peak_resident + one.peak_resident,
        }))
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
    fn time_of_threads_that_have_ended_counts() {
        let before = Usage::of(std::process::id()).expect("our own usage").cpu;
        std::thread::spawn(|| {
            // Time that it has run: others may run meanwhile.
            let own = || Duration::from(ClockId::CLOCK_THREAD_CPUTIME_ID.now().expect("its time"));
            while own() < Duration::from_millis(30) {
                black_box(own());
            }
        })
        .join()
        .expect("it only counts");
        let after = Usage::of(std::process::id()).expect("our own usage").cpu;
        assert!(after > before + Duration::from_millis(3), "{before:?} {after:?}");
    }

    #[test]
    fn a_group_uses_what_its_processes_use() {
        // The child is there, as a copy of the shell at least, before the word is said.
        let script = "sleep 30 & echo done; wait";
        let mut process = bartizan_host::Program::new("sh")
            .arguments(["-c", script])
            .start()
            .expect("a shell");
        process
            .wait_for_line("done", Duration::from_secs(30))
            .expect("it counts");
        let (alone, group) = (Usage::of(process.id()).unwrap(), Usage::of_group(process.id()).unwrap());
        assert!(group.resident > alone.resident, "{group:?} {alone:?}");
        assert!(Usage::of_group(u32::MAX).is_err());
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(Usage::of(u32::MAX).is_err());
    }
}
