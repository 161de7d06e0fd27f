//! A capture file as packets that may be changed, and the places in a frame of what is changed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

/// A pcap file, little-endian, of Ethernet frames.
#[derive(Clone)]
pub(crate) struct Capture {
    header: Vec<u8>,
    pub(crate) packets: Vec<Packet>,
}

/// A packet of it.
#[derive(Clone, PartialEq)]
pub(crate) struct Packet {
    /// Seconds and their fraction.
    time: [u8; 8],
    /// Bytes it had on the wire.
    length: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Capture {
    pub(crate) fn read(file: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let mut packets = Vec::new();
        let mut at = 24;
        while at < file.len() {
            let kept = word(at + 8) as usize;
            packets.push(Packet {
                time: file[at..at + 8].try_into().unwrap(),
                length: word(at + 12),
                bytes: file[at + 16..at + 16 + kept].to_vec(),
            });
            at += 16 + kept;
        }
        Self {
            header: file[..24].to_vec(),
            packets,
        }
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        let mut file = self.header.clone();
        for packet in &self.packets {
            file.extend(packet.time);
            file.extend(u32::try_from(packet.bytes.len()).unwrap().to_le_bytes());
            file.extend(packet.length.to_le_bytes());
            file.extend(&packet.bytes);
        }
        file
    }

    /// The same with these packets.
    pub(crate) fn with(&self, packets: Vec<Packet>) -> Self {
        Self {
            header: self.header.clone(),
            packets,
        }
    }
}

impl Packet {
    /// At the same time, with other bytes, whose checksum is right: receivers drop others.
    pub(crate) fn with(&self, mut bytes: Vec<u8>) -> Self {
        seal(&mut bytes, 0);
        self.at_the_same_time(bytes)
    }

    /// The same with a checksum that is neither right nor what a network card is given.
    pub(crate) fn corrupt(&self, mut bytes: Vec<u8>) -> Self {
        seal(&mut bytes, 0x3c3c);
        self.at_the_same_time(bytes)
    }

    /// At the same time, with these bytes as they are.
    pub(crate) fn at_the_same_time(&self, bytes: Vec<u8>) -> Self {
        Self {
            time: self.time,
            length: u32::try_from(bytes.len()).unwrap(),
            bytes,
        }
    }

    /// The first bytes of it, as a snap length leaves them.
    pub(crate) fn snapped(&self, length: usize) -> Self {
        Self {
            bytes: self.bytes[..self.bytes.len().min(length)].to_vec(),
            ..self.clone()
        }
    }
}

/// Writes the checksum of TCP, UDP or SCTP, or one that is wrong by these bits. A part of a fragmented packet has none of its own.
fn seal(bytes: &mut [u8], wrong: u16) {
    let frame = Frame::read(bytes);
    let (transport, end, protocol) = (frame.transport, frame.payload.end, frame.protocol);
    if protocol == 132 {
        // Left to a network card, or none that is right but once in four thousand million.
        let check = if wrong == 0 { 0 } else { 0x3c3c_5a5a_u32 };
        return bytes[transport + 8..transport + 12].copy_from_slice(&check.to_be_bytes());
    }
    let at = transport
        + match protocol {
            6 => 16,
            17 => 6,
            _ => return,
        };
    if bytes[12] == 8 && bytes[20] & 0x20 != 0 {
        return;
    }
    bytes[at..at + 2].fill(0);
    let addresses = if bytes[12] == 8 { 26..34 } else { 22..54 };
    let sum = |bytes: &[u8]| -> u64 {
        let pairs = bytes.chunks(2).map(|pair| [pair[0], *pair.get(1).unwrap_or(&0)]);
        pairs.map(|pair| u64::from(u16::from_be_bytes(pair))).sum()
    };
    let pseudo = sum(&bytes[addresses]) + u64::from(protocol) + (end - transport) as u64;
    let mut sum = pseudo + sum(&bytes[transport..end]);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let check = !u16::try_from(sum).unwrap() ^ wrong;
    bytes[at..at + 2].copy_from_slice(&check.to_be_bytes());
}

/// Sender and receiver.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// A frame, with the places of what is changed in it.
pub(crate) struct Frame<'a> {
    pub(crate) bytes: &'a [u8],
    /// Offset of the header of TCP, UDP or ESP.
    pub(crate) transport: usize,
    /// The payload of TCP, UDP or ESP; empty of other protocols.
    pub(crate) payload: Range<usize>,
    /// IP protocol number; 0 if it is not read.
    pub(crate) protocol: u8,
    /// Ports are 0 where there are none.
    pub(crate) ends: Option<Ends>,
}

impl<'a> Frame<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let none = Self {
            bytes,
            transport: 0,
            payload: 0..0,
            protocol: 0,
            ends: None,
        };
        let four = |at: usize| IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap()));
        let six = |at: usize| IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[at..at + 16]).unwrap()));
        let (transport, end, protocol, addresses) = match bytes.get(12..14) {
            Some([8, 0]) => {
                // Parts of a fragmented packet have no header of their own.
                if u16::from_be_bytes([bytes[20], bytes[21]]) & 0x1fff != 0 {
                    return none;
                }
                let length = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
                let header = usize::from(bytes[14] & 0x0f) * 4;
                (14 + header, 14 + length, bytes[23], [four(26), four(30)])
            }
            Some([0x86, 0xdd]) => {
                let length = usize::from(u16::from_be_bytes([bytes[18], bytes[19]]));
                (54, 54 + length, bytes[20], [six(22), six(38)])
            }
            _ => return none,
        };
        let header = match protocol {
            6 => usize::from(bytes[transport + 12] >> 4) * 4,
            17 | 50 => 8,
            132 => 12,
            _ => return none,
        };
        let port = |at: usize| u16::from_be_bytes([bytes[transport + at], bytes[transport + at + 1]]);
        let ports = if protocol == 50 { [0, 0] } else { [port(0), port(2)] };
        let [source, destination] = addresses;
        Self {
            bytes,
            transport,
            payload: transport + header..end.min(bytes.len()),
            protocol,
            ends: Some((
                SocketAddr::new(source, ports[0]),
                SocketAddr::new(destination, ports[1]),
            )),
        }
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        &self.bytes[self.payload.clone()]
    }

    /// Returns true if one of its ports is this one.
    pub(crate) fn is_on(&self, port: u16) -> bool {
        let ports = self.ends.map(|(one, other)| [one.port(), other.port()]);
        ports.is_some_and(|ports| ports.contains(&port))
    }

    /// Returns true if it begins or ends a TCP connection.
    pub(crate) fn begins_or_ends(&self) -> bool {
        // FIN, SYN and RST.
        self.protocol == 6 && self.bytes[self.transport + 13] & 0x07 != 0
    }

    /// Its bytes with `value` written at `at` of the payload; none where that is not all in it.
    pub(crate) fn written(&self, at: usize, value: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.to_vec();
        let payload = &mut bytes[self.payload.clone()];
        payload.get_mut(at..at + value.len())?.copy_from_slice(value);
        Some(bytes)
    }

    /// Its bytes with another payload that begins so many bytes further on in the stream.
    pub(crate) fn moved(&self, by: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.with_payload(payload);
        if self.protocol == 6 {
            let sequence = &mut bytes[self.transport + 4..self.transport + 8];
            let at = u32::from_be_bytes(sequence.try_into().unwrap()).wrapping_add(by);
            sequence.copy_from_slice(&at.to_be_bytes());
        }
        bytes
    }

    /// A segment without data of the other end that acknowledges what came before it, with these flags.
    pub(crate) fn answer(&self, flags: u8) -> Vec<u8> {
        let mut bytes = self.with_payload(&[]);
        let (from, length) = if self.bytes[12] == 8 { (26, 4) } else { (22, 16) };
        bytes[from..from + 2 * length].rotate_left(length);
        let ports = self.transport..self.transport + 4;
        bytes[ports].rotate_left(2);
        bytes[self.transport + 4..self.transport + 12].rotate_left(4);
        bytes[self.transport + 13] = flags;
        bytes
    }

    /// Its bytes with another payload; lengths are made right.
    pub(crate) fn with_payload(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes[..self.payload.start].to_vec();
        bytes.extend(payload);
        let length = |from: usize| u16::try_from(bytes.len() - from).unwrap().to_be_bytes();
        let (ip, udp) = match self.bytes[12..14] {
            [8, 0] => ((16, length(14)), length(self.transport)),
            _ => ((18, length(54)), length(self.transport)),
        };
        bytes[ip.0..ip.0 + 2].copy_from_slice(&ip.1);
        if self.protocol == 17 {
            bytes[self.transport + 4..self.transport + 6].copy_from_slice(&udp);
        }
        bytes
    }
}
