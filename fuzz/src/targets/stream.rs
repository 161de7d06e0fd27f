//! Bytes that two ends of a TCP connection send in turn: a boundary between segments decides
//! nothing.
//!
//! Input: pieces, each behind its length in two bytes; the first byte of each says which end.

use bartizan_wire::link::LinkType;
use bartizan_wire::{Connection, Content, Limits, Observer, Packet, Timestamp};

use super::slices;

/// Begins with a ClientHello, so that it is TLS.
pub(super) fn tls(bytes: &[u8]) {
    // Recognised by six bytes, of which the first three are content type and version.
    run(bytes, &[22, 3, 1, 0, 4, 1, 0, 0, 0]);
}

/// Begins with the connection preface (RFC 9113, section 3.4).
pub(super) fn http2(bytes: &[u8]) {
    run(bytes, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
}

/// Begins with a request.
pub(super) fn http1(bytes: &[u8]) {
    run(bytes, b"GET / HTTP/1.1\r\n");
}

/// Begins with an identification (RFC 4253, section 4.2).
pub(super) fn ssh(bytes: &[u8]) {
    run(bytes, b"SSH-2.0-client\r\n");
}

/// Begins with a request to a proxy, or with the header of one.
pub(super) fn proxy(bytes: &[u8]) {
    const OPENINGS: [&[u8]; 6] = [
        b"\x05\x01\x00",
        b"\x05\x02\x00\x02",
        b"\x04\x01\x01\xbb\0\0\0\x01user\0host.example\0",
        b"CONNECT host.example:443 HTTP/1.1\r\n\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 50000 443\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c",
    ];
    let (kind, rest) = bytes.split_first().unwrap_or((&0, &[]));
    run(rest, OPENINGS[usize::from(*kind) % OPENINGS.len()]);
}

fn run(bytes: &[u8], opening: &[u8]) {
    let mut pieces: Vec<(usize, &[u8])> = slices(bytes)
        .filter_map(|slice| slice.split_first().map(|(end, said)| (usize::from(end & 1), said)))
        .collect();
    // The bytes of the corpus may begin the connection itself.
    if pieces
        .first()
        .is_none_or(|(end, said)| *end != 0 || !said.starts_with(&opening[..3]))
    {
        pieces.insert(0, (0, opening));
    }
    let whole = observe(&pieces, usize::MAX);
    for longest in [1, 5, 1000] {
        let cut = observe(&pieces, longest);
        assert_eq!(whole.content, cut.content, "segments of {longest}");
        assert_eq!(whole.from_client.stream.bytes, cut.from_client.stream.bytes);
    }
    if let Content::Tls(tls) = &whole.content {
        assert!(tls.flights.len() <= 8 && tls.faults.len() <= 8 && tls.alerts.len() <= 8);
    }
}

/// The connection in which these pieces were said, in segments of at most so many bytes. All
/// segments of a piece have the number and the time of the piece.
fn observe(pieces: &[(usize, &[u8])], longest: usize) -> Connection {
    let mut observer = Observer::new(Limits::default());
    let mut seen = Vec::new();
    let mut sequences = [1000u32, 2000];
    let mut send = |end: usize, flags: u8, said: &[u8], number: u64, seen: &mut Vec<Connection>| {
        let data = packet(end, sequences[end], flags, said);
        sequences[end] = sequences[end].wrapping_add(said.len() as u32 + u32::from(flags & 2 != 0));
        let packet = Packet {
            number,
            time: Timestamp(number),
            link: LinkType::RAW,
            data: &data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.packet(&packet, |connection| seen.push(connection));
    };
    send(0, 0x02, &[], 1, &mut seen);
    send(1, 0x12, &[], 2, &mut seen);
    for (index, (end, said)) in pieces.iter().enumerate() {
        for said in said.chunks(longest.min(1 << 15)) {
            send(*end, 0x10, said, index as u64 + 3, &mut seen);
        }
    }
    observer.finish(|connection| seen.push(connection));
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

/// An IPv4 packet with a TCP segment of one end.
fn packet(end: usize, sequence: u32, flags: u8, said: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(40 + said.len() as u16).to_be_bytes());
    packet[9] = 6;
    let (source, destination) = if end == 0 { (1, 2) } else { (2, 1) };
    packet[12..16].copy_from_slice(&[10, 0, 0, source]);
    packet[16..20].copy_from_slice(&[10, 0, 0, destination]);
    let ports = if end == 0 { [50_000u16, 443] } else { [443, 50_000] };
    packet[20..22].copy_from_slice(&ports[0].to_be_bytes());
    packet[22..24].copy_from_slice(&ports[1].to_be_bytes());
    packet[24..28].copy_from_slice(&sequence.to_be_bytes());
    packet[32] = 0x50;
    packet[33] = flags;
    packet.extend(said);
    packet
}
