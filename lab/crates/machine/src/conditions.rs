//! Conditions of a measurement that change from one machine to another, and from one moment to the
//! next.

use std::fs;
use std::time::Duration;

/// Flags of a processor by which libraries and kernels choose their code for ciphers, hashes and
/// big numbers, and which say what clocks are worth: x86's by the names of the kernel, and Arm's.
const FLAGS: [&str; 37] = [
    "adx",
    "aes",
    "asimd",
    "avx",
    "avx2",
    "avx512_vbmi2",
    "avx512bw",
    "avx512dq",
    "avx512f",
    "avx512ifma",
    "avx512vbmi",
    "avx512vl",
    "bmi1",
    "bmi2",
    "constant_tsc",
    "gfni",
    "hypervisor",
    "nonstop_tsc",
    "pclmulqdq",
    "pmull",
    "rdpid",
    "rdrand",
    "rdseed",
    "rdtscp",
    "sha1",
    "sha2",
    "sha3",
    "sha512",
    "sha_ni",
    "sse4_1",
    "sse4_2",
    "ssse3",
    "sve",
    "sve2",
    "tsc_known_freq",
    "vaes",
    "vpclmulqdq",
];

/// Those of the flags above that the first processor has.
#[must_use]
pub fn processor_flags() -> Vec<String> {
    fs::read_to_string("/proc/cpuinfo").map_or_else(|_| Vec::new(), |text| flags(&text))
}

fn flags(cpuinfo: &str) -> Vec<String> {
    let line = cpuinfo.lines().find(|line| {
        let name = line.split(':').next().unwrap_or_default().trim();
        matches!(name, "flags" | "Features")
    });
    let words = line
        .and_then(|line| line.split_once(':'))
        .map_or("", |(_, words)| words);
    let mut flags: Vec<String> = words
        .split_whitespace()
        .filter(|word| FLAGS.contains(word))
        .map(str::to_owned)
        .collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// The kernel's clock source, `tsc` for one; looking at others can take a microsecond.
#[must_use]
pub fn clock_source() -> Option<String> {
    let text = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
    Some(text.trim().to_owned())
}

/// Processor time that a hypervisor gave to others while this machine wanted it, of all processors
/// since it was started (proc_stat(5)); no finer than the kernel's ticks. `None` where the kernel
/// does not count it.
#[must_use]
pub fn stolen() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    stolen_in(&text)
}

fn stolen_in(stat: &str) -> Option<Duration> {
    /// Ticks of what the kernel shows to programs, in a second: the same on every architecture that Linux runs on.
    const TICKS: u64 = 100;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal
    let ticks: u64 = line.split_whitespace().nth(7)?.parse().ok()?;
    Some(Duration::from_millis(ticks.checked_mul(1000 / TICKS)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_that_matter_are_found_by_either_name_of_the_line() {
        let intel = "processor\t: 0\nmodel name\t: x\nflags\t\t: fpu vaes aes avx2 avx2 nothing\nflags: sha_ni\n";
        assert_eq!(flags(intel), ["aes", "avx2", "vaes"]);
        assert_eq!(flags("Features\t: fp asimd pmull sha2\n"), ["asimd", "pmull", "sha2"]);
        assert!(flags("model name: flags").is_empty());
    }

    #[test]
    fn what_was_stolen_is_the_eighth_count_of_all_processors() {
        let stat = "cpu  80718 0 27121 98450 2230 0 993 180 0 0\ncpu0 1 2 3 4 5 6 7 8\n";
        assert_eq!(stolen_in(stat), Some(Duration::from_millis(1800)));
        assert_eq!(stolen_in("cpu  1 2 3 4 5 6 7\n"), None);
        assert_eq!(stolen_in("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert!(stolen().is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text: String) {
            let _ = (flags(&text), stolen_in(&text), stolen_in(&format!("cpu {text}")));
        }
    }
}
