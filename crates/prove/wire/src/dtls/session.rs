//! DTLS between two sockets of UDP, from one ClientHello to the next.

use super::handshake::{Handshake, is_short};
use super::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, Dtls, HANDSHAKE, RECORD, Record, WITH_CONNECTION_ID};
use crate::allocation::allocated;
use crate::keys::Keys;
use crate::quic::is_text;
use crate::tls::{Alert, CLIENT_HELLO, Version};
use crate::udp::Udp;
use crate::{Moment, Seen, Side};

/// Returns true if a datagram is DTLS: records that fill it.
pub(crate) fn begins(udp: &Udp<'_>) -> bool {
    let mut bytes = udp.payload;
    let mut sent = bytes.len() + udp.missing;
    let mut first = true;
    loop {
        let Some(record) = Record::read(bytes) else {
            // Behind the first may be one of DTLS 1.3 with a short header, or one of which the rest was not captured.
            return !first && (is_short(bytes) || udp.missing > 0 && bytes.len() < RECORD);
        };
        if record.kind == WITH_CONNECTION_ID {
            // The length of the connection identifier is unknown, and with it the place of the
            // length.
            return record.epoch > 0;
        }
        let plausible = match (record.kind, record.epoch, record.rest.first()) {
            // HelloRequest to HelloVerifyRequest, and Certificate to ClientKeyExchange, CertificateStatus.
            (HANDSHAKE, 0, Some(kind)) => matches!(kind, 0..=4 | 11..=16 | 20..=23),
            (HANDSHAKE, 0, None) => udp.missing > 0,
            (CHANGE_CIPHER_SPEC, _, _) => record.length == 1,
            (ALERT, 0, _) => record.length == 2,
            _ => record.length > 0,
        };
        let Some(behind) = sent.checked_sub(RECORD + record.length).filter(|_| plausible) else {
            return false;
        };
        first = false;
        sent = behind;
        match record.rest.get(record.length..) {
            Some(rest) if !rest.is_empty() => bytes = rest,
            // To its end, or to where it was captured.
            _ => return true,
        }
    }
}

/// Reads one handshake and counts what follows it.
#[derive(Clone, Default)]
pub(crate) struct Session {
    shown: Dtls,
    handshake: Handshake,
    /// The random of the handshake before this one, between the same sockets: its ClientHello may come again.
    before: Option<[u8; 32]>,
}

impl Session {
    /// One that follows another between the same sockets.
    pub(crate) fn behind(before: &Self) -> Self {
        Self {
            before: before.handshake.client_random(),
            ..Self::default()
        }
    }

    /// Returns true if a datagram that nothing else recognises can belong to it: an encrypted
    /// record of DTLS 1.3, if no other version was chosen and nothing is readable.
    pub(crate) fn has(&self, payload: &[u8]) -> bool {
        let newest = self
            .handshake
            .version()
            .is_none_or(|version| version == Version::DTLS13);
        newest && is_short(payload) && !is_text(payload)
    }

    /// Returns true if a datagram begins another handshake: a first ClientHello with another
    /// random.
    pub(crate) fn ends_at(&self, payload: &[u8]) -> bool {
        /// A handshake message's header, and the version before the random.
        const BEFORE: usize = 12 + 2;
        let Some(known) = self.handshake.client_random() else {
            return false;
        };
        let Some(record) = Record::read(payload).filter(|record| (record.kind, record.epoch) == (HANDSHAKE, 0)) else {
            return false;
        };
        let Some((message, rest)) = record.rest.split_first_chunk::<BEFORE>() else {
            return false;
        };
        let first = message[0] == CLIENT_HELLO && message[4..9] == [0; 5];
        match rest.first_chunk::<32>() {
            Some(random) => first && *random != known && Some(*random) != self.before,
            None => false,
        }
    }

    /// Takes a datagram of an end.
    pub(crate) fn datagram(&mut self, payload: &[u8], from: usize, at: Moment, keys: Option<&dyn Keys>) {
        self.shown.first.get_or_insert(at);
        self.shown.messages += 1;
        let mut bytes = payload;
        let mut protected = false;
        while let Some(record) = Record::read(bytes) {
            let body = &record.rest[..record.length.min(record.rest.len())];
            match (record.kind, record.epoch) {
                (WITH_CONNECTION_ID, _) => {
                    self.shown.legacy_protected += 1;
                    protected = true;
                    break;
                }
                (APPLICATION_DATA, 0) => {
                    self.shown.data_in_plaintext.get_or_insert(at);
                }
                (ALERT, 0) => self.alert(body, from, at),
                (_, 0) => {}
                _ => {
                    self.shown.legacy_protected += 1;
                    self.shown.spread[from].take(body);
                    protected = true;
                }
            }
            bytes = record.rest.get(record.length..).unwrap_or_default();
        }
        if is_short(bytes) {
            self.shown.spread[from].take(bytes);
            protected = true;
        }
        if protected {
            self.handshake.finishes(bytes, from);
            self.handshake.finishes(payload, from);
        }
        self.shown.protected[from] += u64::from(protected);
        if !self.handshake.is_over(from) {
            self.handshake.records(payload, from, (at, at), keys);
            if protected {
                self.handshake.protects(from);
            }
        }
    }

    fn alert(&mut self, body: &[u8], from: usize, at: Moment) {
        let &[level, description] = body else { return };
        // The client is decided at the end.
        let alert = Alert {
            from: Side::Client,
            level,
            description,
        };
        self.shown.alerts[from].get_or_insert(Seen::new(alert, at, at));
    }

    /// Bytes it holds on the heap, with itself.
    pub(crate) fn held(&self) -> usize {
        allocated(size_of::<Self>()) + self.handshake.held()
    }

    /// The handshake and the records seen.
    pub(crate) fn outcome(self) -> Dtls {
        let read = self.handshake.outcome();
        let client = read.client.unwrap_or(0);
        let mut alerts = self.shown.alerts;
        for (end, alert) in alerts.iter_mut().enumerate() {
            if let Some(alert) = alert {
                alert.value.from = if end == client { Side::Client } else { Side::Server };
            }
        }
        Dtls {
            first: self.shown.first,
            messages: self.shown.messages,
            legacy_protected: self.shown.legacy_protected,
            protected: self.shown.protected,
            data_in_plaintext: self.shown.data_in_plaintext,
            spread: self.shown.spread,
            alerts,
            ..read
        }
    }
}
