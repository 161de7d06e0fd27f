//! Bytes of a packet of which only their number matters.

use std::net::SocketAddr;
use std::ops::Range;

use super::connections::{Ends, Slot};
use super::{Flow, Observer};
use crate::datagrams::{self, DatagramProtocol};
use crate::decapsulation::{self, DEPTH, Payload};
use crate::ip::{self, Datagram, Fragment};
use crate::link::{self, Frame};
use crate::path::{Encapsulation, Layer};
use crate::udp::Encapsulated;
use crate::{Packet, esp, tcp, udp};

/// State of an observer before the packet at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// All of it.
    All,
    /// The end of it: connections may have begun before, and what is known of those is less.
    Some,
}

impl Observer {
    /// The places in `packet.data` of which only their number matters: given everything that came
    /// before, nothing that this observer gives changes, now or later, where a
    /// [`Hole`](crate::reduce::Hole) takes their place. Call it before the packet is
    /// [observed](Self::observe). Ranges are in order.
    pub fn counted(&self, packet: &Packet<'_>, before: Before, mut give: impl FnMut(Range<usize>)) {
        let mut layers = Vec::new();
        let Frame::Carries(carried) = link::carried(packet.link, packet.data) else {
            return;
        };
        let mut payload = decapsulation::reach(carried, &mut layers);
        loop {
            let Payload::Ip(bytes) = payload else { return };
            let Some(datagram) = ip::datagram(bytes).filter(|datagram| datagram.fragment == Fragment::Whole) else {
                return;
            };
            if datagram.protocol == ip::TCP {
                return self.counted_of(&datagram, &layers, before, |bytes| {
                    give_place(packet.data, bytes, &mut give);
                });
            }
            let Some(tunnel) = decapsulation::opens(&datagram).filter(|_| layers.len() < DEPTH) else {
                if let Some((sealed, missing)) = esp_of(&datagram)
                    && let Some(run) = esp::counted(sealed, missing, datagram.source, datagram.destination)
                {
                    give_place(packet.data, &sealed[run], &mut give);
                }
                return;
            };
            // User packets are read by themselves as well.
            if tunnel.layer.encapsulation == Encapsulation::GtpU && !is_gtp_u(&datagram) {
                return;
            }
            layers.push(tunnel.layer);
            payload = decapsulation::reach(tunnel.carried, &mut layers);
        }
    }

    /// The same of the segment in a datagram.
    fn counted_of(&self, datagram: &Datagram<'_>, layers: &[Layer], before: Before, give: impl FnMut(&[u8])) {
        let Some(segment) = tcp::segment(datagram.payload, datagram.missing) else {
            return;
        };
        let Some(path) = self.paths.known(layers) else { return };
        let source = SocketAddr::new(datagram.source, segment.source_port);
        let destination = SocketAddr::new(datagram.destination, segment.destination_port);
        let slot = match self.slots.get(&Ends::between(source, destination, path)) {
            Some(Slot::Other(first)) => self.slots.get(&Ends::between(source, destination, *first)),
            slot => slot,
        };
        if let Some(Slot::Live(flow)) = slot {
            let flow: &Flow = flow;
            flow.counted(source, &segment, before, give);
        }
    }
}

/// The packet of ESP in a datagram, and how many of its bytes were not captured.
fn esp_of<'a>(datagram: &Datagram<'a>) -> Option<(&'a [u8], usize)> {
    if datagram.protocol == ip::ESP {
        return Some((datagram.payload, datagram.missing));
    }
    let udp = udp::udp(datagram.payload, datagram.missing).filter(|_| datagram.protocol == ip::UDP)?;
    let is_here = [udp.source_port, udp.destination_port].contains(&udp::IKE_NAT);
    match udp::encapsulated(udp.payload) {
        Encapsulated::Esp(packet) if is_here => Some((packet, udp.missing)),
        _ => None,
    }
}

/// Returns true if the reader of GTP-U, and no other, takes this: it reads the headers.
fn is_gtp_u(datagram: &Datagram<'_>) -> bool {
    udp::udp(datagram.payload, datagram.missing).is_some_and(|udp| {
        let ports = [udp.source_port, udp.destination_port];
        !ports.iter().any(|port| matches!(*port, udp::IKE | udp::IKE_NAT))
            && datagrams::recognise(&udp) == Some(DatagramProtocol::GtpU)
    })
}

/// The place of these bytes, which are a part of the packet.
fn give_place(packet: &[u8], bytes: &[u8], give: &mut impl FnMut(Range<usize>)) {
    let start = (bytes.as_ptr() as usize).wrapping_sub(packet.as_ptr() as usize);
    if start.checked_add(bytes.len()).is_some_and(|end| end <= packet.len()) {
        give(start..start + bytes.len());
    }
}
