//! Packets that contradict others of their capture: those of an attacker who can send, and cannot
//! stop what others send.

use std::collections::BTreeSet;

use bartizan_wire::End;

use super::towards_classical::damage::Chance;
use super::towards_classical::frame::{Capture, Frame, Packet};

/// Place and kind of a changed copy of a packet, relative to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Before it: the first of two.
    Before,
    /// Behind it, as a retransmission.
    Behind,
    /// A piece out of its middle, before it.
    Piece,
    /// More than it: from some bytes before its beginning on.
    Across,
    /// Before it, and its checksum is wrong: the receiver drops it.
    Corrupt,
    /// Nothing of it: RST of its sender, before it.
    Reset,
    /// RST of its receiver, before it, at a sequence number within the window and not the next: it
    /// resets nothing (RFC 5961, section 3.2).
    Challenged,
    /// FIN of both ends, before it.
    End,
    /// SYN of its sender, of another connection between the same ports.
    Begin,
    /// SYN-ACK of its receiver, of another connection between the same ports.
    Answer,
}

pub(crate) const ALL: [Lie; 10] = [
    Lie::Before,
    Lie::Behind,
    Lie::Piece,
    Lie::Across,
    Lie::Corrupt,
    Lie::Reset,
    Lie::Challenged,
    Lie::End,
    Lie::Begin,
    Lie::Answer,
];

const SERVER_HELLO: u8 = 2;
const CLIENT_HELLO: u8 = 1;
const IKE_SA_INIT: u8 = 34;
const KEXINIT: u8 = 20;

impl Lie {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Before => "contradicted beforehand",
            Self::Behind => "contradicted afterwards",
            Self::Piece => "contradicted in a piece",
            Self::Across => "contradicted across a boundary",
            Self::Corrupt => "contradicted by a corrupt one",
            Self::Reset => "reset by another",
            Self::Challenged => "reset out of place by another",
            Self::End => "ended by another",
            Self::Begin => "begun anew by another",
            Self::Answer => "answered by another",
        }
    }

    /// Returns true if it says what an end said; the others say that it was over.
    fn has_bytes(self) -> bool {
        !matches!(
            self,
            Self::Reset | Self::Challenged | Self::End | Self::Begin | Self::Answer
        )
    }

    /// Applied to some packets.
    pub(crate) fn applied(self, capture: &Capture, chance: &mut Chance, one_of: usize) -> Vec<Packet> {
        let mut packets = Vec::new();
        for packet in &capture.packets {
            let place = chance.below(packet.bytes.len());
            if chance.below(one_of) == 0 {
                self.next_to(packet, place, &mut packets);
            } else {
                packets.push(packet.clone());
            }
        }
        packets
    }

    /// Applies it to each message that a key exchange in plaintext rests on; returns the ends of
    /// each, too.
    pub(crate) fn about_handshakes(self, capture: &Capture) -> (Vec<Packet>, BTreeSet<(End, End)>) {
        let (mut packets, mut about) = (Vec::new(), BTreeSet::new());
        for packet in &capture.packets {
            let frame = Frame::read(&packet.bytes);
            let before = packets.len();
            match place(&frame) {
                Some(place) => self.next_to(packet, place, &mut packets),
                None => packets.push(packet.clone()),
            }
            if packets.len() > before + 1 && self.has_bytes() && self != Self::Corrupt {
                about.extend(frame.ends.map(|(one, other)| (End::Socket(one), End::Socket(other))));
            }
        }
        (packets, about)
    }

    /// The packet, and the lie about its byte at `place` of the payload.
    fn next_to(self, packet: &Packet, place: usize, packets: &mut Vec<Packet>) {
        let frame = Frame::read(&packet.bytes);
        let payload = frame.payload();
        let place = place % payload.len().max(1);
        let tcp = frame.protocol == 6;
        let mut other = payload.to_vec();
        let fits = !payload.is_empty() && !frame.begins_or_ends() && matches!(frame.protocol, 6 | 17 | 132);
        let control = |flags: u8, by: u32| {
            let mut lie = frame.moved(by, &[]);
            lie[frame.transport + 13] = flags;
            packet.with(lie)
        };
        match self {
            Self::Reset if fits && tcp => return packets.extend([control(0x04, 0), packet.clone()]),
            Self::Begin if fits && tcp => return packets.extend([control(0x02, 77_777), packet.clone()]),
            Self::End if fits && tcp => {
                let back = packet.with(frame.answer(0x11));
                return packets.extend([control(0x11, 0), back, packet.clone()]);
            }
            Self::Answer if fits && tcp => {
                let mut stray = frame.answer(0x12);
                for at in [frame.transport + 4, frame.transport + 8] {
                    let field = &mut stray[at..at + 4];
                    let number = u32::from_be_bytes(field.try_into().unwrap()).wrapping_add(77_777);
                    field.copy_from_slice(&number.to_be_bytes());
                }
                return packets.extend([packet.with(stray), packet.clone()]);
            }
            Self::Challenged if fits && tcp => {
                let mut stray = frame.answer(0x04);
                let field = &mut stray[frame.transport + 4..frame.transport + 8];
                let number = u32::from_be_bytes(field.try_into().unwrap()).wrapping_add(1000);
                field.copy_from_slice(&number.to_be_bytes());
                return packets.extend([packet.with(stray), packet.clone()]);
            }
            Self::Reset | Self::Challenged | Self::Begin | Self::End | Self::Answer => {
                return packets.push(packet.clone());
            }
            _ => {}
        }
        let lie = match self {
            _ if !fits => None,
            Self::Piece if tcp => {
                other[place] ^= 0x55;
                let begin = place - place.min(3);
                Some(frame.moved(begin as u32, &other[begin..(place + 4).min(payload.len())]))
            }
            Self::Across if tcp => {
                other[place] ^= 0x55;
                // The bytes before are not known here: they are lies as well.
                let more = [&[0x5a; 5][..], &other].concat();
                Some(frame.moved(5u32.wrapping_neg(), &more))
            }
            _ => {
                other[place] ^= 0x55;
                Some(frame.moved(0, &other))
            }
        };
        match lie {
            None => packets.push(packet.clone()),
            Some(lie) if self == Self::Corrupt => packets.extend([packet.corrupt(lie), packet.clone()]),
            Some(lie) if self == Self::Behind => packets.extend([packet.clone(), packet.with(lie)]),
            Some(lie) => packets.extend([packet.with(lie), packet.clone()]),
        }
    }
}

/// Offset in a packet of bytes that a key exchange rests on: in the random or the nonce.
fn place(frame: &Frame<'_>) -> Option<usize> {
    let payload = frame.payload();
    match (frame.protocol, payload) {
        (6, [22, 3, _, _, _, SERVER_HELLO | CLIENT_HELLO, ..]) => Some(5 + 4 + 2 + 7),
        // Length, padding, message, cookie, names.
        (6, [0, 0, _, _, _, KEXINIT, ..]) => Some(30),
        (17, _) if frame.is_on(500) && payload.get(18) == Some(&IKE_SA_INIT) => Some(payload.len() - 3),
        _ => None,
    }
}
