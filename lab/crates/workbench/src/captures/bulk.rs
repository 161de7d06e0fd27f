//! ESP and TLS records in bulk. Their content is never read.

use std::io;
use std::net::Ipv4Addr;

use super::File;
use super::checksum;
use super::flows::{End, Opened, seal};
use super::frame::{ETHERNET, put};
use super::recording::Recording;

/// Bytes of a frame of bulk, about: a full segment of Ethernet.
pub(super) const PACKET: usize = 1514;
/// ESP security associations and TLS connections that share the bulk.
const PARALLEL: u32 = 8;
/// Bytes of ESP in a frame: 1514 without the headers of Ethernet and IP, in whole blocks.
const ESP: usize = 1496;
/// Bytes of payload in a segment.
const SEGMENT: usize = 1448;
/// Bytes of a record's body: as much as there may be, a content type and the tag of AES-GCM.
const RECORD: usize = 16_384 + 1 + 16;
/// Random bytes that contents are cut from.
const POOL: usize = 1 << 20;
/// Between two packets of bulk, in nanoseconds: 12 Gb/s.
const GAP: u64 = 1000;

pub(super) struct Bulk {
    pool: Vec<u8>,
    cut: usize,
    sequences: [u32; PARALLEL as usize],
    connections: Vec<Connection>,
    turn: usize,
}

/// A TLS connection whose server sends record after record.
struct Connection {
    /// The headers of each end's segments, and the sequence number of its next.
    ends: [(Vec<u8>, u32); 2],
    /// Bytes of the current record that are still to come.
    left: usize,
    unacknowledged: u32,
}

impl Connection {
    /// The next segment of an end.
    fn segment(&mut self, from: End, payload: &[u8]) -> Vec<u8> {
        let [client, server] = &mut self.ends;
        let ((headers, sequence), (_, other)) = match from {
            End::Client => (client, server),
            End::Server => (server, client),
        };
        let mut frame = headers.clone();
        // Behind the headers of Ethernet and IPv4, and the ports.
        let numbers = ETHERNET + 20 + 4;
        frame[numbers..numbers + 4].copy_from_slice(&sequence.to_be_bytes());
        frame[numbers + 4..numbers + 8].copy_from_slice(&other.to_be_bytes());
        frame.extend(payload);
        seal(&mut frame);
        *sequence = sequence.wrapping_add(payload.len() as u32);
        frame
    }
}

impl Bulk {
    /// Opens the connections.
    pub(super) fn begin(seed: u64, recordings: &[Recording], file: &mut File<'_>) -> io::Result<Self> {
        let mut state = seed;
        let pool = (0..POOL / 8).flat_map(|_| random(&mut state).to_le_bytes()).collect();
        let mut connections = Vec::new();
        // Recorded groups in turn: what the bulk is judged by.
        const PORTS: [u16; 4] = [4401, 4407, 4408, 4403];
        for number in 0..PARALLEL {
            let port = PORTS[number as usize % PORTS.len()];
            let opened = recordings
                .iter()
                .find_map(|recording| Opened::of_port(recording, port))
                .ok_or_else(|| io::Error::other(format!("no recorded connection to port {port}")))?;
            // The last networks there are: no copy of a recording is among them.
            let opened = opened.varied((207 << 16) + number);
            for packet in &opened.packets {
                file.clock += GAP;
                file.packet(packet)?;
            }
            let end = |end| {
                opened
                    .last_of(end)
                    .ok_or_else(|| io::Error::other("a recorded connection of one end"))
            };
            connections.push(Connection {
                ends: [end(End::Client)?, end(End::Server)?],
                left: 0,
                unacknowledged: 0,
            });
        }
        Ok(Self {
            pool,
            cut: 0,
            sequences: [0; PARALLEL as usize],
            connections,
            turn: 0,
        })
    }

    /// Writes the next packet, ESP and TLS in turn; gives its length.
    pub(super) fn packet(&mut self, file: &mut File<'_>) -> io::Result<usize> {
        self.turn += 1;
        file.clock += GAP;
        let number = self.turn / 2 % PARALLEL as usize;
        if self.turn.is_multiple_of(2) {
            self.esp(number, file)
        } else {
            self.segment(number, file)
        }
    }

    fn esp(&mut self, number: usize, file: &mut File<'_>) -> io::Result<usize> {
        self.sequences[number] = self.sequences[number].wrapping_add(1);
        let ends = [2, 3].map(|network| Ipv4Addr::new(15, network, 0, number as u8 + 1));
        let mut payload = (0x1000 + number as u32).to_be_bytes().to_vec();
        payload.extend(self.sequences[number].to_be_bytes());
        payload.extend(self.content(ESP - 8));
        let frame = ipv4(ends, bartizan_wire::ip::ESP, &payload);
        file.packet(&frame)?;
        Ok(frame.len())
    }

    fn segment(&mut self, number: usize, file: &mut File<'_>) -> io::Result<usize> {
        let mut payload = Vec::with_capacity(SEGMENT);
        while payload.len() < SEGMENT {
            let left = &mut self.connections[number].left;
            if *left == 0 {
                *left = RECORD;
                // Application data of TLS 1.2, as every protected record of 1.3 says.
                payload.extend([23, 3, 3]);
                payload.extend((RECORD as u16).to_be_bytes());
            }
            // A record's header may end a segment, or begin beyond it by some bytes.
            let length = (*left).min(SEGMENT.saturating_sub(payload.len()));
            *left -= length;
            payload.extend(self.content(length));
        }
        let connection = &mut self.connections[number];
        let frame = connection.segment(End::Server, &payload);
        file.packet(&frame)?;
        let mut length = frame.len();
        connection.unacknowledged += 1;
        if connection.unacknowledged == 2 {
            connection.unacknowledged = 0;
            let frame = connection.segment(End::Client, &[]);
            file.packet(&frame)?;
            length += frame.len();
        }
        Ok(length)
    }

    /// Random bytes, at most a record's.
    fn content(&mut self, length: usize) -> &[u8] {
        // A prime step, so that two contents seldom begin alike.
        self.cut = (self.cut + 7919) % (POOL - RECORD);
        &self.pool[self.cut..self.cut + length]
    }
}

/// A frame of Ethernet with an IPv4 packet.
pub(super) fn ipv4(ends: [Ipv4Addr; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
    const HEADER: usize = 20;
    let mut frame = vec![0; ETHERNET + HEADER];
    frame[..ETHERNET].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let header = &mut frame[ETHERNET..];
    header[0] = 0x45;
    put(header, 2, (HEADER + payload.len()) as u16);
    header[8] = 64;
    header[9] = protocol;
    header[12..16].copy_from_slice(&ends[0].octets());
    header[16..20].copy_from_slice(&ends[1].octets());
    let sum = checksum::internet(header);
    put(header, 10, sum);
    frame.extend(payload);
    frame
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
