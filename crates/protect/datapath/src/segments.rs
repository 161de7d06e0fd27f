//! A packet of several segments of TCP, or datagrams of UDP, as a device hands it over, cut to
//! those; and the checksum of one that was left to a card.

use bartizan_wire::checksum;
use bartizan_wire::ip::{TCP, UDP};

use crate::headers::{
    CHECKSUM, FLAGS, IPV4, IPV6, NUMBER, TCP_HEADER, UDP_CHECKSUM, UDP_HEADER, UDP_LENGTH, addresses,
};
use crate::offload::Offload;

/// Flags of the last segment alone: FIN and PSH. Flag of the first alone: CWR.
const OF_LAST: u8 = 0x01 | 0x08;
const OF_FIRST: u8 = 0x80;

/// Computes the checksum that a device has left out; whether it could.
pub(crate) fn finish(packet: &mut [u8], (begin, at): (u16, u16)) -> bool {
    let (begin, at) = (usize::from(begin), usize::from(at));
    let Some(bytes) = packet.get_mut(begin..).filter(|bytes| at + 2 <= bytes.len()) else {
        return false;
    };
    // The field holds the sum over the pseudo-header, which is part of what is summed up.
    let sum = match checksum::internet(bytes) {
        // As UDP sends zero.
        0 => u16::MAX,
        sum => sum,
    };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Cuts a packet.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    packet: &'a [u8],
    /// Beginning of TCP or UDP, which of them, and the beginning of its payload.
    transport: usize,
    protocol: u8,
    payload: usize,
    size: usize,
    next: usize,
}

impl<'a> Segments<'a> {
    /// Cuts a packet that its device describes so; none where it is neither.
    pub(crate) fn of(packet: &'a [u8], offload: &Offload) -> Option<Self> {
        let size = offload.segment?.into();
        let is_v6 = packet.first()? >> 4 == 6;
        // Those with extension headers are not offered.
        let (transport, protocol) = match is_v6 {
            true => (IPV6, packet.get(6)?),
            false => (usize::from(packet.first()? & 0x0f) * 4, packet.get(9)?),
        };
        let (header, least) = match *protocol {
            TCP => (usize::from(packet.get(transport + 12)? >> 4) * 4, TCP_HEADER),
            UDP => (UDP_HEADER, UDP_HEADER),
            _ => return None,
        };
        let payload = transport + header;
        let is_whole = transport >= if is_v6 { IPV6 } else { IPV4 } && header >= least && packet.len() > payload;
        is_whole.then_some(Self {
            packet,
            transport,
            protocol: *protocol,
            payload,
            size,
            next: 0,
        })
    }

    /// Bytes of the next segment; none where there is no more.
    pub(crate) fn following(&self) -> Option<usize> {
        let rest = self.packet.len().checked_sub(self.payload + self.next * self.size)?;
        (rest > 0).then(|| self.payload + rest.min(self.size))
    }

    /// Writes the next segment; how many bytes it has, and none where there is no more, or no room.
    pub(crate) fn write(&mut self, into: &mut [u8]) -> Option<usize> {
        let done = self.next * self.size;
        let rest = self.packet.get(self.payload + done..).filter(|rest| !rest.is_empty())?;
        let carried = rest.len().min(self.size);
        let segment = into.get_mut(..self.payload + carried)?;
        segment[..self.payload].copy_from_slice(&self.packet[..self.payload]);
        segment[self.payload..].copy_from_slice(&rest[..carried]);
        let (is_first, is_last) = (self.next == 0, carried == rest.len());
        let length = segment.len();
        if segment[0] >> 4 == 6 {
            segment[4..6].copy_from_slice(&((length - IPV6) as u16).to_be_bytes());
        } else {
            segment[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            let number = u16::from_be_bytes([segment[4], segment[5]]).wrapping_add(self.next as u16);
            segment[4..6].copy_from_slice(&number.to_be_bytes());
            segment[10..12].fill(0);
            let sum = checksum::internet(&segment[..self.transport]);
            segment[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let between = addresses(segment)?;
        let (source, destination) = between;
        if self.protocol == UDP {
            let udp = &mut segment[self.transport..];
            let bytes = udp.len() as u16;
            udp[UDP_LENGTH].copy_from_slice(&bytes.to_be_bytes());
            udp[UDP_CHECKSUM].fill(0);
            let sum = checksum::over_addresses(source, destination, UDP, udp);
            udp[UDP_CHECKSUM].copy_from_slice(&sum.to_be_bytes());
            self.next += 1;
            return Some(length);
        }
        let tcp = &mut segment[self.transport..];
        let number = u32::from_be_bytes(*tcp.get(NUMBER)?.first_chunk()?).wrapping_add(done as u32);
        tcp[NUMBER].copy_from_slice(&number.to_be_bytes());
        if !is_first {
            tcp[FLAGS] &= !OF_FIRST;
        }
        if !is_last {
            tcp[FLAGS] &= !OF_LAST;
        }
        tcp[CHECKSUM].fill(0);
        let sum = checksum::over_addresses(source, destination, TCP, tcp);
        tcp[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
        self.next += 1;
        Some(length)
    }
}
