//! What a deployment file means, and that no text is too strange to be refused in order.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{
    CipherSuite, Deployment, InterfaceKind, Policy, PostQuantum, Profile, Protection, Resumption, Revocation, Route,
    day_of,
};
use bartizan_registry::{NamedGroup, SignatureScheme};
use proptest::prelude::*;
use time::macros::date;

/// The example of the page, which names every field there is.
const DOCUMENT: &str = include_str!("../../../docs/deployment-file.md");

fn example() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("```yaml\n").expect("the page has an example");
    rest.split_once("```").expect("the example ends").0
}

fn parse(text: &str) -> Deployment {
    Deployment::parse(text, "core.yaml", Path::new("/etc/bartizan"))
        .unwrap_or_else(|error| panic!("{error} ({:?})", error.hint()))
}

fn policy(text: &str) -> Policy {
    parse(&format!("policy: {text}\nnodes: {{}}\n")).policy
}

#[test]
fn the_example_of_the_page_is_a_deployment() {
    let deployment = parse(example());
    let names: Vec<_> = deployment.nodes().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["amf", "cu", "nrf", "ric", "smf"]);
    let nrf = deployment.node("nrf").unwrap();
    assert_eq!(nrf.identity.dns(), ["nrf.5gc.mnc001.mcc001.3gppnetwork.org"]);
    let files = nrf.files.as_ref().unwrap();
    assert_eq!(files.certificate, Path::new("/etc/bartizan/nrf.crt.pem"));
    assert_eq!(files.crl.as_deref(), Some(Path::new("/etc/bartizan/ca.crl.pem")));
    let sidecar = nrf.sidecar.as_ref().unwrap();
    assert_eq!(
        sidecar.inbound[0].service,
        "10.100.200.2:8000".parse::<SocketAddr>().unwrap()
    );
    assert_eq!(sidecar.limits.drain, Duration::from_secs(20));
    let amf = deployment.node("amf").unwrap().sidecar.as_ref().unwrap();
    let routes: Vec<_> = amf.outbound.iter().map(|outbound| outbound.route.clone()).collect();
    let [Route::To(to), Route::ByAuthority, Route::ByDestination] = routes.as_slice() else {
        panic!("{routes:?}")
    };
    assert_eq!(to.as_str(), "nrf");
    let with: Vec<_> = deployment
        .interfaces()
        .iter()
        .map(|interface| interface.protection)
        .collect();
    assert_eq!(with, [Protection::Sidecar, Protection::Sidecar, Protection::Ipsec]);
    let transition = &deployment.interfaces()[1].policy;
    assert_eq!(transition.profile, Profile::Transition);
    assert_eq!(transition.exception.as_ref().unwrap().expires, date!(2027 - 06 - 30));
}

#[test]
fn the_page_names_every_field() {
    for field in [
        "policy",
        "trust",
        "roots",
        "crl",
        "nodes",
        "function",
        "address",
        "names",
        "dns",
        "ip",
        "uri",
        "certificate",
        "key",
        "sidecar",
        "inbound",
        "listen",
        "forward",
        "service",
        "path",
        "outbound",
        "to",
        "transparent",
        "warm",
        "admin",
        "ledger",
        "limits",
        "connections",
        "connections-per-address",
        "handshakes-per-address",
        "idle",
        "streams",
        "header-bytes",
        "handshake",
        "connect",
        "request",
        "drain",
        "interfaces",
        "kind",
        "between",
        "with",
        "profile",
        "post-quantum",
        "groups",
        "signatures",
        "chain-signatures",
        "reason",
        "expires",
        "lab",
        "resumption",
        "revocation",
    ] {
        assert!(
            DOCUMENT.contains(&format!("`{field}`")),
            "the page does not tell of `{field}`"
        );
    }
}

#[test]
fn a_file_without_a_policy_is_hybrid_and_requires() {
    let deployment = parse("nodes: {}");
    assert_eq!(deployment.policy, Policy::hybrid());
    assert_eq!(deployment.policy.post_quantum, PostQuantum::Require);
    assert_eq!(deployment.policy.resumption, Resumption::Off);
    assert_eq!(deployment.policy, policy("hybrid"));
    assert_eq!(deployment.policy, policy("{}"));
}

#[test]
fn an_interface_s_own_policy_holds_whole_and_not_as_a_change_of_the_file_s() {
    let deployment = parse(
        "policy: { profile: hybrid, resumption: 5m }\n\
         nodes:\n  a: { function: AMF, address: 10.0.0.1 }\n  b: { function: NRF, address: 10.0.0.2 }\n\
         interfaces:\n  - { kind: sbi, between: [a, b], with: nothing, policy: cnsa2 }\n  - { kind: N32, between: [a, b], with: nothing }\n",
    );
    let [own, inherited] = deployment.interfaces() else {
        panic!("two interfaces")
    };
    assert_eq!(own.kind, InterfaceKind::Sbi);
    assert_eq!(own.policy, Policy::cnsa2());
    assert_eq!(
        inherited.policy.resumption,
        Resumption::Within(Duration::from_secs(300))
    );
}

#[test]
fn cnsa2_is_mlkem1024_mldsa87_and_aes_256_alone() {
    let policy = policy("cnsa2");
    assert_eq!(policy.groups, [NamedGroup::MLKEM1024]);
    assert_eq!(policy.signatures, [SignatureScheme::MLDSA87]);
    assert_eq!(policy.chain_signatures, [SignatureScheme::MLDSA87]);
    assert_eq!(policy.ciphers, [CipherSuite::Aes256Gcm]);
}

#[test]
fn transition_admits_classical_up_to_and_with_its_last_day() {
    let policy = policy("{ profile: transition, reason: old SMF, expires: 2027-06-30 }");
    assert_eq!(policy.post_quantum, PostQuantum::Prefer);
    assert_eq!(policy.groups[0], NamedGroup::X25519MLKEM768);
    for (day, admitted) in [
        (date!(2026 - 11 - 21), true),
        (date!(2027 - 06 - 30), true),
        (date!(2027 - 07 - 01), false),
    ] {
        assert_eq!(policy.admits_classical(day), admitted, "{day}");
        let in_force = policy.in_force(day);
        assert_eq!(in_force.groups.contains(&NamedGroup::X25519), admitted, "{day}");
        assert_eq!(
            in_force.signatures.contains(&SignatureScheme::ED25519),
            admitted,
            "{day}"
        );
        assert_eq!(
            in_force.chain_signatures.contains(&SignatureScheme::ED25519),
            admitted,
            "{day}"
        );
        assert!(in_force.groups.contains(&NamedGroup::X25519MLKEM768));
        assert!(in_force.signatures.contains(&SignatureScheme::MLDSA65));
    }
}

#[test]
fn an_exception_counts_its_last_day_and_ends_at_midnight_utc() {
    let policy = policy("{ profile: transition, reason: old SMF, expires: 2027-06-30 }");
    let exception = policy.exception.unwrap();
    // 2027-06-30T23:59:59Z
    let last_second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_814_399_999);
    assert_eq!(day_of(last_second), date!(2027 - 06 - 30));
    assert_eq!(exception.days_left(last_second), 1);
    assert_eq!(exception.days_left(last_second - Duration::from_secs(86_400)), 2);
    assert_eq!(exception.days_left(last_second + Duration::from_secs(1)), 0);
    assert_eq!(exception.days_left(last_second + Duration::from_secs(1_000_000_000)), 0);
    assert_eq!(
        day_of(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
        date!(1969 - 12 - 31)
    );
}

#[test]
fn allow_puts_classical_first_and_keeps_the_order_within() {
    let policy = policy("{ profile: transition, post-quantum: allow, reason: r, expires: 2027-06-30 }");
    let classical = [NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1];
    assert_eq!(policy.groups[..3], classical);
    assert_eq!(policy.groups[3], NamedGroup::X25519MLKEM768);
}

#[test]
fn a_lab_may_have_what_no_profile_has() {
    let weak = policy("{ groups: [MLKEM512], lab: true }");
    assert_eq!(weak.groups, [NamedGroup::MLKEM512]);
    assert!(!weak.admits_classical(date!(2026 - 11 - 21)));
    let baseline = policy("{ profile: classical, lab: true, signatures: [mldsa44] }");
    assert!(baseline.admits_classical(date!(9999 - 12 - 31)));
    assert_eq!(baseline.signatures, [SignatureScheme::MLDSA44]);
}

#[test]
fn names_of_groups_are_taken_as_openssl_and_as_the_registry_write_them() {
    let policy =
        policy("{ groups: [x25519-mlkem768, SecP384r1MLKEM1024, ml_kem_1024], signatures: [ML-DSA-87, mldsa65] }");
    let groups = [
        NamedGroup::X25519MLKEM768,
        NamedGroup::SECP384R1MLKEM1024,
        NamedGroup::MLKEM1024,
    ];
    assert_eq!(policy.groups, groups);
    assert_eq!(policy.signatures, [SignatureScheme::MLDSA87, SignatureScheme::MLDSA65]);
}

#[test]
fn resumption_and_revocation_are_stated() {
    let policy = policy("{ resumption: 1h 30m, revocation: require }");
    assert_eq!(policy.resumption, Resumption::Within(Duration::from_secs(5400)));
    assert_eq!(policy.revocation, Revocation::Require);
    assert_eq!(Policy::hybrid().revocation, Revocation::IfPresent);
}

#[test]
fn nodes_that_share_a_name_are_told_apart_by_another() {
    parse(
        "nodes:\n  nrf1: { function: NRF, address: 10.0.0.1, names: { dns: [nrf.5gc], uri: [\"urn:uuid:1\"] } }\n\
         \x20 nrf2: { function: NRF, address: 10.0.0.2, names: { dns: [nrf.5gc], uri: [\"urn:uuid:2\"] } }\n",
    );
}

#[test]
fn peers_are_those_a_sidecar_protects_seen_from_either_end() {
    let deployment = parse(example());
    let peers = |node| -> Vec<_> {
        let peers = deployment.sidecar_peers(node);
        peers
            .map(|(peer, interface)| (peer.name.to_string(), interface.kind))
            .collect()
    };
    assert_eq!(
        peers("nrf"),
        [
            ("amf".to_owned(), InterfaceKind::Sbi),
            ("smf".to_owned(), InterfaceKind::Sbi)
        ]
    );
    assert_eq!(peers("amf"), [("nrf".to_owned(), InterfaceKind::Sbi)]);
    assert_eq!(peers("ric"), []);
    assert_eq!(peers("nobody"), []);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,400}") {
        let _ = Deployment::parse(&text, "core.yaml", Path::new("/"));
    }

    #[test]
    fn no_text_of_yaml_s_own_signs_makes_it_panic(text in "[a-z0-9 \\n\\t:{}\\[\\],&*!|>'\"%@`#?.-]{0,200}") {
        let _ = Deployment::parse(&text, "core.yaml", Path::new("/"));
    }

    #[test]
    fn the_example_with_a_part_replaced_is_read_or_refused_in_order(
        at in any::<prop::sample::Index>(),
        length in 0usize..40,
        instead in "(?s).{0,40}",
    ) {
        let text: Vec<char> = example().chars().collect();
        let start = at.index(text.len());
        let end = (start + length).min(text.len());
        let changed: String = text[..start].iter().copied().chain(instead.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(error) = Deployment::parse(&changed, "core.yaml", Path::new("/")) {
            prop_assert!(error.to_string().starts_with("core.yaml"));
            prop_assert!(error.to_string().len() < 4000);
        }
    }

    #[test]
    fn no_value_of_a_policy_makes_it_panic(
        field in prop::sample::select(vec!["profile", "post-quantum", "groups", "signatures", "reason", "expires", "lab", "resumption", "revocation"]),
        value in ".{0,40}",
        list in any::<bool>(),
    ) {
        let value = serde_json::Value::String(value).to_string();
        let value = if list { format!("[{value}]") } else { value };
        let text = format!("policy: {{ {field}: {value} }}\nnodes: {{}}\n");
        let _ = Deployment::parse(&text, "core.yaml", Path::new("/"));
    }

    #[test]
    fn what_is_in_force_never_grows_as_days_pass(first in 0i32..5_000, then in 0i32..5_000) {
        let policy = policy("{ profile: transition, reason: r, expires: 2030-01-01 }");
        let day = |days| date!(2026 - 01 - 01) + time::Duration::days(i64::from(days));
        let (earlier, later) = (policy.in_force(day(first.min(then))), policy.in_force(day(first.max(then))));
        prop_assert!(later.groups.iter().all(|code| earlier.groups.contains(code)));
        prop_assert!(!later.groups.is_empty() && !later.signatures.is_empty() && !later.chain_signatures.is_empty());
    }
}

#[test]
fn a_thousand_nested_levels_and_a_billion_laughs_are_refused() {
    let deep = format!("nodes: {}", "[".repeat(100_000));
    assert!(Deployment::parse(&deep, "core.yaml", Path::new("/")).is_err());
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, next) in ('a'..'y').zip('b'..'z') {
        laughs.push_str(&format!(
            "{next}: &{next} [*{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}]\n"
        ));
    }
    laughs.push_str("nodes: *y\n");
    assert!(Deployment::parse(&laughs, "core.yaml", Path::new("/")).is_err());
}
