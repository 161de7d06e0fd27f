//! Messages of TLS in fragments (RFC 5216, section 2.1.5): each is answered before the next is sent.

use bartizan_wire::eap::{LENGTH, MORE};

/// Octets of TLS in a fragment: wpa_supplicant and hostapd lose frames of more than 2300, and a port has 1500 at least.
pub(super) const FRAGMENT: usize = 1398;
/// Octets of a message that a peer may send: a flight with a long chain of ML-DSA certificates.
const LONGEST: usize = 64 << 10;

/// A message that is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, sent: 0 }
    }

    /// Returns true if nothing of it is left.
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// The next fragment: its flags, and its data with the length of the message in front of the first of several.
    pub(super) fn next(&mut self) -> (u8, Vec<u8>) {
        let rest = self.bytes.get(self.sent..).unwrap_or_default();
        let part = &rest[..rest.len().min(FRAGMENT)];
        let (first, last) = (self.sent == 0, part.len() == rest.len());
        let mut data = Vec::with_capacity(part.len() + 4);
        let mut flags = 0;
        if first && !last {
            flags |= LENGTH;
            data.extend(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        }
        if !last {
            flags |= MORE;
        }
        data.extend(part);
        self.sent += part.len();
        (flags, data)
    }
}

/// A message that arrives.
#[derive(Debug, Default)]
pub(super) struct Incoming(Vec<u8>);

/// State of a message after a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It is whole.
    Whole(Vec<u8>),
    /// More is to come.
    More,
    /// It is longer than any that is needed, or no fragment at all.
    Unfit,
}

impl Incoming {
    /// Takes what stands behind the type.
    pub(super) fn take(&mut self, data: &[u8]) -> Part {
        let Some((&flags, mut data)) = data.split_first() else {
            return Part::Unfit;
        };
        if flags & LENGTH != 0 {
            let Some((_, behind)) = data.split_first_chunk::<4>() else {
                return Part::Unfit;
            };
            data = behind;
        }
        if self.0.len() + data.len() > LONGEST {
            return Part::Unfit;
        }
        self.0.extend_from_slice(data);
        match flags & MORE {
            0 => Part::Whole(std::mem::take(&mut self.0)),
            _ => Part::More,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn message_that_is_longer_than_any_is_refused_before_it_is_held() {
        let mut incoming = Incoming::default();
        let part = [&[MORE][..], &[0; FRAGMENT]].concat();
        let taken = (0..100).map(|_| incoming.take(&part)).find(|part| *part != Part::More);
        assert_eq!(taken, Some(Part::Unfit));
        assert!(incoming.0.len() <= LONGEST);
        assert_eq!(incoming.take(&[]), Part::Unfit);
        assert_eq!(incoming.take(&[LENGTH, 0, 0]), Part::Unfit);
    }

    proptest! {
        #[test]
        fn message_arrives_as_it_was_sent(bytes in proptest::collection::vec(any::<u8>(), 1..9000)) {
            let (mut outgoing, mut incoming) = (Outgoing::new(bytes.clone()), Incoming::default());
            let mut fragments = 0;
            loop {
                let (flags, data) = outgoing.next();
                fragments += 1;
                match incoming.take(&[&[flags][..], &data].concat()) {
                    Part::Whole(whole) => {
                        prop_assert_eq!(whole, bytes.clone());
                        break;
                    }
                    part => prop_assert_eq!(part, Part::More),
                }
            }
            prop_assert!(outgoing.is_sent());
            prop_assert_eq!(fragments, bytes.len().div_ceil(FRAGMENT));
        }
    }
}
