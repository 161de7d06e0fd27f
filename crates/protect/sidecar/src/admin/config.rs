//! The configuration in effect, for people to look at: names, addresses, policies, bounds and paths. No key is ever read here.

use std::time::SystemTime;

use bartizan_deployment::{Deployment, InterfaceKind, Module, Node, Policy, Resumption, Revocation, Route};
use bartizan_tls::{Endpoint, OwnCertificate};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Configuration in effect at `node`: its names, files and policies by the deployment file last
/// read, its listeners and limits by the `settings` it was started with. `needs_restart` lists
/// parts of the file that are not in effect.
pub(crate) fn in_effect(
    deployment: &Deployment,
    node: &Node,
    endpoint: &Endpoint,
    settings: Option<&bartizan_deployment::Sidecar>,
    needs_restart: &[&'static str],
) -> Value {
    let peers: Vec<_> = deployment
        .sidecar_peers(node.name.as_str())
        .map(|(peer, interface)| {
            json!({
                "node": peer.name.as_str(),
                "function": peer.function,
                "interface": interface.kind.name(),
                "names": { "dns": peer.identity.dns(), "ip": peer.identity.ip(), "uri": peer.identity.uri() },
                "policy": policy(&interface.policy),
            })
        })
        .collect();
    json!({
        "node": node.name.as_str(),
        "function": node.function,
        "address": node.address,
        "names": { "dns": node.identity.dns(), "ip": node.identity.ip(), "uri": node.identity.uri() },
        "files": node.files.as_ref().map(|files| json!({
            "certificates": files.certificates.iter().map(|own| json!({
                "certificate": own.certificate, "key": own.key,
            })).collect::<Vec<_>>(),
            "roots": files.roots, "crl": files.crl,
            "crl_url": files.crl_url.as_ref().map(ToString::to_string), "known_lists": files.known_lists,
        })),
        "certificates": certificates(endpoint),
        "sidecar": settings.map(sidecar),
        "needs_restart": needs_restart,
        "peers": peers,
        "module": bartizan_tls::module(),
    })
}

/// The node's certificates, and whether handshakes show them from now on.
fn certificates(endpoint: &Endpoint) -> Vec<Value> {
    let in_use: Vec<_> = endpoint.in_use().map(|own| own.place.as_str()).collect();
    let shown = |own: &OwnCertificate| {
        let leaf = own.chain().first();
        let (begins, ends) = own.validity();
        json!({
            "subject": leaf.map(|leaf| &leaf.subject),
            "serial": leaf.map(|leaf| &leaf.serial),
            "signature": own.scheme().to_string(),
            "not_before": moment(begins),
            "not_after": moment(ends),
            "in_use": in_use.contains(&own.place.as_str()),
        })
    };
    endpoint.credentials().own().iter().map(shown).collect()
}

/// `2027-02-19T08:00:00Z`.
pub(crate) fn moment(moment: SystemTime) -> String {
    OffsetDateTime::from(moment).format(&Rfc3339).unwrap_or_default()
}

fn sidecar(sidecar: &bartizan_deployment::Sidecar) -> Value {
    let inbound: Vec<_> = sidecar
        .inbound
        .iter()
        .map(|inbound| json!({
                "listen": inbound.listen, "forward": inbound.forward, "interface": inbound.interface.name(), "path": inbound.path.name(),
                "carriers": inbound.carriers.iter().map(|carrier| carrier.name()).collect::<Vec<_>>(),
            }))
        .collect();
    let outbound: Vec<_> = sidecar
        .outbound
        .iter()
        .map(|outbound| {
            let to = match &outbound.route {
                Route::To(node) => node.as_str(),
                Route::ByAuthority => "by authority",
                Route::ByDestination => "by original destination",
            };
            json!({
                "listen": outbound.listen, "to": to, "interface": outbound.interface.map(InterfaceKind::name), "path": outbound.path.name(),
                "warm": outbound.warm,
            })
        })
        .collect();
    let limits = &sidecar.limits;
    json!({
        "inbound": inbound,
        "outbound": outbound,
        "admin": sidecar.admin,
        "ledger": sidecar.ledger.as_ref().map(|ledger| json!({
            "file": ledger.file, "size": ledger.size, "keep": ledger.keep,
        })),
        "limits": {
            "connections": limits.connections,
            "connections-per-address": limits.connections_per_address,
            "handshakes-per-address": limits.handshakes_per_address,
            "streams": limits.streams,
            "header-bytes": limits.header_bytes,
            "requests-per-connection": limits.requests_per_connection,
            "handshake": format!("{:?}", limits.handshake),
            "connect": format!("{:?}", limits.connect),
            "request": format!("{:?}", limits.request),
            "stall": format!("{:?}", limits.stall),
            "drain": format!("{:?}", limits.drain),
            "idle": format!("{:?}", limits.idle),
        },
    })
}

fn policy(policy: &Policy) -> Value {
    let text = |codes: &[bartizan_registry::SignatureScheme]| codes.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "profile": policy.profile.name(),
        "post-quantum": policy.post_quantum.name(),
        "groups": policy.groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "signatures": text(&policy.signatures),
        "chain-signatures": text(&policy.chain_signatures),
        "ciphers": policy.ciphers.iter().map(|cipher| cipher.name()).collect::<Vec<_>>(),
        "exception": policy.exception.as_ref().map(|exception| json!({
            "reason": exception.reason, "expires": exception.expires.to_string(),
        })),
        "resumption": match policy.resumption {
            Resumption::Off => "off".to_owned(),
            Resumption::Within(longest) => format!("{longest:?}"),
        },
        "revocation": match policy.revocation {
            Revocation::Require => "require",
            Revocation::IfPresent => "if-present",
        },
        "module": match policy.module {
            Module::Any => "any",
            Module::Validated => "validated",
        },
    })
}
