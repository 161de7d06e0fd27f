//! Remarks on a deployment, without a fault.

use std::time::SystemTime;

use bartizan_deployment::{Deployment, InterfaceKind, Node, Outbound, Path, Route};

use super::findings::Finding;
use super::ipsec::{self, Engines};
use super::scope::Scope;

/// Returns remarks without a fault.
pub(super) fn of(scope: Scope<'_>, now: SystemTime) -> Vec<Finding> {
    let deployment = scope.deployment;
    let of_link = |interface| ipsec::notes(interface, Engines::of(deployment, interface), now);
    let mut notes: Vec<_> = scope.interfaces().flat_map(of_link).collect();
    for node in scope.nodes() {
        let name = node.name.as_str();
        if deployment.joining(name).is_empty() {
            let hint = "add it to `interfaces`, or remove it";
            let finding = "no interface joins it to another node";
            notes.push(Finding::new(format!("nodes.{name}"), finding, hint));
        }
        let Some(sidecar) = &node.sidecar else { continue };
        for (index, outbound) in sidecar.outbound.iter().enumerate() {
            if outbound.path == Path::Splice {
                notes.extend(http_as_it_is(deployment, node, index));
            }
            // A gateway refuses callers on other hosts.
            if outbound.path != Path::Sctp && !outbound.listen.ip().is_loopback() {
                notes.push(Finding::new(
                    format!("nodes.{name}.sidecar.outbound[{index}]"),
                    format!(
                        "takes requests in plaintext at {}, from beyond this host",
                        outbound.listen
                    ),
                    "listen on loopback where the network function is on the same host",
                ));
            }
        }
        if let Some(admin) = sidecar.admin.filter(|admin| !admin.ip().is_loopback()) {
            let finding = format!("serves metrics and state in plaintext at {admin}");
            let hint = "loopback, or a management network, is the place for it";
            notes.push(Finding::new(format!("nodes.{name}.sidecar.admin"), finding, hint));
        }
    }
    notes
}

/// Returns true if an outbound listener leads to a peer over an interface.
pub(super) fn leads_to(outbound: &Outbound, peer: &Node, kind: InterfaceKind) -> bool {
    let is_to = !matches!(&outbound.route, Route::To(to) if *to != peer.name);
    is_to && outbound.interface.is_none_or(|own| own == kind)
}

/// A listener that copies requests to a peer with TLS of its own, which read `http` then.
fn http_as_it_is(deployment: &Deployment, node: &Node, index: usize) -> Option<Finding> {
    let outbound = node.sidecar.as_ref()?.outbound.get(index)?;
    // O1 is NETCONF, over TLS without HTTP (RFC 7589).
    let is_http = |kind| kind != InterfaceKind::O1;
    let mut peers = deployment.sidecar_peers(node.name.as_str());
    let (peer, interface) = peers.find(|(peer, interface)| {
        peer.tls.is_some() && is_http(interface.kind) && leads_to(outbound, peer, interface.kind)
    })?;
    let (peer, kind) = (&peer.name, interface.kind.name());
    Some(Finding::new(
        format!("nodes.{}.sidecar.outbound[{index}].path", node.name),
        format!("copies bytes: requests of {kind} to {peer}, which has TLS of its own, keep `:scheme http`"),
        "write `path: http2`: requests to such a peer then have `:scheme https`",
    ))
}
