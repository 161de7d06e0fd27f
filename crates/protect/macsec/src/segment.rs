//! Segments: what a frame of the key exchange carries.
//!
//! ```text
//! version 1 | kind 1 | conversation 8 | sequence 4 | acknowledgement 4 | length 2 | payload
//! ```
//!
//! All numbers are big-endian; sequence and acknowledgement count octets of the conversation, as TCP's do. The length is there because short
//! Ethernet frames are filled up. Nothing of it is authenticated: TLS is, inside. An empty segment of conversation 0 is no part of any: the end that
//! does not begin says that it listens from now on.

/// The version of this form.
const VERSION: u8 = 1;
/// Octets in front of the payload.
pub(crate) const HEADER: usize = 20;
/// From the end that began the conversation, and from the other: neither takes its own for the peer's, whatever a loop brings back.
const FROM_CLIENT: u8 = 1;
const FROM_SERVER: u8 = 2;

/// Which end sent a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The one that began the conversation.
    Client,
    /// The other.
    Server,
}

/// One segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The sending end.
    pub from: From,
    /// Random number of the conversation, from the end that began it.
    pub conversation: u64,
    /// Place of the payload's first octet.
    pub sequence: u32,
    /// Place of the next octet that is wanted from the other end.
    pub acknowledgement: u32,
    /// A part of the stream; empty where only the acknowledgement matters.
    pub payload: &'a [u8],
}

impl Segment<'static> {
    /// Announcement of an end that begins to wait for exchanges: the other sends again at once what
    /// was not received.
    pub(crate) const LISTENS: Self = Self {
        from: From::Server,
        conversation: 0,
        sequence: 0,
        acknowledgement: 0,
        payload: &[],
    };
}

impl<'a> Segment<'a> {
    /// Reads one; none where it is no segment.
    pub fn read(frame: &'a [u8]) -> Option<Self> {
        let (header, rest) = frame.split_first_chunk::<HEADER>()?;
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let from = match header[1] {
            FROM_CLIENT => From::Client,
            FROM_SERVER => From::Server,
            _ => return None,
        };
        (header[0] == VERSION).then_some(())?;
        Some(Self {
            from,
            conversation: u64::from(number(2)) << 32 | u64::from(number(6)),
            sequence: number(10),
            acknowledgement: number(14),
            payload: rest.get(..usize::from(u16::from_be_bytes([header[18], header[19]])))?,
        })
    }

    /// As it is sent.
    pub fn write(&self) -> Vec<u8> {
        let kind = match self.from {
            From::Client => FROM_CLIENT,
            From::Server => FROM_SERVER,
        };
        let mut frame = Vec::with_capacity(HEADER + self.payload.len());
        frame.extend([VERSION, kind]);
        frame.extend(self.conversation.to_be_bytes());
        frame.extend(self.sequence.to_be_bytes());
        frame.extend(self.acknowledgement.to_be_bytes());
        frame.extend(u16::try_from(self.payload.len()).unwrap_or(u16::MAX).to_be_bytes());
        frame.extend(self.payload);
        frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn segment_is_read_as_it_was_written_also_where_the_frame_was_filled_up(
            client: bool, conversation: u64, sequence: u32, acknowledgement: u32,
            payload in proptest::collection::vec(any::<u8>(), 0..100), filled in 0..50usize,
        ) {
            let from = if client { From::Client } else { From::Server };
            let segment = Segment { from, conversation, sequence, acknowledgement, payload: &payload };
            let mut frame = segment.write();
            frame.resize(frame.len() + filled, 0);
            prop_assert_eq!(Segment::read(&frame), Some(segment));
        }

        #[test]
        fn any_bytes_are_a_segment_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(segment) = Segment::read(&bytes) {
                prop_assert!(segment.payload.len() <= bytes.len());
            }
        }
    }
}
