//! Packets of EAP, and the frames of EAPOL that carry them.

use bartizan_wire::eap::{EAP_TLS, REQUEST};
use bartizan_wire::eapol::kind;

/// The version of EAPOL that is sent: that of IEEE 802.1X-2010, the first with MKA.
const VERSION: u8 = 3;

bartizan_registry::made! {
    /// A packet of EAP (RFC 3748, section 4).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Packet<'a>,
    /// Reads the body of a frame of EAPOL.
    pub(super) read(body: &'a [u8]) -> Option<Self> {
        let (&[code, identifier, high, low], rest) = body.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let rest = rest.get(..length.checked_sub(4)?)?;
        pub(super) code: u8,
        pub(super) identifier: u8,
        /// Method of a request or a response, and its data.
        pub(super) method: Option<(u8, &'a [u8])> = rest.split_first().map(|(&method, data)| (method, data)),
    }
}

/// The payload of a frame with a packet of this code.
pub(super) fn frame(code: u8, identifier: u8, data: &[u8]) -> Vec<u8> {
    // Callers never give more than a fragment.
    let length = u16::try_from(data.len() + 4).unwrap_or(u16::MAX).to_be_bytes();
    let mut frame = Vec::with_capacity(data.len() + 8);
    frame.extend([VERSION, kind::EAP]);
    frame.extend(length);
    frame.extend([code, identifier]);
    frame.extend(length);
    frame.extend(data);
    frame
}

/// The payload of a frame that asks by EAP-TLS.
pub(super) fn ask(identifier: u8, flags: u8, data: &[u8]) -> Vec<u8> {
    frame(REQUEST, identifier, &[&[EAP_TLS, flags][..], data].concat())
}

#[cfg(test)]
mod tests {
    use bartizan_wire::eapol::pdu;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(identifier: u8, flags: u8, data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let frame = ask(identifier, flags, &data);
            let pdu = pdu(&frame).unwrap();
            prop_assert_eq!((pdu.kind, pdu.missing), (kind::EAP, 0));
            let packet = Packet::read(pdu.body).unwrap();
            prop_assert_eq!((packet.code, packet.identifier), (REQUEST, identifier));
            let (method, rest) = packet.method.unwrap();
            prop_assert_eq!((method, rest[0], &rest[1..]), (EAP_TLS, flags, &data[..]));
        }

        #[test]
        fn any_octets_are_a_packet_or_none(body in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Packet::read(&body);
        }
    }
}
