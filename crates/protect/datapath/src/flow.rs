//! Fields of a packet that selectors are compared with.

use std::net::IpAddr;

use bartizan_ike::Selector;
use bartizan_wire::ip::{self, Fragment, SCTP, TCP, UDP};

/// Further protocols whose headers begin with two ports: DCCP and UDP-Lite.
const MORE_WITH_PORTS: [u8; 2] = [33, 136];

bartizan_registry::made! {
    /// Addresses, protocol and ports of an IP packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Flow,
    /// Reads a packet; none where it is no IP packet.
    #[must_use]
    pub read(packet: &[u8]) -> Option<Self> {
        let read = ip::datagram(packet)?;
        let fragment = match read.fragment {
            Fragment::Whole => None,
            Fragment::Part {
                identification, offset, ..
            } => Some((identification, offset == 0)),
        };
        let has_ports = [TCP, UDP, SCTP].contains(&read.protocol) || MORE_WITH_PORTS.contains(&read.protocol);
        let ports = match read.payload {
            &[a, b, c, d, ..] if has_ports && fragment.is_none_or(|(_, is_first)| is_first) => {
                Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
            }
            _ => None,
        };
        /// Sender.
        pub source: IpAddr = read.source,
        /// Receiver.
        pub destination: IpAddr = read.destination,
        /// IP protocol, behind extension headers.
        pub protocol: u8 = read.protocol,
        /// Ports of sender and receiver; none where the protocol has none, or this is a fragment
        /// after the first.
        pub ports: Option<(u16, u16)>,
        /// The sender's number of the packet if this is a fragment of it, and whether it is the
        /// first.
        pub(crate) fragment: Option<(u32, bool)>,
    }
}

impl Flow {
    /// The same packet seen from its receiver.
    pub(crate) fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ports: self.ports.map(|(source, destination)| (destination, source)),
            ..self
        }
    }

    /// Returns true if one of the first selects its sender, and one of the others its receiver.
    pub(crate) fn is_between(&self, senders: &[Selector], receivers: &[Selector]) -> bool {
        let (source, destination) = self.ports.unzip();
        let of = |all: &[Selector], address, port| {
            let mut all = all.iter();
            all.any(|selector| is_of(selector, address, self.protocol, port))
        };
        of(senders, self.source, source) && of(receivers, self.destination, destination)
    }
}

fn is_of(selector: &Selector, address: IpAddr, protocol: u8, port: Option<u16>) -> bool {
    let (first, last) = selector.addresses;
    // Addresses of IPv4 are ordered before all of IPv6: no range has both.
    let is_address = (first..=last).contains(&address);
    let is_protocol = selector.protocol == 0 || selector.protocol == protocol;
    let is_port = match (selector.ports, port) {
        ((0, u16::MAX), _) => true,
        ((first, last), Some(port)) => (first..=last).contains(&port),
        // Some ports are selected, and none is known (RFC 4301, section 4.4.1.1, OPAQUE).
        (_, None) => false,
    };
    is_address && is_protocol && is_port
}
