//! DTLS in SCTP user messages (RFC 6083): recognised, and what of its handshake is in plaintext read.

mod assembly;

use self::assembly::Assembly;
use super::Data;
use crate::Moment;
use crate::allocation::allocated;
use crate::dtls::{Dtls, Handshake, RECORD, Record, is_short};
use crate::keys::Keys;
use crate::spread::Spread;

/// Looks at the user messages of both directions. Holds little as long as they are no DTLS.
#[derive(Clone, Default)]
pub(super) struct Reader {
    first: Option<Moment>,
    messages: u64,
    legacy_protected: u64,
    parts: Option<Box<Parts>>,
}

/// Parts of handshake messages by direction, and the handshake read from them.
#[derive(Clone, Default)]
struct Parts {
    assemblies: [Assembly; 2],
    handshake: Handshake,
    /// By direction: the distribution of protected bytes.
    spread: [Spread; 2],
}

impl Reader {
    /// Looks at the beginning of a user message; says whether it is a DTLS record.
    pub(super) fn message(&mut self, bytes: &[u8], at: Moment) -> bool {
        // DTLS 1.3 shortens the header of encrypted records to one that begins with 001 (RFC 9147, section 4): without
        // a handshake before, that may be anything.
        let short = self.messages > 0 && is_short(bytes);
        if !short && Record::read(bytes).is_none() {
            return false;
        }
        self.first.get_or_insert(at);
        self.messages += 1;
        let epoch = bytes.get(3..5).is_some_and(|epoch| epoch != [0, 0]);
        self.legacy_protected += u64::from(!short && epoch);
        true
    }

    /// Takes a DATA chunk that is new, of a message that may be DTLS; `keys` read certificates.
    pub(super) fn chunk(&mut self, data: &Data<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>) {
        let Parts {
            assemblies,
            handshake,
            spread,
        } = &mut **self.parts.get_or_insert_default();
        let is_protected = |record: Record<'_>| record.epoch > 0;
        if data.begins && (is_short(data.payload) || Record::read(data.payload).is_some_and(is_protected)) {
            spread[from].take(data.payload.get(RECORD..).unwrap_or_default());
        }
        if data.begins {
            handshake.finishes(data.payload, from);
        }
        if handshake.is_over(from) {
            assemblies[from] = Assembly::default();
            return;
        }
        if data.begins && data.ends {
            handshake.records(data.payload, from, (at, at), keys);
        } else if data.begins && Record::read(data.payload).is_some_and(|record| record.epoch > 0) {
            handshake.protects(from);
        } else if let Some(whole) = assemblies[from].push(data, at) {
            handshake.records(&whole.bytes, from, (whole.first, whole.last), keys);
        }
    }

    /// It is no DTLS, or not only: nothing is put together.
    pub(super) fn give_up(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.assemblies = Default::default();
            parts.handshake.give_up();
        }
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| {
            let assemblies = parts.assemblies.iter().map(Assembly::held).sum::<usize>();
            allocated(size_of::<Parts>()) + assemblies + parts.handshake.held()
        })
    }

    /// The DTLS association; none if nothing was DTLS.
    pub(super) fn outcome(self) -> Option<Dtls> {
        let spread = self.parts.as_ref().map_or_else(Default::default, |parts| parts.spread);
        let shown = self.parts.map(|parts| parts.handshake.outcome()).unwrap_or_default();
        (self.messages > 0).then_some(Dtls {
            first: self.first,
            messages: self.messages,
            legacy_protected: self.legacy_protected,
            spread,
            ..shown
        })
    }
}
