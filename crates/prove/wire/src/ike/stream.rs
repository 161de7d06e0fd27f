//! IKE and ESP in TCP (RFC 9329): messages behind their lengths.

use super::Header;
use crate::udp::{Encapsulated, encapsulated};
use crate::{Moment, Side};

/// The beginning of a stream, from the end that connects.
pub(crate) const STREAM_PREFIX: &[u8] = b"IKETCP";
/// Bytes of a message's length, which counts them too.
const LENGTH: usize = 2;

/// Cuts both directions into messages.
#[derive(Clone, Default)]
pub(crate) struct Stream {
    /// By side: bytes of the message at hand, its length first.
    partial: [Vec<u8>; 2],
    /// The client's prefix is over.
    begun: bool,
    ready: Vec<(Side, Vec<u8>)>,
    lost: Option<Moment>,
    last: Option<Moment>,
}

impl Stream {
    /// Takes the next bytes of an end.
    pub(crate) fn data(&mut self, from: Side, bytes: &[u8], at: Moment) {
        if self.lost.is_some() {
            return;
        }
        self.last = Some(at);
        let partial = &mut self.partial[from.index()];
        partial.extend_from_slice(bytes);
        if from == Side::Client && !self.begun {
            if partial.len() < STREAM_PREFIX.len() {
                return;
            }
            partial.drain(..STREAM_PREFIX.len());
            self.begun = true;
        }
        let mut taken = 0;
        while let Some(&[high, low]) = partial.get(taken..).and_then(|rest| rest.first_chunk::<LENGTH>()) {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length >= LENGTH && partial.len() < taken + length {
                break;
            }
            let message = partial.get(taken + LENGTH..taken + length);
            let Some(message) = message.filter(|message| is_message(message)) else {
                // Something else: where the next message begins is lost.
                return self.gap(at);
            };
            self.ready.push((from, message.to_vec()));
            taken += length;
        }
        partial.drain(..taken);
    }

    /// Bytes are missing: where the next message begins is not known.
    pub(crate) fn gap(&mut self, at: Moment) {
        self.lost.get_or_insert(at);
        self.partial = Default::default();
    }

    /// True where messages came since they were taken.
    pub(crate) fn has_messages(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Messages that came since the last call, by their senders.
    pub(crate) fn take(&mut self) -> Vec<(Side, Vec<u8>)> {
        std::mem::take(&mut self.ready)
    }

    /// The packet from which on messages cannot be found, or with a part of one that never became
    /// whole.
    pub(crate) fn lost(&self) -> Option<Moment> {
        let whole = self.partial.iter().all(Vec::is_empty);
        self.lost.or(self.last.filter(|_| !whole))
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        self.partial.iter().map(Vec::capacity).sum()
    }
}

/// True where bytes are a message of IKE, a packet of ESP or a keep-alive.
fn is_message(bytes: &[u8]) -> bool {
    match encapsulated(bytes) {
        Encapsulated::Ike(message) => Header::read(message)
            .is_ok_and(|header| matches!(header.major, 1 | 2) && header.length as usize == message.len()),
        Encapsulated::Esp(_) | Encapsulated::KeepAlive => true,
        Encapsulated::Unknown => bytes.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Timestamp;

    fn at() -> Moment {
        Moment {
            packet: 1,
            time: Timestamp(1),
        }
    }

    proptest! {
        #[test]
        fn messages_are_found_however_they_are_cut(
            messages in prop::collection::vec(prop::collection::vec(1u8.., 8..40), 0..8),
            cut in 1..20usize,
        ) {
            let mut bytes = STREAM_PREFIX.to_vec();
            for message in &messages {
                bytes.extend((message.len() as u16 + 2).to_be_bytes());
                bytes.extend(message);
            }
            let mut stream = Stream::default();
            bytes.chunks(cut).for_each(|piece| stream.data(Side::Client, piece, at()));
            let found: Vec<Vec<u8>> = stream.take().into_iter().map(|(_, message)| message).collect();
            prop_assert_eq!(found, messages);
            prop_assert_eq!(stream.lost(), None);
            // A part of a message, and what is none, hide nothing.
            stream.data(Side::Server, &[0, 20, 1], at());
            prop_assert_eq!(stream.lost(), Some(at()));
            let mut stream = Stream::default();
            stream.data(Side::Server, b"\x00\x06\x00\x00\x00\x00", at());
            prop_assert_eq!(stream.lost(), Some(at()));
        }

        #[test]
        fn anything_may_come(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let mut stream = Stream::default();
            pieces.iter().for_each(|piece| stream.data(Side::Server, piece, at()));
            prop_assert!(stream.held() < 1 << 17);
        }
    }
}
