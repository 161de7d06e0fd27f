//! A classical link is never called safe: every safe connection and security association of the captures in the tree is
//! changed towards classical, one way after the other, and its verdict falls; nobody else's rises.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use bartizan_posture::{Answer, Evidence, Ipsec, Ledgers, Links, Part, Posture, Verdict};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

const CAPTURES: [(&str, &[u8]); 4] = [
    ("openssl", include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap")),
    ("sidecar", include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap")),
    (
        "strongswan",
        include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"),
    ),
    ("openssh", include_bytes!("../../wire/tests/data/openssh-10.0.pcap")),
];

/// What is judged: a connection by its ends, IKE and ESP by their hosts, SPI and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Connection(SocketAddr, SocketAddr, u64),
    Ike(IpAddr, IpAddr, u64),
    Esp(IpAddr, IpAddr, u32),
}

#[derive(Default)]
struct Judged {
    postures: BTreeMap<Subject, Posture>,
    ipsec: Ipsec,
    links: Links,
}

impl Sink for Judged {
    fn connection(&mut self, connection: Connection) {
        let ledgers = Ledgers::default();
        let posture = Evidence::new(&connection, &ledgers).posture();
        self.links.add(&Part::connection(&connection, &posture));
        // The same ends may begin anew.
        let subject = (0..)
            .map(|nth| Subject::Connection(connection.client, connection.server, nth))
            .find(|subject| !self.postures.contains_key(subject));
        self.postures.insert(subject.unwrap(), posture);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

fn judge(file: &[u8]) -> (BTreeMap<Subject, Posture>, bartizan_posture::Network) {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(Limits::default());
    let mut judged = Judged::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut judged);
    }
    observer.finish_into(&mut judged);
    let (ike, esp) = judged.ipsec.judge(&Ledgers::default());
    for one in ike {
        judged.links.add(&Part::ike(&one));
        let subject = Subject::Ike(one.sa.initiator.ip(), one.sa.responder.ip(), one.sa.initiator_spi);
        judged.postures.insert(subject, one.posture);
    }
    for one in esp {
        judged.links.add(&Part::esp(&one));
        let subject = Subject::Esp(one.sa.source, one.sa.destination, one.sa.spi);
        judged.postures.insert(subject, one.posture);
    }
    (judged.postures, judged.links.finish(None))
}

fn is_safe(posture: &Posture) -> bool {
    posture.confidentiality.verdict() == Verdict::QuantumSafe
}

/// A frame of a capture, with the places of what is changed in it.
struct Frame<'a> {
    bytes: &'a [u8],
    /// The payload of TCP or UDP; none of other protocols.
    payload: Range<usize>,
    protocol: u8,
}

impl<'a> Frame<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        let none = Self {
            bytes,
            payload: 0..0,
            protocol: 0,
        };
        let (transport, end, protocol) = match bytes.get(12..14) {
            Some([8, 0]) => {
                // Parts of a fragmented packet have no header of their own.
                if u16::from_be_bytes([bytes[20], bytes[21]]) & 0x1fff != 0 {
                    return none;
                }
                let length = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
                (14 + usize::from(bytes[14] & 0x0f) * 4, 14 + length, bytes[23])
            }
            Some([0x86, 0xdd]) => {
                let length = usize::from(u16::from_be_bytes([bytes[18], bytes[19]]));
                (54, 54 + length, bytes[20])
            }
            _ => return none,
        };
        let header = match protocol {
            6 => usize::from(bytes[transport + 12] >> 4) * 4,
            17 | 50 => 8,
            _ => return none,
        };
        let end = end.min(bytes.len());
        Self {
            bytes,
            payload: transport + header..end,
            protocol,
        }
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[self.payload.clone()]
    }

    /// A ServerHello or HelloRetryRequest stands first in it.
    fn is_server_hello(&self) -> bool {
        self.protocol == 6 && matches!(self.payload(), [22, 3, _, _, _, 2, ..])
    }

    /// A ClientHello stands first in it, or behind a ChangeCipherSpec as the second one does.
    fn is_client_hello(&self) -> bool {
        let behind = |payload: &[u8]| matches!(payload, [22, 3, _, _, _, 1, ..]);
        let payload = self.payload();
        self.protocol == 6 && (behind(payload) || payload.starts_with(&[20, 3, 3, 0, 1, 1]) && behind(&payload[6..]))
    }

    /// The places of an extension's body in it.
    fn extension(&self, kind: u16, body: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let payload = self.payload();
        let found = (0..payload.len().saturating_sub(6))
            .find(|&at| payload[at..at + 2] == kind.to_be_bytes() && payload[at + 2] < 8 && body(&payload[at + 4..]))?;
        Some(self.payload.start + found + 4)
    }

    /// Whether one of its ports is this one.
    fn is_on(&self, port: u16) -> bool {
        let udp = self
            .payload
            .start
            .checked_sub(8)
            .and_then(|at| self.bytes.get(at..at + 4));
        udp.is_some_and(|ports| ports[..2] == port.to_be_bytes() || ports[2..] == port.to_be_bytes())
    }

    /// The IKE message in it: where it begins.
    fn ike(&self) -> Option<usize> {
        if self.protocol != 17 || !(self.is_on(500) || self.is_on(4500)) {
            return None;
        }
        let marker = if self.payload().starts_with(&[0; 4]) { 4 } else { 0 };
        (self.payload().len() >= marker + 28 && (self.is_on(500) || marker == 4)).then_some(self.payload.start + marker)
    }

    /// Whether it is IKE of this exchange type, a response or a request.
    fn is_ike(&self, exchange: u8, response: bool) -> bool {
        self.ike()
            .is_some_and(|at| self.bytes[at + 18] == exchange && (self.bytes[at + 19] & 0x20 != 0) == response)
    }
}

/// What a change makes of a frame.
enum Change {
    /// Nothing: it stays.
    Keep,
    /// Other bytes.
    Turn(Vec<u8>),
    /// It is taken out.
    Drop,
}

fn mutated(file: &[u8], change: &dyn Fn(&Frame<'_>) -> Change) -> (Vec<u8>, usize) {
    let (mut out, mut changed) = (file[..24].to_vec(), 0);
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let (header, body) = file[at..at + 16 + length].split_at(16);
        match change(&Frame::read(body)) {
            Change::Keep => out.extend([header, body].concat()),
            Change::Turn(bytes) => {
                assert_eq!(bytes.len(), body.len());
                changed += 1;
                out.extend([header, &bytes].concat());
            }
            Change::Drop => changed += 1,
        }
        at += 16 + length;
    }
    (out, changed)
}

/// The frame with `value` written at `at`.
fn written(frame: &Frame<'_>, at: usize, value: &[u8]) -> Change {
    let mut bytes = frame.bytes.to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    Change::Turn(bytes)
}

/// Every transform of this type and identifier turned into another.
fn transforms(frame: &Frame<'_>, kind: u8, from: &[u16], to: u16) -> Change {
    let Some(start) = frame.ike() else { return Change::Keep };
    let mut bytes = frame.bytes.to_vec();
    let mut changed = false;
    for at in start + 28..bytes.len().saturating_sub(4) {
        let identifier = u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]);
        // Type, reserved, identifier; four octets before stand last-or-more and length (RFC 7296, section 3.3.2).
        let header = matches!(bytes[at - 4], 0 | 3) && bytes[at - 3] == 0;
        if bytes[at] == kind && bytes[at + 1] == 0 && header && from.contains(&identifier) {
            bytes[at + 2..at + 4].copy_from_slice(&to.to_be_bytes());
            changed = true;
        }
    }
    if changed { Change::Turn(bytes) } else { Change::Keep }
}

const SERVER_HELLO_GROUP: u16 = 51;
const SUPPORTED_VERSIONS: u16 = 43;

fn groups(to: u16) -> impl Fn(&Frame<'_>) -> Change {
    let post_quantum = |body: &[u8]| matches!(body, [0x11, 0xeb..=0xed, ..] | [0x02, 0x00..=0x02, ..]);
    move |frame| match frame.extension(SERVER_HELLO_GROUP, post_quantum) {
        Some(at) if frame.is_server_hello() => written(frame, at, &to.to_be_bytes()),
        _ => long_share(frame, to),
    }
}

/// The same where the share is longer than a byte of length says: its extension's length has two.
fn long_share(frame: &Frame<'_>, to: u16) -> Change {
    let payload = frame.payload();
    if !frame.is_server_hello() {
        return Change::Keep;
    }
    let found = payload.windows(6).position(|window| {
        window[..2] == SERVER_HELLO_GROUP.to_be_bytes()
            && matches!(window[4..], [0x11, 0xeb..=0xed] | [0x02, 0x00..=0x02])
    });
    found.map_or(Change::Keep, |at| {
        written(frame, frame.payload.start + at + 4, &to.to_be_bytes())
    })
}

/// The cipher suite in a ServerHello: behind record, message, version, random and session identifier.
fn suites(to: u16) -> impl Fn(&Frame<'_>) -> Change {
    move |frame| {
        if !frame.is_server_hello() {
            return Change::Keep;
        }
        let session = usize::from(frame.payload()[5 + 4 + 2 + 32]);
        written(
            frame,
            frame.payload.start + 5 + 4 + 2 + 32 + 1 + session,
            &to.to_be_bytes(),
        )
    }
}

fn older(frame: &Frame<'_>) -> Change {
    let tls13 = |body: &[u8]| body.starts_with(&[3, 4]);
    match frame.extension(SUPPORTED_VERSIONS, tls13) {
        Some(at) if frame.is_server_hello() => written(frame, at, &[3, 3]),
        _ => Change::Keep,
    }
}

fn without_server_hello(frame: &Frame<'_>) -> Change {
    if frame.is_server_hello() {
        Change::Drop
    } else {
        Change::Keep
    }
}

/// Encrypted records at the beginning of a segment become a request in clear.
fn cleared_records(frame: &Frame<'_>) -> Change {
    let text = b"GET / HTTP/1.1\r\nhost: nrf\r\n\r\n";
    if frame.protocol == 6 && frame.payload().starts_with(&[23, 3, 3]) && frame.payload().len() > text.len() {
        written(frame, frame.payload.start, text)
    } else {
        Change::Keep
    }
}

/// Key exchange methods of SSH in what one end says it can do: post-quantum ones turned into another name of the same length.
fn ssh_methods(from_server: bool, to: &'static str) -> impl Fn(&Frame<'_>) -> Change {
    move |frame| {
        let ports = frame
            .payload
            .start
            .checked_sub(32)
            .map(|at| [frame.bytes[at], frame.bytes[at + 1]]);
        let of_server = ports.is_some_and(|port| u16::from_be_bytes(port) < 5000);
        if frame.protocol != 6 || of_server != from_server || frame.payload().get(5) != Some(&20) {
            return Change::Keep;
        }
        let mut bytes = frame.bytes.to_vec();
        for name in [
            "mlkem768x25519-sha256",
            "sntrup761x25519-sha512@openssh.com",
            "sntrup761x25519-sha512",
        ] {
            let mut at = 0;
            while let Some(found) = bytes[at..]
                .windows(name.len())
                .position(|window| window == name.as_bytes())
            {
                // A list stays one: what is left of the longer name becomes a name nobody knows.
                let rest = name.len() - to.len() - 1;
                let text = format!("{to},{}", "z".repeat(rest));
                bytes[at + found..at + found + name.len()].copy_from_slice(text.as_bytes());
                at += found + name.len();
            }
        }
        if bytes == frame.bytes {
            Change::Keep
        } else {
            Change::Turn(bytes)
        }
    }
}

/// SSH's new keys never come, from one end.
fn without_new_keys(frame: &Frame<'_>) -> Change {
    if frame.protocol == 6 && frame.payload().get(5) == Some(&21) {
        Change::Drop
    } else {
        Change::Keep
    }
}

const ML_KEM: [u16; 3] = [35, 36, 37];

fn exchange(kind: u8) -> impl Fn(&Frame<'_>) -> Change {
    move |frame| {
        if frame.is_ike(kind, false) || frame.is_ike(kind, true) {
            Change::Drop
        } else {
            Change::Keep
        }
    }
}

/// Answers to IKE_SA_INIT with another choice.
fn chosen(kinds: &'static [u8], from: &'static [u16], to: u16) -> impl Fn(&Frame<'_>) -> Change {
    move |frame| {
        if !frame.is_ike(34, true) {
            return Change::Keep;
        }
        kinds
            .iter()
            .map(|&kind| transforms(frame, kind, from, to))
            .find(|change| !matches!(change, Change::Keep))
            .unwrap_or(Change::Keep)
    }
}

/// ESP's packets hold an IP packet that anyone can read, as with NULL encryption.
fn cleared_esp(frame: &Frame<'_>) -> Change {
    let in_udp = frame.protocol == 17 && frame.ike().is_none() && frame.is_on(4500);
    let behind_header = match frame.protocol {
        50 => frame.payload.start,
        _ if in_udp => frame.payload.start + 8,
        _ => return Change::Keep,
    };
    let room = frame.payload.end.saturating_sub(behind_header);
    if room < 40 {
        return Change::Keep;
    }
    let mut inner = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    inner[2..4].copy_from_slice(&(u16::try_from(room).unwrap() - 16).to_be_bytes());
    let sum = inner
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    inner[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    written(frame, behind_header, &inner)
}

/// Names of connections whose verdict a mutation must take from safe, and how the mutation is made.
struct Mutation<'a> {
    name: &'static str,
    change: &'a dyn Fn(&Frame<'_>) -> Change,
    /// Which safe subjects must fall.
    hits: &'a dyn Fn(&Subject, &Posture) -> bool,
}

fn is_connection(subject: &Subject, posture: &Posture) -> bool {
    matches!(subject, Subject::Connection(..)) && posture.ssh_key_exchange.is_none()
}

fn is_ssh(_: &Subject, posture: &Posture) -> bool {
    posture.ssh_key_exchange.is_some()
}

fn is_ike(subject: &Subject, _: &Posture) -> bool {
    matches!(subject, Subject::Ike(..))
}

/// An IKE_SA with an additional key exchange, and what it keyed.
fn is_hybrid(subject: &Subject, posture: &Posture) -> bool {
    !matches!(subject, Subject::Connection(..)) && posture.key_exchanges.len() > 1
}

fn is_ipsec(subject: &Subject, _: &Posture) -> bool {
    !matches!(subject, Subject::Connection(..))
}

fn is_esp(subject: &Subject, _: &Posture) -> bool {
    matches!(subject, Subject::Esp(IpAddr::V4(_), ..))
}

#[test]
fn every_safe_capture_turned_towards_classical_falls_and_nothing_rises() {
    let v4 = |subject: &Subject| match subject {
        Subject::Ike(one, ..) | Subject::Esp(one, ..) => one.is_ipv4(),
        Subject::Connection(..) => true,
    };
    let ike_v4 = |subject: &Subject, posture: &Posture| v4(subject) && is_ike(subject, posture);
    let ipsec_v4 = |subject: &Subject, posture: &Posture| v4(subject) && is_ipsec(subject, posture);
    let mutations = [
        Mutation {
            name: "group to x25519",
            change: &groups(0x001d),
            hits: &is_connection,
        },
        Mutation {
            name: "group to secp256r1",
            change: &groups(0x0017),
            hits: &is_connection,
        },
        Mutation {
            name: "group to one nobody knows",
            change: &groups(0x7a7b),
            hits: &is_connection,
        },
        Mutation {
            name: "version to 1.2",
            change: &older,
            hits: &is_connection,
        },
        Mutation {
            name: "cipher to NULL",
            change: &suites(0x0000),
            hits: &is_connection,
        },
        Mutation {
            name: "cipher to integrity only",
            change: &suites(0xc0b4),
            hits: &is_connection,
        },
        Mutation {
            name: "ServerHello stripped",
            change: &without_server_hello,
            hits: &is_connection,
        },
        Mutation {
            name: "records cleared",
            change: &cleared_records,
            hits: &is_connection,
        },
        Mutation {
            name: "additional key exchange to P-256",
            change: &chosen(&[6, 7, 8], &ML_KEM, 19),
            hits: &|subject, posture| v4(subject) && is_hybrid(subject, posture) && posture.key_exchanges.len() == 2,
        },
        Mutation {
            name: "key exchange to P-256",
            change: &chosen(&[4], &ML_KEM, 19),
            hits: &|subject, posture| ike_v4(subject, posture) && posture.key_exchanges.len() == 1,
        },
        Mutation {
            name: "IKE cipher to NULL",
            change: &chosen(&[1], &[12, 20], 11),
            hits: &ike_v4,
        },
        Mutation {
            name: "IKE_INTERMEDIATE dropped",
            change: &exchange(43),
            hits: &is_hybrid,
        },
        Mutation {
            name: "IKE_SA_INIT dropped",
            change: &exchange(34),
            hits: &ipsec_v4,
        },
        Mutation {
            name: "SSH server has curve25519 only",
            change: &ssh_methods(true, "curve25519-sha256"),
            hits: &is_ssh,
        },
        Mutation {
            name: "SSH client offers P-256 only",
            change: &ssh_methods(false, "ecdh-sha2-nistp256"),
            hits: &is_ssh,
        },
        Mutation {
            name: "SSH methods nobody knows",
            change: &ssh_methods(false, "mlkem9999"),
            hits: &|subject, posture| is_ssh(subject, posture),
        },
        Mutation {
            name: "SSH_MSG_NEWKEYS dropped",
            change: &without_new_keys,
            hits: &is_ssh,
        },
        Mutation {
            name: "ESP in clear",
            change: &cleared_esp,
            hits: &is_esp,
        },
    ];
    let mut fallen: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, bytes) in CAPTURES {
        let (before, _) = judge(bytes);
        for Mutation { name, change, hits } in &mutations {
            let (turned, changed) = mutated(bytes, change);
            let (after, network) = judge(&turned);
            for (subject, was) in &before {
                let Some(is) = after.get(subject) else { continue };
                // Evidence that is taken away may turn broken into unknown, and nothing into safe.
                assert!(is_safe(was) || !is_safe(is), "{file}, {name}: {subject:?} rose");
                if changed > 0 && is_safe(was) && hits(subject, was) {
                    assert!(
                        !is_safe(is),
                        "{file}, {name}: {subject:?} {}",
                        is.confidentiality.because()
                    );
                    *fallen.entry(name).or_default() += 1;
                }
            }
            // What a link says is no better than its worst part.
            for link in network
                .links
                .iter()
                .filter(|link| link.confidentiality.verdict() == Verdict::QuantumSafe)
            {
                let safe = link
                    .phases
                    .iter()
                    .all(|phase| phase.confidentiality == Verdict::QuantumSafe);
                assert!(safe && link.parts > 0, "{file}, {name}: {:?}", link.ends);
            }
        }
    }
    for Mutation { name, .. } in &mutations {
        assert!(fallen.get(name).is_some_and(|&count| count > 0), "{name} hit nothing");
    }
}

#[test]
fn without_its_client_hello_nobody_says_what_was_offered() {
    for (file, bytes) in &CAPTURES[..2] {
        let (before, _) = judge(bytes);
        let strip = |frame: &Frame<'_>| {
            if frame.is_client_hello() {
                Change::Drop
            } else {
                Change::Keep
            }
        };
        let (turned, changed) = mutated(bytes, &strip);
        let (after, _) = judge(&turned);
        assert!(changed > 0);
        for (subject, was) in before.iter().filter(|(_, was)| is_safe(was)) {
            let Some(is) = after.get(subject) else { continue };
            assert!(is_safe(was) || !is_safe(is));
            assert_ne!(is.offered.answer(), Answer::Yes, "{file} {subject:?}");
            assert_ne!(is.preferred.answer(), Answer::Yes, "{file} {subject:?}");
        }
    }
}
