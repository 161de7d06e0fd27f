//! Packets that errors of ICMP quote.

use std::net::SocketAddr;

use super::Observer;
use super::connections::Ends;
use crate::decapsulation::{self, DEPTH, Payload};
use crate::housekeeping::{self, Content};
use crate::ip::{self, Datagram};
use crate::path::Layer;
use crate::{quic, sctp, tcp, udp};

/// The last bytes of a quote, by which text is known.
const TAIL: usize = 32;

impl Observer {
    /// Returns true if a packet that an error quotes is of what is followed, and judged by its own
    /// packets, or needs no judgement itself. It is never read: an error proves nothing. Text in it
    /// is that of no conversation which encrypts.
    pub(super) fn follows(&self, quoted: &Datagram<'_>, layers: &mut Vec<Layer>) -> bool {
        if housekeeping::of(quoted) == Some(Content::Own) {
            return true;
        }
        let end = quoted.payload.len();
        let last = &quoted.payload[end.saturating_sub(TAIL)..];
        if quic::is_text(last) && !housekeeping::is_filler(last) {
            return false;
        }
        if layers.len() < DEPTH
            && let Some(tunnel) = decapsulation::opens(quoted)
        {
            layers.push(tunnel.layer);
            return match decapsulation::reach(tunnel.carried, layers) {
                Payload::Ip(bytes) => ip::datagram(bytes).is_some_and(|inner| self.follows(&inner, layers)),
                Payload::Other(..) | Payload::Short => false,
            };
        }
        let Some(path) = self.paths.known(layers) else {
            return false;
        };
        let hosts = [quoted.source, quoted.destination];
        let sockets = |source_port, destination_port| {
            let [source, destination] = hosts;
            [
                SocketAddr::new(source, source_port),
                SocketAddr::new(destination, destination_port),
            ]
        };
        match quoted.protocol {
            ip::TCP => tcp::segment(quoted.payload, quoted.missing).is_some_and(|segment| {
                let [source, destination] = sockets(segment.source_port, segment.destination_port);
                self.slots.contains_key(&Ends::between(source, destination, path))
            }),
            ip::UDP => udp::udp(quoted.payload, quoted.missing).is_some_and(|udp| {
                let sockets = sockets(udp.source_port, udp.destination_port);
                self.ipsec.has(&udp, hosts, path) || self.datagrams.has(&udp, sockets, path)
            }),
            ip::ESP => self.ipsec.has_esp(quoted.payload, hosts, path),
            ip::SCTP => sctp::packet(quoted.payload, quoted.missing).is_some_and(|packet| {
                let sockets = sockets(packet.source_port, packet.destination_port);
                self.associations.has(&packet, sockets, path)
            }),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::datagrams::{DatagramProtocol, Datagrams};
    use crate::link::LinkType;
    use crate::{Connection, Limits, Observer, Packet, Sink, Timestamp};

    #[derive(Default)]
    struct Seen(Vec<DatagramProtocol>);

    impl Sink for Seen {
        fn connection(&mut self, _: Connection) {}

        fn datagrams(&mut self, datagrams: Datagrams) {
            self.0.push(datagrams.protocol);
        }
    }

    fn ip(protocol: u8, hosts: [u8; 2], payload: &[u8]) -> Vec<u8> {
        let length = (20 + payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, length[0], length[1], 0, 9, 0, 0, 64, protocol, 0, 0];
        packet.extend([10, 0, 0, hosts[0], 10, 0, 0, hosts[1]]);
        packet.extend(payload);
        packet
    }

    /// A datagram or segment between ports that no protocol has.
    fn transport(protocol: u8, port: u8, payload: &[u8]) -> Vec<u8> {
        let length = (8 + payload.len() as u16).to_be_bytes();
        let rest = match protocol {
            17 => vec![length[0], length[1], 0, 0],
            50 => vec![0, 0, 0, 1],
            _ => vec![0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0],
        };
        [&[0x9c, 0x40, 0x9c, port][..], &rest, payload].concat()
    }

    fn protocols(packets: &[Vec<u8>]) -> Vec<DatagramProtocol> {
        let (mut observer, mut seen) = (Observer::new(Limits::default()), Seen::default());
        for (number, data) in (1..).zip(packets) {
            let packet = Packet {
                number,
                time: Timestamp(0),
                link: LinkType::RAW,
                data,
                original_length: data.len() as u32,
                interface: 0,
            };
            observer.observe(&packet, &mut seen);
        }
        observer.finish_into(&mut seen);
        seen.0
    }

    #[test]
    fn an_error_is_worth_no_judgement_where_its_packet_is_followed_and_shows_no_text() {
        let sealed: Vec<u8> = (0..400_u32).map(|place| ((place * place) >> 3) as u8 | 0x80).collect();
        let text = b"subscriber imsi-208930000000001, key 001122334455 ".repeat(8);
        let icmp = DatagramProtocol::Ip(1);
        for protocol in [6, 17, 50] {
            let packet = ip(protocol, [1, 2], &transport(protocol, 0x41, &sealed));
            let error = |quoted: &[u8]| ip(1, [2, 1], &[&[3, 3, 0, 0, 0, 0, 0, 0][..], quoted].concat());
            let other = ip(protocol, [1, 2], &transport(protocol, 0x42, &sealed));
            let plain = ip(protocol, [1, 2], &transport(protocol, 0x41, &text));
            let errors = |quoted: &[u8]| protocols(&[packet.clone(), error(quoted)]).contains(&icmp);
            assert!(!errors(&packet) && !errors(&packet[..120]), "{protocol}");
            assert!(errors(&other) && errors(&plain) && errors(&other[..120]), "{protocol}");
            assert!(!errors(&other[..48]), "{protocol}");
        }
    }
}
