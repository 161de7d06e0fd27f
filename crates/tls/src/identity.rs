//! Which node a certificate speaks for.

use bartizan_deployment::Identity;

use crate::certificate::Names;

/// Whether a certificate carries, of every kind of name the deployment lists for a node, at least one.
///
/// Names are compared whole: a wildcard stands for nothing, because a certificate names one network function
/// (TS 33.310, clause 6.1.3c).
pub(crate) fn carries(names: &Names, identity: &Identity) -> bool {
    let dns = |wanted: &String| names.dns.contains(wanted);
    let ip = |wanted| names.ip.contains(wanted);
    let uri = |wanted: &String| names.uri.iter().any(|uri| same_uri(uri, wanted));
    (identity.dns().is_empty() || identity.dns().iter().any(dns))
        && (identity.ip().is_empty() || identity.ip().iter().any(ip))
        && (identity.uri().is_empty() || identity.uri().iter().any(uri))
}

/// URIs are compared byte by byte, but the digits of a UUID in any case (RFC 9562, section 4).
fn same_uri(one: &str, other: &str) -> bool {
    let uuid = |uri: &str| {
        uri.get(..9)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("urn:uuid:"))
    };
    one == other || (uuid(one) && uuid(other) && one.eq_ignore_ascii_case(other))
}

/// The names a node is recognised by, as text.
pub(crate) fn wanted(identity: &Identity) -> String {
    let dns = identity.dns().iter().map(|name| format!("dns:{name}"));
    let ip = identity.ip().iter().map(|address| format!("ip:{address}"));
    let uri = identity.uri().iter().map(|uri| format!("uri:{uri}"));
    dns.chain(ip).chain(uri).collect::<Vec<_>>().join(", ")
}

/// What makes `bartizan ca issue` write these names.
pub(crate) fn issue_options(identity: &Identity) -> String {
    let dns = identity.dns().iter().map(|name| format!(" --dns {name}"));
    let ip = identity.ip().iter().map(|address| format!(" --ip {address}"));
    let uri = identity.uri().iter().map(|uri| format!(" --uri {uri}"));
    dns.chain(ip).chain(uri).collect()
}
