//! Protocols that are known by name, and TLS behind STARTTLS, in whole TCP connections and datagrams.

use crate::spoken;
use bartizan_posture::{Answer, Kind, Verdict};
use bartizan_wire::Side;
use bartizan_wire::datagrams::Named;
use bartizan_wire::plaintext::Plaintext;
use spoken::{connection, handshake, lines, observe, packet};

#[test]
fn tls_behind_starttls_is_judged_as_tls_and_credentials_before_it_are_in_plaintext() {
    use Side::{Client, Server};
    let postgresql = vec![
        (Client, b"\x00\x00\x00\x08\x04\xd2\x16\x2f".to_vec()),
        (Server, b"S".to_vec()),
    ];
    let smtp = [
        (Server, "220 mail.example.test ready for everybody\r\n"),
        (Client, "EHLO here\r\n"),
        (Server, "250-mail.example.test\r\n250 STARTTLS\r\n"),
        (Client, "STARTTLS\r\n"),
        (Server, "220 go ahead\r\n"),
    ];
    let mut reported = lines(&smtp);
    reported.insert(3, (Client, b"AUTH PLAIN AHVzZXIAcGFzcw==\r\n".to_vec()));
    for (name, before, clear) in [
        ("SMTP", lines(&smtp), Answer::No),
        ("PostgreSQL", postgresql, Answer::No),
        ("SMTP", reported, Answer::Yes),
    ] {
        let judged = observe(&connection(&[before, handshake()].concat()));
        let [posture] = &judged[..] else {
            panic!("{name}: {judged:#?}")
        };
        assert_eq!(posture.kind, Kind::Tls13, "{name}");
        assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe, "{name}");
        assert_eq!(posture.clear.answer(), clear, "{name}: {}", posture.clear.because());
        assert!(posture.clear.because().contains(name), "{}", posture.clear.because());
    }
}

#[test]
fn a_stripped_starttls_is_in_plaintext_by_name() {
    use Side::{Client, Server};
    let said = lines(&[
        (Server, "220 mail.example.test ready for everybody\r\n"),
        (Client, "EHLO here\r\n"),
        (Server, "250 XXXXXXXA\r\n"),
        (Client, "STARTTLS\r\n"),
        (Server, "454 not now\r\n"),
        (Client, "MAIL FROM:<a@example.test>\r\n"),
    ]);
    let judged = observe(&connection(&said));
    assert_eq!(judged[0].kind, Kind::Plaintext(Plaintext::Smtp));
    assert_eq!(judged[0].confidentiality.verdict(), Verdict::ReadableNow);
    assert!(judged[0].confidentiality.because().ends_with("went on without it"));
    assert_eq!(judged[0].clear.answer(), Answer::Yes);
}

#[test]
fn losing_any_packet_of_a_starttls_makes_nothing_worse_than_unproven_and_nothing_safe_that_is_not() {
    use Side::{Client, Server};
    let before = lines(&[(Server, "* OK\r\n"), (Client, "a1 STARTTLS\r\n"), (Server, "a1 OK\r\n")]);
    let packets = connection(&[before, handshake()].concat());
    for lost in 0..packets.len() {
        let mut packets = packets.clone();
        packets.remove(lost);
        for posture in observe(&packets) {
            if posture.confidentiality.verdict() == Verdict::QuantumSafe {
                assert_eq!(posture.kind, Kind::Tls13, "packet {lost}");
                assert_eq!(
                    posture.group.map(|group| group.to_string()).as_deref(),
                    Some("X25519MLKEM768")
                );
            }
        }
    }
}

#[test]
fn plaintext_over_tcp_and_udp_is_vulnerable_by_its_name() {
    let diameter = b"\x01\x00\x00\x14\x80\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02".to_vec();
    let mut answer = diameter.clone();
    answer[4] = 0;
    let alone = observe(&connection(&[(Side::Client, diameter.clone())]));
    assert_eq!(alone[0].kind, Kind::Unknown, "one header without an answer");
    let judged = observe(&connection(&[(Side::Client, diameter), (Side::Server, answer)]));
    assert_eq!(judged[0].kind, Kind::Plaintext(Plaintext::Diameter));
    assert_eq!(judged[0].kind.name(), "Diameter in plaintext");
    let udp = |payload: &[u8]| {
        let mut bytes = vec![0x9c, 0x40, 0x9c, 0x41];
        bytes.extend((8 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        observe(&[packet(17, Side::Client, &bytes)]).remove(0)
    };
    let sip = udp(b"INVITE sip:bob@example.test SIP/2.0\r\n\r\n");
    assert_eq!(
        (sip.kind, sip.confidentiality.verdict()),
        (Kind::Named(Named::Sip), Verdict::ReadableNow)
    );
    assert_eq!(sip.clear.answer(), Answer::Yes);
    let mut wireguard = vec![1, 0, 0, 0];
    wireguard.resize(148, 7);
    let wireguard = udp(&wireguard);
    assert_eq!(wireguard.kind, Kind::Named(Named::WireGuard));
    assert_eq!(wireguard.confidentiality.verdict(), Verdict::Vulnerable);
    assert_eq!(wireguard.clear.answer(), Answer::No);
}

#[test]
fn a_reset_outside_any_window_hides_nothing_and_bytes_outside_it_prove_nothing() {
    let packets = connection(&handshake());
    let whole = observe(&packets);
    assert_eq!(whole[0].confidentiality.verdict(), Verdict::QuantumSafe);
    let mut forged = packets[4].clone();
    forged.truncate(40);
    forged[2..4].copy_from_slice(&40u16.to_be_bytes());
    forged[20 + 13] = 0x04;
    let sequence = u32::from_be_bytes([forged[24], forged[25], forged[26], forged[27]]).wrapping_add(1 << 27);
    forged[24..28].copy_from_slice(&sequence.to_be_bytes());
    for place in 3..packets.len() {
        let mut packets = packets.clone();
        packets.insert(place, forged.clone());
        assert_eq!(
            observe(&packets)[0].confidentiality.verdict(),
            Verdict::QuantumSafe,
            "before packet {place}"
        );
    }
    let mut stray = packets[3].clone();
    let sequence = u32::from_be_bytes([stray[24], stray[25], stray[26], stray[27]]).wrapping_add(0x6000_0000);
    stray[24..28].copy_from_slice(&sequence.to_be_bytes());
    let judged = observe(&[&packets[..], &[stray]].concat());
    assert_eq!(judged[0].confidentiality.verdict(), Verdict::NotObservable);
}

/// Packets of an SCTP association in which the two ends say this in turn, each in one message.
fn association(payload_protocol: u32, said: &[(Side, &[u8])]) -> Vec<Vec<u8>> {
    let mut tsn = [0u32; 2];
    let message = |(from, said): &(Side, &[u8])| {
        let client = *from == Side::Client;
        let (ports, tag, tsn) = match client {
            true => ([40_000u16, 3868], 7u32, &mut tsn[0]),
            false => ([3868, 40_000], 9, &mut tsn[1]),
        };
        *tsn += 1;
        let mut bytes = ports.map(u16::to_be_bytes).concat();
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend([0, 3]);
        bytes.extend((16 + said.len() as u16).to_be_bytes());
        bytes.extend(tsn.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(payload_protocol.to_be_bytes());
        bytes.extend(*said);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        packet(132, *from, &bytes)
    };
    said.iter().map(message).collect()
}

#[test]
fn protocols_in_sctp_are_named_and_ssh_without_its_key_exchange_is_not_seen() {
    use Side::{Client, Server};
    const DIAMETER: &[u8] = b"\x01\x00\x00\x14\x80\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02";
    const SSH: &[u8] = b"SSH-2.0-OpenSSH_10.0\r\n";
    const NGAP: &[u8] = b"\x00\x15\x00\x33\x00\x00\x04\x00\x1b\x00";
    let diameter = (Kind::Plaintext(Plaintext::Diameter), Verdict::ReadableNow);
    for (payload_protocol, said, expected) in [
        (0, &[(Client, DIAMETER), (Server, DIAMETER)][..], diameter),
        // By its identifier alone, and where that is another.
        (46, &[(Client, b"\x05\x00\x00\x00")], diameter),
        (60, &[(Server, DIAMETER)], diameter),
        (
            0,
            &[(Client, b"INVITE sip:a@example.test SIP/2.0\r\n")],
            (Kind::Plaintext(Plaintext::Sip), Verdict::ReadableNow),
        ),
        (
            0,
            &[(Client, SSH), (Server, SSH), (Client, &[0x5a; 40])],
            (Kind::SshNotSeen, Verdict::NotSeen),
        ),
        (0, &[(Server, SSH)], (Kind::SshNotSeen, Verdict::NotSeen)),
        // One end alone that says so hides nothing.
        (
            60,
            &[(Client, SSH), (Server, NGAP)],
            (Kind::ClearSctp, Verdict::ReadableNow),
        ),
        (
            60,
            &[(Client, NGAP), (Server, NGAP)],
            (Kind::ClearSctp, Verdict::ReadableNow),
        ),
    ] {
        let judged = observe(&association(payload_protocol, said));
        let [posture] = &judged[..] else { panic!("{judged:#?}") };
        assert_eq!((posture.kind, posture.confidentiality.verdict()), expected, "{said:?}");
        assert!(posture.kind.carries_data() && posture.kind.verdicts().contains(&expected.1));
    }
}
