//! CPU, memory and files of this process, as Prometheus clients name them.

use std::fs;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Linux reports CPU time to user space in hundredths of a second (`USER_HZ`), whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads `/proc/self` at each scrape.
#[derive(Debug)]
pub(crate) struct Process;

bartizan_registry::made! {
    /// Values of one scrape; a value that cannot be read is left out.
    #[derive(Debug, Default, PartialEq)]
    struct Usage, read() {
        cpu_seconds: Option<f64> = fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|text| cpu_seconds(&text)),
        resident_bytes: Option<u64> = fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|text| resident_bytes(&text)),
        open_files: Option<u64> = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64),
    }
}

/// User and system time from `/proc/self/stat`: fields 14 and 15 (proc(5)), counted behind the name in brackets, which may
/// itself contain spaces and brackets.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user as f64 + system as f64) / TICKS_PER_SECOND)
}

/// `VmRSS` of `/proc/self/status`, which is in units of 1024 bytes whatever the page size.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

impl Process {
    pub(crate) fn encode_into(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let usage = Usage::read();
        if let Some(seconds) = usage.cpu_seconds {
            let metric = encoder.encode_descriptor(
                "process_cpu_seconds",
                "User and system CPU time spent",
                None,
                MetricType::Counter,
            )?;
            ConstCounter::new(seconds).encode(metric)?;
        }
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory", usage.resident_bytes),
            ("process_open_fds", "Open file descriptors", usage.open_files),
        ] {
            if let Some(value) = value {
                encode_gauge(encoder, name, help, value as f64)?;
            }
        }
        Ok(())
    }
}

/// A gauge that is computed at the scrape.
pub(crate) fn encode_gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Result<(), std::fmt::Error> {
    let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_process_has_used_memory_and_files() {
        let usage = Usage::read();
        assert!(usage.cpu_seconds.is_some());
        assert!(usage.resident_bytes.unwrap() > 100 * 1024);
        assert!(usage.open_files.unwrap() >= 3);
    }

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) b) ) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 9 1 1";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        // Sixteen processors in a month: there was no value any more.
        let month = stat.replace(" 150 ", " 4294967350 ");
        assert_eq!(cpu_seconds(&month), Some(42_949_674.0));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,300}") {
            let _ = (cpu_seconds(&text), resident_bytes(&text));
        }
    }
}
