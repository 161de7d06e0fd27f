//! Headers of GTP-U, PFCP and GTPv2-C, and what is counted by them.

use super::{DatagramProtocol, Named};
use crate::Side;
use crate::allocation::allocated;

/// Messages of one datagram that are read: PFCP and GTPv2-C may bundle several.
const IN_ONE_DATAGRAM: usize = 8;
/// Types of messages distinguished. PFCP has 27, GTPv2-C 80 of which an interface uses a quarter.
const TYPES: usize = 32;
/// Tunnels or sessions of each direction that are named.
const NAMED: usize = 16;

/// A message's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Its type.
    pub(super) kind: u8,
    /// The tunnel (TEID) or session (SEID) as the receiver numbered it; none in messages between
    /// the nodes themselves.
    pub(super) endpoint: Option<u64>,
}

/// The headers of the messages in a datagram, as far as captured.
pub(super) fn headers(protocol: DatagramProtocol, datagram: &[u8]) -> impl Iterator<Item = Header> + '_ {
    let mut rest = Some(datagram);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let (&[flags, kind, high, low], behind) = bytes.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let word = || Some(u64::from(u32::from_be_bytes(*behind.first_chunk()?)));
        let long = || Some(u64::from_be_bytes(*behind.first_chunk()?));
        let (endpoint, another) = match protocol {
            // TS 29.281, section 5.1.
            DatagramProtocol::GtpU => (word(), false),
            // S and FO (TS 29.244, section 7.2.2.1).
            DatagramProtocol::Pfcp => (long().filter(|_| flags & 0x01 != 0), flags & 0x04 != 0),
            // T and P (TS 29.274, section 5.1).
            DatagramProtocol::GtpC => (word().filter(|_| flags & 0x08 != 0), flags & 0x10 != 0),
            // Each message but the last is padded to four octets (eCPRI 2.0, section 3.1.3).
            DatagramProtocol::Named(Named::Ecpri) => (None, flags & 0x01 != 0),
            DatagramProtocol::Named(Named::Ptp) => (None, false),
            _ => return None,
        };
        let (kind, length) = match protocol {
            // IEEE 1588, table 36.
            DatagramProtocol::Named(Named::Ptp) => (flags & 0x0f, length),
            DatagramProtocol::Named(Named::Ecpri) => (kind, length.next_multiple_of(4)),
            _ => (kind, length),
        };
        rest = behind.get(length..).filter(|rest| another && !rest.is_empty());
        Some(Header {
            kind,
            // Zero: none is known yet.
            endpoint: endpoint.filter(|endpoint| *endpoint != 0),
        })
    })
    .take(IN_ONE_DATAGRAM)
}

/// Messages by type and endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Messages {
    /// Number of messages of each type from client and server, in the order first seen: 32 types at
    /// most.
    pub types: Vec<(u8, [u64; 2])>,
    /// Messages of further types.
    pub other_types: u64,
    /// Tunnels (TEID) or sessions (SEID), as numbered by the receiving end, with the number of
    /// messages that the client and the server sent for each: in the order first seen, 16 of each
    /// direction at most.
    pub endpoints: [Vec<(u64, u64)>; 2],
    /// Messages of each direction for further tunnels or sessions.
    pub other_endpoints: [u64; 2],
}

impl Messages {
    pub(super) fn take(&mut self, header: Header, side: Side) {
        let from = side.index();
        if let Some(known) = self.types.iter_mut().find(|(kind, _)| *kind == header.kind) {
            known.1[from] += 1;
        } else if self.types.len() < TYPES {
            let mut sent = [0; 2];
            sent[from] = 1;
            self.types.push((header.kind, sent));
        } else {
            self.other_types += 1;
        }
        let Some(endpoint) = header.endpoint else { return };
        let named = &mut self.endpoints[from];
        if let Some((_, count)) = named.iter_mut().find(|(known, _)| *known == endpoint) {
            *count += 1;
        } else if named.len() < NAMED {
            named.push((endpoint, 1));
        } else {
            self.other_endpoints[from] += 1;
        }
    }

    /// Bytes it holds on the heap.
    pub fn held(&self) -> usize {
        let endpoints = self.endpoints.iter();
        allocated(self.types.capacity() * size_of::<(u8, [u64; 2])>())
            + endpoints
                .map(|named| allocated(named.capacity() * size_of::<(u64, u64)>()))
                .sum::<usize>()
    }
}
