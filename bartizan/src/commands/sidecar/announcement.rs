//! Log lines of a sidecar about itself: ports, peers and files in use, and its readiness.

use std::convert::Infallible;
use std::time::Duration;

use bartizan_deployment::{Deployment, InterfaceKind, Node, Route};
use bartizan_sidecar::Running;

/// One line for each port, peer and file in use.
pub(super) fn announce(deployment: &Deployment, node: &str, running: &Running) {
    tracing::info!(module = bartizan_tls::module(), "cryptographic module");
    for (peer, interface) in deployment.sidecar_peers(node) {
        let policy = &interface.policy;
        tracing::info!(
            peer = %peer.name,
            interface = interface.kind.name(),
            profile = policy.profile.name(),
            post_quantum = policy.post_quantum.name(),
            groups = list(&policy.groups),
            signatures = list(&policy.signatures),
            "policy"
        );
    }
    let Some(sidecar) = deployment.node(node).and_then(|node: &Node| node.sidecar.as_ref()) else {
        return;
    };
    for (inbound, listen) in sidecar.inbound.iter().zip(&running.inbound) {
        let carriers: Vec<_> = inbound.carriers.iter().map(|carrier| carrier.name()).collect();
        tracing::info!(
            %listen, forward = %inbound.forward, interface = inbound.interface.name(), path = inbound.path.name(),
            carriers = carriers.join(", "), "inbound listener, TLS 1.3"
        );
    }
    for (outbound, listen) in sidecar.outbound.iter().zip(&running.outbound) {
        let to = match &outbound.route {
            Route::To(peer) => peer.as_str(),
            Route::ByAuthority => "whom each request names",
            Route::ByDestination => "whom each connection was going to",
        };
        let interface = outbound
            .interface
            .map_or("that of the destination", InterfaceKind::name);
        tracing::info!(
            %listen, to, interface, path = outbound.path.name(), warm = outbound.warm,
            "outbound listener, unencrypted"
        );
    }
    match running.admin {
        Some(listen) => tracing::info!(%listen, "admin port: /metrics /live /ready /connections /state /config /page"),
        None => tracing::info!("no admin port"),
    }
    match &sidecar.ledger {
        Some(ledger) => tracing::info!(file = %ledger.file.display(), "ledger"),
        None => tracing::info!(
            hint = "add `ledger: FILE` to the sidecar to be able to prove what was negotiated",
            "no ledger is kept"
        ),
    }
    if running.workers() > 1 {
        tracing::info!(workers = running.workers(), "several threads carry requests");
    }
}

/// Pause between two looks at readiness, while it is ready and while it is not.
const LOOKS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(1)];

/// Logs whether traffic may be sent here, as /ready answers, and each change of that.
pub(super) async fn log_readiness(node: &str, running: &Running) -> Infallible {
    let mut logged = None;
    loop {
        let reason = running.ready().err();
        if logged.as_ref() != Some(&reason) {
            match &reason {
                None => tracing::info!(node, "ready"),
                Some(reason) => tracing::warn!(node, reason, "not ready, and /ready answers 503"),
            }
        }
        let pause = LOOKS[usize::from(reason.is_some())];
        logged = Some(reason);
        tokio::time::sleep(pause).await;
    }
}

fn list<T: ToString>(codes: &[T]) -> String {
    codes.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
