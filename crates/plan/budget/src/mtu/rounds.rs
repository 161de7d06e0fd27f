//! Round trips: how often a sender must wait before a flight has gone.

use bartizan_registry::{Header, QUIC_AMPLIFICATION, QUIC_INITIAL_LEAST, TCP_INITIAL_BYTES, TCP_INITIAL_SEGMENTS};
use serde::Serialize;

use crate::overhead::IpVersion;
use crate::unit::Bytes;

/// A flight on TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Flight {
    /// Its bytes.
    pub bytes: Bytes,
    /// Segments it goes in.
    pub segments: u64,
    /// Times its sender waits for acknowledgements, the last one not: 1 where it goes at once.
    pub rounds: u32,
}

/// A flight of more rounds than this is no handshake.
const MOST_ROUNDS: u32 = 64;

/// The most data in a segment: MTU less headers and the timestamps that Linux sends. None where nothing is left.
pub fn segment(mtu: Bytes, version: IpVersion) -> Option<Bytes> {
    let headers = version.header().bytes + Header::TCP.bytes + Header::TCP_TIMESTAMPS.bytes;
    let room = mtu.beyond(Bytes::from(headers));
    (room > Bytes::ZERO).then_some(room)
}

/// Returns the flight of this many bytes over a fresh TCP connection: the initial window of RFC
/// 6928, doubled with every round (slow start, RFC 5681). None above 64 rounds.
///
/// No loss, no delayed acknowledgement that holds the window down, a receive window that is wide enough.
pub fn tcp_rounds(bytes: Bytes, segment: Bytes) -> Option<Flight> {
    let segments = bytes.pieces_of(segment)?.max(1);
    // IW = min(10 * MSS, max(2 * MSS, 14600)), in segments as Linux counts it.
    let by_bytes = Bytes::from(TCP_INITIAL_BYTES).value() / segment.value().max(1);
    let mut window = u64::from(TCP_INITIAL_SEGMENTS).min(by_bytes.max(2));
    let (mut sent, mut rounds) = (0_u64, 0);
    while sent < segments {
        rounds += 1;
        if rounds > MOST_ROUNDS {
            return None;
        }
        sent = sent.saturating_add(window);
        window = window.saturating_mul(2);
    }
    Some(Flight {
        bytes,
        segments,
        rounds,
    })
}

/// Room for handshake messages in a QUIC datagram of so many bytes: long header with connection
/// identifiers of 8 bytes, lengths, tag and the header of a CRYPTO frame take about 60 (RFC 9000,
/// sections 17.2 and 19.6).
pub fn quic_room(datagram: Bytes) -> Bytes {
    const HEADERS: u16 = 60;
    datagram.beyond(Bytes::from(HEADERS))
}

/// Datagrams of so many bytes that carry handshake messages of QUIC, one at least; none where one
/// holds nothing.
pub fn quic_datagrams(messages: Bytes, datagram: Bytes) -> Option<u64> {
    Some(messages.pieces_of(quic_room(datagram))?.max(1))
}

/// Rounds of a QUIC server's handshake messages of so many bytes, of which it may send three times what it has received until the client's address is validated
/// (RFC 9000, section 8.1), in datagrams of `datagram` bytes; the client's first flight has `client_hello` bytes. None above 64 rounds, or where a datagram holds nothing.
///
/// The client's acknowledgement with a Handshake key validates; from then on the window of RFC 9002 (section 7.2) counts, doubled with every round.
pub fn quic_rounds(client_hello: Bytes, server: Bytes, datagram: Bytes) -> Option<u32> {
    let initials = quic_datagrams(client_hello, datagram)?;
    let received = initials.checked_mul(datagram.value().max(u64::from(QUIC_INITIAL_LEAST)))?;
    let allowed = received.checked_mul(u64::from(QUIC_AMPLIFICATION))?;
    let datagrams = quic_datagrams(server, datagram)?;
    let mut window = u64::from(TCP_INITIAL_SEGMENTS);
    let first = window.min(allowed / datagram.value().max(1));
    let (mut sent, mut rounds) = (first, 1);
    while sent < datagrams {
        rounds += 1;
        if rounds > MOST_ROUNDS {
            return None;
        }
        window = window.saturating_mul(2);
        sent = sent.saturating_add(window);
    }
    Some(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(bytes: u32) -> Bytes {
        Bytes::from(bytes)
    }

    #[test]
    fn ten_segments_go_at_once_and_the_eleventh_waits() {
        let mss = segment(bytes(1500), IpVersion::V4).unwrap();
        assert_eq!(mss.value(), 1448);
        assert_eq!(tcp_rounds(bytes(14_480), mss).unwrap().rounds, 1);
        assert_eq!(tcp_rounds(bytes(14_481), mss).unwrap().rounds, 2);
        // 10 + 20 segments.
        assert_eq!(tcp_rounds(bytes(1448 * 30), mss).unwrap().rounds, 2);
        assert_eq!(tcp_rounds(bytes(1448 * 30 + 1), mss).unwrap().rounds, 3);
        // A jumbo segment: two at first, at least.
        assert_eq!(tcp_rounds(bytes(17_897), bytes(8948)).unwrap().rounds, 2);
        assert_eq!(segment(bytes(52), IpVersion::V4), None);
    }

    /// Datagrams of aioquic 1.7.2, whose ServerHello and chain of RSA certificates were so long.
    /// Headers were not counted: 3460 bytes were said to fit three.
    #[test]
    fn quic_datagrams_are_as_many_as_aioquic_sends() {
        for (messages, sent) in [(469, 1), (2140, 2), (3460, 4), (6100, 6), (11_380, 10)] {
            assert_eq!(quic_datagrams(bytes(messages), bytes(1200)), Some(sent), "{messages}");
        }
        assert_eq!(quic_datagrams(bytes(1), bytes(60)), None);
    }

    #[test]
    fn a_quic_server_waits_where_three_times_the_clients_bytes_do_not_hold_its_certificates() {
        // One Initial of 1200 bytes allows 3600; two allow 7200.
        assert_eq!(quic_rounds(bytes(300), bytes(3000), bytes(1200)), Some(1));
        assert_eq!(quic_rounds(bytes(300), bytes(4000), bytes(1200)), Some(2));
        assert_eq!(quic_rounds(bytes(1385), bytes(6000), bytes(1200)), Some(1));
        assert_eq!(quic_rounds(bytes(1385), bytes(10_300), bytes(1200)), Some(2));
        assert_eq!(quic_rounds(bytes(1385), bytes(10_300), bytes(50)), None);
    }

    proptest! {
        #[test]
        fn more_bytes_never_need_fewer_rounds(size in 1_u32..200_000, more in 0_u32..10_000, segment in 100_u32..9000) {
            let rounds = |size| tcp_rounds(bytes(size), bytes(segment)).unwrap().rounds;
            prop_assert!(rounds(size + more) >= rounds(size));
            let quic = |size| quic_rounds(bytes(1385), bytes(size), bytes(1200)).unwrap();
            prop_assert!(quic(size + more) >= quic(size));
        }
    }
}
