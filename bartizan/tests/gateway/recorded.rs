//! Exchanges that were recorded from real functions, to be said again.

use std::collections::BTreeMap;
use std::path::Path;

use bartizan_host::sctp::Ordering;
use bartizan_wire::CaptureReader;
use bartizan_wire::ip::{SCTP, datagram};
use bartizan_wire::link::{Network, network};
use bartizan_wire::sctp::{self, Data};

use crate::function::Message;

/// Sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Speaker {
    Initiator,
    Responder,
}

/// The user messages of a capture's only association in the order of their first packets; `port` is the responder's.
pub(crate) fn messages(capture: &str, port: u16) -> Vec<(Speaker, Message)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/prove/wire/tests/data")
        .join(capture);
    let bytes = std::fs::read(path).unwrap();
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut pieces = BTreeMap::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        let Network::Ip(ip) = network(packet.link, packet.data) else {
            continue;
        };
        let Some(datagram) = datagram(ip).filter(|datagram| datagram.protocol == SCTP) else {
            continue;
        };
        let read = sctp::packet(datagram.payload, datagram.missing).unwrap();
        let speaker = if read.source_port == port {
            Speaker::Responder
        } else {
            Speaker::Initiator
        };
        for data in read.chunks().filter_map(|chunk| Data::read(&chunk)) {
            let protocol = data.payload_protocol.unwrap_or_default();
            let piece = (packet.number, data.stream, protocol, data.ends, data.payload.to_vec());
            pieces.entry((speaker, data.tsn)).or_insert(piece);
        }
    }
    let mut whole = Vec::new();
    let mut begun: Option<(u64, Vec<u8>)> = None;
    for ((speaker, _), (packet, stream, protocol, ends, octets)) in pieces {
        let (_, so_far) = begun.get_or_insert_with(|| (packet, Vec::new()));
        so_far.extend(octets);
        if ends && let Some((first, octets)) = begun.take() {
            whole.push((first, speaker, (stream, protocol, Ordering::Ordered, octets)));
        }
    }
    assert!(begun.is_none());
    whole.sort_by_key(|(first, ..)| *first);
    whole
        .into_iter()
        .map(|(_, speaker, message)| (speaker, message))
        .collect()
}
