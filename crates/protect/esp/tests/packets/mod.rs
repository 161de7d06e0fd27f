//! Packets for other implementations to read: pings, and captures of what protects them.

use std::net::Ipv4Addr;

use bartizan_wire::checksum::internet;

/// An echo request or reply with this sequence number; without addresses, as IPv4 has no pseudo-header for it.
pub(crate) fn echo(kind: u8, sequence: u16, length: usize) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, 0xba, 0x12];
    message.extend(sequence.to_be_bytes());
    message.extend((0..length).map(|byte| byte as u8));
    let sum = internet(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// An IPv4 packet that carries it.
pub(crate) fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet.extend(source.octets());
    packet.extend(destination.octets());
    let sum = internet(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

/// Different bytes for each suite and direction.
pub(crate) fn keys(length: usize, of: u8) -> Vec<u8> {
    (0..length)
        .map(|byte| (byte as u8).wrapping_mul(37).wrapping_add(of))
        .collect()
}
