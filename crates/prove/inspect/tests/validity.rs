//! Evidence must be valid, not just the right size: captures whose packets have the lengths, numbers and headers of something safe, and
//! are not; and next to them those that are. `data/README.md` says of each what it is.

use bartizan_posture::{Concern, Kind, Verdict};

use crate::rule::answered::{Answered, Known};

/// A capture of the folder.
macro_rules! inspected {
    ($name:literal) => {
        Answered::of(include_bytes!(concat!("data/", $name, ".pcap")), &Known::nothing())
    };
}

/// Kind and verdict of each conversation, in order.
fn worth(answered: &Answered) -> Vec<(Kind, Verdict)> {
    let conversations = answered.report.conversations().iter();
    conversations
        .map(|one| (one.posture().kind, one.posture().confidentiality.verdict()))
        .collect()
}

#[test]
fn a_handshake_that_was_refused_behind_the_server_hello_says_nothing_of_a_link() {
    for (name, answered) in [
        ("alert in plaintext", inspected!("tls-refused-cliref")),
        (
            "alert-sized record of the server, JSSE",
            inspected!("tls-refused-in-jsse27"),
        ),
        (
            "alert-sized record of the server, wolfSSL",
            inspected!("tls-refused-in-wolf"),
        ),
        (
            "alert-sized record behind the client's Finished",
            inspected!("tls-refused-nocert"),
        ),
    ] {
        assert_eq!(worth(&answered), [(Kind::TlsNotAgreed, Verdict::NotSeen)], "{name}");
        let links = &answered.report.network().links;
        assert!(links.iter().all(|link| !link.carried()), "{name}: {links:?}");
        assert!(
            !answered.has_no_finding(),
            "{name}: nothing was seen, and that is a finding"
        );
        let conversation = &answered.report.conversations()[0];
        let because = conversation.posture().confidentiality.because();
        assert!(because.starts_with("not established: refused"), "{name}: {because}");
        assert_eq!(conversation.posture().group, None, "{name}");
    }
}

#[test]
fn a_refusal_that_only_a_length_shows_has_a_note() {
    let noted = |answered: &Answered| answered.report.notes().iter().any(|note| note.contains("two octets"));
    assert!(noted(&inspected!("tls-refused-nocert")));
    assert!(!noted(&inspected!("tls-refused-in-wolf")));
}

#[test]
fn a_key_share_whose_coefficients_are_not_reduced_contradicts_its_group() {
    for (name, answered) in [
        ("ML-KEM-768", inspected!("tls-fake-mlkem-share")),
        ("ML-KEM-1024", inspected!("tls-fake-mlkem1024-share")),
        ("IKE", inspected!("ike-fake-mlkem-key")),
    ] {
        assert_eq!(answered.safe(), 0, "{name}");
        assert!(answered.reports(Concern::Contradiction), "{name}");
    }
    for (name, answered) in [
        ("TLS", inspected!("tls-wellformed-mlkem-share")),
        ("IKE", inspected!("ike-wellformed-mlkem-key")),
    ] {
        assert!(answered.safe() > 0, "{name}");
        assert!(!answered.reports(Concern::Contradiction), "{name}");
    }
}

#[test]
fn one_nonce_for_two_packets_under_one_key_is_readable_now_and_copies_are_not() {
    for (name, answered) in [
        ("IKE", inspected!("ike-iv-reused")),
        ("MACsec", inspected!("macsec-nonce-reused")),
        ("MACsec, restarted", inspected!("macsec-static-key-restart")),
    ] {
        assert!(answered.reports(Concern::ReadableNow), "{name}");
        assert_eq!(answered.safe(), 0, "{name}");
    }
    for (name, answered) in [
        ("doubled", inspected!("macsec-doubled-frames")),
        ("not restarted", inspected!("macsec-no-restart")),
    ] {
        assert!(!answered.reports(Concern::ReadableNow), "{name}");
    }
}

#[test]
fn a_client_with_schemes_of_rfc_5246_alone_is_vulnerable_to_forgery() {
    let answered = inspected!("tls-openssl30-classical");
    let posture = answered.report.conversations()[0].posture();
    assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
    let because = posture.authenticity.because();
    assert!(
        because.contains("the client offers classical signature schemes only"),
        "{because}"
    );
}

#[test]
fn one_plausible_header_without_a_fitting_answer_names_no_protocol() {
    for (name, answered) in [
        ("COTP", inspected!("tcp-cotp-not-rdp")),
        ("random octets", inspected!("tcp-midstream-one-segment")),
        ("BSAP", inspected!("udp-dle-not-ecpri")),
    ] {
        assert!(
            !answered.reports(Concern::ReadableNow),
            "{name}: {:?}",
            worth(&answered)
        );
        assert!(answered.reports(Concern::Unproven), "{name}");
    }
    let answered = inspected!("probe-rdp-to-http");
    assert_eq!(worth(&answered), [(Kind::ClearHttp1, Verdict::ReadableNow)]);
}

#[test]
fn a_capture_without_a_packet_is_a_finding() {
    let capture = include_bytes!("data/macsec-no-restart.pcap");
    let answered = Answered::of(&capture[..24], &Known::nothing());
    assert_eq!(answered.report.packets(), 0);
    assert!(answered.reports(Concern::Unproven));
}

#[test]
fn cooked_frames_of_version_two_have_lost_their_tags_and_that_is_noted() {
    let lost = inspected!("vlan-two-networks-sll2");
    assert!(lost.report.notes().iter().any(|note| note.contains("LINUX_SLL2")));
    let kept = inspected!("vlan-two-networks-ethernet");
    assert!(!kept.report.notes().iter().any(|note| note.contains("LINUX_SLL2")));
    assert_eq!(kept.report.network().links.len(), 2);
}
