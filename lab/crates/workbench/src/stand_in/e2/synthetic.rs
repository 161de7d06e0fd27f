//! Messages that no recording has: a RIC's control message and a node's reply to it, of the size that is asked for.
//!
//! They are not E2AP and are marked as such: a capture shows `BARTIZAN SYNTHETIC`. They carry a
//! number, by which a loop is timed.

/// Prefix of every synthetic message.
pub const MARK: &[u8] = b"BARTIZAN SYNTHETIC ";
/// The shortest one: mark, kind and number.
pub const SHORTEST: usize = MARK.len() + 1 + 8;

/// Type of a synthetic message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From the RIC, in answer to an indication.
    Control,
    /// From the node, in answer to a control message.
    Reply,
}

impl Kind {
    fn letter(self) -> u8 {
        match self {
            Self::Control => b'C',
            Self::Reply => b'R',
        }
    }
}

/// One of this kind, number and size in bytes; no shorter than [`SHORTEST`].
#[must_use]
pub fn message(kind: Kind, number: u64, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size.max(SHORTEST));
    bytes.extend_from_slice(MARK);
    bytes.push(kind.letter());
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.resize(size.max(SHORTEST), 0);
    bytes
}

/// Kind and number of a synthetic message; none for any other.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(Kind, u64)> {
    let (letter, rest) = bytes.strip_prefix(MARK)?.split_first()?;
    let kind = [Kind::Control, Kind::Reply]
        .into_iter()
        .find(|kind| kind.letter() == *letter)?;
    Some((kind, u64::from_be_bytes(*rest.first_chunk()?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_made_is_read(number: u64, size in 0_usize..3000, control: bool) {
            let kind = if control { Kind::Control } else { Kind::Reply };
            let made = message(kind, number, size);
            prop_assert_eq!(made.len(), size.max(SHORTEST));
            prop_assert_eq!(read(&made), Some((kind, number)));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let _ = read(&[MARK, bytes.as_slice()].concat());
        }
    }

    #[test]
    fn no_recorded_message_looks_synthetic() {
        let exchange = crate::stand_in::e2::Exchange::flexric();
        assert!(exchange.messages().iter().all(|message| read(&message.bytes).is_none()));
    }
}
