//! Captures of many short connections.

use std::net::Ipv4Addr;

const CLIENT: u16 = 40_000;
const SERVER: u16 = 8_000;
const SYN: u8 = 0x02;
const SYN_ACK: u8 = 0x12;
const ACK: u8 = 0x10;

/// A pcap of one unencrypted request from the first of each two addresses to the second, a millisecond apart.
pub(crate) fn connections(ends: impl Iterator<Item = [Ipv4Addr; 2]>) -> Vec<u8> {
    let mut file = Vec::new();
    // Magic number, version 2.4, UTC, snapshot length, Ethernet.
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (number, [client, server]) in ends.enumerate() {
        let at = u32::try_from(number).expect("a number of a connection");
        for (packet, (flags, from_client, payload)) in [
            (SYN, true, &b""[..]),
            (SYN_ACK, false, b""),
            (ACK, true, b"GET /nnrf-nfm/v1 HTTP/1.1\r\nHost: nrf\r\n\r\n"),
        ]
        .into_iter()
        .enumerate()
        {
            let (source, destination) = if from_client {
                (client, server)
            } else {
                (server, client)
            };
            let ports = if from_client {
                [CLIENT, SERVER]
            } else {
                [SERVER, CLIENT]
            };
            let sent = [u32::from(packet != 0), u32::from(packet == 2)];
            let numbers = if from_client { sent } else { [0, 1] };
            let frame = frame([source, destination], ports, numbers, flags, payload);
            let length = u32::try_from(frame.len()).expect("a short frame");
            let micros = at % 1_000 * 1_000 + u32::try_from(packet).expect("a packet of three");
            for word in [1_700_000_000 + at / 1_000, micros, length, length] {
                file.extend(word.to_le_bytes());
            }
            file.extend(frame);
        }
    }
    file
}

fn frame(addresses: [Ipv4Addr; 2], ports: [u16; 2], numbers: [u32; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00]);
    let length = u16::try_from(40 + payload.len()).expect("a short packet");
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    // Identification, don't fragment, TTL, TCP, no checksum.
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(addresses.iter().flat_map(Ipv4Addr::octets));
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frame.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    // Five words of header, a window, no checksum.
    frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend(payload);
    frame
}
