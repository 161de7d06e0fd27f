//! Options of `inspect --follow` for a collector.

use std::path::PathBuf;
use std::time::Duration;

use bartizan_otlp::Target;
use bartizan_terminal::size;

/// A batch on its way and the records that come meanwhile have room in it.
const LEAST: f64 = 4_194_304.0;

/// Destinations of events and metrics besides standard output and `--metrics`.
#[derive(clap::Args)]
pub(in super::super) struct DeliveryArgs {
    /// With --follow: send events and metrics to an OpenTelemetry collector, as OTLP over HTTP: http://127.0.0.1:4318 (docs/follow-delivery.md)
    #[arg(long, value_name = "URL", requires = "follow")]
    pub(super) otlp: Option<Target>,

    /// Roots by which the certificate of an https:// collector is judged, PEM
    #[arg(long, value_name = "FILE", requires = "otlp")]
    pub(super) otlp_ca: Option<PathBuf>,

    /// Let --otlp send to another host by http://, without TLS. Attackers on the path can then read
    /// and change what is reported
    #[arg(long, requires = "otlp")]
    pub(super) otlp_allow_plaintext: bool,

    /// Interval at which metrics go to the collector
    #[arg(long, value_name = "DURATION", requires = "otlp", default_value = "10s", value_parser = interval)]
    pub(super) otlp_interval: Duration,

    /// Keep events that the collector has not taken in this folder, over restarts; without it they are in memory
    #[arg(long, value_name = "DIR", requires = "otlp")]
    pub(super) queue: Option<PathBuf>,

    /// Most that waits, as 64MiB; beyond it the oldest events are dropped, and counted
    #[arg(long, value_name = "SIZE", requires = "otlp", default_value = "64MiB", value_parser = limit)]
    pub(super) queue_limit: u64,
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
