//! Fragments of one IP packet in any order and number: what is put together is what was sent, and
//! again where parts are doubled.
//!
//! Input: three bytes for each fragment: its offset, its length (both in units of eight bytes) and whether it lies.

use std::net::{IpAddr, Ipv4Addr};

use bartizan_wire::ip::{Datagram, Fragment, FragmentLimits, Fragments, Taken};
use bartizan_wire::{Moment, Timestamp};

/// Bytes of the packet's payload.
const SENT: usize = 1000;

/// Parts of a packet that are held at most.
const PARTS: usize = 64;

/// Begin and bytes.
type Part = (usize, Vec<u8>);

/// Expected fate of the parts, by a model that keeps all of them.
#[derive(Default)]
struct Model {
    parts: Vec<Part>,
    /// The part that completed a packet, and the packet.
    done: Option<(Part, Vec<u8>)>,
    refused: bool,
}

impl Model {
    /// Takes a part; gives the packet where it is whole, and once more with a copy of the part that completed it.
    fn take(&mut self, begin: usize, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.refused
            || self
                .parts
                .iter()
                .any(|(place, known)| *place == begin && known == bytes)
        {
            return None;
        }
        if self.parts.is_empty()
            && let Some(((place, known), whole)) = self.done.take()
            && (place, &*known) == (begin, bytes)
        {
            return Some(whole);
        }
        let overlaps = |(place, known): &Part| *place < begin + bytes.len() && begin < place + known.len();
        if self.parts.iter().any(overlaps) || self.parts.len() >= PARTS {
            self.refused = true;
            return None;
        }
        self.parts.push((begin, bytes.to_vec()));
        if self.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < SENT {
            return None;
        }
        self.parts.sort();
        let whole: Vec<u8> = std::mem::take(&mut self.parts)
            .into_iter()
            .flat_map(|(_, bytes)| bytes)
            .collect();
        self.done = Some(((begin, bytes.to_vec()), whole.clone()));
        Some(whole)
    }
}

pub(super) fn run(bytes: &[u8]) {
    let sent: Vec<u8> = (0..SENT).map(|place| (place % 251) as u8).collect();
    let mut fragments = Fragments::new(FragmentLimits::default());
    let (mut model, mut packets, mut given) = (Model::default(), 0, 0);
    for (number, one) in bytes.chunks_exact(3).enumerate() {
        let begin = usize::from(one[0]) * 8 % SENT;
        let end = (begin + (usize::from(one[1]) + 1) * 8).min(SENT);
        let mut payload = sent[begin..end].to_vec();
        // One in sixteen says something else at its first byte: next to another that covers it nothing is put together.
        if one[2] & 0x0f == 0x0f {
            payload[0] ^= 1;
        }
        let datagram = Datagram {
            source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            protocol: 17,
            payload: &payload,
            missing: 0,
            length: payload.len() + 20,
            fragment: Fragment::Part {
                identification: 7,
                offset: begin as u32,
                more: end < SENT,
            },
        };
        let at = Moment {
            packet: number as u64 + 1,
            time: Timestamp(number as u64),
        };
        packets += 1;
        let expected = model.take(begin, &payload);
        match fragments.take(&datagram, at) {
            Taken::Whole { payload, captured, .. } => {
                assert_eq!(Some(payload), expected);
                given += captured.packets;
            }
            Taken::Held => assert_eq!(expected, None, "it is whole"),
            Taken::Refused => assert!(model.refused, "it is of no use"),
        }
    }
    fragments.finish();
    given += fragments
        .take_abandoned()
        .iter()
        .map(|one| one.captured.packets)
        .sum::<u64>();
    assert_eq!(given, packets, "each part is of a packet that was given, or given up");
}
