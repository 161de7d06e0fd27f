//! Fragments of one IP packet in any order and number: what is put together is what was sent.
//!
//! Input: three bytes for each fragment: its offset, its length (both in units of eight bytes) and whether it lies.

use std::net::{IpAddr, Ipv4Addr};

use bartizan_wire::ip::{Datagram, Fragment, FragmentLimits, Fragments, Taken};
use bartizan_wire::{Moment, Timestamp};

/// Bytes of the packet's payload.
const SENT: usize = 1000;

pub(super) fn run(bytes: &[u8]) {
    let sent: Vec<u8> = (0..SENT).map(|place| (place % 251) as u8).collect();
    let mut fragments = Fragments::new(FragmentLimits::default());
    let mut honest = true;
    for (number, one) in bytes.chunks_exact(3).enumerate() {
        let begin = usize::from(one[0]) * 8 % SENT;
        let end = (begin + (usize::from(one[1]) + 1) * 8).min(SENT);
        let mut payload = sent[begin..end].to_vec();
        // One in sixteen says something else at its first byte: none of its packet may then be believed to be whole and
        // honest.
        if one[2] & 0x0f == 0x0f {
            payload[0] ^= 1;
            honest = false;
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
        if let Taken::Whole { payload, parts, .. } = fragments.take(&datagram, at) {
            assert_eq!(payload.len(), SENT);
            assert!(parts > 0);
            assert!(!honest || payload == sent);
        }
    }
    fragments.finish();
}
