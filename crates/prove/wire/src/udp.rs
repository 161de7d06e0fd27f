//! UDP (RFC 768), and what shares port 4500 (RFC 3948).

/// One UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// The captured payload.
    pub payload: &'a [u8],
    /// Bytes of payload behind it that were sent and not captured.
    pub missing: usize,
    /// Captured bytes behind it in its packet, which its length does not cover (RFC 9868).
    pub surplus: &'a [u8],
}

/// Reads the datagram an IP packet carries, of which `missing` bytes were not captured; none where it is shorter than
/// its header, or its length cannot be right.
pub fn udp(bytes: &[u8], missing: usize) -> Option<Udp<'_>> {
    let (header, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let sent = rest.len() + missing;
    // Zero is what segmentation offload leaves, as in IPv4.
    let length = if length == 0 { sent } else { length.checked_sub(8)? };
    if length > sent {
        return None;
    }
    let (payload, surplus) = rest.split_at(length.min(rest.len()));
    Some(Udp {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
        payload,
        missing: length - payload.len(),
        surplus,
    })
}

/// Port of IKE (RFC 7296, section 2).
pub const IKE: u16 = 500;
/// Port of IKE and ESP where addresses may be translated (RFC 3948).
pub const IKE_NAT: u16 = 4500;

/// Content of a datagram on port 4500.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulated<'a> {
    /// IKE, behind the four zero bytes of the non-ESP marker.
    Ike(&'a [u8]),
    /// ESP.
    Esp(&'a [u8]),
    /// One byte 0xff that keeps a translation alive.
    KeepAlive,
    /// None of these.
    Unknown,
}

/// Tells what shares port 4500 (RFC 3948, section 2).
pub fn encapsulated(payload: &[u8]) -> Encapsulated<'_> {
    match payload {
        [0xff] => Encapsulated::KeepAlive,
        [0, 0, 0, 0, message @ ..] => Encapsulated::Ike(message),
        // SPI and sequence number.
        packet if packet.len() >= 8 => Encapsulated::Esp(packet),
        _ => Encapsulated::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_behind_a_datagram_is_not_payload() {
        let read = udp(&[1, 0xf4, 0x11, 0x94, 0, 10, 0, 0, b'a', b'b', 0, 0], 0).unwrap();
        assert_eq!((read.source_port, read.destination_port), (IKE, IKE_NAT));
        assert_eq!((read.payload, read.missing, read.surplus), (&b"ab"[..], 0, &[0, 0][..]));
    }

    #[test]
    fn a_snapped_datagram_says_how_much_is_missing() {
        let read = udp(&[0, 1, 0, 2, 0, 18, 0, 0, b'a'], 9).unwrap();
        assert_eq!((read.payload, read.missing), (&b"a"[..], 9));
    }

    #[test]
    fn a_length_that_cannot_be_right_is_no_datagram() {
        assert_eq!(udp(&[0, 1, 0, 2, 0, 7, 0, 0], 0), None);
        assert_eq!(udp(&[0, 1, 0, 2, 0, 9, 0, 0], 0), None);
        assert_eq!(udp(&[0; 7], 0), None);
    }

    #[test]
    fn what_shares_port_4500_is_distinguished() {
        assert_eq!(encapsulated(&[0xff]), Encapsulated::KeepAlive);
        assert_eq!(encapsulated(&[0, 0, 0, 0, 7]), Encapsulated::Ike(&[7]));
        assert_eq!(
            encapsulated(&[0, 0, 1, 0, 0, 0, 0, 1]),
            Encapsulated::Esp(&[0, 0, 1, 0, 0, 0, 0, 1])
        );
        assert_eq!(encapsulated(&[1, 2, 3]), Encapsulated::Unknown);
        assert_eq!(encapsulated(&[]), Encapsulated::Unknown);
    }
}
