//! Connections that were forwarded before the rules were there, and keep a way of their own.

use std::time::Duration;

use bartizan_host::Program;

/// Time limit of `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

/// A policy between two addresses for documents (RFC 5737), which no packet has.
const POLICY: &str = "src 192.0.2.1 dst 192.0.2.2 dir out";

/// Has every connection look for its route again. A flowtable keeps that of the connections it has taken over, for as long as they have
/// packets, whatever rules come after; a policy that is added to the kernel's ESP makes all routes stale, of both families. Where the kernel
/// has no ESP those of IPv4 are, by the older way.
pub(super) fn look_again() {
    let done = Program::new("ip")
        .package("iproute2")
        .arguments(["-batch", "-"])
        .text(&format!(
            "xfrm policy add {POLICY} action block\nxfrm policy delete {POLICY}\n"
        ))
        .and_then(|program| program.run(PATIENCE));
    if done.is_err() {
        // If even this fails, a connection in a flowtable goes on until it ends.
        let _ = Program::new("ip").arguments(["route", "flush", "cache"]).run(PATIENCE);
    }
}
