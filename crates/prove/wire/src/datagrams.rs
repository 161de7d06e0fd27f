//! Packets that belong to no connection: what UDP carries on the interfaces of a mobile network
//! besides IKE and ESP (GTP-U, PFCP and GTPv2-C, recognised by port and header), and all that
//! nothing recognises, between its two ends: UDP, other IP protocols, frames without IP. Counted,
//! never stored.

mod answers;
mod message;
mod named;
mod protocol;

pub(crate) use answers::Answers;
pub use message::Messages;
pub use named::Named;
pub(crate) use named::Numbered;
pub(crate) use protocol::of_frame;
pub use protocol::{DatagramProtocol, ETHERTYPE_ECPRI, ETHERTYPE_PTP, recognise};

use crate::connection::Captured;
use crate::dtls::Dtls;
use crate::eap::Eap;
use crate::end::End;
use crate::macsec::MacSec;
use crate::mka::Mka;
use crate::path::Path;
use crate::quic::Quic;
use crate::udp::Udp;
use crate::{Moment, Side};

/// One direction's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramsSent {
    /// Packets.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
}

bartizan_registry::made! {
    /// Everything of one protocol between two ends: between two sockets of UDP that nothing recognises,
    /// and of QUIC; else between two hosts, or two stations.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Datagrams, pub(crate) new(
        number: u64, protocol: DatagramProtocol, path: Path, [source, destination]: [End; 2],
        at: Moment,
    ) {
        /// Its place in the order of first packets, from 1, among everything an observer gives.
        pub number: u64 = number,
        /// Protocol.
        pub protocol: DatagramProtocol = protocol,
        /// Encapsulation.
        pub path: Path = path,
        /// The end that sent first.
        pub client: End = source,
        /// The other end.
        pub server: End = destination,
        /// First packet.
        pub first: Moment = at,
        /// Last packet.
        pub last: Moment = at,
        /// Datagrams from the client.
        pub from_client: DatagramsSent = DatagramsSent::default(),
        /// Datagrams from the server.
        pub from_server: DatagramsSent = DatagramsSent::default(),
        /// Packets of the capture that belong to it and to nothing in it.
        pub captured: Captured = Captured::default(),
        /// GTP-U, PFCP and GTPv2-C messages by type and endpoint.
        pub messages: Messages = Messages::default(),
        /// GTP-U messages that carry a user's packet (G-PDU).
        pub user_packets: u64 = 0,
        /// G-PDUs that hold an unencrypted IP packet.
        pub user_packets_in_plaintext: u64 = 0,
        /// The first of these.
        pub first_in_plaintext: Option<Moment> = None,
        /// PFCP: the end that establishes sessions (the control plane).
        pub controlled_by: Option<Side> = None,
        /// QUIC: contents of its Initial packets. Its client is the client here.
        pub quic: Option<Box<Quic>> = None,
        /// DTLS: contents of its handshake. Its client is the client here.
        pub dtls: Option<Box<Dtls>> = None,
        /// Contents of frames at a port under IEEE 802.1X, or of MACsec.
        pub port: Option<Box<Port>> = None,
    }
}

/// Contents of frames at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Port {
    /// EAP. Its peer is the client.
    Eap(Eap),
    /// MKA.
    Mka(Mka),
    /// MACsec.
    MacSec(MacSec),
}

impl Datagrams {
    /// EAP at the port, if its frames are EAP.
    pub fn eap(&self) -> Option<&Eap> {
        match self.port.as_deref() {
            Some(Port::Eap(eap)) => Some(eap),
            _ => None,
        }
    }
}

impl Datagrams {
    /// Takes a packet of so many bytes of payload that one of the two ends sent.
    pub(crate) fn packet(&mut self, source: End, bytes: u64, at: Moment) -> Side {
        let side = if source == self.client {
            Side::Client
        } else {
            Side::Server
        };
        self.sent(side, bytes, at);
        side
    }

    /// The same of an end that is known.
    pub(crate) fn sent(&mut self, side: Side, bytes: u64, at: Moment) {
        let sent = match side {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        };
        sent.packets += 1;
        sent.bytes += bytes;
        self.last = at;
    }

    /// Takes the payload of a frame that one of the two stations sent.
    pub(crate) fn frame(&mut self, source: End, payload: &[u8], at: Moment) {
        let side = self.packet(source, payload.len() as u64, at);
        for header in message::headers(self.protocol, payload) {
            self.messages.take(header, side);
        }
    }

    /// Takes a datagram that one of the two ends sent.
    pub(crate) fn datagram(&mut self, source: End, udp: &Udp<'_>, at: Moment) -> Side {
        let side = self.packet(source, (udp.payload.len() + udp.missing) as u64, at);
        for header in message::headers(self.protocol, udp.payload) {
            self.messages.take(header, side);
            if self.protocol == DatagramProtocol::Pfcp {
                self.controls(header.kind, side);
            }
        }
        if self.protocol == DatagramProtocol::GtpU
            && let Some((_, carried, missing)) = carried(udp)
        {
            self.user_packets += 1;
            if is_ip(carried, missing) {
                self.user_packets_in_plaintext += 1;
                self.first_in_plaintext.get_or_insert(at);
            }
        }
        side
    }

    /// The end that establishes sessions is the control plane.
    fn controls(&mut self, kind: u8, side: Side) {
        let other = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        match kind {
            // Session Establishment Request and its response (TS 29.244, table 7.3-1).
            50 => self.controlled_by = Some(side),
            51 => self.controlled_by = Some(other),
            _ => {}
        }
    }
}

/// The tunnel of a user's packet in a datagram of GTP-U, what is carried in it, and bytes of that
/// which were not captured.
pub(crate) fn carried_by<'a>(udp: &Udp<'a>) -> Option<(u32, &'a [u8], usize)> {
    (recognise(udp) == Some(DatagramProtocol::GtpU)).then(|| carried(udp))?
}

/// The tunnel of a G-PDU, what it carries behind its header and extension headers (TS 29.281,
/// sections 5.1 and 5.2), and bytes of that which were not captured.
fn carried<'a>(udp: &Udp<'a>) -> Option<(u32, &'a [u8], usize)> {
    const G_PDU: u8 = 255;
    const EXTENSIONS: usize = 8;
    let length = 8 + usize::from(u16::from_be_bytes(*udp.payload.get(2..)?.first_chunk()?));
    let message = &udp.payload[..length.min(udp.payload.len())];
    let missing = length - message.len();
    let (header, mut rest) = message.split_first_chunk::<8>()?;
    if header[1] != G_PDU {
        return None;
    }
    let tunnel = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    if header[0] & 0x07 != 0 {
        let (optional, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        let mut next = if header[0] & 0x04 != 0 { optional[3] } else { 0 };
        for _ in 0..EXTENSIONS {
            if next == 0 {
                break;
            }
            // Its length in units of four octets; its last octet is the type of the next.
            let length = usize::from(*rest.first()?) * 4;
            next = *rest.get(length.checked_sub(1)?)?;
            rest = &rest[length..];
        }
    }
    Some((tunnel, rest, missing))
}

/// Returns true if bytes are an IP packet, whose last `missing` bytes were not captured.
pub(crate) fn is_ip(bytes: &[u8], missing: usize) -> bool {
    let Some(header) = bytes.first_chunk::<20>() else {
        return false;
    };
    let room = bytes.len() + missing;
    match header[0] >> 4 {
        4 => header[0] & 0x0f >= 5 && usize::from(u16::from_be_bytes([header[2], header[3]])) == room,
        6 => usize::from(u16::from_be_bytes([header[4], header[5]])) + 40 == room,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
