//! Packets behind the Initial ones, where a key log has the secrets of the connection's TLS: the rest of the handshake, and whether what
//! follows it opens as well.

use std::ops::Range;
use std::sync::Arc;

use bartizan_registry::QuicVersion;

use super::crypto::Crypto;
use crate::allocation::allocated;
use crate::keys::{Epoch, InitialKeys, Keys, TlsDirection};
use crate::{Moment, Seen, Side, tls};

/// Packets of an end that are tried in vain before its keys are given up: some come damaged, or before those that say what opens them.
const TRIES: u8 = 16;

/// The keys of one direction in one epoch.
#[derive(Clone, Default)]
struct Lane {
    key: Option<Arc<dyn InitialKeys>>,
    /// The number behind the greatest that was opened.
    expected: u64,
    tries: u8,
    /// Given keys that opened nothing yet.
    given: Vec<Seen<String>>,
}

/// Both directions behind the Initial packets.
#[derive(Clone, Default)]
pub(super) struct Protected {
    handshake: [Lane; 2],
    application: [Lane; 2],
    /// CRYPTO frames of Handshake packets.
    pub(super) crypto: Box<[Crypto; 2]>,
}

impl Protected {
    /// Opens a packet whose number stands at one of these places; gives it and where its frames are.
    pub(super) fn open(
        &mut self,
        packet: &[u8],
        numbers: &[usize],
        (side, epoch): (Side, Epoch),
        (version, tls): (&QuicVersion, &tls::Session),
        at: Moment,
        keys: &dyn Keys,
    ) -> Option<(Vec<u8>, Range<usize>)> {
        let (client_random, server_random, cipher_suite) = tls.agreed()?;
        let lane = match epoch {
            Epoch::Handshake => &mut self.handshake[side.index()],
            _ => &mut self.application[side.index()],
        };
        if lane.key.is_none() && (lane.tries >= TRIES || !keys.knows_tls(client_random)) {
            return None;
        }
        let wanted = TlsDirection {
            client_random,
            server_random,
            version: tls::Version::TLS13,
            cipher_suite,
            side,
            epoch,
        };
        let known = lane.key.clone();
        let candidates = match &known {
            Some(key) => vec![(Arc::clone(key), None)],
            None => {
                let candidates = keys.quic_of_tls(version, &wanted);
                candidates.into_iter().map(|one| (one.key, Some(one.given))).collect()
            }
        };
        let mut given = Vec::new();
        for (key, place) in candidates {
            for &number in numbers {
                let mut packet = packet.to_vec();
                if let Some((found, frames)) = key.open(side, &mut packet, number, lane.expected) {
                    lane.expected = lane.expected.max(found + 1);
                    lane.key = Some(key);
                    lane.given = Vec::new();
                    return Some((packet, frames));
                }
            }
            given.extend(place.map(|place| Seen::new(place, at, at)));
        }
        lane.tries = lane.tries.saturating_add(u8::from(lane.key.is_none()));
        if lane.key.is_none() && lane.given.is_empty() {
            lane.given = given;
        }
        None
    }

    /// Secrets of the handshake that open nothing of what they name. Where packets of application data carry their number is not always
    /// known: of those nothing is said.
    pub(super) fn wrong(&self) -> impl Iterator<Item = &Seen<String>> {
        self.handshake.iter().flat_map(|lane| &lane.given)
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self, of_keys: usize) -> usize {
        let lanes = self.handshake.iter().chain(&self.application);
        let keys = lanes.filter(|lane| lane.key.is_some()).count();
        keys * of_keys + allocated(size_of::<[Crypto; 2]>()) + self.crypto.iter().map(Crypto::held).sum::<usize>()
    }
}
