//! Changes of direction between two hosts at packet level: the last packet of the one, and the
//! first of the other behind it. Encrypted traffic has no other times.

use std::net::IpAddr;

use bartizan_wire::link::{self, Network};
use bartizan_wire::{Moment, Packet, ip};

/// A packet on either side of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Sender.
    pub source: IpAddr,
    /// Packet and time.
    pub at: Moment,
    /// Bytes of its frame on the wire.
    pub length: u32,
}

/// One change of direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The last packet before it.
    pub before: Side,
    /// Number of packets in a row from that sender, this one included.
    pub run: u64,
    /// The first packet of the other.
    pub after: Side,
}

impl Turn {
    /// Duration of the change, in nanoseconds.
    pub fn took_ns(&self) -> u64 {
        self.after.at.time.since(self.before.at.time)
    }
}

/// Takes packets of one IP protocol between two hosts and gives their turns.
#[derive(Debug)]
pub(super) struct Turns {
    protocol: u8,
    last: Option<(Side, u64)>,
}

impl Turns {
    /// Turns of the packets of this IP protocol; others are not looked at. A capture on an
    /// interface of a host that decrypts shows incoming packets twice, encrypted and decrypted.
    pub(super) fn new(protocol: u8) -> Self {
        Self { protocol, last: None }
    }

    /// Takes the next packet; gives the turn it makes.
    pub(super) fn packet(&mut self, packet: &Packet<'_>) -> Option<Turn> {
        let Network::Ip(bytes) = link::network(packet.link, packet.data) else {
            return None;
        };
        let datagram = ip::datagram(bytes).filter(|datagram| datagram.protocol == self.protocol)?;
        let side = Side {
            source: datagram.source,
            at: Moment {
                packet: packet.number,
                time: packet.time,
            },
            length: packet.original_length,
        };
        let last = self.last;
        let same = last.filter(|(last, _)| last.source == side.source);
        self.last = Some((side, same.map_or(1, |(_, run)| run + 1)));
        match (last, same) {
            (Some((before, run)), None) => Some(Turn {
                before,
                run,
                after: side,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_wire::Timestamp;
    use bartizan_wire::link::LinkType;

    /// An Ethernet frame with an IPv4 header of this protocol, from 10.0.0.`from`.
    fn frame(from: u8, protocol: u8) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([
            0x08,
            0,
            0x45,
            0,
            0,
            20,
            0,
            0,
            0,
            0,
            64,
            protocol,
            0,
            0,
            10,
            0,
            0,
            from,
            10,
            0,
            0,
            3 - from,
        ]);
        frame
    }

    #[test]
    fn a_turn_is_from_the_last_packet_of_one_to_the_first_of_the_other() {
        let said = [
            (1, 50, 100),
            (1, 50, 130),
            (2, 132, 135),
            (2, 50, 150),
            (2, 50, 160),
            (1, 50, 200),
        ];
        let mut turns = Turns::new(50);
        let mut given = Vec::new();
        for (number, (from, protocol, at)) in said.into_iter().enumerate() {
            let data = frame(from, protocol);
            let packet = Packet {
                number: number as u64 + 1,
                time: Timestamp(at),
                link: LinkType::ETHERNET,
                data: &data,
                original_length: 34,
                interface: 0,
            };
            given.extend(turns.packet(&packet));
        }
        let reported: Vec<_> = given
            .iter()
            .map(|turn| (turn.run, turn.took_ns(), turn.after.at.packet))
            .collect();
        assert_eq!(
            reported,
            [(2, 20, 4), (2, 40, 6)],
            "the packet of another protocol is not looked at"
        );
    }
}
