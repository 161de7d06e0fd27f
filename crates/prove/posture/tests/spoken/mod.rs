//! Conversations of two ends, in turn, as whole TCP connections and datagrams.

use bartizan_posture::{Evidence, Ledgers, Posture, association_posture, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Side, Sink, Timestamp};

const OPENSSL: &[u8] = include_bytes!("../../../wire/tests/data/openssl-3.5.7.pcap");

#[derive(Default)]
struct Judged(Vec<Posture>);

impl Sink for Judged {
    fn connection(&mut self, connection: Connection) {
        self.0.push(Evidence::new(&connection, &Ledgers::default()).posture());
    }

    fn association(&mut self, association: Association) {
        self.0.push(association_posture(&association));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.0.push(datagrams_posture(&datagrams, &Ledgers::default()));
    }
}

/// An IPv4 packet between 10.0.0.1, the client, and 10.0.0.2.
pub(crate) fn packet(protocol: u8, from: Side, behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + behind.len() as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    let (one, other) = if from == Side::Client { (1, 2) } else { (2, 1) };
    packet.extend([10, 0, 0, one, 10, 0, 0, other]);
    packet.extend(behind);
    packet
}

pub(crate) fn observe(packets: &[Vec<u8>]) -> Vec<Posture> {
    let mut observer = Observer::new(Limits::default());
    let mut judged = Judged::default();
    for (index, data) in packets.iter().enumerate() {
        let packet = Packet {
            number: index as u64 + 1,
            time: Timestamp(index as u64 * 1000),
            link: LinkType::RAW,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut judged);
    }
    observer.finish_into(&mut judged);
    judged.0
}

/// A TCP connection in which the two ends say this in turn.
pub(crate) fn connection(said: &[(Side, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut next = [1000u32, 5000];
    let mut packets = Vec::new();
    let mut segment = |from: Side, flags: u8, said: &[u8]| {
        let (ours, theirs) = if from == Side::Client { (0, 1) } else { (1, 0) };
        let ports: [u16; 2] = if from == Side::Client {
            [40_000, 9999]
        } else {
            [9999, 40_000]
        };
        let mut bytes = ports.map(u16::to_be_bytes).concat();
        bytes.extend(next[ours].to_be_bytes());
        bytes.extend(next[theirs].to_be_bytes());
        bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(said);
        next[ours] += said.len() as u32 + u32::from(flags & 2 != 0);
        packets.push(packet(6, from, &bytes));
    };
    segment(Side::Client, 0x02, &[]);
    segment(Side::Server, 0x12, &[]);
    for (from, said) in said {
        segment(*from, 0x18, said);
    }
    packets
}

/// The segments of the connection to port 4401 in which OpenSSL agrees on X25519MLKEM768.
pub(crate) fn handshake() -> Vec<(Side, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(OPENSSL);
    let mut said = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        if frame[12..14] != [8, 0] || frame[23] != 6 {
            continue;
        }
        let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let from = match (port(34), port(36)) {
            (_, 4401) => Side::Client,
            (4401, _) => Side::Server,
            _ => continue,
        };
        let length = usize::from(port(16)) + 14;
        let payload = &frame[34 + usize::from(frame[46] >> 4) * 4..length];
        if !payload.is_empty() {
            said.push((from, payload.to_vec()));
        }
    }
    said
}

pub(crate) fn lines(said: &[(Side, &str)]) -> Vec<(Side, Vec<u8>)> {
    said.iter()
        .map(|(side, said)| (*side, said.as_bytes().to_vec()))
        .collect()
}
