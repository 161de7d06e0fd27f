//! Header blocks of the first requests (RFC 9113, section 4.3), put together from HEADERS and
//! CONTINUATION, not decompressed.

use super::{CONTINUATION, HEADERS};
use crate::Moment;

/// Bytes kept of a connection's header blocks. A request with a token signed by RSA-2048 takes some 750.
const KEPT: usize = 1024;
/// Blocks kept.
const BLOCKS: usize = 8;

/// Flags of section 6.2.
const END_HEADERS: u8 = 0x04;
const PADDED: u8 = 0x08;
const PRIORITY: u8 = 0x20;
/// Bytes of the fields that the last one announces.
const PRIORITY_FIELDS: usize = 5;

/// A header block as it stands in its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderBlock {
    /// The packet with its last byte.
    pub at: Moment,
    /// The block; of one that is too long its beginning.
    pub bytes: Box<[u8]>,
}

/// The stored blocks, and the incomplete one.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    kept: Vec<HeaderBlock>,
    open: Option<Box<Open>>,
    /// No further block can be read without those that were not kept.
    over: bool,
}

#[derive(Debug, Clone)]
struct Open {
    block: Vec<u8>,
    /// The payload of the frame in progress, as far as it may be needed; none between two frames.
    frame: Option<Vec<u8>>,
    length: usize,
    flags: u8,
    headers: bool,
}

impl Blocks {
    /// A frame of the client begins.
    pub(super) fn frame(&mut self, kind: u8, flags: u8, length: u64, at: Moment) {
        if self.over {
            return;
        }
        // No frame may come between the parts of a block (section 4.3).
        if self.open.is_some() != (kind == CONTINUATION) {
            if self.open.is_some() || kind == CONTINUATION {
                self.give_up();
            }
            if kind != HEADERS {
                return;
            }
        } else if kind != HEADERS && kind != CONTINUATION {
            return;
        }
        if self.over {
            return;
        }
        let open = self.open.get_or_insert_with(|| {
            Box::new(Open {
                block: Vec::new(),
                frame: None,
                length: 0,
                flags,
                headers: true,
            })
        });
        open.frame = Some(Vec::new());
        open.length = usize::try_from(length).unwrap_or(usize::MAX);
        open.flags = flags;
        open.headers = kind == HEADERS;
        if length == 0 {
            self.frame_ends(at);
        }
    }

    /// Bytes of a payload of the client, of which the last one may be the frame's; whether they
    /// belong to a block that is read.
    pub(super) fn payload(&mut self, bytes: &[u8], ends: bool, at: Moment) -> bool {
        let Some(frame) = self.open.as_mut().and_then(|open| open.frame.as_mut()) else {
            return false;
        };
        // A pad length and priority fields may stand before the block.
        let room = (1 + PRIORITY_FIELDS + KEPT).saturating_sub(frame.len());
        frame.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if ends {
            self.frame_ends(at);
        }
        true
    }

    /// Bytes of the client are missing: harmless outside of blocks.
    pub(super) fn gap(&mut self) {
        if self.open.is_some() {
            self.give_up();
        }
    }

    pub(super) fn give_up(&mut self) {
        self.open = None;
        self.over = true;
    }

    pub(super) fn finish(self) -> Vec<HeaderBlock> {
        self.kept
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let open = self.open.as_deref().map_or(0, |open| {
            size_of::<Open>() + open.block.capacity() + open.frame.as_ref().map_or(0, Vec::capacity)
        });
        open + self.kept.capacity() * size_of::<HeaderBlock>() + self.bytes()
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|block| block.bytes.len()).sum()
    }

    /// The frame in progress is whole.
    fn frame_ends(&mut self, at: Moment) {
        let room = KEPT.saturating_sub(self.bytes());
        let Some(open) = &mut self.open else { return };
        let Some(frame) = open.frame.take() else { return };
        let Some(fragment) = fragment(&frame, open.length, open.flags, open.headers) else {
            self.give_up();
            return;
        };
        open.block.extend_from_slice(fragment.kept);
        let cut = fragment.cut || open.block.len() > room;
        if !cut && open.flags & END_HEADERS == 0 {
            return;
        }
        open.block.truncate(room);
        let bytes = std::mem::take(&mut open.block).into_boxed_slice();
        self.open = None;
        if !bytes.is_empty() {
            self.kept.reserve_exact(1);
            self.kept.push(HeaderBlock { at, bytes });
        }
        if cut || self.kept.len() >= BLOCKS {
            self.over = true;
        }
    }
}

struct Fragment<'a> {
    kept: &'a [u8],
    /// There was more of it.
    cut: bool,
}

/// The part of a block in a frame of so many bytes, of which `frame` is the beginning; none where
/// padding and priority leave no room for one.
fn fragment(frame: &[u8], length: usize, flags: u8, headers: bool) -> Option<Fragment<'_>> {
    let (mut before, mut padding) = (0, 0);
    if headers && flags & PADDED != 0 {
        padding = usize::from(*frame.first()?);
        before += 1;
    }
    if headers && flags & PRIORITY != 0 {
        before += PRIORITY_FIELDS;
    }
    let end = length.checked_sub(padding).filter(|end| *end >= before)?;
    let kept = frame.get(before..end.min(frame.len()).max(before))?;
    Some(Fragment {
        kept,
        cut: frame.len() < end,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Timestamp;

    fn moment(packet: u64) -> Moment {
        Moment {
            packet,
            time: Timestamp(packet),
        }
    }

    fn send(blocks: &mut Blocks, (kind, flags): (u8, u8), payload: &[u8], piece: usize) {
        blocks.frame(kind, flags, payload.len() as u64, moment(1));
        let pieces = payload.chunks(piece).count();
        for (index, bytes) in payload.chunks(piece).enumerate() {
            blocks.payload(bytes, index + 1 == pieces, moment(2));
        }
    }

    fn kept(blocks: Blocks) -> Vec<Vec<u8>> {
        blocks.finish().into_iter().map(|block| block.bytes.into()).collect()
    }

    #[test]
    fn padding_and_priority_are_no_part_of_a_block_and_its_frames_are_put_together() {
        for piece in [1, 3, 100] {
            let mut blocks = Blocks::default();
            let padded = [&[3, 0, 0, 0, 0, 9][..], b"one", &[0; 3]].concat();
            send(&mut blocks, (HEADERS, PADDED | PRIORITY | END_HEADERS), &padded, piece);
            send(&mut blocks, (HEADERS, 0), b"tw", piece);
            send(&mut blocks, (CONTINUATION, 0), b"", piece);
            send(&mut blocks, (CONTINUATION, END_HEADERS), b"o", piece);
            send(&mut blocks, (0, 0), b"data", piece);
            assert_eq!(kept(blocks), [b"one".to_vec(), b"two".to_vec()]);
        }
    }

    #[test]
    fn a_frame_between_the_parts_of_a_block_ends_the_reading() {
        let mut blocks = Blocks::default();
        send(&mut blocks, (HEADERS, END_HEADERS), b"one", 9);
        send(&mut blocks, (HEADERS, 0), b"two", 9);
        send(&mut blocks, (0, 0), b"data", 9);
        send(&mut blocks, (HEADERS, END_HEADERS), b"three", 9);
        assert_eq!(kept(blocks), [b"one".to_vec()]);
    }

    #[test]
    fn bytes_missing_inside_a_block_end_the_reading_and_elsewhere_do_not() {
        let mut blocks = Blocks::default();
        blocks.gap();
        send(&mut blocks, (HEADERS, END_HEADERS), b"one", 9);
        blocks.frame(HEADERS, END_HEADERS, 9, moment(1));
        blocks.payload(b"two", false, moment(1));
        blocks.gap();
        send(&mut blocks, (HEADERS, END_HEADERS), b"three", 9);
        assert_eq!(kept(blocks), [b"one".to_vec()]);
    }

    proptest! {
        #[test]
        fn no_connection_keeps_more_than_its_bounds(
            frames in proptest::collection::vec((0..12_u8, any::<u8>(), proptest::collection::vec(any::<u8>(), 0..3000)), 0..20),
            piece in 1..2000_usize,
        ) {
            let mut blocks = Blocks::default();
            for (kind, flags, payload) in &frames {
                send(&mut blocks, (*kind, *flags), payload, piece);
                prop_assert!(blocks.held() < 6 * KEPT);
            }
            let mut whole = Blocks::default();
            for (kind, flags, payload) in &frames {
                send(&mut whole, (*kind, *flags), payload, usize::MAX);
            }
            let blocks = kept(blocks);
            prop_assert!(blocks.len() <= BLOCKS);
            prop_assert!(blocks.iter().map(Vec::len).sum::<usize>() <= KEPT);
            prop_assert_eq!(blocks, kept(whole));
        }
    }
}
