//! What the kernel's ESP drops of a node's links, while a command stays.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_ipsec::Metrics;
use bartizan_ipsec::drops::{self, Counted};

use super::node::IpsecHost;

/// How often the counts are read: an SA takes along what it has counted since.
const EVERY: Duration = Duration::from_secs(2);
const TURN: Duration = Duration::from_millis(200);

/// Counts until `stop` says so. Where the kernel does no ESP there is nothing to count.
pub(super) fn count(host: &IpsecHost, metrics: &Metrics, stop: &dyn Fn() -> bool) {
    let (mut counted, mut looked) = (Counted::of(&host.deployment, &host.node), None::<Instant>);
    while !stop() {
        if looked.is_none_or(|looked| looked.elapsed() >= EVERY) {
            looked = Some(Instant::now());
            match drops::of_sas() {
                Ok(Some(states)) => metrics.esp_dropped(counted.look(&states)),
                Ok(None) => return,
                // It is tried again; `status` says why it cannot be read.
                Err(_) => {}
            }
            if let Some(counters) = drops::of_host() {
                metrics.host_xfrm(&counters);
            }
        }
        thread::sleep(TURN);
    }
}
