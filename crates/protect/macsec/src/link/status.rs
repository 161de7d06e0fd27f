//! How a link stands, for whoever asks.

use std::time::Instant;

use bartizan_tls::Established;
use serde::{Deserialize, Serialize};

use super::{Peer, Setting};
use crate::Sci;
use crate::kernel::{Confidentiality, Counters, SecY};
use crate::schedule::Notice;

/// How a link stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Peer and interface, `oru-FH`.
    pub link: String,
    /// The node at the other end.
    pub peer: String,
    /// The interface of the standards.
    pub interface: String,
    /// The Ethernet port.
    pub port: String,
    /// The MACsec device.
    pub device: String,
    /// Octets that frames may have.
    pub mtu: u32,
    /// Whether both directions have a key.
    pub up: bool,
    /// Whether the peer answers now. Frames pass also where it does not.
    pub peer_answers: bool,
    /// Cipher suite.
    pub suite: String,
    /// Whether frames are encrypted.
    pub encrypted: bool,
    /// What this end sends with.
    pub sends: Option<Association>,
    /// What the peer sends with.
    pub receives: Option<Association>,
    /// Where the keys come from.
    pub exchange: Option<Exchange>,
    /// Exchanges that ended well.
    pub exchanges: u64,
    /// Keys that this end has sent with.
    pub keys: u64,
    /// Whether the key that this end sends with is older than its policy lets it be.
    pub outlived: bool,
    /// What the device has counted.
    pub counters: Option<Counters>,
    /// What went wrong last, while it is wrong.
    pub trouble: Option<String>,
}

/// A key in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Association {
    /// Association number.
    pub an: u8,
    /// The name of its key.
    pub key_id: String,
    /// Which key of its exchange, from 0.
    pub generation: u64,
    /// Seconds since it came into use.
    pub age_s: u64,
}

/// An exchange of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Key exchange group.
    pub group: String,
    /// The scheme that the peer proved itself by.
    pub peer_signature: Option<String>,
    /// TLS cipher suite.
    pub cipher: String,
    /// Octets of TLS that it took, sent and received.
    pub sent: u64,
    /// The same, received.
    pub received: u64,
    /// Microseconds from its first frame to the peer's first message.
    pub took_us: u64,
    /// Seconds since.
    pub age_s: u64,
}

impl Status {
    /// Of a link whose device cannot be made or is gone.
    pub(crate) fn closed(setting: &Setting, error: &crate::Error) -> Self {
        let hint = error.hint().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        Self {
            link: setting.name.clone(),
            peer: setting.peer.clone(),
            interface: setting.interface.name().to_owned(),
            port: setting.port.clone(),
            device: setting.device.clone(),
            mtu: 0,
            up: false,
            peer_answers: false,
            suite: setting.device_settings.suite.name.to_owned(),
            encrypted: setting.device_settings.confidentiality == Confidentiality::Encrypted,
            sends: None,
            receives: None,
            exchange: None,
            exchanges: 0,
            keys: 0,
            outlived: false,
            counters: None,
            trouble: Some(format!("{error}{hint}")),
        }
    }
}

/// What is remembered for it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) wants_exchange: bool,
    sends: Option<(Association, Instant)>,
    receives: Option<(Association, Instant)>,
    exchange: Option<(Exchange, Instant)>,
    exchanges: u64,
    keys: u64,
    outlived: bool,
    trouble: Option<String>,
    peer: Option<Sci>,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self {
            wants_exchange: false,
            sends: None,
            receives: None,
            exchange: None,
            exchanges: 0,
            keys: 0,
            outlived: false,
            trouble: None,
            peer: None,
        }
    }

    pub(super) fn known(&self, answers: bool) -> (bool, u64, u64, Option<String>) {
        (answers, self.keys, self.exchanges, self.trouble.clone())
    }

    /// The channel that the peer had last.
    pub(super) fn last_peer(&self) -> Option<Sci> {
        self.peer
    }

    pub(super) fn trouble(&mut self, said: &str) {
        self.trouble = Some(said.to_owned());
    }

    pub(super) fn lost(&mut self, said: &str) {
        self.wants_exchange = false;
        self.trouble(said);
    }

    pub(super) fn exchanged(&mut self, established: &Established, began: Instant, now: Instant) {
        let negotiated = &established.negotiated;
        let took = now.saturating_duration_since(began);
        let exchange = Exchange {
            group: negotiated.group.name.clone(),
            peer_signature: negotiated.peer_signature.as_ref().map(|scheme| scheme.name.clone()),
            cipher: negotiated.cipher.name.clone(),
            sent: established.bytes.sent,
            received: established.bytes.received,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            age_s: 0,
        };
        self.exchange = Some((exchange, now));
        self.exchanges += 1;
        self.trouble = None;
        self.wants_exchange = false;
    }

    pub(super) fn notice(&mut self, notice: &Notice, peer: Option<Sci>, now: Instant) {
        let association = |an: crate::An, key: &crate::KeyId, generation| {
            let association = Association {
                an: an.number(),
                key_id: key.to_string(),
                generation,
                age_s: 0,
            };
            Some((association, now))
        };
        match notice {
            Notice::Sends {
                generation, an, key, ..
            } => {
                self.sends = association(*an, key, *generation);
                self.keys += 1;
                self.outlived = false;
            }
            Notice::Receives { generation, an, key } => {
                self.receives = association(*an, key, *generation);
                self.peer = peer;
            }
            Notice::Outlived { age, packets, key, .. } => {
                self.outlived = true;
                tracing::error!(
                    key_id = %key, age_s = age.as_secs(), packets, hint = "does the peer answer? `bartizan status` says what is wrong",
                    "a key is used for longer than its policy lets it be"
                );
            }
        }
    }

    pub(super) fn status(&self, setting: &Setting, secy: &SecY, peer: Option<&Peer>, now: Instant) -> Status {
        let age = |since: Instant| now.saturating_duration_since(since).as_secs();
        let of = |association: &Option<(Association, Instant)>| {
            association.as_ref().map(|(association, since)| Association {
                age_s: age(*since),
                ..association.clone()
            })
        };
        Status {
            link: setting.name.clone(),
            peer: setting.peer.clone(),
            interface: setting.interface.name().to_owned(),
            port: setting.port.clone(),
            device: setting.device.clone(),
            mtu: secy.interface().mtu,
            up: self.sends.is_some() && self.receives.is_some(),
            peer_answers: peer.is_some(),
            suite: setting.device_settings.suite.name.to_owned(),
            encrypted: setting.device_settings.confidentiality == Confidentiality::Encrypted,
            sends: of(&self.sends),
            receives: of(&self.receives),
            exchange: self.exchange.as_ref().map(|(exchange, since)| Exchange {
                age_s: age(*since),
                ..exchange.clone()
            }),
            exchanges: self.exchanges,
            keys: self.keys,
            outlived: self.outlived,
            counters: secy.state().ok().map(|state| state.counters),
            trouble: self.trouble.clone(),
        }
    }
}
