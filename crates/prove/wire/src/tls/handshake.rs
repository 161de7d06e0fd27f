//! Handshake messages put together from record bodies (RFC 9846, section 4).

use super::record::Span;
use crate::Moment;
use crate::allocation::allocated;

/// Message types.
pub(crate) const CLIENT_HELLO: u8 = 1;
pub(crate) const SERVER_HELLO: u8 = 2;
pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const END_OF_EARLY_DATA: u8 = 5;
pub(super) const ENCRYPTED_EXTENSIONS: u8 = 8;
pub(crate) const CERTIFICATE: u8 = 11;
pub(crate) const SERVER_KEY_EXCHANGE: u8 = 12;
pub(super) const CERTIFICATE_REQUEST: u8 = 13;
pub(crate) const CERTIFICATE_VERIFY: u8 = 15;
pub(super) const FINISHED: u8 = 20;
pub(super) const KEY_UPDATE: u8 = 24;
pub(super) const COMPRESSED_CERTIFICATE: u8 = 25;

/// Plaintext messages whose bodies are read.
pub(crate) const IN_PLAINTEXT: &[u8] = &[
    CLIENT_HELLO,
    SERVER_HELLO,
    CERTIFICATE,
    SERVER_KEY_EXCHANGE,
    CERTIFICATE_VERIFY,
];
/// Decrypted messages whose bodies are read.
pub(super) const OPENED: &[u8] = &[
    ENCRYPTED_EXTENSIONS,
    CERTIFICATE,
    CERTIFICATE_VERIFY,
    COMPRESSED_CERTIFICATE,
];

/// Longest message kept. A ClientHello with every post-quantum group OpenSSL has is under 8 kB; a chain of ML-DSA-87
/// certificates under 32 kB.
pub(crate) const LONGEST_MESSAGE: usize = 64 * 1024;
const HEADER: usize = 4;

/// One whole message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    /// The body; none for kinds that are not read and for bodies over [`LONGEST_MESSAGE`].
    pub(super) body: Option<&'a [u8]>,
    /// Bytes of the body.
    pub(super) length: usize,
    pub(super) span: Span,
}

/// Puts one direction's messages together. Holds nothing between two messages: a connection that
/// lives for days must not hold what its handshake needed.
#[derive(Clone, Default)]
pub(super) struct Messages(Option<Box<Partial>>);

bartizan_registry::made! {
    /// A message in the making.
    #[derive(Clone)]
    struct Partial, new(first: Moment) {
        header: [u8; HEADER] = [0; HEADER],
        filled: usize = 0,
        body: Vec<u8> = Vec::new(),
        /// Bytes of the body that came, kept or not.
        taken: usize = 0,
        first: Moment = first,
        state: State = State::Whole,
    }
}

/// State of a message with respect to missing bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// A part of its body is missing: it is not given, and the next one begins where it ends.
    Holed,
    /// The beginning of the next message is unknown until the next record.
    Lost,
}

impl Messages {
    /// Takes bytes of handshake records, seen in these packets, and gives each message they
    /// complete, with the bodies of these `kinds`.
    pub(super) fn push(&mut self, mut bytes: &[u8], kinds: &[u8], seen: Span, mut give: impl FnMut(Message<'_>)) {
        while !bytes.is_empty() {
            let partial = self.0.get_or_insert_with(|| Box::new(Partial::new(seen.first)));
            if partial.state == State::Lost {
                return;
            }
            if partial.filled < HEADER {
                let taken = (HEADER - partial.filled).min(bytes.len());
                partial.header[partial.filled..partial.filled + taken].copy_from_slice(&bytes[..taken]);
                partial.filled += taken;
                bytes = &bytes[taken..];
                if partial.filled < HEADER {
                    return;
                }
            }
            let [kind, a, b, c] = partial.header;
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let taken = (length - partial.taken).min(bytes.len());
            let keep = length <= LONGEST_MESSAGE && kinds.contains(&kind) && partial.state == State::Whole;
            if keep {
                partial.body.extend_from_slice(&bytes[..taken]);
            }
            partial.taken += taken;
            bytes = &bytes[taken..];
            if partial.taken < length {
                return;
            }
            if partial.state == State::Holed {
                self.0 = None;
                continue;
            }
            give(Message {
                kind,
                body: keep.then_some(&partial.body),
                length,
                span: Span {
                    first: partial.first,
                    last: seen.last,
                },
            });
            self.0 = None;
        }
    }

    /// So many bytes are missing inside a record.
    pub(super) fn gap(&mut self, missing: u64, at: Moment) {
        let partial = self.0.get_or_insert_with(|| Box::new(Partial::new(at)));
        let [_, a, b, c] = partial.header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let rest = (length - partial.taken.min(length)) as u64;
        partial.body = Vec::new();
        if partial.filled < HEADER || missing > rest || partial.state == State::Lost {
            partial.state = State::Lost;
        } else if missing == rest {
            self.0 = None;
        } else {
            partial.taken += missing as usize;
            partial.state = State::Holed;
        }
    }

    /// A record begins: what was lost is found again.
    pub(super) fn record(&mut self) {
        if self.0.as_ref().is_some_and(|partial| partial.state == State::Lost) {
            self.0 = None;
        }
    }

    /// Bytes are missing: the message in the making is given up.
    pub(super) fn reset(&mut self) {
        self.0 = None;
    }

    /// Bytes it holds.
    pub(super) fn held(&self) -> usize {
        self.0.as_ref().map_or(0, |partial| {
            allocated(size_of::<Partial>()) + allocated(partial.body.capacity())
        })
    }
}
