//! Options of `inspect --follow` for a collector.

use std::path::PathBuf;
use std::time::Duration;

use bartizan_follow::delivery::Collector;
use bartizan_otlp::{Plaintext, Target};
use bartizan_terminal::size;

/// A batch on its way and the records that come meanwhile have room in it.
const LEAST: f64 = 4_194_304.0;

/// Destinations of events and metrics besides standard output and `--metrics`.
#[derive(clap::Args)]
pub(super) struct DeliveryArgs {
    /// With --follow: send events and metrics to an OpenTelemetry collector, as OTLP over HTTP: http://127.0.0.1:4318 (docs/follow-delivery.md)
    #[arg(long, value_name = "URL", requires = "follow")]
    otlp: Option<Target>,

    /// Roots by which the certificate of an https:// collector is judged, PEM
    #[arg(long, value_name = "FILE", requires = "otlp")]
    otlp_ca: Option<PathBuf>,

    /// Let --otlp send to another host by http://, without TLS. Attackers on the path can then read
    /// and change what is reported
    #[arg(long, requires = "otlp")]
    otlp_allow_plaintext: bool,

    /// Interval at which metrics go to the collector
    #[arg(long, value_name = "DURATION", requires = "otlp", default_value = "10s", value_parser = interval)]
    otlp_interval: Duration,

    /// Keep events that the collector has not taken in this folder, over restarts; without it they are in memory
    #[arg(long, value_name = "DIR", requires = "otlp")]
    queue: Option<PathBuf>,

    /// Most that waits, as 64MiB; beyond it the oldest events are dropped, and counted
    #[arg(long, value_name = "SIZE", requires = "otlp", default_value = "64MiB", value_parser = limit)]
    queue_limit: u64,
}

impl DeliveryArgs {
    /// The collector, where one is named.
    pub(super) fn collector(&self) -> Option<Collector> {
        Some(Collector {
            target: self.otlp.clone()?,
            authority: self.otlp_ca.clone(),
            plaintext: Plaintext::allowed(self.otlp_allow_plaintext),
            interval: self.otlp_interval,
            queue: self.queue.clone(),
            queue_limit: self.queue_limit,
        })
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(1) {
        return Err("a collector is sent metrics once a second at most".into());
    }
    Ok(duration)
}

fn limit(text: &str) -> Result<u64, String> {
    let bytes = size::at_least(LEAST, text)?.ok_or("less than 4 MiB has no room for two batches")?;
    Ok(bytes as u64)
}
