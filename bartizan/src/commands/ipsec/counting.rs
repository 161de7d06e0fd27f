//! Counts of a node's dropped packets while a command stays: by the kernel's ESP, and by the engine
//! with its own ESP.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::DataPath;
use bartizan_ipsec::drops::{self, Counted};
use bartizan_ipsec::vici::Client;
use bartizan_ipsec::{Metrics, OwnEsp};

use super::node::IpsecHost;

/// Interval of reading the counts: an SA takes along the counts since the last reading.
const EVERY: Duration = Duration::from_secs(2);
const TURN: Duration = Duration::from_millis(200);
/// Timeout of an answer from the engine.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts until `stop` says so, or where there is nothing to count.
pub(super) fn count(host: &IpsecHost, metrics: &Metrics, stop: &dyn Fn() -> bool) {
    let (mut counted, mut looked) = (Counted::of(&host.deployment, &host.node), None::<Instant>);
    let (mut of_kernel, of_engine) = (true, host.files.data_path == DataPath::Userspace);
    let mut routing = Routing::default();
    while !stop() && (of_kernel || of_engine) {
        if looked.is_none_or(|looked| looked.elapsed() >= EVERY) {
            looked = Some(Instant::now());
            if of_kernel {
                match drops::of_sas() {
                    Ok(Some(states)) => metrics.esp_dropped(counted.look(&states)),
                    Ok(None) => of_kernel = false,
                    // It is tried again; `status` says why it cannot be read.
                    Err(_) => {}
                }
                if let Some(counters) = drops::of_host() {
                    metrics.host_xfrm(&counters);
                }
            }
            // An engine that does not answer has gone, or is asked again.
            let asked = || OwnEsp::ask(&mut Client::connect(&host.place.socket(), PATIENCE)?);
            if of_engine && let Ok(Some(own)) = asked() {
                metrics.userspace(&own);
                routing.log(&own);
            }
        }
        thread::sleep(TURN);
    }
}

/// The log of what leads packets to the engine's device.
#[derive(Default)]
struct Routing {
    restored: u64,
    lost: bool,
}

impl Routing {
    fn log(&mut self, own: &OwnEsp) {
        let hint = "a program that manages routing on this host should leave foreign rules: ManageForeignRoutingPolicyRules=no of systemd-networkd";
        let (device, how) = (&own.device, own.lost.as_ref().or(own.last.as_ref()));
        let how = how.map_or("not known", String::as_str);
        // An engine that was started anew counts from zero.
        if own.restored > self.restored {
            tracing::error!(
                device,
                how,
                hint,
                "routing to the device was lost and is installed again: packets of the links were dropped meanwhile"
            );
        }
        if own.lost.is_some() && !self.lost {
            tracing::error!(
                device,
                how,
                hint,
                "routing to the device is lost: packets of the links are dropped"
            );
        }
        (self.restored, self.lost) = (own.restored, own.lost.is_some());
    }
}
