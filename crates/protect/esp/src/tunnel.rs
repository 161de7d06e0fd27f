//! Tunnel mode: whole IP packets between two gateways (RFC 4303, section 3.1.2; headers as in RFC 4301, section 5.1.2).

use crate::error::{OpenError, SealError};
use crate::inbound::Inbound;
use crate::ip::{self, Headers};
use crate::outbound::Outbound;

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
