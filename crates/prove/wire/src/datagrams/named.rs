//! Protocols over UDP that are known by name, recognised by the structure of their messages; a port
//! alone proves nothing, and is asked for where a structure is weak.

use crate::cursor::Cursor;
use crate::udp::Udp;

bartizan_registry::named! {
    /// A protocol that is named, and not read further.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Named, name {
        /// WireGuard (Noise_IKpsk2 over X25519).
        WireGuard = "WireGuard",
        /// OpenVPN.
        OpenVpn = "OpenVPN",
        /// SIP (RFC 3261).
        Sip = "SIP",
        /// SSDP, HTTP in datagrams.
        Ssdp = "SSDP",
        /// RADIUS (RFC 2865).
        Radius = "RADIUS",
        /// SNMP version 1 (RFC 1157).
        Snmp1 = "SNMPv1",
        /// SNMP version 2c (RFC 1901).
        Snmp2 = "SNMPv2c",
        /// SNMP version 3 (RFC 3412) that does not encrypt.
        Snmp3 = "SNMPv3 without privacy",
        /// SNMP version 3 that encrypts (RFC 3414).
        Snmp3Private = "SNMPv3 with privacy",
        /// GTPv1-C (TS 29.060).
        Gtp1C = "GTPv1-C",
        /// GTP' (TS 32.295): charging data.
        GtpPrime = "GTP'",
        /// RTP (RFC 3550), or SRTP (RFC 3711).
        Rtp = "RTP",
        /// RTCP, or SRTCP.
        Rtcp = "RTCP",
        /// STUN and TURN (RFC 8489).
        Stun = "STUN",
        /// DNS (RFC 1035), also of several networks' own kinds: multicast, NetBIOS.
        Dns = "DNS",
        /// NTP (RFC 5905).
        Ntp = "NTP",
        /// PTP (IEEE 1588).
        Ptp = "PTP",
        /// Syslog (RFC 3164, RFC 5424).
        Syslog = "syslog",
        /// DHCP of both versions (RFC 2131, RFC 8415).
        Dhcp = "DHCP",
        /// nFAPI's user plane, P7 (Small Cell Forum 225).
        Nfapi = "nFAPI",
        /// eCPRI: open fronthaul over UDP.
        Ecpri = "eCPRI",
    }
}

impl Named {
    /// Ports that it is looked for on, where its structure is too weak to be believed anywhere;
    /// none where it is recognised by structure alone.
    pub fn ports(self) -> &'static [u16] {
        match self {
            Self::Gtp1C => &[2123],
            Self::GtpPrime => &[3386],
            Self::Ntp => &[123],
            Self::Ptp => &[319, 320],
            Self::OpenVpn => &[1194],
            Self::WireGuard
            | Self::Sip
            | Self::Ssdp
            | Self::Radius
            | Self::Snmp1
            | Self::Snmp2
            | Self::Snmp3
            | Self::Snmp3Private
            | Self::Rtp
            | Self::Rtcp
            | Self::Stun
            | Self::Dns
            | Self::Syslog
            | Self::Dhcp
            | Self::Nfapi
            | Self::Ecpri => &[],
        }
    }

    /// Returns true if other datagrams may look like one by chance: next to datagrams of no known
    /// protocol it is none.
    pub(crate) fn is_weak(self) -> bool {
        match self {
            Self::Radius
            | Self::Gtp1C
            | Self::GtpPrime
            | Self::Rtcp
            | Self::Ntp
            | Self::Ptp
            | Self::OpenVpn
            | Self::Nfapi
            | Self::Ecpri => true,
            // A cookie, text, or elements that fill the datagram.
            Self::WireGuard
            | Self::Sip
            | Self::Ssdp
            | Self::Snmp1
            | Self::Snmp2
            | Self::Snmp3
            | Self::Snmp3Private
            | Self::Rtp
            | Self::Stun
            | Self::Dns
            | Self::Syslog
            | Self::Dhcp => false,
        }
    }

    /// Returns true if everything it sends is readable.
    #[must_use]
    pub fn is_plaintext(self) -> bool {
        !matches!(
            self,
            Self::WireGuard | Self::OpenVpn | Self::Snmp3Private | Self::Rtp | Self::Rtcp
        )
    }
}

/// The protocol of a datagram, by its structure.
pub(super) fn named(udp: &Udp<'_>) -> Option<Named> {
    let (bytes, sent) = (udp.payload, udp.payload.len() + udp.missing);
    let by_port = |named: Named| {
        let on = |port: &u16| udp.source_port == *port || udp.destination_port == *port;
        named.ports().iter().any(on)
    };
    let first = *bytes.first()?;
    let found = match first {
        0x01..=0x04 if is_wireguard(bytes, sent) => Named::WireGuard,
        b'<' if is_syslog(bytes) => Named::Syslog,
        0x30 if snmp(bytes, sent).is_some() => snmp(bytes, sent)?,
        b'A'..=b'Z' if is_sip(bytes) => Named::Sip,
        b'H' | b'M' | b'N' if is_ssdp(bytes) => Named::Ssdp,
        0x10 if is_ecpri(bytes, sent) => Named::Ecpri,
        0x30..=0x3f if by_port(Named::Gtp1C) && is_gtp(bytes, sent) => Named::Gtp1C,
        _ if by_port(Named::GtpPrime) && is_gtp_prime(bytes, sent) => Named::GtpPrime,
        0x80..=0xbf if is_rtcp(bytes, sent) => Named::Rtcp,
        0x00..=0x3f if is_stun(bytes, sent) => Named::Stun,
        1 | 2 if is_dhcp(bytes) => Named::Dhcp,
        1..=13 if is_dhcp_of_ipv6(udp) => Named::Dhcp,
        1..=63 if is_radius(bytes, sent) => Named::Radius,
        _ if by_port(Named::Ntp) && is_ntp(bytes, sent) => Named::Ntp,
        _ if by_port(Named::Ptp) && is_ptp(bytes, sent) => Named::Ptp,
        _ if by_port(Named::OpenVpn) && matches!(first >> 3, 1..=11) && sent >= 14 => Named::OpenVpn,
        _ if is_dns(bytes, udp.missing) => Named::Dns,
        _ if is_nfapi(bytes, sent) => Named::Nfapi,
        _ => return None,
    };
    Some(found)
}

/// Its four messages by type, three zero bytes, and length.
fn is_wireguard(bytes: &[u8], sent: usize) -> bool {
    let Some(&[kind, 0, 0, 0]) = bytes.first_chunk() else {
        return false;
    };
    match kind {
        1 => sent == 148,
        2 => sent == 92,
        3 => sent == 64,
        // The content is padded. The counter begins at zero, and no session reaches its last two
        // bytes.
        _ => sent >= 32 && sent.is_multiple_of(16) && bytes.get(14..16) == Some(&[0, 0]),
    }
}

/// RFC 5424, section 6.2.1: a number of at most 191 in brackets, and text.
fn is_syslog(bytes: &[u8]) -> bool {
    let Some(end) = bytes.iter().take(5).position(|byte| *byte == b'>') else {
        return false;
    };
    let number = std::str::from_utf8(&bytes[1..end])
        .ok()
        .and_then(|number| number.parse().ok());
    let text = bytes[end + 1..].iter().take(16);
    number.is_some_and(|number: u16| number <= 191)
        && bytes.len() > end + 4
        && text
            .clone()
            .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// A request line or a status line (RFC 3261, section 7).
fn is_sip(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"SIP/2.0 ") {
        return true;
    }
    let line = bytes
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .next()
        .unwrap_or_default();
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let whole = words.next().is_some_and(|version| version == b"SIP/2.0");
    let scheme = [&b"sip:"[..], b"sips:", b"tel:"]
        .iter()
        .any(|scheme| target.starts_with(scheme));
    method.len() <= 16 && method.iter().all(u8::is_ascii_uppercase) && scheme && (whole || bytes.len() == line.len())
}

fn is_ssdp(bytes: &[u8]) -> bool {
    [
        &b"M-SEARCH * HTTP/1.1\r\n"[..],
        b"NOTIFY * HTTP/1.1\r\n",
        b"HTTP/1.1 200 OK\r\n",
    ]
    .iter()
    .any(|line| bytes.starts_with(line))
}

/// SNMP is a sequence of version and, of version 3, a header that says whether it encrypts (RFC 3412, section 6).
fn snmp(bytes: &[u8], sent: usize) -> Option<Named> {
    let mut message = Cursor::new(bytes);
    let before = sent - bytes.len();
    let length = ber(&mut message, 0x30)?;
    if length != message.rest().len() + before {
        return None;
    }
    let version = integer(&mut message)?;
    match version {
        // Behind it the community, and a PDU.
        0 | 1 => {
            let community = ber(&mut message, 0x04)?;
            message.take(community)?;
            let kind = message.u8()?;
            (0xa0..=0xa8)
                .contains(&kind)
                .then_some(if version == 0 { Named::Snmp1 } else { Named::Snmp2 })
        }
        3 => {
            ber(&mut message, 0x30)?;
            integer(&mut message)?;
            integer(&mut message)?;
            if ber(&mut message, 0x04)? != 1 {
                return None;
            }
            let flags = message.u8()?;
            Some(if flags & 0x02 != 0 {
                Named::Snmp3Private
            } else {
                Named::Snmp3
            })
        }
        _ => None,
    }
}

/// The type of a PDU and its request-id; of version 3, whose PDU may be encrypted, the message's
/// identifier alone (RFC 3416, section 3; RFC 3412, section 6).
pub(super) fn snmp_number(bytes: &[u8]) -> Option<(Option<u8>, u64)> {
    let mut message = Cursor::new(bytes);
    ber(&mut message, 0x30)?;
    if integer(&mut message)? == 3 {
        ber(&mut message, 0x30)?;
        return Some((None, integer(&mut message)?.into()));
    }
    let community = ber(&mut message, 0x04)?;
    message.take(community)?;
    let kind = *message.rest().first()?;
    ber(&mut message, kind)?;
    Some((Some(kind), integer(&mut message)?.into()))
}

/// The length of an element with this tag.
fn ber(cursor: &mut Cursor<'_>, tag: u8) -> Option<usize> {
    if cursor.u8()? != tag {
        return None;
    }
    match cursor.u8()? {
        short @ 0..=0x7f => Some(short.into()),
        0x81 => Some(cursor.u8()?.into()),
        0x82 => Some(cursor.u16()?.into()),
        0x83 => Some(cursor.u24()? as usize),
        _ => None,
    }
}

fn integer(cursor: &mut Cursor<'_>) -> Option<u32> {
    let length = ber(cursor, 0x02)?;
    let bytes = cursor.take(length).filter(|bytes| (1..=5).contains(&bytes.len()))?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

/// Version 1, protocol type GTP, and a length from behind its first eight bytes (TS 29.060, section 6).
fn is_gtp(bytes: &[u8], sent: usize) -> bool {
    length_at(bytes, 2).is_some_and(|length| length + 8 == sent)
}

/// Protocol type GTP' and its spare bits, a type that is assigned, and a header of six bytes, or of
/// twenty in version 0 (TS 32.295, section 6.1.1).
fn is_gtp_prime(bytes: &[u8], sent: usize) -> bool {
    let length = length_at(bytes, 2);
    let known = matches!(bytes.get(1), Some(1..=7 | 240 | 241));
    known
        && bytes[0] & 0x1e == 0x0e
        && bytes[0] >> 5 <= 2
        && length.is_some_and(|length| length + 6 == sent || length + 20 == sent)
}

/// A first packet with room for its report blocks, and behind it nothing, another packet or an
/// SRTCP index and tag (RFC 3550, sections 6.1 and 6.4; RFC 3711, section 3.4). SRTCP encrypts the
/// others.
fn is_rtcp(bytes: &[u8], sent: usize) -> bool {
    /// An index of four bytes and the shortest tag.
    const SRTCP: usize = 8;
    let (Some(&kind), Some(words)) = (bytes.get(1), length_at(bytes, 2)) else {
        return false;
    };
    let blocks = 6 * usize::from(bytes[0] & 0x1f);
    let least = match kind {
        200 => 6 + blocks,
        201 => 1 + blocks,
        // Reduced-size packets of feedback (RFC 5506).
        204..=206 => 2,
        _ => return false,
    };
    let length = 4 * (words + 1);
    let follows = match bytes.get(length..) {
        Some(&[first, kind, ..]) => first >> 6 == 2 && (200..=207).contains(&kind),
        Some(_) => length == sent,
        None => length <= sent,
    };
    words >= least && (follows || length + SRTCP <= sent)
}

/// A magic cookie, and a length from behind the header (RFC 8489, section 5).
fn is_stun(bytes: &[u8], sent: usize) -> bool {
    bytes.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42]) && length_at(bytes, 2).is_some_and(|length| length + 20 == sent)
}

/// Between the ports of client and server (RFC 8415, section 7.2), with options that fill the
/// message (sections 8 and 21.1).
fn is_dhcp_of_ipv6(udp: &Udp<'_>) -> bool {
    let between = matches!(
        (udp.source_port, udp.destination_port),
        (546, 547) | (547, 546) | (547, 547)
    );
    let header = if matches!(udp.payload[0], 12 | 13) { 34 } else { 4 };
    let Some(mut options) = udp.payload.get(header..).filter(|_| between) else {
        return false;
    };
    while let Some(length) = length_at(options, 2) {
        match options.get(4 + length..) {
            Some(rest) => options = rest,
            None => return udp.missing > 0,
        }
    }
    options.is_empty() || udp.missing > 0
}

fn is_dhcp(bytes: &[u8]) -> bool {
    bytes.get(236..240) == Some(&[0x63, 0x82, 0x53, 0x63])
}

/// A length as long as the datagram, and attributes that fill it (RFC 2865, section 3).
fn is_radius(bytes: &[u8], sent: usize) -> bool {
    let known = matches!(bytes[0], 1..=5 | 11..=13 | 40..=45);
    if !known || sent < 20 || length_at(bytes, 2) != Some(sent) {
        return false;
    }
    let mut attributes = bytes.get(20..).unwrap_or_default();
    while let [_, length, ..] = attributes {
        match attributes.get(usize::from(*length)..) {
            Some(rest) if *length >= 2 => attributes = rest,
            // The rest was not captured.
            None if sent > bytes.len() => return true,
            _ => return false,
        }
    }
    attributes.is_empty()
}

/// Version 1 to 4, and fields of a header in the ranges of a clock (RFC 5905, section 7.3), or a
/// message for control whose data fill it (RFC 9327, section 2).
fn is_ntp(bytes: &[u8], sent: usize) -> bool {
    /// Octets that a key identifier and a digest take.
    const DIGESTS: [usize; 3] = [0, 20, 24];
    let (version, mode) = (bytes[0] >> 3 & 7, bytes[0] & 7);
    if !(1..=4).contains(&version) {
        return false;
    }
    match (mode, bytes) {
        (1..=5, [_, stratum, poll, precision, delay @ ..]) => {
            // Root delay and root dispersion are below 16 seconds, and a client may send neither.
            let small = |at: usize| length_at(delay, at).is_some_and(|seconds| seconds < 16);
            let plausible = (-40..=32).contains(&precision.cast_signed()) && *poll <= 17 && *stratum <= 16;
            plausible && small(0) && small(4) && sent >= 48 && sent.is_multiple_of(4)
        }
        (6, _) => length_at(bytes, 10).is_some_and(|data| {
            let end = (12 + data).next_multiple_of(4);
            DIGESTS.iter().any(|digest| end + digest == sent) || 12 + data == sent
        }),
        // ntpd's own: items of one size behind a header of eight.
        (7, &[_, _, _, _, high, low, mbz, size, ..]) => {
            let items = usize::from(u16::from_be_bytes([high & 0x0f, low]));
            let length = 8 + items * usize::from(u16::from_be_bytes([mbz, size]));
            mbz & 0xf0 == 0 && (length == sent || matches!(sent, 48 | 192 | 216) && length <= sent)
        }
        _ => false,
    }
}

fn is_ptp(bytes: &[u8], sent: usize) -> bool {
    bytes.get(1).is_some_and(|version| version & 0x0f == 2) && length_at(bytes, 2) == Some(sent)
}

/// Revision 1, a message type that is assigned, and a length from behind the header.
fn is_ecpri(bytes: &[u8], sent: usize) -> bool {
    // The header of O-RAN's application layer in C- and U-plane messages is known: payload version
    // 1, and an undivided message (O-RAN.WG4.CUS, clauses 3.1.3.1.6 and 7.5.2). Other protocols
    // have a length there too.
    let sound = match bytes.get(1) {
        Some(0 | 2) => bytes.get(7) == Some(&0x80) && bytes.get(8).is_some_and(|first| first & 0x70 == 0x10),
        // The fixed fields of the other types (eCPRI 2.0, sections 3.2.4.2 to 3.2.4.8).
        Some(1 | 7 | 9 | 10) => sent >= 4 + 4,
        // PC_ID and SEQ_ID have four octets each in this type alone.
        Some(3) => sent >= 4 + 8,
        Some(4) => sent >= 4 + 12,
        Some(5) => sent >= 4 + 20 && bytes.get(5).is_some_and(|action| *action <= 5),
        Some(6) => sent >= 4 + 3,
        Some(8) => sent >= 4 + 9,
        Some(11) => sent >= 4 + 12,
        _ => false,
    };
    sound && length_at(bytes, 2).is_some_and(|length| length > 0 && length + 4 == sent)
}

/// A message of P7 that fills the datagram.
fn is_nfapi(bytes: &[u8], sent: usize) -> bool {
    let known = length_at(bytes, 2).is_some_and(|kind| matches!(kind, 0x80..=0x8f | 0x180..=0x183));
    known && sent >= 16 && bytes[0] == 0 && length_at(bytes, 4) == Some(sent)
}

/// Questions and records that fill the message (RFC 1035, section 4.1), as far as it was captured.
fn is_dns(bytes: &[u8], missing: usize) -> bool {
    fn name(cursor: &mut Cursor<'_>) -> Option<()> {
        loop {
            match cursor.u8()? {
                0 => return Some(()),
                length @ 1..=63 => {
                    cursor.take(length.into())?;
                }
                0xc0.. => {
                    cursor.u8()?;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
    fn records(cursor: &mut Cursor<'_>, counts: [u16; 4]) -> Option<()> {
        for _ in 0..counts[0] {
            name(cursor)?;
            cursor.take(4)?;
        }
        for _ in 0..counts[1..].iter().map(|count| u32::from(*count)).sum::<u32>() {
            name(cursor)?;
            cursor.take(8)?;
            let length = cursor.u16()?;
            cursor.take(length.into())?;
        }
        Some(())
    }
    let Some(&[_, _, high, low, a, b, c, d, e, f, g, h]) = bytes.first_chunk::<12>() else {
        return false;
    };
    let counts = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_be_bytes);
    let (opcode, reserved) = (high >> 3 & 0x0f, low & 0x40);
    if opcode > 6 || reserved != 0 || counts[0] > 16 || counts == [0; 4] {
        return false;
    }
    let mut cursor = Cursor::new(&bytes[12..]);
    match records(&mut cursor, counts) {
        Some(()) => cursor.is_empty() && missing == 0,
        None => missing > 0,
    }
}

/// Looks whether the datagrams between two sockets are RTP: of one source each way, and numbered
/// (RFC 3550, section 5.1). One alone tells nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbered {
    sources: [Option<(u32, u16)>; 2],
    fitting: u16,
    other: bool,
}

impl Numbered {
    /// Takes a datagram of an end.
    pub(crate) fn take(&mut self, bytes: &[u8], from: usize) {
        let Some(&[first, kind, high, low, _, _, _, _, a, b, c, d]) = bytes.first_chunk::<12>() else {
            self.other = true;
            return;
        };
        let number = u16::from_be_bytes([high, low]);
        let source = u32::from_be_bytes([a, b, c, d]);
        // Version 2, and room for the contributing sources.
        if first >> 6 != 2 || !(0..64).contains(&(kind & 0x7f)) && !(96..128).contains(&(kind & 0x7f)) {
            self.other = true;
            return;
        }
        if let Some((known, before)) = self.sources[from] {
            let step = number.wrapping_sub(before);
            // Some may be lost, or come late.
            self.other |= known != source || (step > 100 && step < u16::MAX - 100);
            self.fitting = self.fitting.saturating_add(1);
        }
        self.sources[from] = Some((source, number));
    }

    /// Returns true if none was anything else so far: RTCP may go between the same sockets
    /// (RFC 5761).
    pub(crate) fn may_be_rtp(&self) -> bool {
        !self.other
    }

    /// Returns true if all packets were RTP.
    pub(crate) fn is_rtp(&self) -> bool {
        !self.other && self.fitting >= 3
    }
}

#[cfg(test)]
mod tests;
