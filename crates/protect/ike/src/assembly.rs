//! Fragments of a message, until it is whole (RFC 7383, section 2.6).

use bartizan_wire::ike::PayloadType;

use crate::protection::Part;

/// Fragments of one message: of ML-DSA-87 with a chain of two certificates it is twenty.
const FRAGMENTS: u16 = 256;
/// Bytes of one message, once whole: no payload has more.
const LONGEST: usize = 1 << 16;

bartizan_registry::made! {
    /// Fragments of the one message of a direction that is on its way. All of them are proven: who
    /// makes it hold them has the keys.
    pub(crate) struct Assembly, pub(crate) new() {
        message_id: u32 = 0,
        first: PayloadType = PayloadType::NONE,
        parts: Vec<Option<Vec<u8>>> = Vec::new(),
    }
}

impl Assembly {
    /// Takes a part; the first payload's type and the content once nothing is missing.
    pub(crate) fn take(&mut self, message_id: u32, part: Part) -> Option<(PayloadType, Vec<u8>)> {
        let (number, total) = part.fragment;
        if total == 1 {
            return Some((part.first, part.content));
        }
        let known = self.parts.len();
        // A sender may cut a message anew, into more fragments (section 2.5.2).
        if message_id != self.message_id || usize::from(total) > known {
            if total > FRAGMENTS {
                return None;
            }
            self.message_id = message_id;
            self.parts = vec![None; total.into()];
        } else if usize::from(total) < known {
            return None;
        }
        let held: usize = self.parts.iter().flatten().map(Vec::len).sum();
        let place = self.parts.get_mut(usize::from(number) - 1)?;
        if place.is_some() || held + part.content.len() > LONGEST {
            return None;
        }
        if number == 1 {
            self.first = part.first;
        }
        *place = Some(part.content);
        if self.parts.iter().any(Option::is_none) {
            return None;
        }
        let parts = std::mem::take(&mut self.parts);
        Some((self.first, parts.into_iter().flatten().flatten().collect()))
    }
}
