//! Handshake messages put together from record bodies (RFC 9846, section 4).

use super::record::Span;
use crate::Moment;

/// Message types that are kept and read.
pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const CERTIFICATE: u8 = 11;
pub(super) const SERVER_KEY_EXCHANGE: u8 = 12;
pub(super) const CERTIFICATE_VERIFY: u8 = 15;

/// Longest message kept. A ClientHello with every post-quantum group OpenSSL has is under 8 kB; a chain of ML-DSA-87
/// certificates under 32 kB.
const LONGEST_MESSAGE: usize = 64 * 1024;
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

/// Puts one direction's messages together.
#[derive(Default)]
pub(super) struct Messages {
    header: [u8; HEADER],
    filled: usize,
    body: Vec<u8>,
    /// Bytes of the body that came, kept or not.
    taken: usize,
    first: Option<Moment>,
}

impl Messages {
    /// Takes bytes of handshake records and gives each message they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], at: Moment, mut give: impl FnMut(Message<'_>)) {
        while !bytes.is_empty() {
            let first = *self.first.get_or_insert(at);
            if self.filled < HEADER {
                let taken = (HEADER - self.filled).min(bytes.len());
                self.header[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
                self.filled += taken;
                bytes = &bytes[taken..];
                if self.filled < HEADER {
                    return;
                }
            }
            let [kind, a, b, c] = self.header;
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let taken = (length - self.taken).min(bytes.len());
            let keep = length <= LONGEST_MESSAGE
                && matches!(
                    kind,
                    CLIENT_HELLO | SERVER_HELLO | CERTIFICATE | SERVER_KEY_EXCHANGE | CERTIFICATE_VERIFY
                );
            if keep {
                self.body.extend_from_slice(&bytes[..taken]);
            }
            self.taken += taken;
            bytes = &bytes[taken..];
            if self.taken < length {
                return;
            }
            give(Message {
                kind,
                body: keep.then_some(&self.body),
                length,
                span: Span { first, last: at },
            });
            // A connection that lives for days must not hold what its handshake needed.
            *self = Self::default();
        }
    }

    /// Bytes are missing: the message in the making is given up.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}
