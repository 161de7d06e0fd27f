//! Protocols that are known by name, and TLS behind STARTTLS, in whole TCP connections and datagrams.

use crate::spoken;
use bartizan_posture::{Answer, Kind, Verdict};
use bartizan_wire::Side;
use bartizan_wire::datagrams::{DatagramProtocol, Named};
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
fn one_header_among_datagrams_of_no_known_protocol_names_none() {
    let datagrams = |payloads: &[Vec<u8>]| {
        let packets = payloads.iter().map(|payload| {
            let mut bytes = vec![0x9c, 0x40, 0x00, 0x7b];
            bytes.extend((8 + payload.len() as u16).to_be_bytes());
            bytes.extend([0, 0]);
            bytes.extend(payload);
            packet(17, Side::Client, &bytes)
        });
        let judged = observe(&packets.collect::<Vec<_>>());
        judged.iter().map(|posture| posture.kind).collect::<Vec<_>>()
    };
    let ciphertext = vec![0xe5; 64];
    // To port 123: NTP, RADIUS, eCPRI's delay measurement and RTCP.
    let mut ntp = vec![0x23];
    ntp.resize(48, 0);
    let radius = [&[1, 7, 0, 20][..], &[9; 16]].concat();
    let mut ecpri = vec![0x10, 5, 0, 20];
    ecpri.resize(24, 0);
    let rtcp = vec![0x80, 201, 0, 1, 1, 2, 3, 4];
    for (name, header) in [
        (Named::Ntp, ntp),
        (Named::Radius, radius),
        (Named::Ecpri, ecpri),
        (Named::Rtcp, rtcp),
    ] {
        let alone = match name {
            // Their requests are numbered: a name needs an answer.
            Named::Ntp | Named::Radius => Kind::NotRead(DatagramProtocol::Udp),
            _ => Kind::Named(name),
        };
        assert_eq!(datagrams(std::slice::from_ref(&header)), [alone]);
        let among = datagrams(&[ciphertext.clone(), header, ciphertext.clone()]);
        assert_eq!(among, [Kind::NotRead(DatagramProtocol::Udp)], "{}", name.name());
    }
    // Text is no chance.
    let sip = b"INVITE sip:bob@example.test SIP/2.0\r\n\r\n".to_vec();
    let kinds = datagrams(&[b"\r\n\r\n".to_vec(), sip]);
    assert!(kinds.contains(&Kind::Named(Named::Sip)), "{kinds:?}");
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
    assert_eq!(wireguard.confidentiality.verdict(), Verdict::NotObservable);
    assert_eq!(wireguard.clear.answer(), Answer::No);
}

/// First messages of client and server of each protocol that is named over TCP, and of others; and
/// whether they are text.
const SPOKEN: &[(&str, &[u8], &[u8], bool)] = &[
    (
        "Diameter",
        b"\x01\x00\x00\x14\x80\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02",
        b"\x01\x00\x00\x14\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02",
        false,
    ),
    (
        "LDAP",
        b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00",
        b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",
        false,
    ),
    (
        "MySQL",
        b"\x20\x00\x00\x01\x85\xa6\xff\x19\x00\x00\x00\x01",
        b"\x4a\x00\x00\x00\x0a8.0.36\x00\x08\x00\x00\x00",
        false,
    ),
    ("PostgreSQL", b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"N", false),
    (
        "RDP",
        b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
        b"\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x00\x08\x00\x00\x00\x00\x00",
        false,
    ),
    (
        "DNS",
        b"\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03amf\x04test\x00\x00\x01\x00\x01",
        b"\x00\x1d\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\x03amf\x04test\x00\x00\x01\x00\x01",
        false,
    ),
    ("Redis", b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n", true),
    (
        "MongoDB",
        b"\x3a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00",
        b"\x3a\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00",
        false,
    ),
    (
        "BGP",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x1d\x01\x04",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x1d\x01\x04",
        false,
    ),
    (
        "Telnet",
        b"\xff\xfd\x18\xff\xfd\x20",
        b"\xff\xfb\x18\xff\xfb\x20",
        false,
    ),
    (
        "SIP",
        b"REGISTER sip:ims.test SIP/2.0\r\n\r\n",
        b"SIP/2.0 200 OK\r\n\r\n",
        true,
    ),
    ("FTP", b"USER anonymous\r\n", b"220 ProFTPD ready\r\n", true),
    ("SMTP", b"EHLO here\r\n", b"220 mail.example ESMTP\r\n", true),
    ("IMAP", b"a1 CAPABILITY\r\n", b"* OK IMAP4rev1\r\n", true),
    ("POP3", b"CAPA\r\n", b"+OK ready\r\n", true),
    ("XMPP", b"<stream:stream xmlns='x'>", b"<stream:stream xmlns='x'>", true),
    // Other protocols: Modbus, PPTP, a PLC's connection (COTP), an iSCSI login, AMQP, ciphertext.
    (
        "",
        b"\x00\x01\x00\x00\x00\x06\x01\x03\x00\x00\x00\x0a",
        b"\x00\x01\x00\x00\x00\x17\x01\x03\x14\x00\x01",
        false,
    ),
    (
        "",
        b"\x00\x9c\x00\x01\x1a\x2b\x3c\x4d\x00\x01\x00\x00\x01\x00\x00\x00",
        b"\x00\x9c\x00\x01\x1a\x2b\x3c\x4d\x00\x02\x00\x00\x01\x00\x01\x00",
        false,
    ),
    (
        "",
        b"\x03\x00\x00\x16\x11\xe0\x00\x00\x00\x01\x00\xc0\x01\x0a\xc1\x02\x01\x00\xc2\x02\x01\x02",
        b"\x03\x00\x00\x16\x11\xd0\x00\x01\x00\x02\x00\xc0\x01\x0a\xc1\x02\x01\x00\xc2\x02\x01\x02",
        false,
    ),
    (
        "",
        b"\x43\x87\x00\x00\x00\x00\x01\x9c\x40\x00\x01\x37\x00\x00\x00\x00",
        b"\x23\x87\x00\x00\x00\x00\x01\x9c\x40\x00\x01\x37\x00\x00\x00\x00",
        false,
    ),
    (
        "",
        b"AMQP\x00\x00\x09\x01",
        b"\x01\x00\x00\x00\x00\x01\xf0\x00\x0a\x00\x0a",
        false,
    ),
    (
        "",
        b"\x9c\x41\xe2\x07\x55\xb0\x13\xfe\x68\x2d\x91\xc4\x0a\x77\xd8\x3e\x14\xa9",
        b"\x5f\x88\x21\xd3\xbe\x46\x09\xf7\x30\xec\x1b\x94\x72\x0d\xa5\xc8\x6e\x17",
        false,
    ),
];

#[test]
fn a_protocol_is_named_by_its_own_answer_and_by_no_other_one() {
    use Side::{Client, Server};
    let named = |said: Vec<(Side, Vec<u8>)>| match observe(&connection(&said))[0].kind {
        Kind::Plaintext(named) | Kind::Protected(named) => named.name(),
        _ => "",
    };
    let opens = |name: &str| ["MySQL", "FTP", "SMTP", "IMAP", "POP3"].contains(&name);
    for (name, client, server, text) in SPOKEN {
        let mut said = vec![(Client, client.to_vec()), (Server, server.to_vec())];
        if opens(name) {
            said.reverse();
        }
        assert_eq!(named(said), *name);
        for (other, _, answer, text_of_other) in SPOKEN.iter().filter(|(other, ..)| other != name || other.is_empty()) {
            let is_text = |bytes: &[u8]| {
                bytes
                    .iter()
                    .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
            };
            let text_of = |text: &bool, name: &str, said: &[u8]| (*text || name == "Telnet") && is_text(said);
            if text_of(text, name, answer) || text_of(text_of_other, other, client) || answer == server {
                // Text is readable whatever it is called, and Telnet carries any.
                continue;
            }
            for opened in [Client, Server] {
                let mut said = vec![(Client, client.to_vec()), (Server, answer.to_vec())];
                if opened == Server {
                    said.reverse();
                }
                assert_eq!(named(said), "", "{name} answered by {other}, {opened} first");
            }
        }
    }
}

#[test]
fn protection_of_a_protocol_s_own_is_neither_plaintext_nor_safe() {
    use Side::{Client, Server};
    let sealed = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
    let token = sealed(&[&[5, 4, 6, 0xff][..], &[0x9c; 60]].concat());
    let mut imap = lines(&[
        (Server, "* OK\r\n"),
        (Client, "a1 AUTHENTICATE GSSAPI\r\n"),
        (Server, "+ \r\n"),
        (Client, "YIIC\r\n"),
        (Server, "a1 OK\r\n"),
    ]);
    let plain_imap = imap.clone();
    imap.extend([(Client, token.clone()), (Server, token.clone())]);
    let postgresql = |answer: &[u8]| {
        vec![
            (Client, b"\x00\x00\x00\x08\x04\xd2\x16\x30".to_vec()),
            (Server, answer.to_vec()),
            (Client, token.clone()),
            (Server, token.clone()),
        ]
    };
    let rdp = |method: u8| {
        let connect = b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x00\x00\x00\x00";
        let confirm = b"\x03\x00\x00\x0b\x06\xd0\x00\x00\x12\x34\x00";
        let security = [2, 0x0c, 0x0c, 0, method, 0, 0, 0, 2, 0, 0, 0];
        let server = [
            &b"\x03\x00\x00\x60\x02\xf0\x80\x7f\x66McDn"[..],
            &[0; 20],
            &security,
            &[0; 60],
        ]
        .concat();
        let client = [&b"\x03\x00\x00\x60\x02\xf0\x80\x7f\x65"[..], &[0; 100]].concat();
        vec![
            (Client, connect.to_vec()),
            (Server, confirm.to_vec()),
            (Client, client),
            (Server, server),
        ]
    };
    for (what, said, expected) in [
        ("IMAP in GSSAPI", imap, Verdict::NotObservable),
        ("IMAP", plain_imap, Verdict::ReadableNow),
        ("PostgreSQL in GSSAPI", postgresql(b"G"), Verdict::NotObservable),
        ("PostgreSQL, refused", postgresql(b"N"), Verdict::ReadableNow),
        ("RDP with RC4", rdp(2), Verdict::Vulnerable),
        ("RDP without encryption", rdp(0), Verdict::ReadableNow),
        ("RDP, not shown", rdp(7), Verdict::NotObservable),
    ] {
        let judged = observe(&connection(&said));
        assert_eq!(
            judged[0].confidentiality.verdict(),
            expected,
            "{what}: {:?}",
            judged[0].confidentiality
        );
    }
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
