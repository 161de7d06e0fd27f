use bartizan_registry::FRAMEWORKS;

use super::*;

fn of(kind: Kind) -> Place<'static> {
    Place {
        kind: Some(kind),
        ..Place::default()
    }
}

fn at(kind: Kind, interface: &'static str) -> Place<'static> {
    Place {
        interface: Some(interface),
        ..of(kind)
    }
}

#[test]
fn each_concern_has_a_remedy_of_one_line_and_a_severity() {
    for remedy in remedies() {
        let what = remedy.what;
        assert!(!what.is_empty() && what.len() <= 66 && !what.contains('\n'), "{what}");
        for change in remedy.changes {
            assert!(
                !change.entry.contains('\n') && change.file.len() + change.entry.len() < 80,
                "{change:?}"
            );
        }
    }
    for kind in [HoleKind::ProxyCredentials, HoleKind::Tunnel, HoleKind::BehindProxy] {
        assert!(of_hole(kind).what.contains("proxy"), "{kind}");
    }
    assert_eq!(Severity::of(Concern::ReadableNow), Severity::Critical);
    assert!(Severity::of(Concern::Confidentiality) < Severity::of(Concern::Authenticity));
}
#[test]
fn what_is_harvested_touches_what_frameworks_say_of_key_exchanges_and_what_is_forged_what_they_say_of_signatures() {
    let harvested = remedy(Concern::Confidentiality, of(Kind::Ike)).asked();
    let forged = remedy(Concern::Authenticity, of(Kind::Ike)).asked();
    for (asked, first) in [(&harvested, "ML-KEM-1024"), (&forged, "ML-DSA-87")] {
        assert_eq!(asked.len(), FRAMEWORKS.len());
        assert!(asked[0].asks.starts_with(first), "{asked:?}");
    }
    // That the capture lacks something falls short of no framework.
    assert!(remedy(Concern::Unproven, of(Kind::TlsNotSeen)).asked().is_empty());
    assert!(remedy(Concern::Contradiction, Place::default()).asked().is_empty());
}

#[test]
fn what_is_in_plaintext_is_asked_by_no_framework_about_algorithms_and_a_remedy_says_what_it_meets() {
    for kind in Kind::all() {
        assert!(remedy(Concern::ReadableNow, of(kind)).asked().is_empty(), "{kind:?}");
    }
    let n4 = remedy(Concern::ReadableNow, of(Kind::Pfcp)).lines();
    assert_eq!(n4, ["asked by: TS 33.501, clause 9.9"]);
    let [asked, meets] = &remedy(Concern::Confidentiality, of(Kind::Tls13)).lines()[..] else {
        panic!("two lines");
    };
    assert!(
        asked.contains("NIST IR 8547 (draft, 2024-11, key establishment)"),
        "{asked}"
    );
    assert!(meets.ends_with("; not CNSA 2.0"), "{meets}");
    let [_, meets] = &remedy(Concern::Authenticity, of(Kind::Tls13)).lines()[..] else {
        panic!("two lines");
    };
    assert!(meets.contains("not CNSA 2.0"), "{meets}");
}

#[test]
fn a_known_protocol_is_not_to_be_found_out_and_a_file_is_loaded_by_the_program_that_reads_it() {
    for kind in [Kind::MacSec, Kind::Mka] {
        let what = remedy(Concern::Unproven, of(kind)).what;
        assert!(!what.contains("find out"), "{kind:?}: {what}");
    }
    let classical = remedy(Concern::Confidentiality, of(Kind::Ike));
    assert_eq!((classical.changes[0].file, classical.command), (SWANCTL, Some(LOAD)));
    assert!(
        remedy(Concern::Contradiction, of(Kind::Ike))
            .what
            .contains("cloned end")
    );
}

#[test]
fn the_file_of_a_remedy_is_that_of_the_protocol_at_hand() {
    let file = |concern, kind| remedy(concern, of(kind)).changes[0].file;
    assert_eq!(file(Concern::Confidentiality, Kind::Ike), SWANCTL);
    assert_eq!(file(Concern::Confidentiality, Kind::Tls13), OPENSSL);
    assert_eq!(file(Concern::ReadableNow, Kind::ClearHttp2), DEPLOYMENT);
    assert_eq!(file(Concern::Confidentiality, Kind::Ssh), "sshd_config, ssh_config");
}

#[test]
fn the_entry_of_a_remedy_is_that_of_the_interface_at_hand_and_an_unknown_one_is_not_guessed() {
    let entry = |place| {
        let remedy = remedy(Concern::ReadableNow, place);
        (remedy.changes[0].entry, remedy.clause.unwrap_or_default())
    };
    for (kind, interface, kind_in_file, clause) in [
        (Kind::ClearSctp, "E2", "E2", "SRCS, clause 5.2.4"),
        (Kind::ClearSctp, "F1", "F1-C", "9.8.2"),
        (Kind::ClearSctp, "Xn", "Xn", "9.4"),
        (Kind::GtpU, "N9", "N9", "9.9"),
        (Kind::GtpU, "F1-U", "F1-U", "9.8.2"),
        (Kind::GtpC, "N26", "N26", "9.5"),
        (Kind::ClearHttp1, "A1", "A1", "SRCS, clause 5.2.1"),
        (Kind::ClearHttp2, "N32", "N32", "13.2"),
        (Kind::Named(Named::Ecpri), "FH", "FH", "SRCS"),
    ] {
        let (entry, asked) = entry(at(kind, interface));
        assert!(
            entry.contains(&format!("{{ kind: {kind_in_file}, ")),
            "{interface}: {entry}"
        );
        assert!(asked.contains(clause), "{interface}: {asked}");
    }
    for kind in [Kind::ClearSctp, Kind::GtpU, Kind::GtpC, Kind::ClearHttp2] {
        assert!(entry(of(kind)).0.contains("kind: ..., "), "{kind:?}");
    }
    // A protocol's name is none of an interface.
    let tunnels = remedy(Concern::ReadableNow, at(Kind::GtpU, "GTP-U"));
    assert!(tunnels.what.contains("find out its interface"), "{}", tunnels.what);
    for interface in ["W1", "X2", "S11 or S5"] {
        let place = at(Kind::ClearSctp, interface);
        let remedy = remedy(Concern::ReadableNow, place);
        assert_eq!((remedy.changes[0].file, remedy.clause), (SWANCTL, None), "{interface}");
    }
    // The unprotected part of DTLS over SCTP, and what is exposed above the transport, likewise.
    for concern in [Concern::Confidentiality, Concern::Authenticity, Concern::AboveTransport] {
        let entry = remedy(concern, at(Kind::DtlsOverSctp, "E1")).changes[0].entry;
        assert!(entry.contains("kind: E1, "), "{concern:?}: {entry}");
    }
}

#[test]
fn each_entry_of_a_known_interface_is_one_that_a_deployment_file_takes() {
    for interface in bartizan_deployment::InterfaceKind::ALL {
        let place = at(Kind::ClearSctp, interface.name());
        let entry = remedy(Concern::AboveTransport, place).changes[0].entry;
        let requirement = bartizan_budget::network::requirement(interface).unwrap();
        assert_eq!(remedy(Concern::ReadableNow, place).clause, Some(requirement.clause));
        let named = entry.split(['{', '}', ',']).map(str::trim).collect::<Vec<_>>();
        assert!(
            named.contains(&format!("kind: {}", interface.name()).as_str()),
            "{entry}"
        );
        let with = named
            .last_chunk::<2>()
            .map(|[with, _]| with.trim_start_matches("with: "));
        assert_eq!(with, Some(requirement.met_by[0].name()), "{entry}");
    }
}

#[test]
fn resumption_is_advised_on_where_an_earlier_handshake_made_the_keys_and_nowhere_else() {
    for kind in [
        Kind::Tls13,
        Kind::Quic,
        Kind::Ike,
        Kind::Ssh,
        Kind::Dtls(bartizan_wire::tls::Version::DTLS13),
    ] {
        let what = remedy(Concern::Unproven, of(kind)).what;
        assert!(
            !what.contains("resumption") && !what.contains("find out"),
            "{kind:?}: {what}"
        );
    }
    let wireguard = remedy(Concern::Unproven, of(Kind::Named(Named::WireGuard))).what;
    assert!(wireguard.contains("replace it by IPsec"), "{wireguard}");
}
