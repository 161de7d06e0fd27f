//! Segments of TCP that follow each other, and datagrams of UDP of one sender, put together to one
//! packet that a device takes as several: the receiving host has one to handle in the place of
//! forty.

use std::net::IpAddr;

use bartizan_wire::checksum;
use bartizan_wire::ip::{TCP, UDP};

use crate::headers::{
    CHECKSUM, FLAGS, IPV4, IPV6, NUMBER, TCP_HEADER, UDP_CHECKSUM, UDP_HEADER, UDP_LENGTH, addresses,
};
use crate::offload::Offload;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Bytes of a packet that is put together, at most.
const MOST: usize = u16::MAX as usize;
/// Datagrams of UDP that a kernel takes at once.
const DATAGRAMS: u32 = 64;
/// An IPv4 packet that is not to be cut and is no part of another.
const WHOLE: [u8; 2] = [0x40, 0];

bartizan_registry::made! {
    /// A packet that grows. The description before it is [`Offload`], as a device takes it.
    #[derive(Debug)]
    pub struct Coalesced,
    /// `datagrams` says whether the device takes those of UDP put together, besides segments of
    /// TCP.
    pub new(datagrams: bool) {
        /// Room for the description, then the packet.
        buffer: Vec<u8> = vec![0; Offload::LENGTH + MOST],
        length: usize = 0,
        held: Option<Held> = None,
        /// True if the device takes datagrams of UDP put together.
        datagrams: bool,
    }
}

#[derive(Debug, Clone, Copy)]
struct Held {
    shape: Shape,
    /// Bytes of payload of the first segment, which all but the last have.
    size: usize,
    segments: u32,
    /// The number of the segment that would follow.
    next: u32,
    /// None is to follow.
    is_over: bool,
}

/// Header fields of a segment of TCP, or a datagram of UDP, that may be put together with others.
#[derive(Debug, Clone, Copy)]
struct Shape {
    protocol: u8,
    /// Bytes of the headers of IP and of the other.
    ip: usize,
    transport: usize,
    number: u32,
    payload: usize,
    is_pushed: bool,
    between: (IpAddr, IpAddr),
}

impl Coalesced {
    /// Takes a packet in, if it can be put together with what is held, or nothing is held; returns
    /// whether it was. If it was not, what is held is to be taken first, and it is to be handed on
    /// by itself if it is not taken even then.
    pub fn take_in(&mut self, packet: &[u8]) -> bool {
        let Some(shape) = shape(packet, self.datagrams) else {
            return false;
        };
        match &mut self.held {
            None => {
                self.buffer[Offload::LENGTH..][..packet.len()].copy_from_slice(packet);
                self.length = packet.len();
                self.held = Some(Held {
                    shape,
                    size: shape.payload,
                    segments: 1,
                    next: shape.number.wrapping_add(shape.payload as u32),
                    is_over: shape.is_pushed,
                });
                true
            }
            Some(held) => {
                let first = &self.buffer[Offload::LENGTH..][..held.shape.ip + held.shape.transport];
                let follows = !held.is_over
                    && (shape.protocol == UDP && held.segments < DATAGRAMS || shape.number == held.next)
                    && shape.payload <= held.size
                    && self.length + shape.payload <= MOST
                    && is_alike(first, packet, &held.shape, &shape);
                if !follows {
                    return false;
                }
                let begin = Offload::LENGTH + self.length;
                self.buffer[begin..][..shape.payload].copy_from_slice(&packet[shape.ip + shape.transport..]);
                self.length += shape.payload;
                held.segments += 1;
                held.next = held.next.wrapping_add(shape.payload as u32);
                // A shorter one is the last, and so is one that says that it is.
                held.is_over = shape.is_pushed || shape.payload < held.size;
                if shape.is_pushed {
                    self.buffer[Offload::LENGTH + shape.ip + FLAGS] |= PSH;
                }
                true
            }
        }
    }

    /// The packet that is held, as the device takes it, with its description before it. Nothing is
    /// held from then on.
    pub fn take(&mut self) -> Option<&[u8]> {
        let held = self.held.take()?;
        let whole = &mut self.buffer[..Offload::LENGTH + self.length];
        let (before, packet) = whole.split_at_mut(Offload::LENGTH);
        let offload = if held.segments > 1 {
            finish(packet, &held.shape);
            let headers = [held.shape.ip, held.shape.transport];
            match held.shape.protocol {
                UDP => Offload::of_datagrams(held.shape.ip, held.size as u16),
                _ => Offload::of_segments(held.shape.ip == IPV6, headers, held.size as u16),
            }
        } else {
            Offload::default()
        };
        before.copy_from_slice(&offload.encode());
        Some(whole)
    }
}

/// Lengths and sums of a packet that was put together: that of TCP or UDP is begun, and the device's to finish.
fn finish(packet: &mut [u8], shape: &Shape) {
    let length = packet.len();
    if shape.ip == IPV6 {
        packet[4..6].copy_from_slice(&((length - IPV6) as u16).to_be_bytes());
    } else {
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum::internet(&packet[..IPV4]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let behind = (length - shape.ip) as u16;
    let begun = !pseudo(shape.between, shape.protocol, behind);
    let transport = &mut packet[shape.ip..];
    if shape.protocol == UDP {
        transport[UDP_LENGTH].copy_from_slice(&behind.to_be_bytes());
        transport[UDP_CHECKSUM].copy_from_slice(&begun.to_be_bytes());
    } else {
        transport[CHECKSUM].copy_from_slice(&begun.to_be_bytes());
    }
}

/// The checksum of a pseudo-header.
fn pseudo((source, destination): (IpAddr, IpAddr), protocol: u8, length: u16) -> u16 {
    let mut bytes = [0; 36];
    let mut at = 0;
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => bytes[at..at + 4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes[at..at + 16].copy_from_slice(&address.octets()),
        }
        at += 16;
    }
    bytes[32..34].copy_from_slice(&length.to_be_bytes());
    bytes[35] = protocol;
    checksum::internet(&bytes)
}

/// Reads a segment that has a payload, no flag but ACK and PSH, and a checksum that is right: what
/// is put together is not checked again. The same of a datagram, where those are taken.
fn shape(packet: &[u8], datagrams: bool) -> Option<Shape> {
    let (ip, protocol) = match packet {
        // No options, no fragment, and the length that it says.
        [0x45, ..] => {
            let is_plain = packet.get(6..8)? == WHOLE && packet.get(2..4)? == (packet.len() as u16).to_be_bytes();
            (is_plain.then_some(IPV4)?, *packet.get(9)?)
        }
        [first, ..] if first >> 4 == 6 => {
            let length = packet.len().checked_sub(IPV6)? as u16;
            (
                (packet.get(4..6)? == length.to_be_bytes()).then_some(IPV6)?,
                *packet.get(6)?,
            )
        }
        _ => return None,
    };
    let segment = packet.get(ip..)?;
    let between = addresses(packet)?;
    // The sum with its checksum is all ones, whose complement is sent as such.
    let is_right = || checksum::over_addresses(between.0, between.1, protocol, segment) == u16::MAX;
    if protocol == UDP && datagrams {
        let is_whole = segment.get(UDP_LENGTH)? == (segment.len() as u16).to_be_bytes();
        let has_sum = segment.get(UDP_CHECKSUM)? != [0; 2];
        let payload = segment.len().checked_sub(UDP_HEADER).filter(|payload| *payload > 0)?;
        return (is_whole && has_sum && is_right()).then_some(Shape {
            protocol,
            ip,
            transport: UDP_HEADER,
            number: 0,
            payload,
            is_pushed: false,
            between,
        });
    }
    let tcp = usize::from(segment.get(12)? >> 4) * 4;
    let flags = *segment.get(FLAGS)?;
    let payload = segment.len().checked_sub(tcp).filter(|payload| *payload > 0)?;
    if protocol != TCP || tcp < TCP_HEADER || flags & !PSH != ACK || segment[12] & 0x0f != 0 || !is_right() {
        return None;
    }
    Some(Shape {
        protocol,
        ip,
        transport: tcp,
        number: u32::from_be_bytes(*segment.get(NUMBER)?.first_chunk()?),
        payload,
        is_pushed: flags & PSH != 0,
        between,
    })
}

/// Returns true if the headers differ in nothing but length, number, sums, PSH and, in IPv4, the
/// packet's own number.
fn is_alike(first: &[u8], packet: &[u8], one: &Shape, other: &Shape) -> bool {
    if (one.protocol, one.ip, one.transport) != (other.protocol, other.ip, other.transport) {
        return false;
    }
    let same = |range: std::ops::Range<usize>| first.get(range.clone()) == packet.get(range);
    let of_ip = match one.ip {
        IPV4 => same(0..2) && same(6..10) && same(12..20),
        _ => same(0..4) && same(6..40),
    };
    let at = one.ip;
    if one.protocol == UDP {
        return of_ip && same(at..at + 4);
    }
    // Ports, acknowledgement, length and window, options.
    of_ip && same(at..at + 4) && same(at + 8..at + 13) && same(at + 14..at + 16) && same(at + 18..at + one.transport)
}
