use proptest::prelude::*;

use super::session::Session;
use super::*;
use crate::Side::{self, Client, Server};
use crate::opening::{self, Protocol, Recognition};
use crate::{Start, Timestamp};

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

const HELLO: &[u8] = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";

#[test]
fn each_is_recognised_by_how_it_begins_and_not_before() {
    let cases: [(&[u8], Plaintext, Option<Side>); 26] = [
        (
            b"\x01\x00\x00\xd4\x80\x00\x01\x01\x00\x00\x00\x00",
            Plaintext::Diameter,
            Some(Side::Client),
        ),
        (
            b"\x01\x00\x00\xd4\xc0\x00\x01\x3e\x01\x00\x00\x23",
            Plaintext::Diameter,
            None,
        ),
        (b"REGISTER sip:ims.test SIP/2.0", Plaintext::Sip, Some(Side::Client)),
        (b"OPTIONS sip:ims.test SIP", Plaintext::Sip, Some(Side::Client)),
        (b"SIP/2.0 200 OK\r\n", Plaintext::Sip, Some(Side::Server)),
        (b"USER anonymous\r\n", Plaintext::Ftp, Some(Side::Client)),
        (b"220 ProFTPD ready\r\n", Plaintext::Ftp, Some(Side::Server)),
        (b"\xff\xfd\x18\xff\xfd\x20", Plaintext::Telnet, None),
        (b"EHLO here\r\n", Plaintext::Smtp, Some(Side::Client)),
        (b"220 mail.example ESMTP", Plaintext::Smtp, Some(Side::Server)),
        (b"* OK IMAP4rev1", Plaintext::Imap, Some(Side::Server)),
        (b"+OK ready\r\n", Plaintext::Pop3, Some(Side::Server)),
        (b"-ERR Auth process broken\r\n", Plaintext::Pop3, Some(Side::Server)),
        (b"* BYE Auth process broken\r\n", Plaintext::Imap, Some(Side::Server)),
        (
            b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03",
            Plaintext::Ldap,
            Some(Side::Client),
        ),
        (b"\x4a\x00\x00\x00\x0a8.0.36\x00", Plaintext::MySql, Some(Side::Server)),
        (
            b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
            Plaintext::PostgreSql,
            Some(Side::Client),
        ),
        (
            b"\x00\x00\x00\x54\x00\x03\x00\x00user",
            Plaintext::PostgreSql,
            Some(Side::Client),
        ),
        (
            b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
            Plaintext::Rdp,
            Some(Side::Client),
        ),
        (b"<?xml version='1.0'?><stream:stream", Plaintext::Xmpp, None),
        (b"<stream:stream xmlns", Plaintext::Xmpp, None),
        (
            b"\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03amf",
            Plaintext::Dns,
            Some(Side::Client),
        ),
        (b"*1\r\n$4\r\nPING\r\n", Plaintext::Redis, Some(Side::Client)),
        (
            b"\x3a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00",
            Plaintext::MongoDb,
            Some(Side::Client),
        ),
        (
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x13\x04",
            Plaintext::Bgp,
            None,
        ),
        (b"ehlo here\r\n", Plaintext::Smtp, Some(Side::Client)),
    ];
    for (bytes, protocol, side) in cases {
        let bytes = &bytes[..bytes.len().min(opening::LONGEST)];
        let found = opening::recognise(bytes, Start::Syn);
        assert_eq!(
            found,
            Recognition::Protocol(Protocol::Plaintext(protocol), side),
            "{bytes:02x?}"
        );
        for cut in 0..bytes.len() {
            let found = opening::recognise(&bytes[..cut], Start::Syn);
            let early = found == Recognition::Protocol(Protocol::Plaintext(protocol), side);
            assert!(
                early || found == Recognition::More,
                "{bytes:02x?} cut at {cut}: {found:?}"
            );
        }
    }
}

/// Plaintext that two ends send before TLS, the last message from the client.
type Said = Vec<(Side, Vec<u8>)>;

fn conversations() -> Vec<(Plaintext, Said)> {
    let text = |said: &[(Side, &str)]| {
        said.iter()
            .map(|(side, said)| (*side, said.as_bytes().to_vec()))
            .collect()
    };
    let mut mysql = vec![32, 0, 0, 1, 0x85, 0xae, 0xff, 0x19];
    mysql.resize(36, 0);
    let ldap = [
        b"\x30\x1d\x02\x01\x01\x77\x18\x80\x16".to_vec(),
        b"1.3.6.1.4.1.1466.20037".to_vec(),
    ]
    .concat();
    let rdp = b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00".to_vec();
    vec![
        (
            Plaintext::Smtp,
            text(&[
                (Server, "220 mail\r\n"),
                (Client, "EHLO here\r\n"),
                (Server, "250-x\r\n250 STARTTLS\r\n"),
                (Client, "STARTTLS\r\n"),
                (Server, "220 go\r\n"),
            ]),
        ),
        (
            Plaintext::Imap,
            text(&[(Server, "* OK\r\n"), (Client, "a1 starttls\r\n"), (Server, "a1 OK\r\n")]),
        ),
        (
            Plaintext::Pop3,
            text(&[(Server, "+OK\r\n"), (Client, "STLS\r\n"), (Server, "+OK\r\n")]),
        ),
        (
            Plaintext::Ftp,
            text(&[
                (Server, "220 ftp\r\n"),
                (Client, "AUTH TLS\r\n"),
                (Server, "234 go\r\n"),
            ]),
        ),
        (
            Plaintext::Xmpp,
            text(&[
                (Client, "<stream:stream>"),
                (Server, "<stream:stream>"),
                (Client, "<starttls xmlns='x'/>"),
                (Server, "<proceed/>"),
            ]),
        ),
        (
            Plaintext::Ldap,
            vec![
                (Client, ldap),
                (
                    Server,
                    b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00".to_vec(),
                ),
            ],
        ),
        (
            Plaintext::MySql,
            vec![(Server, b"\x4a\x00\x00\x00\x0a8.0\x00".to_vec()), (Client, mysql)],
        ),
        (
            Plaintext::PostgreSql,
            vec![
                (Client, b"\x00\x00\x00\x08\x04\xd2\x16\x2f".to_vec()),
                (Server, b"S".to_vec()),
            ],
        ),
        (
            Plaintext::Rdp,
            vec![
                (Client, rdp),
                (
                    Server,
                    b"\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x00\x08\x00\x01\x00\x00\x00".to_vec(),
                ),
            ],
        ),
    ]
}

/// A mail in front of STARTTLS is no less readable for the TLS behind it.
#[test]
fn more_than_tls_needs_to_begin_is_content() {
    let content = |protocol, said: &[(Side, Vec<u8>)]| {
        let mut session = Session::new(protocol);
        for (number, (side, bytes)) in said.iter().enumerate() {
            session.data(*side, bytes, at(number as u64));
        }
        session.outcome().content
    };
    for (protocol, said) in conversations() {
        assert_eq!(content(protocol, &said), None, "{}", protocol.name());
        let more: &[u8] = match protocol {
            Plaintext::Smtp => b"MAIL FROM:<a@example.org>\r\n",
            Plaintext::Imap => b"a0 SELECT INBOX\r\n",
            Plaintext::Pop3 => b"STAT\r\n",
            Plaintext::Ftp => b"RETR performance.xml\r\n",
            Plaintext::Xmpp => b"<message to='a@example.org'>",
            Plaintext::Ldap => &[0; 2000],
            // Their first request asks for TLS.
            _ => continue,
        };
        let said = [&[(Client, more.to_vec())], &said[..]].concat();
        assert!(content(protocol, &said).is_some(), "{}", protocol.name());
    }
    let long = [
        (Server, b"220 here\r\n".to_vec()),
        (Server, b"214 more\r\n".repeat(1000)),
    ];
    assert!(content(Plaintext::Smtp, &long).is_some());
}

#[test]
fn tls_is_found_behind_what_goes_over_to_it() {
    for (protocol, said) in conversations() {
        let mut session = Session::new(protocol);
        for (number, (side, bytes)) in said.iter().enumerate() {
            assert_eq!(
                session.data(*side, bytes, at(number as u64),),
                None,
                "{}",
                protocol.name()
            );
        }
        assert_eq!(session.data(Side::Client, HELLO, at(9)), Some(0), "{}", protocol.name());
        let spoken = session.outcome();
        assert!(
            spoken.asked.is_some() && spoken.credentials.is_none(),
            "{}",
            protocol.name()
        );
        let before: usize = said.iter().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(spoken.bytes, before as u64);
    }
}

#[test]
fn a_request_for_tls_is_found_in_any_pieces() {
    for (protocol, said) in conversations() {
        for cut in [1, 7, 24] {
            let mut session = Session::new(protocol);
            for (number, (side, bytes)) in said.iter().enumerate() {
                let (one, other) = bytes.split_at(cut.min(bytes.len()));
                for piece in [one, other].into_iter().filter(|piece| !piece.is_empty()) {
                    assert_eq!(session.data(*side, piece, at(number as u64)), None);
                }
            }
            let begins = session.data(Side::Client, HELLO, at(99));
            assert_eq!(begins, Some(0), "{}, cut at {cut}", protocol.name());
        }
    }
}

#[test]
fn who_goes_on_without_tls_and_proves_himself_is_reported() {
    let mut session = Session::new(Plaintext::Smtp);
    session.data(Side::Client, b"EHLO here\r\nSTARTTLS\r\n", at(1));
    session.data(Side::Server, b"454 TLS not available\r\n", at(2));
    session.data(Side::Client, b"AUTH PLA", at(3));
    session.data(Side::Client, b"IN AHg=\r\n", at(4));
    let spoken = session.outcome();
    assert_eq!((spoken.asked, spoken.credentials), (Some(at(1)), Some(at(4))));
}

proptest! {
    #[test]
    fn anything_may_come(pieces in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..20), which in 0..9usize) {
        let protocol = conversations()[which].0;
        let mut session = Session::new(protocol);
        for (number, (client, bytes)) in pieces.into_iter().enumerate() {
            let side = if client { Side::Client } else { Side::Server };
            let found = session.data(side, &bytes, at(number as u64));
            prop_assert!(found.is_none_or(|place| place < bytes.len()));
            let _ = opening::recognise(&bytes[..bytes.len().min(opening::LONGEST)], Start::Syn);
        }
    }
}
