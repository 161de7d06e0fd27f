//! TCP segments of one stream, lost, doubled, reordered and overlapping: what is given is what was sent, at its place.
//!
//! Input: four bytes for each segment: where it begins, modulo the stream, and how long it is.

use bartizan_wire::tcp::{Budget, Delivery, Stream, segment};
use bartizan_wire::{Moment, Timestamp};

/// Bytes of the stream that the segments are cut from.
const SENT: usize = 1 << 16;

fn sent(place: usize) -> u8 {
    (place % 251) as u8
}

pub(super) fn run(bytes: &[u8]) {
    let (first, segments) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    // Near the end of sequence numbers, so that they go past it.
    let initial = u32::MAX - u32::from(first) * 64;
    let mut budget = Budget::new(1 << 14);
    let mut stream = Stream::default();
    let mut place = 0;
    let mut give = |delivery: Delivery<'_>| match delivery {
        Delivery::Data { bytes, .. } => {
            assert!(!bytes.is_empty());
            for (index, byte) in bytes.iter().enumerate() {
                assert_eq!(*byte, sent(place + index), "at {place}");
            }
            place += bytes.len();
        }
        Delivery::Gap { bytes, .. } => {
            assert!(bytes > 0);
            place += bytes as usize;
        }
    };
    let mut frame = header(initial, 2);
    let mut at = Moment {
        packet: 1,
        time: Timestamp(0),
    };
    stream.segment(&segment(&frame, 0).expect("a header"), at, &mut budget, &mut give);
    for one in segments.chunks_exact(4) {
        let begin = usize::from(u16::from_be_bytes([one[0], one[1]]));
        let length = usize::from(u16::from_be_bytes([one[2], one[3]]) & 0x0fff).min(SENT - begin);
        frame = header(initial.wrapping_add(1 + begin as u32), 0);
        frame.extend((begin..begin + length).map(sent));
        // The last bits say how much of it a snap length cut off.
        let cut = length * usize::from(one[2] >> 4) / 16;
        frame.truncate(frame.len() - cut);
        at.packet += 1;
        stream.segment(&segment(&frame, cut).expect("a header"), at, &mut budget, &mut give);
    }
    stream.finish(&mut budget, &mut give);
    let counts = stream.counts();
    assert_eq!(counts.bytes + counts.missing, place as u64);
    assert_eq!(counts.contradicted, None, "all segments say the same");
}

/// A TCP header without options.
fn header(sequence: u32, flags: u8) -> Vec<u8> {
    let mut header = vec![0; 20];
    header[4..8].copy_from_slice(&sequence.to_be_bytes());
    header[12] = 0x50;
    header[13] = flags;
    header
}
