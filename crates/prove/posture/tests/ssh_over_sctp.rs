//! SSH in SCTP user messages: the bytes of real connections of OpenSSH 10.0 over TCP, sent over SCTP instead.

use crate::spoken;
use bartizan_posture::{Answer, Kind, Posture, Verdict};
use bartizan_wire::{CaptureReader, Side};
use spoken::{observe, packet};

const OPENSSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");

/// The payloads of the TCP connection to a port, in turn.
fn said(server: u16) -> Vec<(Side, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(OPENSSH);
    let mut said = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[12..14] != [8, 0] || frame[23] != 6 {
            continue;
        }
        let from = match (number(34), number(36)) {
            (_, port) if port == server => Side::Client,
            (port, _) if port == server => Side::Server,
            _ => continue,
        };
        let payload = &frame[34 + usize::from(frame[46] >> 4) * 4..usize::from(number(16)) + 14];
        if !payload.is_empty() {
            said.push((from, payload.to_vec()));
        }
    }
    said
}

/// A DATA chunk of a message.
struct Piece {
    from: Side,
    stream: u16,
    begins: bool,
    ends: bool,
    bytes: Vec<u8>,
}

/// Each payload as a message, in chunks of this many bytes at most.
fn pieces(said: &[(Side, Vec<u8>)], most: usize) -> Vec<Piece> {
    let of = |(from, said): &(Side, Vec<u8>)| {
        let (from, last) = (*from, said.len().div_ceil(most) - 1);
        let chunks = said.chunks(most).enumerate();
        let piece = move |(index, bytes): (usize, &[u8])| Piece {
            from,
            stream: 0,
            begins: index == 0,
            ends: index == last,
            bytes: bytes.to_vec(),
        };
        chunks.map(piece).collect::<Vec<_>>()
    };
    said.iter().flat_map(of).collect()
}

/// The packets of an association that begins with INIT and INIT ACK; `first` is the end that sends INIT.
fn association(first: Side, pieces: &[Piece]) -> Vec<Vec<u8>> {
    let tags = [7u32, 9];
    let side = |from: Side| usize::from(from != first);
    let whole = |from: Side, tag: u32, kind: u8, flags: u8, value: &[u8]| {
        let ports = if from == first { [40_000u16, 830] } else { [830, 40_000] };
        let mut bytes = ports.map(u16::to_be_bytes).concat();
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0, 0, 0, 0, kind, flags]);
        bytes.extend((4 + value.len() as u16).to_be_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        packet(132, from, &bytes)
    };
    let init = |tag: u32, tsn: u32| {
        let mut value = tag.to_be_bytes().to_vec();
        value.extend(65_536u32.to_be_bytes());
        value.extend([0, 10, 0, 10]);
        value.extend(tsn.to_be_bytes());
        value
    };
    let second = if first == Side::Client {
        Side::Server
    } else {
        Side::Client
    };
    let mut tsn = [100u32, 5000];
    let mut packets = vec![
        whole(first, 0, 1, 0, &init(tags[1], tsn[0])),
        whole(second, tags[1], 2, 0, &init(tags[0], tsn[1])),
    ];
    for piece in pieces {
        let from = side(piece.from);
        let mut value = tsn[from].to_be_bytes().to_vec();
        tsn[from] += 1;
        value.extend(piece.stream.to_be_bytes());
        value.extend([0; 6]);
        value.extend(&piece.bytes);
        let flags = u8::from(piece.ends) | u8::from(piece.begins) << 1;
        packets.push(whole(piece.from, tags[from], 0, flags, &value));
    }
    packets
}

fn one(packets: &[Vec<u8>]) -> Posture {
    let mut judged = observe(packets);
    assert_eq!(judged.len(), 1);
    judged.remove(0)
}

#[test]
fn ssh_in_sctp_is_judged_as_over_tcp_however_its_messages_are_cut() {
    for (port, method, verdict) in [
        (830, "mlkem768x25519-sha256", Verdict::QuantumSafe),
        (4502, "sntrup761x25519-sha512", Verdict::QuantumSafe),
        (4503, "curve25519-sha256", Verdict::Vulnerable),
        (4505, "diffie-hellman-group14-sha256", Verdict::Vulnerable),
    ] {
        for most in [100, 1400, 40_000] {
            let posture = one(&association(Side::Client, &pieces(&said(port), most)));
            assert_eq!(
                (
                    posture.kind,
                    posture.key_exchange().as_deref(),
                    posture.confidentiality.verdict()
                ),
                (Kind::SshOverSctp, Some(method), verdict),
                "{port}, chunks of {most}: {}",
                posture.confidentiality.because()
            );
            assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable, "{port}");
            assert_eq!(posture.server_authenticated.answer(), Answer::Yes, "{port}");
            assert!(posture.kind.verdicts().contains(&verdict));
        }
    }
}

#[test]
fn ends_with_nothing_in_common_and_a_call_home_are_reported_in_sctp_too() {
    let refused = one(&association(Side::Client, &pieces(&said(4506), 1400)));
    assert_eq!(refused.kind, Kind::SshNotAgreed);
    // NETCONF call home (RFC 8071): the SSH server begins the association.
    let called = one(&association(Side::Server, &pieces(&said(830), 1400)));
    assert_eq!(called.confidentiality.verdict(), Verdict::QuantumSafe);
    assert!(called.server_authenticated.because().contains("ssh-ed25519"));
}

#[test]
fn chunks_out_of_order_are_put_in_order_and_without_one_nothing_is_safe() {
    let packets = association(Side::Client, &pieces(&said(830), 600));
    let mut fell = 0;
    for place in 2..packets.len() {
        let mut swapped = packets.clone();
        if place > 4 && place + 1 < packets.len() {
            swapped.swap(place, place + 1);
            assert_eq!(one(&swapped).confidentiality.verdict(), Verdict::QuantumSafe, "{place}");
        }
        let mut lost = packets.clone();
        lost.remove(place);
        let verdict = one(&lost).confidentiality.verdict();
        fell += u32::from(verdict != Verdict::QuantumSafe);
        assert!(verdict != Verdict::ReadableNow || place < 5, "without packet {place}");
    }
    assert!(fell > 8, "{fell}");
}

#[test]
fn messages_of_something_else_next_to_ssh_leave_it_unproven() {
    let mut pieces = pieces(&said(830), 1400);
    for place in 3..pieces.len() {
        pieces.insert(
            place,
            Piece {
                from: Side::Server,
                stream: 3,
                begins: true,
                ends: true,
                bytes: b"\x00\x15\x00\x33 in plaintext".to_vec(),
            },
        );
        let posture = one(&association(Side::Client, &pieces));
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable, "{place}");
        pieces.remove(place);
    }
}

#[test]
fn a_share_of_another_length_than_the_method_has_supports_no_safe() {
    let said = said(830);
    let number = |bytes: &[u8]| bytes.get(5).copied();
    // SSH_MSG_KEX_HYBRID_INIT, shortened to the 32 bytes of X25519 alone.
    let place = said
        .iter()
        .position(|(from, bytes)| *from == Side::Client && number(bytes) == Some(30));
    let mut short = said.clone();
    let share = [&32u32.to_be_bytes()[..], &[9; 32]].concat();
    let length = (2 + share.len() + 6) as u32;
    short[place.unwrap()].1 = [&length.to_be_bytes()[..], &[6, 30], &share, &[0; 6]].concat();
    for packets in [
        association(Side::Client, &pieces(&short, 1400)),
        spoken::connection(&short),
    ] {
        let posture = one(&packets);
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
        let what =
            "mlkem768x25519-sha256 is agreed on, and the client sent 32 bytes of key exchange data instead of 1216";
        assert_eq!(posture.confidentiality.because(), what);
        assert!(posture.contradictions.iter().any(|found| found.what == what));
    }
}
