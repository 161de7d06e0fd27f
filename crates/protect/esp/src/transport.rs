//! Transport mode: the payload of an IP packet between two hosts (RFC 4303, section 3.1.1).

use bartizan_registry::IP_PACKET_MOST;
use bartizan_wire::checksum;
use bartizan_wire::ip::{ESP, TCP, UDP};

use crate::error::{OpenError, SealError};
use crate::inbound::Inbound;
use crate::ip::{Carrier, Headers};
use crate::outbound::Outbound;
use crate::suite::Suite;

/// Bytes in front of the IP packet.
#[must_use]
pub fn headroom(carrier: Carrier, suite: Suite) -> usize {
    carrier.header() + suite.headroom()
}

/// Protects the payload of the IP packet of so many bytes that stands behind the headroom of the
/// buffer; how many bytes from its begin are the protected packet. Headers of IPv6 that are for
/// hosts on the way stay in front.
///
/// # Errors
/// If it is no IP packet of that length or a fragment of one, the buffer is too short, the result
/// would be too long or the SA's numbers are used up.
pub fn encapsulate(sa: &mut Outbound, carrier: Carrier, buffer: &mut [u8], length: usize) -> Result<usize, SealError> {
    let begin = headroom(carrier, sa.suite());
    let packet = buffer.get(begin..).and_then(|packet| packet.get(..length));
    let headers = packet.and_then(Headers::read).ok_or(SealError::NotIp)?;
    if headers.total != length {
        return Err(SealError::NotIp);
    }
    if headers.is_fragment {
        return Err(SealError::Fragment);
    }
    let payload = length - headers.payload;
    let needed = headers.payload + carrier.header() + sa.suite().sealed_length(payload);
    if needed > usize::from(IP_PACKET_MOST) {
        return Err(SealError::TooLong);
    }
    let given = buffer.len();
    if given < needed {
        return Err(SealError::Buffer { given, needed });
    }
    // The headers move to the front; what they carry is sealed where it stands.
    buffer.copy_within(begin..begin + headers.payload, 0);
    sa.seal(
        &mut buffer[headers.payload + carrier.header()..],
        payload,
        headers.protocol,
    )?;
    let packet = &mut buffer[..needed];
    if let Some(between) = headers.addresses(packet) {
        carrier.write(&mut packet[headers.payload..], between);
    }
    headers.rewrite(packet, carrier.protocol());
    Ok(needed)
}

/// Opens an IP packet that carries ESP, itself or in UDP, and gives the packet that was protected.
///
/// In UDP addresses may have been translated, which checksums of TCP and UDP inside do not know:
/// they are computed anew, as the integrity of what they cover is proven (RFC 3948, section 3.1.2).
///
/// # Errors
/// As [`Inbound::open`]; where it is no IP packet, a fragment of one, or carries something else.
pub fn open<'a>(sa: &mut Inbound, packet: &'a mut [u8]) -> Result<&'a mut [u8], OpenError> {
    let headers = Headers::read(packet).ok_or(OpenError::NotIp)?;
    if headers.is_fragment {
        return Err(OpenError::Fragment);
    }
    let carried = match headers.protocol {
        ESP => Carrier::Ip.header(),
        UDP => Carrier::Udp {
            source: 0,
            destination: 0,
        }
        .header(),
        _ => return Err(OpenError::NotIp),
    };
    let between = headers.addresses(packet).ok_or(OpenError::NotIp)?;
    let begin = headers.payload + carried;
    let esp = packet.get_mut(begin..headers.total).ok_or(OpenError::Length)?;
    let opened = sa.open(esp)?;
    let (protocol, length) = (opened.next_header, opened.payload.len());
    if carried > 0 {
        checksums(protocol, opened.payload, between);
    }
    // The headers move to what they carry.
    let start = begin + sa.suite().headroom() - headers.payload;
    packet.copy_within(..headers.payload, start);
    let packet = packet
        .get_mut(start..start + headers.payload + length)
        .ok_or(OpenError::Length)?;
    headers.rewrite(packet, protocol);
    Ok(packet)
}

fn checksums(protocol: u8, payload: &mut [u8], between: (std::net::IpAddr, std::net::IpAddr)) {
    let at = match protocol {
        TCP => 16,
        // Without a checksum it stays (RFC 768).
        UDP if payload.get(6..8).is_some_and(|field| field != [0, 0]) => 6,
        _ => return,
    };
    let Some(field) = payload.get_mut(at..at + 2) else {
        return;
    };
    field.fill(0);
    let sum = checksum::over_addresses(between.0, between.1, protocol, payload);
    payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}
