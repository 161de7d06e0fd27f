//! Bytes of the probe's own connections, as packets of a capture: the inspector judges them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bartizan_wire::capture::Packet;
use bartizan_wire::link::LinkType;
use bartizan_wire::{CapturePart, Timestamp, checksum};
use rustls::KeyLog;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of a segment: an IP packet holds it, whatever the path's MTU is.
const SEGMENT: usize = 16 * 1024;

/// Flags of TCP (RFC 9293, section 3.1).
pub(crate) const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Packets, and the secrets that open them.
#[derive(Debug, Default)]
pub struct Tape {
    packets: Vec<(Timestamp, Vec<u8>)>,
    secrets: Arc<Secrets>,
}

/// A key log in memory (RFC 9850).
#[derive(Default)]
pub(crate) struct Secrets(Mutex<String>);

/// Sequence numbers of one TCP connection: the client's end first.
#[derive(Debug)]
pub(crate) struct Stream {
    ends: [SocketAddr; 2],
    next: [u32; 2],
}

/// The direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Client = 0,
    Server = 1,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hexadecimal(client_random), hexadecimal(secret));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
    }
}

impl Tape {
    /// Gives the secrets and then the packets, as a capture file would.
    pub fn give(&self, mut give: impl FnMut(CapturePart<'_>)) {
        let secrets = self.secrets.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !secrets.is_empty() {
            give(CapturePart::KeyLog(secrets.as_bytes()));
        }
        for (number, (time, data)) in (1..).zip(&self.packets) {
            give(CapturePart::Packet(Packet {
                number,
                time: *time,
                link: LinkType::RAW,
                data,
                original_length: data.len() as u32,
                interface: 0,
            }));
        }
    }

    /// Returns true if no connection was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The place up to which packets are kept when the rest is forgotten.
    pub(crate) fn place(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn forget(&mut self, since: usize) {
        self.packets.truncate(since);
    }

    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets)
    }

    pub(crate) fn open(&mut self, client: SocketAddr, server: SocketAddr) -> Stream {
        let mut stream = Stream {
            ends: [client, server],
            next: [0, 0],
        };
        self.segment(&mut stream, From::Client, SYN, &[]);
        self.segment(&mut stream, From::Server, SYN, &[]);
        self.segment(&mut stream, From::Client, 0, &[]);
        stream
    }

    pub(crate) fn bytes(&mut self, stream: &mut Stream, from: From, bytes: &[u8]) {
        for piece in bytes.chunks(SEGMENT) {
            self.segment(stream, from, PUSH, piece);
        }
    }

    pub(crate) fn segment(&mut self, stream: &mut Stream, from: From, flags: u8, payload: &[u8]) {
        let (own, other) = (from as usize, 1 - from as usize);
        let [source, destination] = [stream.ends[own], stream.ends[other]];
        // The first segment of all acknowledges nothing.
        let ack = if flags == SYN && from == From::Client { 0 } else { ACK };
        let mut segment = ports(source, destination);
        segment.extend(stream.next[own].to_be_bytes());
        segment.extend(stream.next[other].to_be_bytes());
        segment.extend([5 << 4, flags | ack, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(payload);
        let sum = checksum::over_addresses(source.ip(), destination.ip(), TCP, &segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        let counted = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        stream.next[own] = stream.next[own].wrapping_add(counted);
        self.packet(source.ip(), destination.ip(), TCP, &segment);
    }

    pub(crate) fn datagram(&mut self, source: SocketAddr, destination: SocketAddr, payload: &[u8]) {
        let mut datagram = ports(source, destination);
        datagram.extend((payload.len() as u16 + 8).to_be_bytes());
        datagram.extend([0, 0]);
        datagram.extend(payload);
        let sum = checksum::over_addresses(source.ip(), destination.ip(), UDP, &datagram);
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        self.packet(source.ip(), destination.ip(), UDP, &datagram);
    }

    fn packet(&mut self, source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) {
        let length = payload.len() as u16;
        let mut packet = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut header = vec![0x45, 0];
                header.extend((length + 20).to_be_bytes());
                header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
                header.extend(source.octets());
                header.extend(destination.octets());
                let sum = checksum::internet(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                header
            }
            (source, destination) => {
                let octets = |address: IpAddr| match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    IpAddr::V6(address) => address.octets(),
                };
                let mut header = vec![0x60, 0, 0, 0];
                header.extend(length.to_be_bytes());
                header.extend([protocol, 64]);
                header.extend(octets(source));
                header.extend(octets(destination));
                header
            }
        };
        packet.extend(payload);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos() as u64);
        self.packets.push((Timestamp(now), packet));
    }
}

fn ports(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    [source.port(), destination.port()].map(u16::to_be_bytes).concat()
}
