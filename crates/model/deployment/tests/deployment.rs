//! Meaning of deployment files. Every text, however malformed, is refused with an error.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{
    Breach, Cak, CipherSuite, Deployment, IkeAuthentication, InterfaceKind, IpsecLink, KeyExchange, Keying, Policy,
    PostQuantum, Profile, Protection, Resumption, Revocation, Route, day_of,
};
use bartizan_registry::{NamedGroup, SignatureScheme};
use proptest::prelude::*;
use time::macros::date;

/// The pages that name every field there is; the first begins with an example.
const DOCUMENT: &str = concat!(
    include_str!("../../../../docs/deployment-file.md"),
    include_str!("../../../../docs/policies.md"),
    include_str!("../../../../docs/deployment-ipsec.md"),
);

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
fn an_entry_for_several_nodes_makes_a_link_for_each_pair() {
    let nodes = ["amf", "ausf", "nrf", "smf", "udm"].iter().zip(1..);
    let nodes: Vec<_> = nodes
        .map(|(name, host)| format!("{name}: {{ function: X, address: 10.0.0.{host} }}"))
        .collect();
    let links = |entries: &str| {
        let deployment = parse(&format!("nodes: {{ {} }}\ninterfaces: {entries}", nodes.join(", ")));
        let links = deployment.interfaces().iter();
        let links = links.map(|link| format!("{} {}-{}", link.policy.profile.name(), link.between[0], link.between[1]));
        links.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        links(
            "[{ kind: SBI, between: [[amf, smf], [nrf, udm]], with: sidecar, policy: cnsa2 }, { kind: SBI, between: [nrf, udm], with: sidecar }]"
        ),
        "cnsa2 amf-nrf, cnsa2 amf-udm, cnsa2 smf-nrf, cnsa2 smf-udm, hybrid nrf-udm"
    );
    assert_eq!(
        links("[{ kind: SBI, among: [udm, amf, ausf], with: sidecar }]"),
        "hybrid udm-amf, hybrid udm-ausf, hybrid amf-ausf"
    );
    assert_eq!(
        links("[{ kind: N4, between: [smf, [udm]], with: ipsec }]"),
        "hybrid smf-udm"
    );
}

#[test]
fn the_example_of_the_page_is_a_deployment() {
    let deployment = parse(example());
    let names: Vec<_> = deployment.nodes().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["amf", "cu", "nrf", "ric", "smf"]);
    let nrf = deployment.node("nrf").unwrap();
    assert_eq!(nrf.identity.dns(), ["nrf.5gc.mnc001.mcc001.3gppnetwork.org"]);
    let files = nrf.files.as_ref().unwrap();
    assert_eq!(
        files.certificates[0].certificate,
        Path::new("/etc/bartizan/nrf.crt.pem")
    );
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
fn a_node_has_one_certificate_or_a_list_of_them() {
    let of = |certificates: &str| {
        let text = format!(
            "trust: {{ roots: ca.pem }}\nnodes:\n  nrf: {{ function: NRF, address: 10.0.0.2, {certificates} }}\n"
        );
        let files = parse(&text).node("nrf").unwrap().files.clone().unwrap();
        let names = files
            .watched()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
        (files.certificates.len(), names.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        of("certificate: a.pem, key: a.key"),
        (1, "a.pem a.key ca.pem".to_owned())
    );
    let two = "certificates: [{ certificate: a.pem, key: a.key }, { certificate: b.pem, key: b.key }]";
    assert_eq!(of(two), (2, "a.pem a.key b.pem b.key ca.pem".to_owned()));
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
        "certificates",
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
        "ipsec",
        "roots",
        "vici",
        "mode",
        "initiator",
        "outer",
        "inner",
        "selectors",
        "start",
        "esn",
        "replay-window",
        "rekey-ike",
        "rekey-child",
        "rekey-bytes",
        "rekey-packets",
        "reauth",
        "dpd",
        "ike-fragments",
        "mtu",
        "ike-dscp",
        "copy-dscp",
        "key-exchanges",
        "ciphers",
        "integrity",
        "prfs",
        "authentication",
        "breach",
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
    assert_eq!(*own.policy, Policy::cnsa2());
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
        let in_effect = policy.in_effect(day);
        assert_eq!(in_effect.groups.contains(&NamedGroup::X25519), admitted, "{day}");
        assert_eq!(
            in_effect.signatures.contains(&SignatureScheme::ED25519),
            admitted,
            "{day}"
        );
        assert_eq!(
            in_effect.chain_signatures.contains(&SignatureScheme::ED25519),
            admitted,
            "{day}"
        );
        assert!(in_effect.groups.contains(&NamedGroup::X25519MLKEM768));
        assert!(in_effect.signatures.contains(&SignatureScheme::MLDSA65));
    }
}

#[test]
fn an_exception_counts_its_last_day_and_ends_at_midnight_utc() {
    let exception = |owner: &str| {
        let policy = policy(&format!(
            "{{ profile: transition, reason: old SMF, {owner}expires: 2027-06-30 }}"
        ));
        policy.exception.unwrap()
    };
    assert_eq!(exception("owner: core team, ").why(), "old SMF (owner: core team)");
    let exception = exception("");
    assert_eq!(exception.why(), "old SMF");
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
fn nodes_that_share_a_name_are_distinguished_by_another() {
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

/// The IPsec link of `kind` between nodes of these functions.
fn link(kind: &str, functions: [&str; 2], settings: &str) -> IpsecLink {
    let [one, other] = functions;
    let text = format!(
        "nodes:\n  a: {{ function: {one}, address: 10.0.0.1 }}\n  b: {{ function: {other}, address: 10.0.0.2 }}\n\
         interfaces:\n  - {{ kind: {kind}, between: [a, b], with: ipsec, ipsec: {{ {settings} }} }}\n"
    );
    *parse(&text).interfaces()[0].ipsec.clone().unwrap()
}

#[test]
fn a_link_of_the_page_s_example_is_seen_from_both_ends() {
    let deployment = parse(example());
    let seen = |node| -> Vec<_> {
        let links = deployment.ipsec_links(node);
        links
            .map(|(peer, interface, link)| {
                let (own, other) = link.ends_from(node).unwrap();
                let inner = |end: &bartizan_deployment::End| end.inner[0].to_string();
                (peer.name.to_string(), interface.kind, inner(own), inner(other))
            })
            .collect()
    };
    let (cu, ric) = ("10.78.1.1/32".to_owned(), "10.78.2.1/32".to_owned());
    assert_eq!(
        seen("cu"),
        [("ric".to_owned(), InterfaceKind::E2, cu.clone(), ric.clone())]
    );
    assert_eq!(seen("ric"), [("cu".to_owned(), InterfaceKind::E2, ric, cu)]);
    assert_eq!(seen("nrf"), []);
    let cu = deployment.node("cu").unwrap().ipsec.as_ref().unwrap();
    assert_eq!(cu.roots, Path::new("/etc/bartizan/ipsec-ca.crt.pem"));
    assert_eq!(cu.crl, None, "the lists of `trust` are those of other roots");
    assert_eq!(*deployment.interfaces()[2].policy, Policy::hybrid());
}

#[test]
fn what_a_link_protects_by_itself_is_what_its_standard_runs() {
    for (kind, functions, expected) in [
        ("E2", ["O-CU-CP", "near-RT RIC"], "sctp/36421 at b"),
        ("N2", ["AMF", "gNB"], "sctp/38412 at a"),
        ("N3", ["gNB", "UPF"], "udp/2152 at either end"),
        ("N4", ["SMF", "UPF"], "udp/8805 at either end"),
        ("N9", ["UPF", "UPF"], "udp/2152 at either end"),
        ("N26", ["AMF", "MME"], "udp/2123 at either end"),
        ("F1-C", ["O-DU", "O-CU-CP"], "sctp/38472 at b"),
        ("F1-U", ["O-DU", "O-CU-UP"], "udp/2152 at either end"),
        ("E1", ["O-CU-CP", "O-CU-UP"], "sctp/38462 at either end"),
        ("Xn", ["gNB", "gNB"], "sctp/38422 at either end udp/2152 at either end"),
        ("O1", ["SMO", "O-DU"], "any"),
        ("SBI", ["AMF", "NRF"], "any"),
    ] {
        let selectors = link(kind, functions, "").selectors;
        let texts: Vec<_> = selectors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.join(" "), expected, "{kind}");
    }
    let own = link(
        "E2",
        ["CU", "RIC"],
        "selectors: [{ protocol: sctp, port: 36422, at: a }, { protocol: tcp }]",
    );
    let texts: Vec<_> = own.selectors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["sctp/36422 at a", "tcp"]);
}

#[test]
fn traffic_of_the_standard_that_no_selector_of_the_file_is_for_is_known() {
    let (n2, xn, sbi) = (["AMF", "gNB"], ["gNB", "gNB"], ["AMF", "NRF"]);
    for (kind, functions, selectors, expected) in [
        ("N2", n2, "{ protocol: tcp, port: 80 }", "sctp/38412 at a"),
        ("N2", n2, "{ protocol: sctp, port: 38412, at: b }", "sctp/38412 at a"),
        ("N2", n2, "{ protocol: sctp, port: 38412 }", ""),
        // A function that listens at another port.
        ("N2", n2, "{ protocol: sctp, port: 38413, at: a }", ""),
        ("N2", n2, "{ protocol: any }", ""),
        (
            "N3",
            ["UPF", "gNB"],
            "{ protocol: udp, port: 2152, at: a }",
            "udp/2152 at either end",
        ),
        ("N3", ["UPF", "gNB"], "{ protocol: udp }", ""),
        (
            "Xn",
            xn,
            "{ protocol: sctp, port: 38422, at: a }",
            "udp/2152 at either end",
        ),
        ("SBI", sbi, "{ protocol: tcp, port: 8000, at: b }", ""),
    ] {
        let open = link(kind, functions, &format!("selectors: [{selectors}]")).unprotected;
        let texts: Vec<_> = open.iter().map(ToString::to_string).collect();
        assert_eq!(texts.join(" "), expected, "{kind} {selectors}");
    }
}

#[test]
fn an_sa_without_extended_sequence_numbers_is_rekeyed_before_they_end() {
    let packets = |settings| link("E2", ["CU", "RIC"], settings).lifetimes.child_packets;
    assert_eq!(packets(""), None);
    assert_eq!(packets("esn: false"), Some(1 << 31));
    assert_eq!(packets("esn: false, rekey-packets: 1000"), Some(1000));
    let never = link(
        "E2",
        ["CU", "RIC"],
        "rekey-ike: never, rekey-child: never, reauth: never, dpd: never",
    );
    assert_eq!((never.lifetimes.ike, never.lifetimes.child), (None, None));
    assert_eq!((never.lifetimes.reauthentication, never.dead_peer_delay), (None, None));
}

#[test]
fn confidentiality_is_post_quantum_where_authentication_is_still_classical() {
    let hybrid = Policy::hybrid().ipsec;
    assert!(hybrid.key_exchanges.iter().all(KeyExchange::is_quantum_safe));
    assert_eq!(hybrid.authentication, IkeAuthentication::ClassicalAccepted);
    assert_eq!(hybrid.breach, Breach::Down);
    let strict = policy("{ ipsec: { authentication: post-quantum } }").ipsec;
    assert_eq!(strict.signatures, [SignatureScheme::MLDSA65, SignatureScheme::MLDSA87]);
    let cnsa2 = policy("{ profile: cnsa2, ipsec: { authentication: classical-accepted, breach: report } }").ipsec;
    let accepted = [SignatureScheme::MLDSA87, SignatureScheme::ECDSA_SECP384R1_SHA384];
    assert_eq!(cnsa2.signatures, accepted);
    assert_eq!(cnsa2.breach, Breach::Report);
}

#[test]
fn two_links_between_the_same_nodes_share_their_ike_sa() {
    parse(
        "nodes:\n  a: { function: gNB, address: 10.0.0.1 }\n  b: { function: gNB, address: 10.0.0.2 }\n\
         interfaces:\n  - { kind: Xn, between: [a, b], with: ipsec }\n  - { kind: F1-C, between: [a, b], with: ipsec }\n",
    );
}

proptest! {
    #[test]
    fn no_value_of_an_ipsec_link_makes_it_panic(
        field in prop::sample::select(vec!["mode", "initiator", "outer", "inner", "selectors", "rekey-ike", "reauth", "dpd", "start", "mtu", "replay-window"]),
        value in ".{0,40}",
        shape in 0..4,
    ) {
        let value = serde_json::Value::String(value).to_string();
        let value = match shape {
            0 => value,
            1 => format!("[{value}]"),
            2 => format!("{{ a: {value} }}"),
            _ => format!("{{ a: [{value}] }}"),
        };
        let text = format!(
            "nodes:\n  a: {{ function: CU, address: 10.0.0.1 }}\n  b: {{ function: RIC, address: 10.0.0.2 }}\n\
             interfaces:\n  - {{ kind: E2, between: [a, b], with: ipsec, ipsec: {{ {field}: {value} }} }}\n"
        );
        let _ = Deployment::parse(&text, "core.yaml", Path::new("/"));
    }

    #[test]
    fn a_key_exchange_is_read_back_as_it_was_written(
        names in proptest::collection::vec(prop::sample::select(vec!["x25519", "ecp256", "ecp384", "mlkem768", "mlkem1024", "modp3072", "frodoa3"]), 1..5),
    ) {
        let additional = names.iter().enumerate().skip(1).map(|(index, name)| format!("-ke{index}_{name}"));
        let text = format!("{}{}", names[0], additional.collect::<String>());
        match KeyExchange::named(&text) {
            Some(exchange) => {
                prop_assert_eq!(exchange.to_string(), text);
                prop_assert_eq!(exchange.methods().len(), names.len());
            }
            None => prop_assert!((1..names.len()).any(|index| names[..index].contains(&names[index]))),
        }
    }

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
    fn what_is_in_effect_never_grows_as_days_pass(first in 0i32..5_000, then in 0i32..5_000) {
        let policy = policy("{ profile: transition, reason: r, expires: 2030-01-01 }");
        let day = |days| date!(2026 - 01 - 01) + time::Duration::days(i64::from(days));
        let (earlier, later) = (policy.in_effect(day(first.min(then))), policy.in_effect(day(first.max(then))));
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

/// The page's second example: two interfaces between the same nodes.
#[test]
fn listeners_of_two_interfaces_between_the_same_nodes_are_distinguished() {
    let mut examples = DOCUMENT.split("```yaml\n").filter_map(|rest| rest.split("```").next());
    let example = examples
        .find(|example| example.contains("interface: O1"))
        .expect("it is there");
    let papers = |address| format!("    function: NF\n    address: {address}\n    certificate: c\n    key: k\n");
    let text = example.replace(
        "  nrf:\n",
        &format!("  amf:\n{}  nrf:\n{}", papers("10.100.200.1"), papers("10.100.200.2")),
    );
    let deployment = parse(&format!("trust: {{ roots: ca }}\n{text}"));
    let inbound = &deployment.node("nrf").unwrap().sidecar.as_ref().unwrap().inbound;
    let kinds: Vec<_> = inbound.iter().map(|inbound| inbound.interface).collect();
    assert_eq!(kinds, [InterfaceKind::Sbi, InterfaceKind::O1]);
    for (wrong, reported) in [
        (
            text.replace(", interface: SBI", ""),
            "nodes.nrf.sidecar.inbound[0]: it cannot be determined whether this listener is for SBI or O1",
        ),
        (
            text.replace("interface: O1", "interface: A1"),
            "nodes.nrf.sidecar.inbound[1].interface: no A1 interface with a sidecar joins nrf to another node",
        ),
        (
            text.replace("127.0.0.1:8300", "127.0.0.1:8000"),
            "nodes.nrf.sidecar.inbound[1].service: 10.100.200.2:8000 is known to others for SBI and for O1",
        ),
    ] {
        let error =
            Deployment::parse(&format!("trust: {{ roots: ca }}\n{wrong}"), "core.yaml", Path::new("/")).unwrap_err();
        assert!(error.to_string().contains(reported), "{error}");
    }
}

#[test]
fn a_listener_belongs_to_the_only_interface_it_can_be() {
    let text = "
trust: { roots: ca }
nodes:
  amf:
    function: AMF
    address: 10.0.0.1
    certificate: c
    key: k
    sidecar:
      inbound: [{ listen: 10.0.0.1:7443, forward: 127.0.0.1:8000, interface: SBI }]
      outbound:
        - { listen: 127.0.0.1:8001, to: nrf }
        - { listen: 127.0.0.1:8002, to: smo }
        - { listen: 127.0.0.1:8003, interface: SBI }
        - { listen: 127.0.0.1:8004, transparent: true }
  nrf: { function: NRF, address: 10.0.0.2, certificate: c, key: k, sidecar: { inbound: [{ listen: 10.0.0.2:7443, forward: 127.0.0.1:8000 }] } }
  smo: { function: SMO, address: 10.0.0.3, certificate: c, key: k, sidecar: { inbound: [{ listen: 10.0.0.3:7443, forward: 127.0.0.1:8000 }] } }
  alone: { function: NF, address: 10.0.0.4, certificate: c, key: k, sidecar: { inbound: [{ listen: 10.0.0.4:7443, forward: 127.0.0.1:8000 }] } }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: O1, between: [amf, smo], with: sidecar }
";
    let deployment = parse(text);
    let sidecar = |node| deployment.node(node).unwrap().sidecar.as_ref().unwrap();
    let outbound = sidecar("amf").outbound.iter().map(|outbound| outbound.interface);
    let (sbi, o1) = (InterfaceKind::Sbi, InterfaceKind::O1);
    assert!(outbound.eq([Some(sbi), Some(o1), Some(sbi), None]));
    let inbound = ["amf", "nrf", "smo", "alone"].map(|node| sidecar(node).inbound[0].interface);
    assert_eq!(inbound, [sbi, sbi, o1, sbi]);
    let routed = text.replace("listen: 127.0.0.1:8003, interface: SBI", "listen: 127.0.0.1:8003");
    let error = Deployment::parse(&routed, "core.yaml", Path::new("/")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("nodes.amf.sidecar.outbound[2]: it cannot be determined whether"),
        "{error}"
    );
    let unheard = text.replace(
        "{ kind: SBI, between: [amf, nrf]",
        "{ kind: O1, between: [nrf, smo], with: sidecar }\n  - { kind: SBI, between: [amf, nrf]",
    );
    let unheard = unheard.replace(
        "listen: 10.0.0.2:7443, forward: 127.0.0.1:8000",
        "listen: 10.0.0.2:7443, forward: 127.0.0.1:8000, interface: O1",
    );
    let error = Deployment::parse(&unheard, "core.yaml", Path::new("/")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("nodes.amf.sidecar.outbound[0].to: nrf has no inbound listener for SBI"),
        "{error}"
    );
}

#[test]
fn macsec_link_has_strict_defaults_and_each_end_its_own_port() {
    let text = "\
trust: { roots: r }
nodes:
  odu: { function: O-DU, address: 10.0.0.1, certificate: c, key: k }
  oru: { function: O-RU, address: 10.0.0.2, certificate: c, key: k }
interfaces:
  - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { oru: eth1, odu: eth0 } } }
";
    let deployment = parse(text);
    let (peer, interface, link) = deployment.macsec_links("oru").next().unwrap();
    assert_eq!(peer.name.as_str(), "odu");
    assert_eq!(link.at(&interface.between, "oru"), Some(("eth1", "macsec0")));
    assert_eq!(link.at(&interface.between, "odu"), Some(("eth0", "macsec0")));
    assert_eq!(link.at(&interface.between, "nrf"), None);
    assert_eq!(
        (link.suite.name, link.confidentiality.name()),
        ("GCM-AES-256", "encrypt")
    );
    assert_eq!((link.initiator.as_str(), link.keying.name()), ("odu", "direct"));
    assert!(link.rekey_packets <= 1 << 31 && link.unencrypted.is_empty());
    let extended = parse(&text.replace(
        "odu: eth0 }",
        "odu: eth0 }, cipher: GCM-AES-XPN-256, unencrypted: [ptp, ptp]",
    ));
    let (_, _, link) = extended.macsec_links("odu").next().unwrap();
    assert_eq!(link.suite.packet_number_bits, 64);
    assert!(link.rekey_packets > 1 << 60 && link.unencrypted.len() == 1);
    let by_mka = parse(&text.replace("odu: eth0 }", "odu: eth0 }, keying: mka"));
    let (_, interface, link) = by_mka.macsec_links("oru").next().unwrap();
    assert_eq!(
        (&link.keying, link.rekey.as_secs()),
        (&Keying::Mka(Cak::Exchange), 86_400)
    );
    assert!(link.has_exchange() && link.at(&interface.between, "oru").is_some());
    let by_eap = parse(&text.replace("odu: eth0 }", "odu: eth0 }, keying: eap-tls"));
    let (_, interface, link) = by_eap.macsec_links("oru").next().unwrap();
    assert_eq!((&link.keying, link.rekey.as_secs()), (&Keying::EapTls, 86_400));
    assert!(link.has_exchange() && link.at(&interface.between, "oru").is_some());
    // A switch at the other end has a port and a certificate of its own, or none.
    let switched = text.replace(
        "{ oru: eth1, odu: eth0 }",
        "{ odu: eth0 }, keying: mka, cak: { odu: keys/fh.cak }",
    );
    let switched = parse(&switched.replace(
        "oru: { function: O-RU, address: 10.0.0.2, certificate: c, key: k }",
        "oru: { function: O-RU, address: 10.0.0.2 }",
    ));
    let (_, interface, link) = switched.macsec_links("odu").next().unwrap();
    assert_eq!(link.at(&interface.between, "odu"), Some(("eth0", "macsec0")));
    assert_eq!(link.at(&interface.between, "oru"), None);
    let Keying::Mka(Cak::Files(files)) = &link.keying else {
        panic!("{link:?}")
    };
    assert!(files.iter().flatten().all(|file| file.ends_with("keys/fh.cak")) && !link.has_exchange());
    // Without ports the description is complete, and nothing is brought up.
    let named = parse(&text.replace(", macsec: { port: { oru: eth1, odu: eth0 } }", ""));
    assert_eq!(named.macsec_links("odu").count(), 0);
}
