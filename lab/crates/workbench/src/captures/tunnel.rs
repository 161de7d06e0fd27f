//! Frames as a tunnel carries them: what decapsulation costs is measured by the same packets inside and outside.

use super::checksum;
use super::frame::{ETHERNET, put};

/// Ports of VXLAN (RFC 7348) and GTP-U (TS 29.281).
const VXLAN: u16 = 4789;
const GTP_U: u16 = 2152;
/// Both ends of the tunnel.
const ENDS: [u8; 8] = [192, 0, 2, 1, 192, 0, 2, 2];
/// VNI, and tunnel endpoint identifier.
const NUMBER: u32 = 0x0b_a271;

/// The frame in VXLAN or, without its Ethernet header, in GTP-U: all packets between two hosts go the same way.
pub(super) fn wrapped(frame: &[u8]) -> Vec<u8> {
    let kind = frame.get(12..ETHERNET).unwrap_or_default();
    let packet = frame.get(ETHERNET..).unwrap_or_default();
    let addresses = match kind {
        [0x08, 0x00] => packet.get(12..20),
        [0x86, 0xdd] => packet.get(8..40),
        _ => None,
    };
    let together = addresses.unwrap_or_default().iter().fold(0, |sum, byte| sum ^ byte);
    match addresses {
        Some(_) if together & 1 == 1 => {
            // Version 1, a T-PDU without optional fields.
            let mut header = vec![0x30, 0xff];
            header.extend((packet.len() as u16).to_be_bytes());
            header.extend(NUMBER.to_be_bytes());
            enclosed(GTP_U, &header, packet)
        }
        _ => {
            let mut header = vec![0x08, 0, 0, 0];
            header.extend((NUMBER << 8).to_be_bytes());
            enclosed(VXLAN, &header, frame)
        }
    }
}

/// Ethernet, IPv4 and UDP around a header and what it carries.
fn enclosed(port: u16, header: &[u8], inner: &[u8]) -> Vec<u8> {
    let length = header.len() + inner.len();
    let mut frame = vec![0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.reserve_exact(length + 28);
    frame.extend([0x45, 0]);
    frame.extend((length as u16 + 28).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend(ENDS);
    let sum = checksum::internet(&frame[ETHERNET..]);
    // The header is there: it was written above.
    let _ = put(&mut frame, ETHERNET + 10, sum);
    for word in [port, port, length as u16 + 8, 0] {
        frame.extend(word.to_be_bytes());
    }
    frame.extend(header);
    frame.extend(inner);
    frame
}
