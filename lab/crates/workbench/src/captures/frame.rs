//! One frame of a recording with other addresses, IKE SPIs and SCTP tags.

use super::checksum;
use bartizan_wire::{ip, sctp, udp};

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// Differences between copies of a recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variation {
    /// The upper bits of IPv4 addresses.
    network: u32,
    /// Mask of the bits of an IPv4 address that stay.
    kept: u32,
    /// XORed into IPv6 addresses, IKE SPIs and SCTP tags.
    mark: u32,
}

/// The first network that is varied into, 16.0.0.0; the last is below 224.0.0.0.
const FIRST: u32 = 16 << 24;

impl Variation {
    /// For this pass of this recording, whose addresses differ in their last two bytes.
    pub(super) fn of_recording(round: usize, recording: usize) -> Self {
        let number = (recording as u32) << 13 | (round as u32 & 0x1fff);
        Self {
            network: FIRST + ((number % (208 << 8)) << 16),
            kept: 0xffff,
            // Rounds beyond the networks there are differ here.
            mark: (round as u32) << 3 | recording as u32,
        }
    }

    /// For this copy of one connection, whose two addresses differ in their last byte, or not at all.
    pub(super) fn of_connection(number: u32) -> Self {
        Self {
            network: FIRST + ((number % (208 << 16)) << 8),
            kept: 0xff,
            mark: number.wrapping_add(1),
        }
    }

    /// The frame with the addresses, SPIs and tags of this copy, and with right checksums.
    pub(super) fn applied(self, frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        if let Some((header, packet)) = frame.split_at_mut_checked(ETHERNET) {
            let kind = [header[12], header[13]];
            let done = match kind {
                IPV4 => self.ipv4(packet),
                IPV6 => self.ipv6(packet),
                _ => None,
            };
            debug_assert!(done.is_some() || !matches!(kind, IPV4 | IPV6));
        }
        frame
    }

    fn ipv4(self, packet: &mut [u8]) -> Option<()> {
        let header_length = usize::from(packet.first()? & 0x0f) * 4;
        let total = usize::from(word(packet, 2)?);
        let offset = word(packet, 6)? & 0x1fff;
        let protocol = *packet.get(9)?;
        let packet = packet.get_mut(..total)?;
        let (header, transport) = packet.split_at_mut_checked(header_length)?;
        let mut changes = Vec::with_capacity(6);
        for address in [12, 16] {
            let old = u32::from_be_bytes(*header.get(address..)?.first_chunk()?);
            let new = self.network | (old & self.kept);
            for (place, shift) in [(address, 16), (address + 2, 0)] {
                let change = ((old >> shift) as u16, (new >> shift) as u16);
                let sum = checksum::replaced(word(header, 10)?, change.0, change.1);
                put(header, 10, sum)?;
                put(header, place, change.1)?;
                changes.push(change);
            }
        }
        if offset == 0 {
            self.transport(protocol, transport, changes)?;
        }
        Some(())
    }

    fn ipv6(self, packet: &mut [u8]) -> Option<()> {
        let mut protocol = *packet.get(6)?;
        let (header, mut transport) = packet.split_at_mut_checked(40)?;
        let mut changes = Vec::with_capacity(6);
        // The second four bytes of the sender's and of the receiver's address.
        for place in [12, 14, 28, 30] {
            let half = if place % 4 == 0 { self.mark >> 16 } else { self.mark } as u16;
            let old = word(header, place)?;
            put(header, place, old ^ half)?;
            changes.push((old, old ^ half));
        }
        if protocol == 44 {
            protocol = *transport.first()?;
            if word(transport, 2)? & 0xfff8 != 0 {
                return Some(());
            }
            transport = transport.get_mut(8..)?;
        }
        self.transport(protocol, transport, changes)
    }

    fn transport(self, protocol: u8, bytes: &mut [u8], mut changes: Vec<(u16, u16)>) -> Option<()> {
        let place = match protocol {
            ip::TCP => 16,
            ip::UDP => {
                let ports = [word(bytes, 0)?, word(bytes, 2)?];
                let spi = if ports.contains(&udp::IKE) {
                    Some(8)
                } else if ports.contains(&udp::IKE_NAT) && bytes.get(8..12)? == [0; 4] {
                    // Behind the marker that says it is no ESP.
                    Some(12)
                } else {
                    None
                };
                if let Some(spi) = spi {
                    for (place, half) in [(spi, self.mark >> 16), (spi + 2, self.mark)] {
                        let old = word(bytes, place)?;
                        put(bytes, place, old ^ half as u16)?;
                        changes.push((old, old ^ half as u16));
                    }
                }
                6
            }
            ip::SCTP => return self.sctp(bytes),
            _ => return Some(()),
        };
        let mut sum = word(bytes, place)?;
        // Zero says that there is none.
        if protocol == ip::UDP && sum == 0 {
            return Some(());
        }
        for (old, new) in changes {
            sum = checksum::replaced(sum, old, new);
        }
        put(bytes, place, sum)
    }

    fn sctp(self, bytes: &mut [u8]) -> Option<()> {
        /// Place of the verification tag, of the first chunk, and of the tag that INIT and INIT ACK announce.
        const TAG: usize = 4;
        const CHUNK: usize = 12;
        const ANNOUNCED: usize = 16;
        let mut places = vec![TAG];
        if matches!(*bytes.get(CHUNK)?, sctp::kind::INIT | sctp::kind::INIT_ACK) {
            places.push(ANNOUNCED);
        }
        for place in places {
            let tag: &mut [u8; 4] = bytes.get_mut(place..)?.first_chunk_mut()?;
            let old = u32::from_be_bytes(*tag);
            // An INIT carries no tag.
            if old != 0 {
                *tag = (old ^ self.mark).to_be_bytes();
            }
        }
        bytes.get_mut(8..12)?.fill(0);
        let sum = checksum::crc32c(bytes).to_le_bytes();
        bytes.get_mut(8..12)?.copy_from_slice(&sum);
        Some(())
    }
}

/// The two bytes at a place.
pub(super) fn word(bytes: &[u8], place: usize) -> Option<u16> {
    bytes.get(place..)?.first_chunk().map(|pair| u16::from_be_bytes(*pair))
}

/// Writes two bytes at a place.
pub(super) fn put(bytes: &mut [u8], place: usize, value: u16) -> Option<()> {
    bytes.get_mut(place..place + 2)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}
