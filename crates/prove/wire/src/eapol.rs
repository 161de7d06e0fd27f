//! EAP over LANs (IEEE 802.1X-2020, clause 11): who may use a port, and how the keys of MACsec are agreed on.
//!
//! [`pdu`] reads a frame's payload. EAP packets are read by [`crate::eap`], MKA by [`crate::mka`].

use crate::frames::Station;

/// EtherType of EAP over LANs.
pub const ETHERTYPE: u16 = 0x888e;

/// Packet types (table 11-3).
pub mod kind {
    /// A packet of EAP.
    pub const EAP: u8 = 0;
    /// EAPOL-Start.
    pub const START: u8 = 1;
    /// EAPOL-Logoff.
    pub const LOGOFF: u8 = 2;
    /// EAPOL-Key: of IEEE 802.11, or of what came before MKA.
    pub const KEY: u8 = 3;
    /// MKA.
    pub const MKA: u8 = 5;
}

/// Protocol versions up to 802.1X-2020, clause 11.3.1; later ones are read alike.
const FIRST_VERSION: u8 = 1;

/// A frame of EAP over LANs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pdu<'a> {
    /// Its packet type.
    pub kind: u8,
    /// The body, as far as it was captured.
    pub body: &'a [u8],
    /// Bytes of the body that were not captured.
    pub missing: usize,
}

/// Reads the payload of a frame; padding of Ethernet stands behind the body.
pub fn pdu(payload: &[u8]) -> Option<Pdu<'_>> {
    let (&[version, kind, high, low], rest) = payload.split_first_chunk::<4>()?;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let body = &rest[..length.min(rest.len())];
    (version >= FIRST_VERSION).then_some(Pdu {
        kind,
        body,
        missing: length - body.len(),
    })
}

/// Returns true if a frame is addressed to the other end of the port (table 11-1): bridges do not
/// forward it.
#[must_use]
pub fn is_for_port(receiver: Station) -> bool {
    matches!(receiver.0, [0x01, 0x80, 0xc2, 0x00, 0x00, 0x00 | 0x03 | 0x0e])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_ends_where_its_length_says_and_what_was_not_captured_is_reported() {
        let start = pdu(&[2, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!((start.kind, start.body, start.missing), (kind::START, &[][..], 0));
        let cut = pdu(&[3, 0, 0, 9, 1, 7]).unwrap();
        assert_eq!((cut.body, cut.missing), (&[1, 7][..], 7));
        assert_eq!(pdu(&[0, 0, 0, 0]), None);
        assert_eq!(pdu(&[2, 0, 0]), None);
    }
}
