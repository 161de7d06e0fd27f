//! DTLS 1.3 in SCTP is judged by all that its hellos say, as TLS 1.3 is, and not by the group's name alone. No program at hand
//! speaks it over SCTP: the hellos are those of a TLS 1.3 connection of OpenSSL, in the framing of RFC 9147.

use bartizan_posture::{Answer, Ledgers, Posture, Verdict, association_posture, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Sink, Timestamp};

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
const KEY_SHARE: u16 = 51;
const SUPPORTED_VERSIONS: u16 = 43;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

#[derive(Default)]
struct Associations(Vec<Association>);

impl Sink for Associations {
    fn connection(&mut self, _: Connection) {}

    fn association(&mut self, association: Association) {
        self.0.push(association);
    }
}

/// A hello's body as fields that can be changed: what is before its extensions, and these.
#[derive(Clone)]
struct Hello {
    head: Vec<u8>,
    extensions: Vec<(u16, Vec<u8>)>,
}

/// The first message of this kind between the ends of the connection to port 4401: X25519MLKEM768.
fn hello(kind: u8) -> Hello {
    let mut reader = CaptureReader::new();
    reader.push(OPENSSL);
    let (mut stream, mut found) = (Vec::new(), false);
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let wanted = if kind == CLIENT_HELLO { port(36) } else { port(34) };
        if frame[12..14] != [8, 0] || frame[23] != 6 || wanted != 4401 {
            continue;
        }
        let payload = &frame[34 + usize::from(frame[46] >> 4) * 4..];
        found |= payload.starts_with(&[22, 3]) && payload.get(5) == Some(&kind);
        if found {
            stream.extend(payload);
        }
    }
    let length = usize::from(u16::from_be_bytes([stream[7], stream[8]]));
    let body = &stream[9..9 + length];
    let mut at = 2 + 32;
    at += 1 + usize::from(body[at]);
    let mut head = body[..at].to_vec();
    head[..2].copy_from_slice(&[0xfe, 0xfd]);
    let rest = at;
    if kind == CLIENT_HELLO {
        // No cookie.
        head.push(0);
        at += 2 + usize::from(u16::from_be_bytes([body[at], body[at + 1]]));
        at += 1 + usize::from(body[at]);
    } else {
        at += 3;
    }
    head.extend(&body[rest..at]);
    let mut extensions = Vec::new();
    let mut list = &body[at + 2..];
    while let [a, b, c, d, rest @ ..] = list {
        let (body, behind) = rest.split_at(usize::from(u16::from_be_bytes([*c, *d])));
        extensions.push((u16::from_be_bytes([*a, *b]), body.to_vec()));
        list = behind;
    }
    let mut hello = Hello { head, extensions };
    let version = if kind == CLIENT_HELLO {
        vec![2, 0xfe, 0xfc]
    } else {
        vec![0xfe, 0xfc]
    };
    hello.set(SUPPORTED_VERSIONS, version);
    hello
}

impl Hello {
    fn set(&mut self, kind: u16, body: Vec<u8>) {
        self.extensions.retain(|(known, _)| *known != kind);
        self.extensions.push((kind, body));
    }

    fn body(&self) -> Vec<u8> {
        let mut list = Vec::new();
        for (kind, body) in &self.extensions {
            list.extend(kind.to_be_bytes());
            list.extend((body.len() as u16).to_be_bytes());
            list.extend(body);
        }
        let mut bytes = self.head.clone();
        bytes.extend((list.len() as u16).to_be_bytes());
        bytes.extend(list);
        bytes
    }
}

/// An encrypted record in place of a message: of the client where its number is 0.
const PROTECTED: u8 = 0xff;

/// Bytes that are spread as encrypted ones are.
fn spread(length: u8) -> Vec<u8> {
    (0..length).map(|byte| byte.wrapping_mul(167)).collect()
}

/// A record of the client that is long enough for a Finished, and one of the server under keys of
/// application data.
fn finished() -> [(u8, u16, Vec<u8>); 2] {
    [(0, HANDSHAKE), (1, APPLICATION)]
        .map(|(from, first)| (PROTECTED, from, [&[first, 0, 0, 0, 77][..], &spread(77)].concat()))
}

/// First bytes of encrypted records in epochs 2 and 3, with a sequence number and a length of two
/// octets.
const HANDSHAKE: u8 = 0x2e;
const APPLICATION: u8 = 0x2f;

/// A handshake message in a record of its own, in plaintext.
fn record(kind: u8, sequence: u16, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    let mut handshake = vec![kind];
    handshake.extend(&length[1..]);
    handshake.extend(sequence.to_be_bytes());
    handshake.extend([0, 0, 0]);
    handshake.extend(&length[1..]);
    handshake.extend(body);
    let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, sequence as u8];
    record.extend((handshake.len() as u16).to_be_bytes());
    record.extend(handshake);
    record
}

#[derive(Default)]
struct OverUdp(Vec<Datagrams>);

impl Sink for OverUdp {
    fn connection(&mut self, _: Connection) {}

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.0.push(datagrams);
    }
}

/// The same over UDP: records, each of the client or not.
fn over_udp(records: &[(bool, Vec<u8>)]) -> Posture {
    let mut observer = Observer::new(Limits::default());
    let mut sink = OverUdp::default();
    for (number, (from_client, record)) in (1u32..).zip(records) {
        let (hosts, ports) = match from_client {
            true => ([1, 2], [40_000u16, 4433]),
            false => ([2, 1], [4433, 40_000]),
        };
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, hosts[0], 10, 0, 0, hosts[1],
        ];
        packet.extend(ports.map(u16::to_be_bytes).concat());
        packet.extend((8 + record.len() as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(record);
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        let packet = Packet {
            number: number.into(),
            time: Timestamp(u64::from(number) * 1_000_000),
            link: LinkType::RAW,
            data: &packet,
            original_length: total.into(),
            interface: 0,
        };
        observer.observe(&packet, &mut sink);
    }
    observer.finish_into(&mut sink);
    datagrams_posture(&sink.0[0], &Ledgers::default())
}

/// Early data are keyed by an earlier handshake, and a refusal of this one takes nothing of them back.
#[test]
fn a_refused_handshake_that_early_data_came_before_is_not_one_that_carried_nothing() {
    const EARLY: u8 = 0x2d;
    const EARLY_DATA: u16 = 42;
    let refused = |early: bool| {
        let mut client = hello(CLIENT_HELLO);
        if early {
            client.set(EARLY_DATA, Vec::new());
        }
        let data = [&[EARLY, 0, 0, 0, 200][..], &spread(200)].concat();
        let alert = vec![21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];
        let mut records = vec![(true, record(CLIENT_HELLO, 0, &client.body()))];
        records.extend(early.then_some((true, data)));
        records.push((false, record(SERVER_HELLO, 0, &hello(SERVER_HELLO).body())));
        records.push((false, alert));
        over_udp(&records)
    };
    assert!(!refused(false).kind.carries_data());
    let posture = refused(true);
    assert!(posture.kind.carries_data(), "{:?}", posture.kind);
    assert_ne!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
}

/// Judges these messages: kind, number among those of its sender, body.
fn judge(messages: &[(u8, u16, Vec<u8>)]) -> Posture {
    let mut observer = Observer::new(Limits::default());
    let mut sink = Associations::default();
    for (number, (kind, sequence, body)) in (1u32..).zip(messages) {
        let from_client = *kind == CLIENT_HELLO || (*kind, *sequence) == (PROTECTED, 0);
        let record = match *kind {
            PROTECTED => body.clone(),
            kind => record(kind, *sequence, body),
        };
        // DATA, whole, then TSN, stream, number, and N2's payload protocol identifier for DTLS.
        let mut chunk = vec![0, 3];
        chunk.extend((16 + record.len() as u16).to_be_bytes());
        chunk.extend(number.to_be_bytes());
        chunk.extend([0, 0, 0, number as u8, 0, 0, 0, 66]);
        chunk.extend(&record);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        let (source, destination) = if from_client {
            (40_000u16, 38_412u16)
        } else {
            (38_412, 40_000)
        };
        let mut sctp = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        sctp.extend([0, 0, 0, if from_client { 1 } else { 2 }, 0, 0, 0, 0]);
        sctp.extend(chunk);
        let hosts = if from_client { [1, 2] } else { [2, 1] };
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 132, 0, 0, 10, 0, 0, hosts[0], 10, 0, 0, hosts[1],
        ];
        packet.extend(sctp);
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        observer.observe(
            &Packet {
                number: number.into(),
                time: Timestamp(u64::from(number) * 1_000_000),
                link: LinkType::RAW,
                data: &packet,
                original_length: total.into(),
                interface: 0,
            },
            &mut sink,
        );
    }
    observer.finish_into(&mut sink);
    association_posture(&sink.0[0])
}

fn verdict(messages: &[(u8, u16, Vec<u8>)]) -> (Verdict, String) {
    let judgement = judge(messages).confidentiality;
    (judgement.verdict(), judgement.because().to_owned())
}

#[test]
fn a_whole_hybrid_handshake_is_safe_and_one_without_its_client_hello_is_not_seen() {
    let (client, server) = (hello(CLIENT_HELLO).body(), hello(SERVER_HELLO).body());
    let hellos = [(CLIENT_HELLO, 0, client), (SERVER_HELLO, 0, server.clone())];
    let (is, because) = verdict(&[&hellos[..], &finished()].concat());
    assert_eq!(is, Verdict::QuantumSafe, "{because}");
    assert_eq!(
        verdict(&hellos).0,
        Verdict::NotSeen,
        "the end of the handshake is missing"
    );
    assert_eq!(verdict(&[(SERVER_HELLO, 0, server)]).0, Verdict::NotSeen);
}

/// Text in messages that say they are encrypted.
#[test]
fn messages_that_are_text_make_nothing_safe() {
    let hellos = [
        (CLIENT_HELLO, 0, hello(CLIENT_HELLO).body()),
        (SERVER_HELLO, 0, hello(SERVER_HELLO).body()),
    ];
    let text = b"GET /nudm-sdm/v2/imsi-001010000000001 ".repeat(3);
    let spoken = (PROTECTED, 0, [&[0x2f, 0, 9, 0, text.len() as u8][..], &text].concat());
    let posture = judge(&[&hellos[..], &finished(), &[spoken.clone(), spoken]].concat());
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
    assert_eq!(posture.clear.answer(), Answer::NotObservable);
}

#[test]
fn a_server_that_answers_the_clients_finished_with_nothing_longer_than_an_alert_is_not_safe() {
    let record = |from: u16, first: u8, lengths: &[u8]| {
        let one = |length: &u8| [&[first, 0, 0, 0, *length][..], &spread(*length)].concat();
        (PROTECTED, from, lengths.iter().flat_map(one).collect::<Vec<u8>>())
    };
    let (client, server) = (hello(CLIENT_HELLO).body(), hello(SERVER_HELLO).body());
    let hellos = [(CLIENT_HELLO, 0, client), (SERVER_HELLO, 0, server)];
    let behind = |rest: &[(u8, u16, Vec<u8>)]| verdict(&[&hellos[..], rest].concat()).0;
    // OpenSSL chose the suite with SHA-384: a Finished is 77 octets.
    let flights = [record(1, HANDSHAKE, &[200]), record(0, HANDSHAKE, &[77])];
    assert_eq!(behind(&flights), Verdict::NotSeen);
    let then = |first: u8, lengths: &[u8]| behind(&[&flights[..], &[record(1, first, lengths)]].concat());
    assert_eq!(then(APPLICATION, &[19]), Verdict::NotSeen, "an alert");
    assert_eq!(then(APPLICATION, &[35]), Verdict::QuantumSafe, "an ACK");
    assert_eq!(then(HANDSHAKE, &[200]), Verdict::NotSeen, "its flight again");
    let short = [
        record(1, HANDSHAKE, &[200]),
        record(0, HANDSHAKE, &[30, 30]),
        record(1, APPLICATION, &[35]),
    ];
    assert_eq!(
        behind(&short),
        Verdict::NotSeen,
        "two records, neither of them a Finished"
    );
}

#[test]
fn a_share_of_32_bytes_under_the_name_of_a_hybrid_group_is_no_hybrid() {
    let mut server = hello(SERVER_HELLO);
    let share = [&[0x11, 0xec, 0, 32], &[7; 32][..]].concat();
    server.set(KEY_SHARE, share);
    let (is, because) = verdict(&[
        (CLIENT_HELLO, 0, hello(CLIENT_HELLO).body()),
        (SERVER_HELLO, 0, server.body()),
    ]);
    assert_eq!(is, Verdict::NotObservable);
    assert!(
        because.contains("32 bytes of key exchange data instead of 1120"),
        "{because}"
    );
}

#[test]
fn early_data_takes_the_safety_away_and_a_first_hello_that_is_missing_may_have_had_some() {
    const EARLY_DATA: u16 = 42;
    let server = hello(SERVER_HELLO).body();
    let mut early = hello(CLIENT_HELLO);
    early.set(EARLY_DATA, Vec::new());
    let (is, because) = verdict(&[(CLIENT_HELLO, 0, early.body()), (SERVER_HELLO, 0, server.clone())]);
    assert_eq!(is, Verdict::NotObservable, "{because}");
    // The second of two: a HelloRetryRequest came between them.
    let second = hello(CLIENT_HELLO).body();
    let (is, because) = verdict(&[(CLIENT_HELLO, 1, second.clone()), (SERVER_HELLO, 1, server.clone())]);
    assert_eq!(is, Verdict::NotSeen, "{because}");
    let both = [
        (CLIENT_HELLO, 0, early.body()),
        (CLIENT_HELLO, 1, second),
        (SERVER_HELLO, 1, server),
    ];
    assert_ne!(verdict(&both).0, Verdict::QuantumSafe);
}

#[test]
fn a_second_server_hello_that_differs_takes_the_safety_away_whichever_comes_first() {
    let client = hello(CLIENT_HELLO).body();
    let server = hello(SERVER_HELLO);
    let mut classical = server.clone();
    classical.set(KEY_SHARE, [&[0, 0x1d, 0, 32], &[7; 32][..]].concat());
    let (server, classical) = (server.body(), classical.body());
    for [one, other] in [[&server, &classical], [&classical, &server]] {
        let (is, because) = verdict(&[
            (CLIENT_HELLO, 0, client.clone()),
            (SERVER_HELLO, 0, one.clone()),
            (SERVER_HELLO, 0, other.clone()),
        ]);
        assert_ne!(is, Verdict::QuantumSafe, "{because}");
    }
    let again = [
        (CLIENT_HELLO, 0, client),
        (SERVER_HELLO, 0, server.clone()),
        (SERVER_HELLO, 0, server),
    ];
    assert_eq!(verdict(&[&again[..], &finished()].concat()).0, Verdict::QuantumSafe);
}
