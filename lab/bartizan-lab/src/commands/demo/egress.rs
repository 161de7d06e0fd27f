//! Traffic that leaves and enters a host during an attempt, counted packet by packet on its own
//! cables.

use std::fs;
use std::path::Path;

use bartizan_wire::{CaptureReader, ip, link, tcp};
use serde::Serialize;

use crate::Failure;
use crate::commands::demo::eavesdropper::{self, View};
use crate::commands::demo::failed;

/// One cable's packets, and what they show.
#[derive(Debug, Default, Serialize)]
pub(super) struct Egress {
    /// TCP packets to or from the port of a network function: the service-based interface in
    /// plaintext, or an attempt at it.
    pub(super) clear_packets: u64,
    /// Bytes that these carried.
    pub(super) clear_bytes: u64,
    /// Bytes to and from the port of a sidecar.
    pub(super) protected_bytes: u64,
    /// TLS connections whose handshake is in the capture, by negotiated group.
    pub(super) groups: Vec<(String, u64)>,
    /// Verdicts on these against harvest now, decrypt later, with their reasons.
    pub(super) confidentiality: Vec<(String, String)>,
    /// Subscribers' identities that can be read.
    pub(super) readable: Vec<String>,
    /// Packets that the capture missed.
    pub(super) dropped: u64,
}

impl Egress {
    /// Counts a capture of a cable on which network functions are at one port and sidecars at another.
    pub(super) fn read(capture: &Path, dropped: u64, function: u16, sidecar: u16) -> Result<Self, Failure> {
        let View {
            mut groups,
            confidentiality,
            readable,
            ..
        } = eavesdropper::look(capture, dropped, &[])?;
        // Connections without a TLS handshake have none.
        groups.retain(|(group, _)| group != "-");
        let mut egress = Self {
            groups,
            confidentiality,
            readable,
            dropped,
            ..Self::default()
        };
        let bytes = fs::read(capture).map_err(|error| Failure::new(format!("{}: {error}", capture.display())))?;
        let mut packets = CaptureReader::new();
        packets.push(&bytes);
        while let Some(packet) = packets.next_packet().map_err(failed)? {
            let link::Network::Ip(bytes) = link::network(packet.link, packet.data) else {
                continue;
            };
            let Some(datagram) = ip::datagram(bytes).filter(|datagram| datagram.protocol == ip::TCP) else {
                continue;
            };
            let Some(segment) = tcp::segment(datagram.payload, datagram.missing) else {
                continue;
            };
            let is_of = |port| segment.source_port == port || segment.destination_port == port;
            let carried = (segment.payload.len() + segment.missing) as u64;
            if is_of(function) {
                egress.clear_packets += 1;
                egress.clear_bytes += carried;
            } else if is_of(sidecar) {
                egress.protected_bytes += carried;
            }
        }
        Ok(egress)
    }

    /// Adds what another cable of the same host has.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.clear_packets += other.clear_packets;
        self.clear_bytes += other.clear_bytes;
        self.protected_bytes += other.protected_bytes;
        self.dropped += other.dropped;
        for (group, count) in other.groups {
            match self.groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, known)) => *known += count,
                None => self.groups.push((group, count)),
            }
        }
        for verdict in other.confidentiality {
            if !self.confidentiality.contains(&verdict) {
                self.confidentiality.push(verdict);
            }
        }
        for identity in other.readable {
            if !self.readable.contains(&identity) {
                self.readable.push(identity);
            }
        }
        self
    }

    /// Nothing of the service-based interface could be read.
    pub(super) fn is_closed(&self) -> bool {
        self.clear_bytes == 0 && self.readable.is_empty() && self.dropped == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pcap file of raw IPv4 with one TCP segment for each pair of ports and each number of bytes.
    fn capture(segments: &[(u16, u16, usize)]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            file.extend(word.to_le_bytes());
        }
        for &(from, to, length) in segments {
            let total = u16::try_from(40 + length).unwrap();
            let mut packet = vec![0x45, 0];
            packet.extend(total.to_be_bytes());
            packet.extend([0, 0, 0, 0, 64, ip::TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend(from.to_be_bytes());
            packet.extend(to.to_be_bytes());
            packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
            packet.extend(vec![b'x'; length]);
            for word in [0, 0, u32::from(total), u32::from(total)] {
                file.extend(word.to_le_bytes());
            }
            file.extend(packet);
        }
        file
    }

    #[test]
    fn clear_and_protected_bytes_are_distinguished_by_port_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cable.pcap");
        fs::write(
            &file,
            capture(&[(40_000, 8000, 7), (8000, 40_000, 0), (40_001, 7443, 100)]),
        )
        .unwrap();
        let seen = Egress::read(&file, 0, 8000, 7443).unwrap();
        assert_eq!(
            (seen.clear_packets, seen.clear_bytes, seen.protected_bytes),
            (2, 7, 100)
        );
        assert!(!seen.is_closed());

        fs::write(&file, capture(&[(40_001, 7443, 100)])).unwrap();
        let quiet = Egress::read(&file, 0, 8000, 7443).unwrap();
        assert!(quiet.is_closed());
        assert_eq!(quiet.and(seen).protected_bytes, 200);
    }

    #[test]
    fn a_capture_with_gaps_proves_nothing() {
        let dropped = Egress {
            dropped: 1,
            ..Egress::default()
        };
        assert!(!dropped.is_closed());
    }
}
