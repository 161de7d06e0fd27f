//! Protocols in user messages of SCTP that are known by name, recognised by how their first messages begin.

use super::{Association, Sent};
use crate::opening::{Protocol, Recognition};
use crate::plaintext::{self, Plaintext};

bartizan_registry::named! {
    /// A protocol in user messages that is named, and not read further.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Named, name {
        /// Diameter (RFC 6733, section 2.1.1).
        Diameter = "Diameter",
        /// SIP (RFC 4168).
        Sip = "SIP",
        /// SSH, whose ends tell each other their versions before anything else.
        Ssh = "SSH",
    }
}

/// Payload protocol identifiers of Diameter: as it is, and in DTLS (IANA; RFC 6733, section 11.5).
const DIAMETER: [u32; 2] = [46, 47];
/// First bytes of SSH (RFC 4253, section 4.2).
const SSH: [&[u8]; 2] = [b"SSH-2.", b"SSH-1."];

impl Named {
    /// Payload protocol identifiers that name it.
    pub fn payload_protocols(self) -> &'static [u32] {
        match self {
            Self::Diameter => &DIAMETER,
            Self::Sip | Self::Ssh => &[],
        }
    }
}

impl Association {
    /// Protocol of its user messages, if it is known by name.
    pub fn named(&self) -> Option<Named> {
        let sent = [&self.from_initiator, &self.from_responder];
        let is_ssh = |sent: &Sent| SSH.iter().any(|begins| sent.opening.bytes().starts_with(begins));
        // It is encrypted behind its beginning, and so has to begin at both ends that send anything.
        if sent.iter().all(|sent| sent.chunks == 0 || is_ssh(sent)) && sent.iter().any(|sent| is_ssh(sent)) {
            return Some(Named::Ssh);
        }
        let reported = |sent: &&Sent| match plaintext::recognise(sent.opening.bytes()) {
            Recognition::Protocol(Protocol::Plaintext(Plaintext::Diameter), _) => Some(Named::Diameter),
            Recognition::Protocol(Protocol::Plaintext(Plaintext::Sip), _) => Some(Named::Sip),
            _ => None,
        };
        let by_protocol = || {
            let mut known = sent.iter().flat_map(|sent| &sent.payload_protocols);
            known.find_map(|(protocol, _)| {
                Named::ALL
                    .iter()
                    .find(|named| named.payload_protocols().contains(protocol))
            })
        };
        sent.iter().find_map(reported).or_else(|| by_protocol().copied())
    }
}
