//! Tunnel mode: whole IP packets between two gateways (RFC 4303, section 3.1.2; headers as in RFC 4301, section 5.1.2).

use std::net::IpAddr;

use bartizan_registry::IP_PACKET_MOST;

use crate::error::{OpenError, SealError};
use crate::inbound::Inbound;
use crate::ip::{self, Carrier, Headers};
use crate::outbound::Outbound;
use crate::suite::Suite;

/// IP in IP, as ESP's next header names it.
const IPV4: u8 = 4;
/// IPv6 in IP.
const IPV6: u8 = 41;
/// The two bits of a traffic class that say whether congestion was met (RFC 3168, section 5).
const ECN: u8 = 0b11;
const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;

/// Fragmentation of the outer packet on its way; in IPv6 there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DontFragment {
    /// As the inner packet says; an IPv6 packet says that it may not.
    Copy,
    /// Never: what is too long must be known before (path MTU).
    Set,
    /// May be.
    Clear,
}

/// The headers around ESP packets of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// This gateway.
    pub source: IpAddr,
    /// The other, with an address of the same version.
    pub destination: IpAddr,
    /// Carrier of the packets.
    pub carrier: Carrier,
    /// Hop limit of the outer packet.
    pub hop_limit: u8,
    /// Fragmentation of the outer packet.
    pub dont_fragment: DontFragment,
    /// Inner packets that are shorter are sent as if they had so many bytes (RFC 4303, section
    /// 2.7); zero hides no length.
    pub least: usize,
}

impl Tunnel {
    /// Bytes in front of the inner packet.
    #[must_use]
    pub fn headroom(&self, suite: Suite) -> usize {
        ip::outer((self.source, self.destination)) + self.carrier.header() + suite.headroom()
    }

    /// Puts the IP packet of so many bytes that stands behind the headroom of the buffer into the
    /// tunnel; how many bytes from its begin are the outer IP packet. DSCP and ECN are copied (RFC
    /// 6040, section 4.1).
    ///
    /// # Errors
    /// As [`seal`], and where the outer packet would be longer than an IP packet can be.
    pub fn encapsulate(&self, sa: &mut Outbound, buffer: &mut [u8], length: usize) -> Result<usize, SealError> {
        let between = (self.source, self.destination);
        let (header, carrier) = (ip::outer(between), self.carrier.header());
        let esp = sa.suite().sealed_length(length.max(self.least));
        // The length of IPv4 has its header in it, that of IPv6 has not: the shorter limit holds for both.
        if header + carrier + esp > usize::from(IP_PACKET_MOST) {
            return Err(SealError::TooLong);
        }
        let (given, needed) = (buffer.len(), header + carrier + esp);
        if given < needed {
            return Err(SealError::Buffer { given, needed });
        }
        let inner = buffer.get(self.headroom(sa.suite())..).unwrap_or_default();
        let headers = inner.get(..length).and_then(Headers::read).ok_or(SealError::NotIp)?;
        let class = ip::traffic_class(inner);
        let dont_fragment = match self.dont_fragment {
            DontFragment::Copy => headers.is_v6 || inner[6] & 0x40 != 0,
            DontFragment::Set => true,
            DontFragment::Clear => false,
        };
        let written = seal(sa, &mut buffer[header + carrier..], length, self.least)?;
        let packet = &mut buffer[..header + carrier + written];
        self.carrier.write(&mut packet[header..], between);
        // If a packet may be fragmented, its number distinguishes its fragments from another's.
        let identification = if dont_fragment { 0 } else { sa.sent() as u16 };
        let (traffic, fragments) = ((class, self.hop_limit), (identification, dont_fragment));
        ip::write_outer(packet, between, self.carrier.protocol(), traffic, fragments);
        Ok(packet.len())
    }
}

/// Seals the IP packet of so many bytes that stands behind the headroom of the SA, for a socket
/// that writes the outer headers itself. If it is shorter than `least`, zeros behind it hide its
/// length.
///
/// # Errors
/// If it is no IP packet of that length, the buffer is too short or the SA's numbers are used up.
pub fn seal(sa: &mut Outbound, buffer: &mut [u8], length: usize, least: usize) -> Result<usize, SealError> {
    let (begin, given) = (sa.headroom(), buffer.len());
    let payload = length.max(least);
    let needed = sa.suite().sealed_length(payload);
    let content = buffer.get_mut(begin..).and_then(|content| content.get_mut(..payload));
    let content = content.ok_or(SealError::Buffer { given, needed })?;
    let headers = Headers::read(&content[..length]).ok_or(SealError::NotIp)?;
    if headers.total != length {
        return Err(SealError::NotIp);
    }
    content[length..].fill(0);
    let next_header = if headers.is_v6 { IPV6 } else { IPV4 };
    sa.seal(buffer, payload, next_header)
}

/// Opens an ESP packet and gives the inner packet, without what hid its length. `class` is the
/// traffic class of the outer header: congestion that it signals is passed on to the inner packet
/// (RFC 6040, section 4.2).
///
/// # Errors
/// As [`Inbound::open`]; where no whole IP packet is in it, or congestion cannot be passed on.
pub fn open<'a>(sa: &mut Inbound, packet: &'a mut [u8], class: u8) -> Result<&'a mut [u8], OpenError> {
    let opened = sa.open(packet)?;
    let headers = Headers::read(opened.payload).ok_or(OpenError::NotIp)?;
    if opened.next_header != if headers.is_v6 { IPV6 } else { IPV4 } {
        return Err(OpenError::NotIp);
    }
    let inner = opened.payload.get_mut(..headers.total).ok_or(OpenError::NotIp)?;
    let own = ip::traffic_class(inner);
    let ecn = match (own & ECN, class & ECN) {
        (NOT_ECT, CE) => return Err(OpenError::Congestion),
        (ECT_0 | ECT_1, CE) => CE,
        (ECT_0, ECT_1) => ECT_1,
        (as_it_is, _) => as_it_is,
    };
    if ecn != own & ECN {
        ip::set_traffic_class(inner, own & !ECN | ecn);
    }
    Ok(inner)
}
