//! Datagrams put into an SCTP association, packet by packet, as RFC 6083 carries DTLS: one record in each user message.

use std::net::{Ipv4Addr, SocketAddr};

use bartizan_wire::CaptureReader;
use bartizan_wire::sctp::kind;

/// Division of records into DATA chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// One each.
    Whole,
    /// At most so many bytes each.
    Of(usize),
    /// The same, the last first, and each of them twice.
    OutOfOrder(usize),
}

/// The payloads of UDP between this port and any other, in the order captured, each with whether the port sent it.
pub(crate) fn datagrams(capture: &[u8], port: u16) -> Vec<(bool, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(capture);
    let mut found = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        // Ethernet, IPv4 without options.
        let frame = packet.data;
        if frame.len() < 42 || frame[12..14] != [8, 0] || frame[14] != 0x45 || frame[23] != 17 {
            continue;
        }
        let ports = [34, 36].map(|at| u16::from_be_bytes([frame[at], frame[at + 1]]));
        let length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        if ports.contains(&port) {
            found.push((ports[0] == port, frame[42..34 + length].to_vec()));
        }
    }
    found
}

/// The DTLS records of a datagram.
fn records(mut datagram: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while datagram.len() >= 13 {
        let length = 13 + usize::from(u16::from_be_bytes([datagram[11], datagram[12]]));
        let (record, rest) = datagram.split_at(length);
        records.push(record);
        datagram = rest;
    }
    records
}

/// A capture in the making, of IPv4 without a link header.
pub(crate) struct Built {
    file: Vec<u8>,
    packets: u32,
}

/// One end of an association.
struct End {
    address: SocketAddr,
    tag: u32,
    tsn: u32,
}

impl Built {
    pub(crate) fn new() -> Self {
        let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        for field in [2, 4] {
            file.extend(u16::to_le_bytes(field));
        }
        const RAW: u32 = 101;
        for field in [0, 0, 65_535, RAW] {
            file.extend(u32::to_le_bytes(field));
        }
        Self { file, packets: 0 }
    }

    pub(crate) fn file(&self) -> &[u8] {
        &self.file
    }

    /// An association between two ends, set up by the first, that carries these datagrams: those
    /// that say `true` from the second. The TSNs pass their end.
    pub(crate) fn association(
        &mut self,
        ends: [SocketAddr; 2],
        payload_protocol: u32,
        chunks: Chunks,
        datagrams: &[(bool, Vec<u8>)],
    ) {
        let [one, other] = ends;
        let mut ends =
            [(one, 0x1000 + payload_protocol), (other, 0x2000 + payload_protocol)].map(|(address, tag)| End {
                address,
                tag,
                tsn: u32::MAX - 3,
            });
        for (from, what, to_tag) in [(0, kind::INIT, 0), (1, kind::INIT_ACK, ends[0].tag)] {
            let mut value = ends[from].tag.to_be_bytes().to_vec();
            value.extend([0, 1, 0, 0, 0, 10, 0, 10]);
            value.extend(ends[from].tsn.to_be_bytes());
            self.packet(&ends[from], &ends[1 - from], to_tag, &[chunk(what, 0, &value)]);
        }
        for (from, what) in [(0, kind::COOKIE_ECHO), (1, kind::COOKIE_ACK)] {
            let tag = ends[1 - from].tag;
            self.packet(&ends[from], &ends[1 - from], tag, &[chunk(what, 0, &[])]);
        }
        for (second, datagram) in datagrams {
            let from = usize::from(*second);
            let tag = ends[1 - from].tag;
            for record in records(datagram) {
                let (most, repeat) = match chunks {
                    Chunks::Whole => (record.len(), 1),
                    Chunks::Of(most) => (most, 1),
                    Chunks::OutOfOrder(most) => (most, 2),
                };
                let pieces = record.chunks(most);
                let last = pieces.len() - 1;
                let mut parts: Vec<Vec<u8>> = pieces
                    .enumerate()
                    .map(|(nth, piece)| {
                        let flags = u8::from(nth == last) | u8::from(nth == 0) << 1;
                        let mut value = ends[from].tsn.to_be_bytes().to_vec();
                        ends[from].tsn = ends[from].tsn.wrapping_add(1);
                        value.extend([0, 1, 0, 0]);
                        value.extend(payload_protocol.to_be_bytes());
                        value.extend(piece);
                        chunk(kind::DATA, flags, &value)
                    })
                    .collect();
                if repeat > 1 {
                    parts.reverse();
                }
                for part in parts {
                    for _ in 0..repeat {
                        self.packet(&ends[from], &ends[1 - from], tag, std::slice::from_ref(&part));
                    }
                }
            }
        }
    }

    fn packet(&mut self, from: &End, to: &End, tag: u32, chunks: &[Vec<u8>]) {
        let mut sctp = [from.address.port().to_be_bytes(), to.address.port().to_be_bytes()].concat();
        sctp.extend(tag.to_be_bytes());
        // The checksum, which readers of captures ignore.
        sctp.extend([0; 4]);
        chunks.iter().for_each(|chunk| sctp.extend(chunk));
        let length = u16::try_from(20 + sctp.len()).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 132, 0, 0]);
        for end in [from, to] {
            let address: Ipv4Addr = end.address.ip().to_string().parse().unwrap();
            packet.extend(address.octets());
        }
        packet.extend(sctp);
        self.packets += 1;
        // A millisecond between any two.
        let time = [1_763_000_000 + self.packets / 1000, self.packets % 1000 * 1000];
        for field in [time[0], time[1], length.into(), length.into()] {
            self.file.extend(field.to_le_bytes());
        }
        self.file.extend(packet);
    }
}

fn chunk(kind: u8, flags: u8, value: &[u8]) -> Vec<u8> {
    let mut chunk = vec![kind, flags];
    chunk.extend(u16::try_from(value.len() + 4).unwrap().to_be_bytes());
    chunk.extend(value);
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    chunk
}
