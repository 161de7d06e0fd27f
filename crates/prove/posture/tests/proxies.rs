//! Connections through SOCKS, HTTP CONNECT and the PROXY protocol: as real proxies speak them
//! (microsocks, OpenSSH, tinyproxy, squid, haproxy), and as they may be damaged or forged. Groups
//! are those that tshark 4.4 reads in the same capture.

use crate::spoken;
use std::path::Path;

use bartizan_deployment::Deployment;
use bartizan_posture::{Answer, Evidence, Kind, Ledgers, Links, Listing, Part, Posture, Verdict, datagrams_posture};
use bartizan_wire::Side::{Client, Server};
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::link::LinkType;
use bartizan_wire::proxy::{Command, Hop, ProxyProtocol, Stage};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Side, Sink, Timestamp};
use spoken::{connection, handshake, observe};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/proxies.pcap");

/// Connections in the order of their first packets; frames as `change` leaves them, or without them.
fn connections(mut change: impl FnMut(u64, &[u8]) -> Option<Vec<u8>>) -> Vec<Connection> {
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        if let Some(frame) = change(packet.number, packet.data) {
            let packet = bartizan_wire::Packet { data: &frame, ..packet };
            observer.packet(&packet, |connection| connections.push(connection));
        }
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.number);
    connections
}

fn posture(connection: &Connection) -> Posture {
    Evidence::new(connection, &Ledgers::default()).posture()
}

/// Port of the proxy, what is behind it, the key exchange, the verdict on confidentiality, and the proxies on the way.
const EXPECTED: [(u16, Kind, &str, Verdict, &str); 22] = {
    use Verdict::{QuantumSafe, ReadableNow, Vulnerable};
    const HYBRID: &str = "X25519MLKEM768";
    [
        (5205, Kind::Tls13, HYBRID, QuantumSafe, "PROXY v2 LOCAL"),
        (5001, Kind::Tls13, HYBRID, QuantumSafe, "SOCKS5 to 127.0.0.1:4443"),
        (
            5002,
            Kind::Tls13,
            "x25519",
            Vulnerable,
            "SOCKS5 to server.example.test:4444",
        ),
        (
            5003,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "SOCKS5 to server.example.test:4443",
        ),
        (5004, Kind::Proxy(ProxyProtocol::Socks5), "", ReadableNow, ""),
        (5005, Kind::Tls13, HYBRID, QuantumSafe, "SOCKS4 to 127.0.0.1:4443"),
        (
            5006,
            Kind::Tls13,
            "x25519",
            Vulnerable,
            "SOCKS4a to server.example.test:4444",
        ),
        (
            5007,
            Kind::ClearHttp1,
            "",
            ReadableNow,
            "SOCKS5 to server.example.test:4480",
        ),
        (5008, Kind::Proxy(ProxyProtocol::Socks5), "", ReadableNow, ""),
        (
            5009,
            Kind::Ssh,
            "mlkem768x25519-sha256",
            QuantumSafe,
            "SOCKS4a to server.example.test:4422",
        ),
        (5101, Kind::Tls13, HYBRID, QuantumSafe, "HTTP CONNECT to 127.0.0.1:4443"),
        (
            5102,
            Kind::Tls13,
            "x25519",
            Vulnerable,
            "HTTP CONNECT to server.example.test:4444",
        ),
        (5102, Kind::Proxy(ProxyProtocol::HttpConnect), "", ReadableNow, ""),
        (
            5002,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "SOCKS5 to 127.0.0.1:5101, HTTP CONNECT to server.example.test:4443",
        ),
        (
            5101,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "HTTP CONNECT to server.example.test:4443",
        ),
        (5104, Kind::Proxy(ProxyProtocol::HttpConnect), "", ReadableNow, ""),
        (
            5105,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "HTTP CONNECT to server.example.test:4443",
        ),
        // The proxy is reached by TLS: what it is asked for is in it.
        (5106, Kind::Tls13, HYBRID, QuantumSafe, ""),
        (
            5201,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "PROXY v1 from 127.0.0.1 to 127.0.0.1:5301",
        ),
        (
            5202,
            Kind::Tls13,
            "x25519",
            Vulnerable,
            "PROXY v1 from 127.0.0.1 to 127.0.0.1:5302",
        ),
        (
            5203,
            Kind::Tls13,
            HYBRID,
            QuantumSafe,
            "PROXY v2 from 127.0.0.1 to 127.0.0.1:5303",
        ),
        (
            5204,
            Kind::Tls13,
            "x25519",
            Vulnerable,
            "PROXY v2 from 127.0.0.1 to 127.0.0.1:5304",
        ),
    ]
};

#[test]
fn what_is_behind_a_proxy_is_judged_as_its_own_and_named_with_the_destination_that_was_asked_for() {
    let connections = connections(|_, frame| Some(frame.to_vec()));
    let judged: Vec<_> = connections
        .iter()
        .map(|connection| {
            let posture = posture(connection);
            let group = posture.key_exchange().unwrap_or_default();
            let verdict = posture.confidentiality.verdict();
            let path = connection.path.to_string();
            (connection.server.port(), posture.kind, group, verdict, path)
        })
        .collect();
    let expected =
        EXPECTED.map(|(port, kind, group, verdict, path)| (port, kind, group.to_owned(), verdict, path.to_owned()));
    assert_eq!(judged[..expected.len()], expected);
    // Behind a Unix socket there is no address.
    let [unix] = &judged[expected.len()..] else {
        panic!("{judged:#?}")
    };
    assert_eq!((unix.0, unix.1, unix.3), (5206, Kind::Tls13, Verdict::QuantumSafe));
    assert!(unix.4.starts_with("PROXY v2"), "{}", unix.4);
}

fn at(connections: &[Connection], port: u16) -> Vec<&Connection> {
    let at = |connection: &&Connection| connection.server.port() == port;
    connections.iter().filter(at).collect()
}

#[test]
fn what_a_client_proves_itself_with_in_plaintext_is_a_finding_of_its_own_and_its_verdict_is_not() {
    let connections = connections(|_, frame| Some(frame.to_vec()));
    for (port, with, verdicts) in [
        (5003, "user and password", &[Verdict::QuantumSafe][..]),
        (5004, "user and password", &[Verdict::ReadableNow]),
        // The second time without any.
        (5102, "Basic credentials", &[Verdict::Vulnerable, Verdict::ReadableNow]),
        (5105, "Basic credentials", &[Verdict::QuantumSafe]),
    ] {
        let found = at(&connections, port);
        assert_eq!(found.len(), verdicts.len(), "{port}");
        for (place, (connection, verdict)) in found.into_iter().zip(verdicts).enumerate() {
            let posture = posture(connection);
            assert_eq!(posture.confidentiality.verdict(), *verdict, "{port}");
            let holes = posture.holes.iter();
            let exposed = holes.filter(|hole| hole.judgement.because().contains(with)).count();
            assert_eq!(exposed, usize::from(place == 0), "{port}: {:#?}", posture.holes);
        }
    }
    // Neither in text, nor in base64, nor in bytes.
    let kept = format!("{connections:?}");
    for secret in ["\"secret", "dXNlcjpzZWNyZXQ", "115, 101, 99, 114, 101, 116"] {
        assert!(!kept.contains(secret), "{secret}");
    }
}

#[test]
fn refusals_and_headers_are_reported_with_their_codes_and_fields() {
    let connections = connections(|_, frame| Some(frame.to_vec()));
    let hop = |port: u16, place: usize| -> Hop {
        let connection = at(&connections, port)[place];
        connection.negotiations().next().unwrap().clone()
    };
    // Reply of microsocks to a wrong password.
    assert_eq!(hop(5004, 0).stage, Stage::Refused(2));
    // Connection refused (RFC 1928, section 6).
    assert_eq!(hop(5008, 0).stage, Stage::Refused(5));
    assert_eq!(hop(5102, 1).stage, Stage::Refused(407));
    assert_eq!(hop(5104, 0).stage, Stage::Refused(500));
    let again = hop(5105, 0);
    assert_eq!((again.stage, again.refusals), (Stage::Open, 1));
    assert_eq!(hop(5205, 0).command, Command::Local);
    let header = hop(5204, 0);
    for field in ["SSL", "UNIQUE_ID", "CRC32C"] {
        assert!(header.fields.contains(&field), "{:?}", header.fields);
    }
    assert!(header.tls.as_ref().unwrap().contains("TLSv1.3"), "{:?}", header.tls);
    assert_eq!(hop(5001, 0).bytes, [14, 12]);
}

#[test]
fn losing_or_cutting_any_packet_makes_nothing_safe_that_is_not_and_hides_nothing() {
    let whole = connections(|_, frame| Some(frame.to_vec()));
    let ends = |connection: &Connection| {
        let mut ends = [connection.client, connection.server];
        ends.sort_unstable();
        ends
    };
    let safe = |connection: &Connection| posture(connection).confidentiality.verdict() == Verdict::QuantumSafe;
    let packets: u64 = whole
        .iter()
        .map(|one| one.from_client.packets + one.from_server.packets)
        .sum();
    for damaged in 1..=packets {
        for keep in [0, 68] {
            let cut = |frame: &[u8]| (keep > 0).then(|| frame[..frame.len().min(keep)].to_vec());
            let after = connections(|number, frame| {
                if number == damaged {
                    cut(frame)
                } else {
                    Some(frame.to_vec())
                }
            });
            for connection in &after {
                let before = whole.iter().find(|one| ends(one) == ends(connection)).unwrap();
                assert!(
                    !safe(connection) || safe(before),
                    "packet {damaged} to {keep}: {:?}",
                    connection.server
                );
            }
        }
    }
}

/// `05 01 00`, the method none, a request for a name, and the answer.
fn socks_5(command: u8, reply: u8) -> Vec<(Side, Vec<u8>)> {
    let request = [&[5, command, 0, 3, 12][..], b"host.example", &[1, 187]].concat();
    vec![
        (Client, vec![5, 1, 0]),
        (Server, vec![5, 0]),
        (Client, request),
        (Server, vec![5, reply, 0, 1, 192, 0, 2, 9, 0x9c, 0x40]),
    ]
}

fn http(said: &[(Side, &str)]) -> Vec<(Side, Vec<u8>)> {
    said.iter()
        .map(|(side, said)| (*side, said.as_bytes().to_vec()))
        .collect()
}

const ASKED: (Side, &str) = (
    Client,
    "CONNECT host.example:443 HTTP/1.1\r\nHost: host.example\r\n\r\n",
);
const GRANTED: (Side, &str) = (Server, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");

fn one(said: &[(Side, Vec<u8>)]) -> Posture {
    let mut judged = observe(&connection(said));
    assert_eq!(judged.len(), 1);
    judged.remove(0)
}

#[test]
fn tls_is_read_behind_each_negotiation_and_behind_several() {
    let socks_4 = vec![
        (Client, b"\x04\x01\x01\xbb\xc0\x00\x02\x09user\x00".to_vec()),
        (Server, vec![0, 0x5a, 0, 0, 0, 0, 0, 0]),
    ];
    let bind = [socks_5(2, 0), vec![(Server, vec![5, 0, 0, 1, 192, 0, 2, 9, 1, 187])]].concat();
    let refused_first = http(&[
        ASKED,
        (
            Server,
            "HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        ASKED,
        (Server, "HTTP/1.1 100 Continue\r\n\r\n"),
        GRANTED,
    ]);
    let header = |bytes: &[u8]| vec![(Client, bytes.to_vec())];
    let six = "PROXY TCP6 2001:db8::1 2001:db8::2 50000 443\r\n";
    for (name, before) in [
        ("SOCKS4", socks_4.clone()),
        ("SOCKS5", socks_5(1, 0)),
        ("SOCKS5 BIND", bind),
        ("HTTP CONNECT", http(&[ASKED, GRANTED])),
        ("HTTP CONNECT refused first", refused_first),
        ("PROXY v1", header(six.as_bytes())),
        ("PROXY v1 UNKNOWN", header(b"PROXY UNKNOWN\r\n")),
        (
            "PROXY v2 without addresses",
            header(b"\r\n\r\n\0\r\nQUIT\n\x21\x00\x00\x00"),
        ),
        (
            "SOCKS5 in CONNECT in SOCKS4",
            [socks_4, http(&[ASKED, GRANTED]), socks_5(1, 0)].concat(),
        ),
        ("PROXY v1 and SOCKS5", [header(six.as_bytes()), socks_5(1, 0)].concat()),
    ] {
        let posture = one(&[before.clone(), handshake()].concat());
        assert_eq!(posture.kind, Kind::Tls13, "{name}");
        assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe, "{name}");
        assert_eq!(posture.clear.answer(), Answer::No, "{name}");
        // Without what comes behind it, it is readable.
        let alone = one(&before);
        assert_eq!(
            alone.confidentiality.verdict(),
            Verdict::ReadableNow,
            "{name}: {alone:#?}"
        );
    }
}

#[test]
fn a_client_that_does_not_wait_for_the_proxy_is_read_alike() {
    let (hello, rest) = handshake()
        .split_first()
        .map(|(first, rest)| (first.clone(), rest.to_vec()))
        .unwrap();
    let negotiated = socks_5(1, 0);
    let all = [negotiated[0].1.clone(), negotiated[2].1.clone(), hello.1].concat();
    let said = [
        vec![
            (Client, all),
            (Server, negotiated[1].1.clone()),
            (Server, negotiated[3].1.clone()),
        ],
        rest,
    ]
    .concat();
    let posture = one(&said);
    assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
}

#[test]
fn an_answer_that_a_capture_has_before_its_request_is_an_answer_all_the_same() {
    let said = connection(&[http(&[ASKED, GRANTED]), handshake()].concat());
    let mut swapped = said.clone();
    swapped.swap(2, 3);
    let judged = observe(&swapped);
    assert_eq!(judged[0].kind, Kind::Tls13);
    // Bytes of the server alone show no tunnel.
    let judged = observe(&[&said[..2], &said[3..4]].concat());
    assert_eq!(judged[0].kind, Kind::ClearHttp1);
}

#[test]
fn what_is_no_tunnel_or_cannot_be_read_is_unproven_or_readable_by_name() {
    let gssapi = vec![
        (Client, vec![5, 2, 0, 1]),
        (Server, vec![5, 1]),
        (Client, vec![1, 1, 0, 2, 9, 9]),
    ];
    let wrong_sum =
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x13\xc0\0\x02\x01\xc0\0\x02\x02\xc3\x50\x01\xbb\x03\0\x04\x01\x02\x03\x04";
    let long = format!("CONNECT host:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(12_000));
    let endless = format!("CONNECT host:443 HTTP/1.1\r\nX: {}", "x".repeat(40_000));
    let endless: Vec<_> = endless
        .as_bytes()
        .chunks(1000)
        .map(|part| (Client, part.to_vec()))
        .collect();
    let long: Vec<_> = long
        .as_bytes()
        .chunks(1000)
        .map(|part| (Client, part.to_vec()))
        .collect();
    for (name, before, verdict) in [
        ("GSSAPI", gssapi, Verdict::NotObservable),
        ("relay at UDP port 40000", socks_5(3, 0), Verdict::NotObservable),
        ("refused", socks_5(1, 2), Verdict::NotObservable),
        (
            "does not follow its standard",
            vec![(Client, wrong_sum.to_vec())],
            Verdict::NotObservable,
        ),
        ("of 12", [long, http(&[GRANTED])].concat(), Verdict::NotObservable),
        ("HTTP/1 without TLS", endless, Verdict::ReadableNow),
        (
            "without an answer",
            http(&[ASKED]).into_iter().chain([handshake()[0].clone()]).collect(),
            Verdict::NotObservable,
        ),
    ] {
        let said = match name {
            "without an answer" => before,
            _ => [before, handshake()].concat(),
        };
        let posture = one(&said);
        let because = posture.confidentiality.because();
        assert_eq!(posture.confidentiality.verdict(), verdict, "{name}: {because}");
        assert!(because.contains(name), "{name}: {because}");
    }
}

#[test]
fn bytes_like_a_negotiation_that_no_proxy_answers_are_of_another_protocol() {
    // A message of MongoDB that is 261 bytes long, and its answer.
    let mut asks = vec![5, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0];
    asks.resize(261, 7);
    let mut answers = asks.clone();
    answers[8] = 1;
    let posture = one(&[(Client, asks), (Server, answers)]);
    assert_eq!(posture.kind.name(), "MongoDB in plaintext");
    let posture = one(&[(Client, vec![5, 1, 0]), (Server, b"what is that?".to_vec())]);
    assert_eq!(posture.kind, Kind::Unknown);
}

#[test]
fn steps_over_a_long_negotiation_grow_with_its_length_alone() {
    let steps = |pieces: usize| {
        let mut said: Vec<_> = vec![(Client, b"CONNECT host:443 HTTP/1.1\r\n".to_vec())];
        said.extend((0..pieces).map(|_| (Client, b"X: y\r\n".to_vec())));
        let before = bartizan_wire::work::taken();
        one(&said);
        bartizan_wire::work::taken() - before
    };
    let (few, many) = (steps(400), steps(4000));
    assert!(many <= 12 * few.max(1000), "{few} steps become {many}");
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A whole header block of literals without indexing (RFC 7541, section 6.2.2).
fn headers(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend(text.as_bytes());
        }
    }
    frame(1, 4, stream, &block)
}

#[test]
fn tunnels_in_streams_of_http_2_are_unproven_by_their_destination() {
    let connect = |stream, authority| headers(stream, &[(":method", "CONNECT"), (":authority", authority)]);
    let extended = headers(
        5,
        &[
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":path", "/a"),
            (":authority", "scp.example"),
        ],
    );
    let settings = frame(4, 0, 0, &[]);
    let (asked, answered) = (handshake()[0].1.clone(), handshake()[1].1.clone());
    let said = vec![
        (Client, [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat()),
        (Server, settings),
        (Client, connect(1, "nrf.example:443")),
        (Server, frame(1, 4, 1, &[0x88])),
        (Client, frame(0, 0, 1, &asked)),
        (Server, frame(0, 0, 1, &answered)),
        (Client, [connect(3, "nrf.example:443"), extended].concat()),
    ];
    let posture = one(&said);
    assert_eq!(posture.kind, Kind::ClearHttp2);
    assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
    let found: Vec<_> = posture
        .holes
        .iter()
        .map(|hole| (hole.count, hole.judgement.verdict(), hole.judgement.because()))
        .collect();
    assert_eq!(
        found,
        [
            (
                2,
                Verdict::NotObservable,
                "CONNECT over HTTP/2 to nrf.example:443: what is in its streams is not read on its own"
            ),
            (
                1,
                Verdict::NotObservable,
                "CONNECT over HTTP/2 to scp.example for websocket: what is in its streams is not read on its own"
            ),
        ]
    );
}

/// Links of what was observed.
#[derive(Default)]
struct Gathered(Links);

impl Sink for Gathered {
    fn connection(&mut self, connection: Connection) {
        let posture = posture(&connection);
        self.0.add(&Part::connection(&connection, &posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.0.add(&Part::datagrams(&datagrams, &posture));
    }
}

#[test]
fn datagrams_of_a_socks_relay_are_an_unproven_link_with_their_ends_and_bytes() {
    // A datagram for 198.51.100.7:443 behind the header of RFC 1928, section 7; what it carries may be anything.
    let carried = [&[0, 0, 0, 1, 198, 51, 100, 7, 1, 187][..], &[0xc3; 600]].concat();
    let datagram = |from: Side| {
        let ports = if from == Client {
            [50_000u16, 40_000]
        } else {
            [40_000, 50_000]
        };
        let mut bytes = ports.map(u16::to_be_bytes).concat();
        bytes.extend((8 + carried.len() as u16).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(&carried);
        spoken::packet(17, from, &bytes)
    };
    let mut packets = connection(&socks_5(3, 0));
    packets.extend([datagram(Client), datagram(Client), datagram(Server)]);
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    for (index, data) in packets.iter().enumerate() {
        let packet = Packet {
            number: index as u64 + 1,
            time: Timestamp(index as u64 * 1000),
            link: LinkType::RAW,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    let network = gathered.0.finish(None);
    let relayed = Kind::NotRead(DatagramProtocol::Udp);
    let link = network
        .links
        .iter()
        .find(|link| link.by_kind.contains_key(&relayed))
        .unwrap();
    assert_eq!(link.ends.each_ref().map(ToString::to_string), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(link.directions.each_ref().map(|direction| direction.bytes), [1220, 610]);
    assert_eq!(link.confidentiality.verdict(), Verdict::NotObservable);
    assert!(
        link.objections
            .iter()
            .any(|objection| objection.because.contains("UDP")),
        "{link:#?}"
    );
    let control = network
        .links
        .iter()
        .find(|link| !link.by_kind.contains_key(&relayed))
        .unwrap();
    let because = control.confidentiality.because();
    assert!(
        because.contains("what goes by the relay at UDP port 40000"),
        "{because}"
    );
}

const FILE: &str = "
nodes:
  amf: { function: AMF, address: 10.0.0.1 }
  nrf: { function: NRF, address: 10.9.9.9, names: { dns: [nrf.5gc.example] } }
  smf: { function: SMF, address: 10.9.9.8 }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: SBI, between: [nrf, smf], with: sidecar }
";

/// The links of one connection in which this is said before a hybrid handshake of TLS, with a deployment file.
fn listed(before: Vec<(Side, Vec<u8>)>, file: &str) -> bartizan_posture::Network {
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    for (index, data) in connection(&[before, handshake()].concat()).iter().enumerate() {
        let packet = Packet {
            number: index as u64 + 1,
            time: Timestamp(index as u64 * 1000),
            link: LinkType::RAW,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    let deployment = Deployment::parse(file, "network.yaml", Path::new("")).unwrap();
    gathered.0.finish(Some(&deployment))
}

#[test]
fn a_destination_or_source_that_a_proxy_receives_belongs_to_the_interface_of_the_file_between_its_nodes() {
    let connect = |destination: &str| {
        let asked = format!("CONNECT {destination} HTTP/1.1\r\nHost: x\r\n\r\n");
        vec![(Client, asked.into_bytes()), (Server, GRANTED.1.as_bytes().to_vec())]
    };
    let by_address = vec![
        (Client, vec![5, 1, 0]),
        (Server, vec![5, 0]),
        (Client, vec![5, 1, 0, 1, 10, 9, 9, 9, 1, 187]),
        (Server, vec![5, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40]),
    ];
    // The load balancer at 10.0.0.1 speaks for the SMF, to what is at 10.0.0.2.
    let behind = FILE.replace("10.9.9.9", "10.0.0.2").replace(
        "amf: { function: AMF, address: 10.0.0.1 }",
        "amf: { function: AMF, address: 10.9.9.1 }",
    );
    let header = vec![(Client, b"PROXY TCP4 10.9.9.8 10.9.9.7 50000 443\r\n".to_vec())];
    for (before, file, place, ends) in [
        (by_address, FILE, 0, ["amf", "nrf"]),
        (connect("nrf.5gc.example:443"), FILE, 0, ["amf", "nrf"]),
        (connect("NRF.5gc.Example.:443"), FILE, 0, ["amf", "nrf"]),
        (connect("nrf:443"), FILE, 0, ["amf", "nrf"]),
        (connect("10.9.9.9:443"), FILE, 0, ["amf", "nrf"]),
        (header, &behind, 1, ["nrf", "smf"]),
    ] {
        let network = listed(before, file);
        let [link] = &network.links[..] else {
            panic!("{network:#?}")
        };
        assert_eq!((&link.listing, link.name()), (&Listing::Listed(place), "SBI"));
        assert_eq!(link.ends.each_ref().map(ToString::to_string), ends);
        assert_eq!(link.confidentiality.verdict(), Verdict::QuantumSafe);
        assert_eq!(network.unseen, [1 - place]);
        // The hellos go from the node that asks, whichever stands first in the file.
        assert!(link.directions.iter().all(|direction| direction.packets > 0));
    }
    for elsewhere in ["nrf.example:443", "smf:443", "198.51.100.7:443"] {
        let network = listed(connect(elsewhere), FILE);
        assert_eq!(network.links[0].listing, Listing::Unlisted, "{elsewhere}");
    }
    // A proxy that is a node: what it is asked for is not in the file, and the link to it is.
    let scp = FILE.replace("10.9.9.9", "10.0.0.2");
    let network = listed(connect("udm.example:443"), &scp);
    assert_eq!(network.links[0].listing, Listing::Listed(0));
}
