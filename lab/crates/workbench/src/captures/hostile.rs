//! Captures made to keep a reader busy: large amounts of input that a reader may process
//! repeatedly.

use std::io::{self, Write};

use super::{File, Written};

/// Repeated content of a hostile capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostile {
    /// Beginnings of JSON web tokens, and nothing else, in one connection.
    Tokens,
    /// IKE_SAs between two hosts, each with rekeys, and an ESP association behind each rekey.
    Rekeys,
    /// TCP segments behind holes that nothing fills, in one connection.
    Holes,
    /// IP fragments of packets that are never whole.
    Fragments,
}

impl Hostile {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Tokens, Self::Rekeys, Self::Holes, Self::Fragments];

    /// As tables write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Rekeys => "rekeys",
            Self::Holes => "holes",
            Self::Fragments => "fragments",
        }
    }

    /// Writes a pcap file of at least this many bytes; gives what it has.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, bytes: u64, out: &mut dyn Write) -> io::Result<Written> {
        let mut file = File::begin(out)?;
        let mut number: u32 = 0;
        // Two connections at most know each other's beginning.
        file.packet(&segment(true, 0, 0x02, &[]))?;
        file.packet(&segment(false, 0, 0x12, &[]))?;
        while file.written.bytes < bytes {
            file.clock += 1000;
            match self {
                Self::Tokens if number == 0 => file.packet(&segment(true, 1, 0x18, b"POST / HTTP/1.1\r\n\r\n"))?,
                Self::Tokens => file.packet(&segment(
                    true,
                    (number - 1).wrapping_mul(1398).wrapping_add(20),
                    0x18,
                    &TOKENS,
                ))?,
                Self::Holes => file.packet(&segment(true, number.wrapping_mul(64).wrapping_add(40), 0x18, &[7; 32]))?,
                Self::Fragments => {
                    let mut packet = ipv4(true, 17, &[7; 64]);
                    packet[14 + 4..14 + 6].copy_from_slice(&((number / 8) as u16).to_be_bytes());
                    let place = 0x2000 | ((number % 8) as u16 * 9);
                    packet[14 + 6..14 + 8].copy_from_slice(&place.to_be_bytes());
                    file.packet(&packet)?;
                }
                Self::Rekeys => {
                    // A new IKE_SA every sixteenth time, in mid-stream.
                    let sa = number / 16;
                    for response in [false, true] {
                        file.packet(&datagram(!response, &create_child_sa(sa, number % 16, response)))?;
                    }
                    let esp = [&(0x1_0000 + number).to_be_bytes()[..], &1u32.to_be_bytes(), &[0xa5; 64]].concat();
                    file.packet(&ipv4(true, 50, &esp))?;
                }
            }
            number = number.wrapping_add(1);
        }
        file.end()
    }
}

/// As long as a segment, without a dot: no token ends.
const TOKENS: [u8; 1398] = {
    let mut text = [b'e'; 1398];
    let mut place = 0;
    while place < text.len() {
        text[place] = b"eyJ"[place % 3];
        place += 1;
    }
    text
};

/// An Ethernet frame with an IPv4 packet from the first of two hosts to the second, or back.
fn ipv4(there: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    frame.extend(((20 + payload.len()) as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    let hosts = [[10, 66, 0, 1], [10, 66, 0, 2]];
    frame.extend(hosts[usize::from(!there)]);
    frame.extend(hosts[usize::from(there)]);
    frame.extend(payload);
    frame
}

/// A TCP segment whose checksum is left to a network card.
fn segment(there: bool, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let ports: [u16; 2] = if there { [40_000, 80] } else { [80, 40_000] };
    let mut bytes = ports.map(u16::to_be_bytes).concat();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(payload);
    ipv4(there, 6, &bytes)
}

fn datagram(there: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [500u16, 500, (8 + payload.len()) as u16, 0]
        .map(u16::to_be_bytes)
        .concat();
    bytes.extend(payload);
    ipv4(there, 17, &bytes)
}

/// A CREATE_CHILD_SA of an IKE_SA with these numbers, with room for a post-quantum key exchange.
fn create_child_sa(sa: u32, message: u32, response: bool) -> Vec<u8> {
    const ENCRYPTED: usize = 1400;
    let spi = 0x0102_0304_0000_0000 | u64::from(sa);
    let mut bytes = [spi.to_be_bytes(), (!spi).to_be_bytes()].concat();
    bytes.extend([46, 0x20, 36, if response { 0x20 } else { 0x08 }]);
    bytes.extend((message + 2).to_be_bytes());
    bytes.extend(((28 + 4 + ENCRYPTED) as u32).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(((4 + ENCRYPTED) as u16).to_be_bytes());
    bytes.extend([0x5a; ENCRYPTED]);
    bytes
}

#[cfg(test)]
mod tests {
    use bartizan_wire::{Limits, Observer};

    use super::*;

    #[test]
    fn hostile_captures_are_what_they_say() {
        for kind in Hostile::ALL {
            let mut file = Vec::new();
            let written = kind.write(200_000, &mut file).unwrap();
            assert_eq!(written.bytes, file.len() as u64);
            let mut reader = bartizan_wire::CaptureReader::new();
            reader.push(&file);
            let mut observer = Observer::new(Limits::default());
            while let Some(packet) = reader.next_packet().unwrap() {
                observer.packet(&packet, |_| {});
            }
            let totals = observer.totals();
            assert_eq!(totals.packets, written.packets, "{}", kind.name());
            assert_eq!(totals.connections, 1);
            match kind {
                Hostile::Rekeys => assert!(totals.ike_sas > 2 && totals.esp_sas > 2 * totals.ike_sas),
                Hostile::Fragments => assert_eq!(totals.reassembled, 0),
                Hostile::Tokens | Hostile::Holes => assert!(totals.segments > 100),
            }
        }
    }
}
