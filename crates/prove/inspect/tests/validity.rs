//! Evidence must be valid, not just the right size: captures whose packets have the lengths,
//! numbers and headers of something safe, and are not; and next to them those that are.
//! `data/README.md` says of each what it is.

use bartizan_inspect::text::Colour;
use bartizan_inspect::{Against, Answer, Detail, json, text};
use bartizan_ledger::{Event, Reader};
use bartizan_posture::{self as posture, Concern, Kind, Verdict};

use crate::rule::answered::{Answered, Known, Owned, packets};

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

/// Returns true if a finding with these words limits what the verdicts say.
fn limited(answered: &Answered, words: &str) -> bool {
    let findings = answered.report.findings();
    findings
        .iter()
        .any(|finding| finding.leaves_out() && finding.because.contains(words))
}

#[test]
fn the_length_of_a_capture_is_from_its_earliest_packet_to_its_latest() {
    let mut frames = packets(include_bytes!("data/macsec-no-restart.pcap"));
    let span = |frames: &[Owned]| {
        let answered = Answered::of_packets(frames, &Known::nothing());
        let totals = answered.report.totals();
        let at = |seen: Option<bartizan_wire::Moment>| seen.map(|seen| seen.time.0);
        [at(totals.first), at(totals.last)]
    };
    let sorted = span(&frames);
    frames.reverse();
    assert_eq!(span(&frames), sorted);
    // A packet without a time is of no date.
    frames[1].time.0 = 0;
    assert_eq!(span(&frames), sorted);
    frames.iter_mut().for_each(|frame| frame.time.0 = 0);
    assert_eq!(span(&frames), [None, None]);
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
fn a_share_that_is_no_key_is_not_advised_on_by_resumption() {
    for (answered, remedy) in [
        (
            inspected!("tls-fake-mlkem-share"),
            "let both ends require X25519MLKEM768",
        ),
        (
            inspected!("ike-fake-mlkem-key"),
            "add ML-KEM-768 as additional key exchange",
        ),
        (inspected!("wireguard-psk-unknown"), "replace it by IPsec with ML-KEM"),
    ] {
        let findings = answered.report.findings();
        let unproven = findings.iter().find(|finding| finding.concern == Concern::Unproven);
        let what = unproven.expect("nothing shows that it is safe").remedy.what;
        assert!(what.starts_with(remedy), "{what}");
    }
}

#[test]
fn one_packet_under_a_used_nonce_is_a_contradiction_and_several_are_readable_now_and_copies_are_neither() {
    let several = inspected!("ike-iv-reused");
    assert!(several.reports(Concern::ReadableNow));
    assert_eq!(several.safe(), 0);
    // One may be that of an injected message.
    let mut frames = packets(include_bytes!("data/macsec-no-restart.pcap"));
    let mut injected = frames[4].clone();
    let last = injected.data.len() - 1;
    injected.data[last] ^= 1;
    frames.insert(5, injected);
    let once = Answered::of_packets(&frames, &Known::nothing());
    assert!(once.reports(Concern::Contradiction) && !once.reports(Concern::ReadableNow));
    for (name, answered) in [
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
fn cooked_frames_of_version_two_have_lost_their_tags_and_that_is_a_finding() {
    let lost = inspected!("vlan-two-networks-sll2");
    assert!(limited(&lost, "LINUX_SLL2"));
    let kept = inspected!("vlan-two-networks-ethernet");
    assert!(!limited(&kept, "LINUX_SLL2"));
    assert_eq!(kept.report.network().links.len(), 2);
}

/// The same two networks, each at an interface of its own of one pcapng.
#[test]
fn hosts_that_several_interfaces_saw_may_be_of_two_networks_and_that_is_a_finding() {
    let block = |kind: u32, mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let section = || block(0x0a0d_0d0a, words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    let interface = || block(1, words(&[1, 0]));
    // The packets of one network, or of both.
    let of = |network: Option<bool>, of_packet: fn(bool) -> u32| {
        let mut blocks = Vec::new();
        for packet in packets(include_bytes!("data/vlan-two-networks-ethernet.pcap")) {
            // Behind the addresses: the tag, which is taken out.
            let is_second = u16::from_be_bytes([packet.data[14], packet.data[15]]) != 10;
            if network.is_some_and(|wanted| wanted != is_second) {
                continue;
            }
            let frame = [&packet.data[..12], &packet.data[16..]].concat();
            let length = frame.len() as u32;
            let fields = words(&[of_packet(is_second), 0, 0, length, length]);
            blocks.extend(block(6, [fields, frame].concat()));
        }
        blocks
    };
    let is_limited = |blocks: &[Vec<u8>]| {
        let answered = Answered::of(&blocks.concat(), &Known::nothing());
        limited(&answered, "several interfaces of the capture")
    };
    assert!(is_limited(&[section(), interface(), interface(), of(None, u32::from)]));
    assert!(!is_limited(&[section(), interface(), interface(), of(None, |_| 1)]));
    // The second interface is described behind packets of the first, or in a section of its own, as
    // where two files were put together.
    let [first, second] = [false, true].map(|network| of(Some(network), |_| 0));
    let late = of(Some(true), |_| 1);
    assert!(is_limited(&[section(), interface(), first.clone(), interface(), late]));
    let apart = [section(), interface(), first.clone(), section(), interface(), second];
    assert!(is_limited(&apart));
    assert!(!is_limited(&[section(), interface(), first]));
}

#[test]
fn a_fragment_behind_a_payload_in_plaintext_is_read_and_its_room_is_not_that_of_the_plaintext() {
    let answered = inspected!("ike-intermediate-clear-payload");
    assert_eq!(worth(&answered), [(Kind::Ike, Verdict::QuantumSafe)]);
    // The bytes of the key exchange in plaintext instead: their number alone says nothing.
    let mut packets = packets(include_bytes!("data/ike-intermediate-clear-payload.pcap"));
    for packet in &mut packets {
        // Behind the headers of Ethernet, IP, UDP and IKE, whose exchange is IKE_INTERMEDIATE (43).
        let (header, body) = (&packet.data[42..70], &packet.data[70..]);
        if header[18] != 43 || header[16] != 53 && header[16] != 41 {
            continue;
        }
        let notify = body.len() - 100;
        packet.data[42 + 16] = 41;
        packet.data[70] = 46;
        packet.data[72..74].copy_from_slice(&(notify as u16).to_be_bytes());
        packet.data[40..42].fill(0);
    }
    assert_eq!(Answered::of_packets(&packets, &Known::nothing()).safe(), 0);
}

/// A mirrored port captures each packet twice in a row. The last part of a packet then comes again
/// behind the whole.
#[test]
fn fragments_that_a_mirrored_port_doubles_are_parts_of_no_other_packet() {
    let once = packets(include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"));
    let twice: Vec<Owned> = once
        .iter()
        .flat_map(|packet| [packet.clone(), packet.clone()])
        .collect();
    let [once, twice] = [once, twice].map(|packets| Answered::of_packets(&packets, &Known::nothing()));
    assert_eq!(worth(&twice), worth(&once));
    twice.assert_accounted("each packet twice");
}

#[test]
fn a_framework_is_not_met_by_packets_that_a_ledger_contradicts() {
    let capture = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
    let ledgers: [&[u8]; 2] = [
        include_bytes!("../../wire/tests/data/sidecar-hybrid.consumers.jsonl"),
        include_bytes!("../../wire/tests/data/sidecar-hybrid.nrf.jsonl"),
    ];
    let mut frameworks = bartizan_registry::FRAMEWORKS.iter();
    let nist = frameworks.find(|framework| framework.key == "nist").unwrap();
    for is_changed in [false, true] {
        let records = ledgers.iter().flat_map(|text| Reader::new(*text).flatten());
        let records = records.map(|mut record| {
            if let (true, Event::Handshake(one)) = (is_changed, &mut record.event) {
                one.negotiated.as_mut().unwrap().cipher.code ^= 1;
            }
            record
        });
        let answered = Answered::of(capture, &Known::of_records(records));
        assert_eq!(Against::of(nist, &[answered.report]).passed(), !is_changed);
    }
}

#[test]
fn a_message_behind_ike_sa_init_that_is_not_encrypted_is_a_contradiction_and_a_remark_is_none() {
    const IKE: usize = 42;
    const INFORMATIONAL: u8 = 37;
    let before = packets(include_bytes!("data/ike-intermediate-clear-payload.pcap"));
    let contradicts = |answered: &Answered| {
        let findings = answered.report.findings();
        findings.iter().any(|finding| finding.concern == Concern::Contradiction)
    };
    // Answers to IKE_INTERMEDIATE and IKE_AUTH with an identity where the encrypted payload was.
    for exchange in [43, 35] {
        let mut packets = before.clone();
        for packet in packets.iter_mut().filter(|packet| packet.data[IKE + 18] == exchange) {
            packet.data[IKE + 16] = 36;
            packet.data[40..42].fill(0);
        }
        let answered = Answered::of_packets(&packets, &Known::nothing());
        assert_eq!((answered.safe(), contradicts(&answered)), (0, true), "{exchange}");
    }
    // INVALID_IKE_SPI, which an end that began anew says of an IKE_SA that it has forgotten.
    let mut remark = before.last().unwrap().clone();
    let notification = [0, 0, 0, 8, 0, 0, 0, 4];
    let length = IKE + 28 + notification.len();
    remark.data.truncate(IKE + 28);
    remark.data.extend(notification);
    remark.data[IKE + 16] = 41;
    remark.data[IKE + 18] = INFORMATIONAL;
    for (place, header, width) in [(16, 14, 2), (38, 34, 2), (IKE + 24, IKE, 4)] {
        let bytes = ((length - header) as u32).to_be_bytes();
        remark.data[place..place + width].copy_from_slice(&bytes[4 - width..]);
    }
    remark.data[40..42].fill(0);
    let packets = [before, vec![remark]].concat();
    let answered = Answered::of_packets(&packets, &Known::nothing());
    assert_eq!(worth(&answered), [(Kind::Ike, Verdict::QuantumSafe)]);
    assert!(!contradicts(&answered));
}

#[test]
fn an_ike_sa_whose_responder_asked_first_is_not_called_safe_for_a_rekey_before_it() {
    // The first request of a responder may be that of an IKE_SA from before the capture as well: the
    // exchange that would have made this one may have made a CHILD_SA.
    let answered = inspected!("ike-rekey-responder-first");
    let ike = answered.report.conversations();
    let ike = ike.iter().rfind(|one| one.posture().kind == Kind::IkeNotSeen);
    let because = ike.unwrap().posture().confidentiality.because();
    assert!(because.starts_with("no message shows whether"), "{because}");
    assert!(!answered.has_no_finding());
}

#[test]
fn an_sa_whose_end_moved_is_the_same_sa() {
    let before = packets(include_bytes!("data/ike-rekey-responder-first.pcap"));
    let move_to = |packet: &Owned| {
        let mut packet = packet.clone();
        for at in [26, 30] {
            if packet.data[at..at + 4] == [10, 99, 0, 1] {
                packet.data[at + 3] = 77;
            }
        }
        packet.data[40..42].fill(0);
        packet
    };
    // The exchanges from packet 12 on, and then the second packet of either ESP association, from
    // another address.
    let with = |exchanges: std::ops::Range<usize>| {
        let moved = before[exchanges].iter().chain(&before[9..11]).map(move_to);
        let packets: Vec<Owned> = before[..9].iter().cloned().chain(moved).collect();
        Answered::of_packets(&packets, &Known::nothing())
    };
    let safe = worth(&with(11..18));
    assert_eq!(
        safe,
        [
            (Kind::Ike, Verdict::QuantumSafe),
            (Kind::Esp, Verdict::QuantumSafe),
            (Kind::Esp, Verdict::QuantumSafe)
        ]
    );
    // Without messages of both ends between the new addresses these are associations of their own.
    for exchanges in [11..12, 18..18] {
        assert!(worth(&with(exchanges.clone())).len() > 3, "{exchanges:?}");
    }
}

#[test]
fn identities_are_readable_where_an_ike_sa_does_not_encrypt() {
    let answered = inspected!("ike-sa-encr-null");
    let posture = answered.report.conversations()[0].posture();
    assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
    assert!(posture.confidentiality.because().contains("identities"));
    assert!(
        !posture.authenticity.because().contains("encrypts"),
        "{}",
        posture.authenticity.because()
    );
}

#[test]
fn ike_and_esp_in_tcp_are_read_and_bytes_that_are_missing_from_it_are_not_safe() {
    for (answered, expected) in [
        (inspected!("ike-over-tcp-x25519"), Verdict::Vulnerable),
        (inspected!("ike-over-tcp-mlkem"), Verdict::QuantumSafe),
    ] {
        let worth = worth(&answered);
        assert_eq!(worth[0], (Kind::IkeInTcp, Verdict::NotSeen));
        assert!(worth.len() > 2, "{worth:?}");
        assert!(worth[1..].iter().all(|(_, verdict)| *verdict == expected), "{worth:?}");
    }
    let packets = packets(include_bytes!("data/ike-over-tcp-mlkem.pcap"));
    // If the last packets of an end are missing, nothing behind them shows it.
    let data: Vec<usize> = (0..packets.len())
        .filter(|place| packets[*place].data.len() > 54)
        .collect();
    for &missing in &data[..data.len() - 4] {
        let mut packets = packets.clone();
        packets.remove(missing);
        let answered = Answered::of_packets(&packets, &Known::nothing());
        assert!(!answered.has_no_finding(), "packet {missing}: {:?}", worth(&answered));
    }
}

#[test]
fn eap_tls_in_radius_is_judged_like_that_at_a_port() {
    let mut worth = worth(&inspected!("radius-eap-tls-x25519"));
    worth.sort_unstable_by_key(|(kind, _)| *kind);
    assert_eq!(worth.len(), 2, "{worth:?}");
    assert_eq!(worth[0].1, Verdict::ReadableNow);
    assert_eq!(worth[1], (Kind::EapTls, Verdict::Vulnerable));
}

#[test]
fn mka_that_takes_macsec_back_says_so() {
    let answered = inspected!("mka-switched-off");
    let mka = answered
        .report
        .conversations()
        .iter()
        .find(|one| one.posture().kind == Kind::Mka);
    let posture = mka.unwrap().posture();
    assert!(posture.confidentiality.because().contains("took MACsec back"));
    assert_eq!(posture.clear.answer(), posture::Answer::Yes);
}

#[test]
fn a_payload_protocol_identifier_in_the_other_byte_order_names_its_interface() {
    let answered = inspected!("sctp-ppid-byte-order");
    let named = answered.report.conversations()[0].posture().interface;
    assert_eq!(named.map(|interface| interface.name), Some("N2"));
}

#[test]
fn what_a_security_layer_wraps_is_neither_readable_nor_safe() {
    let answered = inspected!("ldap-sasl-sealed");
    let [(_, Verdict::NotObservable)] = worth(&answered)[..] else {
        panic!("{:?}", worth(&answered));
    };
    // A token of Kerberos that is not encrypted says so.
    let mut packets = packets(include_bytes!("data/ldap-sasl-sealed.pcap"));
    for packet in &mut packets {
        if let Some([_, _, _, _, 5, 4, flags, ..]) = packet.data.get_mut(54..) {
            *flags &= !2;
            packet.data[50..52].fill(0);
        }
    }
    let answered = Answered::of_packets(&packets, &Known::nothing());
    assert!(answered.reports(Concern::ReadableNow), "{:?}", worth(&answered));
}

#[test]
fn a_pre_shared_key_that_packets_do_not_show_makes_nothing_vulnerable_or_safe() {
    let answered = inspected!("wireguard-psk-unknown");
    assert!(
        worth(&answered)
            .iter()
            .all(|(_, verdict)| *verdict == Verdict::NotObservable)
    );
}

#[test]
fn shares_are_of_bytes_that_are_in_the_capture() {
    let coverage = inspected!("share-claimed-length").report.coverage();
    assert_eq!(coverage.total(), 8961);
}

#[test]
fn several_captures_have_one_answer_in_which_nothing_is_better_than_in_each() {
    let answered = [
        inspected!("tls-wellformed-mlkem-share"),
        inspected!("tls-openssl30-classical"),
        inspected!("ike-over-tcp-x25519"),
    ];
    let reports = answered.map(|answered| answered.report);
    let each = reports.each_ref().map(bartizan_inspect::Report::answer);
    let joint = Answer::joint(&reports);
    assert_eq!(joint.links, each.iter().map(|answer| answer.links).sum::<u64>());
    assert_eq!(
        joint.confidentiality.vulnerable,
        each.iter().map(|answer| answer.confidentiality.vulnerable).sum::<u64>()
    );
    assert_eq!(joint.severities[0].0, each[1].severities[0].0, "the worst of all");
    let text = text::joint(&reports, 80);
    assert!(text.starts_with("3 captures\n\nanswer\n"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&json::render(&reports).unwrap()).unwrap();
    assert_eq!(document["answer"]["links"], joint.links);
}

#[test]
fn a_capture_of_beginnings_is_judged_by_them_and_labelled_and_accuses_nobody() {
    for (name, capture, plain) in [
        (
            "N2",
            &include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap")[..],
            true,
        ),
        (
            "IKE",
            &include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap")[..],
            false,
        ),
    ] {
        let whole = packets(capture);
        let mut snapped = whole.clone();
        snapped.iter_mut().for_each(|packet| packet.data.truncate(96));
        let answered = Answered::of_packets(&snapped, &Known::nothing());
        assert!(!answered.reports(Concern::Contradiction), "{name}");
        assert_eq!(answered.reports(Concern::ReadableNow), plain, "{name}");
        assert_eq!(answered.safe(), 0, "{name}");
        let answer = answered.report.answer();
        assert!(
            answer.snapped > 0 && answer.coverage.total() < 96 * whole.len() as u64 + 1,
            "{name}"
        );
        let text = text::render(&answered.report, None, Detail::Links, Colour::No, 100);
        assert!(text.contains("captured in part, judged by what is left"), "{text}");
        let unproven = answered
            .report
            .findings()
            .into_iter()
            .filter(|one| one.concern == Concern::Unproven);
        assert!(
            unproven
                .clone()
                .all(|one| one.remedy.what.starts_with("capture whole packets")),
            "{name}"
        );
    }
}
