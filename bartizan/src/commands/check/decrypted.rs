//! Traffic that a sidecar has decrypted, or has yet to encrypt: it may not leave the host.

use std::time::SystemTime;

use bartizan_deployment::{Deployment, Node, Path, Route};
use bartizan_redirect::Plan;

use super::findings::Finding;

/// Returns the listeners whose function may be on another host. SCTP has no such listener: the file
/// would not be read.
pub(super) fn leaves(node: &Node) -> Vec<Finding> {
    let inbound = node.sidecar.iter().flat_map(|sidecar| &sidecar.inbound).enumerate();
    let elsewhere = inbound.filter(|(_, inbound)| {
        let ip = inbound.forward.ip().to_canonical();
        let own = [node.address, inbound.service.ip()];
        let is_local = ip.is_loopback() || ip.is_unspecified();
        !is_local && !own.contains(&ip) && !node.identity.ip().contains(&ip)
    });
    let finding = |(index, inbound): (usize, &bartizan_deployment::Inbound)| {
        Finding::new(
            format!("nodes.{}.sidecar.inbound[{index}].forward", node.name),
            format!(
                "hands decrypted requests to {}, which may be on another host",
                inbound.forward
            ),
            "write a loopback address or one of the node's: `address`, `service` or `names.ip`",
        )
    };
    elsewhere.map(finding).collect()
}

/// Returns the reason for which `redirect` could install no rules for this node, whose functions
/// rely on them.
pub(super) fn not_redirected(deployment: &Deployment, node: &Node, now: SystemTime) -> Option<Finding> {
    let mut outbound = node.sidecar.as_ref()?.outbound.iter();
    let relies = outbound.any(|outbound| outbound.route == Route::ByDestination || outbound.path == Path::Sctp);
    // The user is that of the host on which the rules are installed: any but root.
    const USER: u32 = 1;
    match Plan::new(deployment, node.name.as_str(), USER, now) {
        Err(bartizan_redirect::Error::Configuration { place, cause, hint }) if relies => {
            Some(Finding::new(place, format!("no rules can be installed: {cause}"), hint))
        }
        _ => None,
    }
}
