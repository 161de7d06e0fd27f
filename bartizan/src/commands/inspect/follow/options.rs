//! Options of `inspect` for packets that are still arriving.

use std::net::SocketAddr;
use std::time::Duration;

use super::delivery_options::DeliveryArgs;

/// Options for packets that still come.
#[derive(clap::Args)]
pub(in super::super) struct FollowArgs {
    /// Capture on this interface, and read no files; until Ctrl-C, and may be given more than once
    #[arg(short, long, value_name = "IF", conflicts_with_all = ["files", "timing"])]
    pub(in super::super) interface: Vec<String>,

    /// Report what becomes of each link while it does; of interfaces or of files that still grow
    /// (docs/follow.md)
    #[arg(long, conflicts_with_all = ["timing", "all"])]
    pub(in super::super) follow: bool,

    /// End after this time, as 30s or 2h
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) lasting: Option<Duration>,

    /// End after so many packets of each interface or file
    #[arg(long, value_name = "N")]
    pub(super) packets: Option<u64>,

    /// With --follow: what a link's verdicts are made from, the parts of it with packets in the last so much time
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub(super) window: Duration,

    /// Time allowed for a ledger record to arrive, and for an interface of the deployment file to
    /// be seen first
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = humantime::parse_duration)]
    pub(super) grace: Duration,

    /// With --follow: let go what had no packets for so long
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    pub(super) forget: Duration,

    /// With --follow: serve /metrics for Prometheus at this address
    #[arg(long, value_name = "ADDRESS:PORT", requires = "follow")]
    pub(super) metrics: Option<SocketAddr>,

    /// With --follow: serve a page that shows it in a browser at this address (docs/follow-page.md)
    #[arg(long, value_name = "ADDRESS:PORT", requires = "follow")]
    pub(super) http: Option<SocketAddr>,

    /// Let --http listen where other hosts reach it: the page has no login and no TLS
    #[arg(long, requires = "http")]
    pub(super) http_allow_remote: bool,

    /// A name by which browsers may reach --http, next to addresses and `localhost`; may be given more than once
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(super) http_name: Vec<String>,

    #[command(flatten)]
    pub(super) delivery: DeliveryArgs,
}

impl FollowArgs {
    /// Returns true if packets are captured live.
    pub(in super::super) fn is_live(&self) -> bool {
        self.follow || !self.interface.is_empty()
    }

    /// Returns true if an option is given that needs live packets.
    pub(in super::super) fn bounds_given(&self) -> bool {
        self.lasting.is_some() || self.packets.is_some()
    }
}

/// A time that is long enough to see anything in it.
fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(1) {
        return Err("less than a second shows nothing".into());
    }
    Ok(duration)
}
