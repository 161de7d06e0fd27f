//! A connection of TLS 1.3 from the tree, with much more said in it.

use proptest::prelude::*;

use super::{CAPTURES, Owned, packets as read};

/// The port of the server that agrees on X25519MLKEM768.
const PORT: u16 = 4401;
/// Bytes of a record's body.
const RECORD: usize = 4000;
/// Bytes of a segment.
const SEGMENT: usize = 1400;

/// Offsets of the fields of its frames: Ethernet, IPv4 without options, TCP.
const SOURCE_PORT: usize = 34;
const SEQUENCE: usize = 38;
const HEADER_LENGTH: usize = 46;

fn number(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
}

fn payload(frame: &[u8]) -> usize {
    34 + usize::from(frame[HEADER_LENGTH] >> 4) * 4
}

fn is_of(frame: &[u8]) -> bool {
    let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    frame[12..14] == [8, 0] && frame[23] == 6 && [34, 36].into_iter().any(|at| port(at) == PORT)
}

/// The connection, with so many segments of application data of the server behind its handshake,
/// and these changes to them.
pub(crate) fn long(segments: usize, changes: &[(u8, usize)]) -> Vec<Owned> {
    let all = read(CAPTURES[8]);
    let mut frames: Vec<Owned> = all.into_iter().filter(|packet| is_of(&packet.data)).collect();
    // Its end comes when all is said: what says FIN or RST.
    frames.retain(|packet| packet.data[HEADER_LENGTH + 1] & 0x05 == 0);
    let of_server = |packet: &&Owned| packet.data[SOURCE_PORT..SOURCE_PORT + 2] == PORT.to_be_bytes();
    let last = frames.iter().rfind(of_server).unwrap().clone();
    let with_data = frames.iter().filter(of_server);
    let next = with_data
        .map(|packet| number(&packet.data, SEQUENCE).wrapping_add((packet.data.len() - payload(&packet.data)) as u32))
        .max()
        .unwrap();
    let mut said = Vec::new();
    let mut noise = 1_u32;
    while said.len() < segments * SEGMENT {
        said.extend([23, 3, 3]);
        said.extend((RECORD as u16).to_be_bytes());
        said.extend((0..RECORD).map(|_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        }));
    }
    let begin = payload(&last.data);
    let mut more: Vec<Owned> = said[..segments * SEGMENT]
        .chunks(SEGMENT)
        .enumerate()
        .map(|(at, bytes)| {
            let mut data = [&last.data[..begin], bytes].concat();
            let length = (data.len() - 14) as u16;
            data[16..18].copy_from_slice(&length.to_be_bytes());
            let sequence = next.wrapping_add((at * SEGMENT) as u32);
            data[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.to_be_bytes());
            // Left to the network card.
            data[50..52].fill(0);
            Owned {
                time: last.time + 1000 * at as u64,
                original_length: data.len() as u32,
                data,
                ..last
            }
        })
        .collect();
    for (change, at) in changes {
        let at = at % more.len();
        match change {
            0 => {
                more.remove(at);
            }
            1 => more.insert(at, more[at].clone()),
            2 => {
                let packet = more.remove(at);
                more.insert((at + 4).min(more.len()), packet);
            }
            // Sent again when more has come.
            _ => more.insert((at + 30).min(more.len()), more[at].clone()),
        }
    }
    frames.extend(more);
    frames
}

pub(crate) fn packets() -> impl Strategy<Value = Vec<Owned>> {
    let changes = prop::collection::vec((0u8..4, any::<usize>()), 0..5);
    (50usize..1500, changes).prop_map(|(segments, changes)| long(segments, &changes))
}
