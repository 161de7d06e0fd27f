//! Packets for other implementations to read: pings, and captures of what protects them.

use std::net::{IpAddr, Ipv4Addr};

use bartizan_esp::{Outbound, tunnel};
use bartizan_wire::checksum::{internet, over_addresses};
use bartizan_wire::ip::{ESP, UDP};

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

/// ESP with this packet, as if that had `least` bytes where it has fewer.
pub(crate) fn sealed(sa: &mut Outbound, inner: &[u8], least: usize) -> Vec<u8> {
    let mut buffer = vec![0; 2000];
    buffer[sa.headroom()..][..inner.len()].copy_from_slice(inner);
    let length = tunnel::seal(sa, &mut buffer, inner.len(), least).expect("sealed");
    buffer.truncate(length);
    buffer
}

/// The packet that carries it between two gateways, itself or in UDP.
pub(crate) fn outer(source: IpAddr, destination: IpAddr, in_udp: bool, esp: &[u8]) -> Vec<u8> {
    let (protocol, mut carried) = (if in_udp { UDP } else { ESP }, esp.to_vec());
    if in_udp {
        let [a, b] = (8 + esp.len() as u16).to_be_bytes();
        carried = [&[0x11, 0x94, 0x11, 0x94, a, b, 0, 0], esp].concat();
    }
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => ipv4(source, destination, protocol, &carried),
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            if in_udp {
                let sum = over_addresses(source, destination, UDP, &carried);
                carried[6..8].copy_from_slice(&sum.to_be_bytes());
            }
            let [a, b] = (carried.len() as u16).to_be_bytes();
            let header = [0x60, 0, 0, 0, a, b, protocol, 64];
            [&header[..], &from.octets(), &to.octets(), &carried].concat()
        }
        _ => unreachable!("addresses of one version"),
    }
}

/// Different bytes for each suite and direction.
pub(crate) fn keys(length: usize, of: u8) -> Vec<u8> {
    (0..length)
        .map(|byte| (byte as u8).wrapping_mul(37).wrapping_add(of))
        .collect()
}
