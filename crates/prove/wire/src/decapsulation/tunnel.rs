//! Tunnels in IP packets, by protocol number; of those in UDP see [`udp`](super::udp).

use super::frame::Carried;
use super::{MPLS_UNICAST, gre, looks_like_ethernet, looks_like_ip, udp};
use crate::ip::{self, Datagram};
use crate::path::{Encapsulation, Layer};

/// A packet carried from one end of a tunnel to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tunnel<'a> {
    /// Kind and number; its ends are those of the packet.
    pub(crate) layer: Layer,
    pub(crate) carried: Carried<'a>,
}

impl<'a> Tunnel<'a> {
    pub(super) fn new(layer: Layer, carried: Carried<'a>) -> Self {
        Self { layer, carried }
    }
}

/// IP protocol numbers of tunnels.
pub(super) mod number {
    pub(in crate::decapsulation) const IPV4: u8 = 4;
    pub(in crate::decapsulation) const IPV6: u8 = 41;
    pub(in crate::decapsulation) const GRE: u8 = 47;
    pub(in crate::decapsulation) const IPIP: u8 = 94;
    pub(in crate::decapsulation) const ETHERIP: u8 = 97;
    pub(in crate::decapsulation) const L2TP: u8 = 115;
    pub(in crate::decapsulation) const MPLS: u8 = 137;
    pub(in crate::decapsulation) const ETHERNET: u8 = 143;
}

/// Opens the tunnel that a whole packet is of; none where it is of none, or what is carried is not followed.
pub(crate) fn opens<'a>(datagram: &Datagram<'a>) -> Option<Tunnel<'a>> {
    let payload = datagram.payload;
    let tunnel = match datagram.protocol {
        // Nearly every packet.
        ip::TCP => return None,
        ip::UDP => udp::open(payload, datagram.missing)?,
        number::IPV4 | number::IPV6 | number::IPIP => {
            // A version that is neither is no packet of IP.
            matches!(payload.first()? >> 4, 4 | 6).then_some(())?;
            Tunnel::new(Layer::new(Encapsulation::IpInIp, None), Carried::Ip(payload))
        }
        number::GRE => gre::open(payload)?,
        number::ETHERIP => {
            // Version 3, and twelve bits of zero.
            let frame = payload.strip_prefix(&[0x30, 0])?;
            Tunnel::new(Layer::new(Encapsulation::EtherIp, None), Carried::Ethernet(frame))
        }
        number::ETHERNET => Tunnel::new(Layer::new(Encapsulation::EtherIp, None), Carried::Ethernet(payload)),
        number::L2TP => l2tp_over_ip(payload)?,
        number::MPLS => Tunnel::new(
            Layer::new(Encapsulation::MplsInIp, None),
            Carried::Typed(MPLS_UNICAST, payload),
        ),
        _ => return None,
    };
    let layer = tunnel.layer.between(datagram.source, datagram.destination);
    Some(Tunnel { layer, ..tunnel })
}

/// Sessions of L2TP version 3 straight in IP (RFC 3931, section 4.1.1). Session zero is control.
fn l2tp_over_ip(payload: &[u8]) -> Option<Tunnel<'_>> {
    let (session, rest) = payload.split_first_chunk::<4>()?;
    match u32::from_be_bytes(*session) {
        0 => None,
        session => l2tp_session(session, rest),
    }
}

/// Payload of an L2TP version 3 session: a frame or a packet, behind a cookie and a sublayer whose
/// lengths only its ends know. Its place is the first at which the bytes look like one.
pub(super) fn l2tp_session(session: u32, rest: &[u8]) -> Option<Tunnel<'_>> {
    let layer = Layer::new(Encapsulation::L2tp, session);
    // A cookie of none, four or eight octets, and a sublayer of none or four.
    [0, 4, 8, 12].into_iter().find_map(|length| {
        let inner = rest.get(length..)?;
        if looks_like_ethernet(inner) {
            Some(Tunnel::new(layer, Carried::Ethernet(inner)))
        } else if looks_like_ip(inner) {
            Some(Tunnel::new(layer, Carried::Ip(inner)))
        } else {
            None
        }
    })
}
