//! Messages as packets on a path: IPv4 with UDP or TCP, sizes of headers from the registry.

use bartizan_registry::Header;

use crate::simulation::{Exchange, Message, Procedure};

pub(super) const IP: u32 = Header::IPV4.bytes as u32;
pub(super) const UDP: u32 = Header::UDP.bytes as u32;
/// Longest IP packet of the path.
pub(super) const MTU: u32 = 1500;
/// A segment without data: IP, TCP and its timestamps.
pub(super) const ACKNOWLEDGEMENT: u32 = IP + Header::TCP.bytes as u32 + Header::TCP_TIMESTAMPS.bytes as u32;
/// Data of a segment with timestamps.
pub(super) const SEGMENT: u32 = MTU - ACKNOWLEDGEMENT;

/// Data over TCP with timestamps: segments of what an MTU leaves.
pub(super) fn over_tcp(bytes: u32) -> Message {
    let segments = bytes.div_ceil(SEGMENT).max(1);
    message(bytes + segments * ACKNOWLEDGEMENT, segments)
}

pub(super) fn message(bytes: u32, packets: u32) -> Message {
    Message {
        bytes,
        packets: u16::try_from(packets).unwrap_or(u16::MAX),
    }
}

/// A request and its answer that pass the gateway and are not its own: they take of its link and nothing of its cores.
pub(super) fn fetch(name: &str, request: u32, answer: u32) -> Exchange {
    Exchange {
        name: name.to_owned(),
        request: over_tcp(request),
        answer: over_tcp(answer),
        site_ns: 0,
        gateway_ns: 0,
        keeps: true,
    }
}

pub(super) fn one(exchange: Exchange) -> Procedure {
    Procedure {
        exchanges: vec![exchange],
        after_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_at_1500_bytes_has_1448_of_data_and_the_next_byte_takes_another() {
        assert_eq!((SEGMENT, ACKNOWLEDGEMENT), (1448, 52));
        let of = |bytes| {
            let message = over_tcp(bytes);
            (message.bytes, message.packets)
        };
        assert_eq!((of(0), of(1448), of(1449)), ((52, 1), (1500, 1), (1553, 2)));
    }
}
