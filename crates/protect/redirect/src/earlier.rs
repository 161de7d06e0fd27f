//! Connections that were open before the rules: they go past the sidecar, and a program that waits
//! on one would wait in vain.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use bartizan_host::Connection;

use super::plan::Plan;

/// Fate of connections that were open before the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Both ends got a reset.
    pub reset: usize,
    /// The kernel resets none at once: each end learns of it when it sends next, and one that only waits, never.
    pub left: usize,
    /// Reason why the kernel lists none: some may be open.
    pub unlisted: Option<String>,
}

/// Resets those that pass unencrypted what the rules refuse. Redirected ones, and those between a sidecar and its function, go on.
pub(super) fn reset(plan: &Plan) -> Earlier {
    let all = match Connection::all() {
        Ok(all) => all,
        Err(error) => {
            return Earlier {
                unlisted: Some(error.to_string()),
                ..Earlier::default()
            };
        }
    };
    let known: BTreeSet<_> = all
        .iter()
        .map(|connection| (connection.local, connection.remote))
        .collect();
    let listeners = [
        plan.listener_v4.map(SocketAddr::V4),
        plan.listener_v6.map(SocketAddr::V6),
    ];
    let services = plan.addresses();
    let past = all.iter().filter(|connection| {
        let Connection { local, remote, .. } = connection;
        let within_this_host = known.contains(&(*remote, *local));
        let redirected = listeners
            .iter()
            .flatten()
            .any(|listener| known.contains(&(*listener, *local)));
        let let_pass = plan
            .unprotected_peers
            .iter()
            .any(|unprotected| unprotected.has(remote.ip()) && unprotected.ports.contains(&local.port()));
        let to_a_peer = services.contains(remote) && !redirected;
        let to_the_own = plan.ports.contains(&local.port()) && !let_pass;
        !within_this_host && (to_a_peer || to_the_own)
    });
    let mut earlier = Earlier::default();
    for connection in past {
        match connection.reset() {
            Ok(()) => earlier.reset += 1,
            Err(_) => earlier.left += 1,
        }
    }
    earlier
}
