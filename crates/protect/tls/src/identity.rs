//! Which node a certificate speaks for.

use bartizan_deployment::Identity;

use crate::certificate::Names;

/// Returns true if a certificate carries, of every kind of name the deployment lists for a node, at
/// least one.
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

/// The options by which `bartizan ca issue` writes these names, each after a blank.
pub fn issue_options(identity: &Identity) -> String {
    identity.written([" --dns ", " --ip ", " --uri "]).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bartizan_deployment::Deployment;
    use proptest::prelude::*;

    use super::*;

    fn identity(names: &str) -> Identity {
        let text = format!("nodes: {{ n: {{ function: NRF, address: 10.0.0.1, names: {names} }} }}");
        let deployment = Deployment::parse(&text, "test", Path::new("/")).unwrap();
        deployment.node("n").unwrap().identity.clone()
    }

    fn carried(dns: &[&str], ip: &[&str], uri: &[&str]) -> Names {
        Names {
            dns: dns.iter().map(ToString::to_string).collect(),
            ip: ip.iter().map(|address| address.parse().unwrap()).collect(),
            uri: uri.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn of_every_kind_that_is_listed_one_must_be_there() {
        let both = identity("{ dns: [a.5gc, b.5gc], uri: [\"urn:uuid:1\"] }");
        assert!(carries(&carried(&["b.5gc"], &[], &["urn:uuid:1"]), &both));
        assert!(carries(
            &carried(&["x", "a.5gc"], &["10.0.0.9"], &["urn:uuid:0", "URN:UUID:1"]),
            &both
        ));
        assert!(!carries(&carried(&["a.5gc", "b.5gc"], &[], &[]), &both));
        assert!(!carries(&carried(&[], &[], &["urn:uuid:1"]), &both));
        assert!(!carries(&carried(&["a"], &[], &["urn:uuid:1"]), &both));
        assert!(!carries(&Names::default(), &both));
    }

    #[test]
    fn an_address_is_matched_as_an_address_and_never_as_text() {
        let address = identity("{ ip: [\"2001:db8::1\"] }");
        assert!(carries(&carried(&[], &["2001:0db8:0:0::1"], &[]), &address));
        assert!(!carries(&carried(&["2001:db8::1"], &[], &["2001:db8::1"]), &address));
        assert!(!carries(
            &carried(&[], &["::ffff:10.0.0.1"], &[]),
            &identity("{ ip: [10.0.0.1] }")
        ));
    }

    #[test]
    fn only_the_digits_of_a_uuid_are_matched_in_any_case() {
        assert!(same_uri("urn:uuid:AB", "urn:uuid:ab"));
        assert!(!same_uri("https://NRF/", "https://nrf/"));
        assert!(!same_uri("urn:uuid:ab", "urn:uuid:ab0"));
        assert!(!same_uri("urn:uuid:", "urn:uui"));
        assert!(!same_uri("\u{fc}rn:uuid:a", "urn:uuid:a"));
    }

    proptest! {
        #[test]
        fn a_certificate_of_other_names_never_passes(dns in "[a-z*.]{0,12}", uri in ".{0,20}") {
            let wanted = identity("{ dns: [\"nrf.example\"], uri: [\"urn:uuid:1\"] }");
            let names = carried(&[&dns], &[], &[&uri]);
            prop_assert_eq!(carries(&names, &wanted), dns == "nrf.example" && uri.eq_ignore_ascii_case("urn:uuid:1"));
        }
    }
}
