//! Datagrams of UDP between two sockets, and between sockets of which one has moved: QUIC, DTLS and
//! what is known by name.
//!
//! Input: pieces, each behind its length in two bytes; the first byte of each says which end sends
//! (bit 0), whether from another port (bit 1), and between which ports (bits 2 and 3).

use std::sync::Arc;

use bartizan_keys::Keyring;
use bartizan_wire::link::LinkType;
use bartizan_wire::{Limits, Observer, Packet, Timestamp};

use super::{Everything, slices};

/// Pairs of ports: of no protocol, of HTTP/3, DNS, SIP.
const PORTS: [[u16; 2]; 4] = [[40_000, 4501], [40_001, 443], [40_002, 53], [5060, 5060]];

pub(super) fn run(bytes: &[u8]) {
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::new(Keyring::new()));
    let mut everything = Everything::default();
    let mut sent = 0;
    for (number, slice) in slices(bytes).enumerate() {
        let Some((&first, payload)) = slice.split_first() else {
            continue;
        };
        let mut ports = PORTS[usize::from(first >> 2 & 3)];
        ports[0] += u16::from(first >> 1 & 1);
        let mut hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
        if first & 1 == 1 {
            ports.reverse();
            hosts.reverse();
        }
        let udp = 8 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        packet.extend(hosts.concat());
        packet.extend(ports[0].to_be_bytes());
        packet.extend(ports[1].to_be_bytes());
        packet.extend(udp.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        sent += 1;
        observer.observe(
            &Packet {
                number: number as u64 + 1,
                time: Timestamp(number as u64 * 1_000_000),
                original_length: packet.len() as u32,
                data: &packet,
                link: LinkType::RAW,
                interface: 0,
            },
            &mut everything,
        );
    }
    observer.finish_into(&mut everything);
    let counted: u64 = observer.totals().unread.values().map(|captured| captured.packets).sum();
    assert_eq!(everything.captured + counted, sent, "each packet belongs to something");
    everything.judge();
}
