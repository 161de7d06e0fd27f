//! Public state of a link.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bartizan_tls::Established;
use serde::{Deserialize, Serialize};

use super::Setting;
use super::keyer::{Keyer, agreed};
use crate::Sci;
use crate::kernel::{Confidentiality, Counters, SaState, SecY, State};
use crate::schedule::Notice;

/// State of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Origin of the keys: `direct`, `mka` or `eap-tls`.
    pub keying: String,
    /// True if both directions have a key.
    pub up: bool,
    /// True if the peer answers now. Frames pass also if it does not.
    pub peer_answers: bool,
    /// Cipher suite.
    pub suite: String,
    /// True if frames are encrypted.
    pub encrypted: bool,
    /// Association that this end sends with.
    pub sends: Option<Association>,
    /// Association that the peer sends with.
    pub receives: Option<Association>,
    /// Exchange that the keys come from.
    pub exchange: Option<Exchange>,
    /// wpa_supplicant, where MKA distributes the keys.
    pub mka: Option<MkaStatus>,
    /// EAP-TLS, where the CAK comes from that.
    pub eap: Option<EapStatus>,
    /// Seconds since the peer last proved itself; none where this controller did not see it.
    pub authenticated_s: Option<u64>,
    /// Seconds until all keys are removed, unless the peer proves itself again before.
    pub ends_s: Option<u64>,
    /// Keys that were to be removed are still in the kernel: their removal failed and is repeated.
    #[serde(default)]
    pub keys_stay: bool,
    /// Exchanges that ended well.
    pub exchanges: u64,
    /// Keys that this end has sent with.
    pub keys: u64,
    /// True if the key that this end sends with is older than its policy lets it be.
    pub outlived: bool,
    /// The device's counters.
    pub counters: Option<Counters>,
    /// The current trouble.
    pub trouble: Option<String>,
}

/// A key in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Association {
    /// Association number.
    pub an: u8,
    /// The name of its key.
    pub key_id: String,
    /// Which key of its exchange, from 0; of MKA, which one of the key server, from 1. None where no controller knows.
    pub generation: Option<u64>,
    /// Seconds since it came into use; none where no controller knows.
    pub age_s: Option<u64>,
}

/// wpa_supplicant at a port, and its CAK.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MkaStatus {
    /// Origin of the CAK: `exchange`, `file` or `eap-tls`.
    pub cak: String,
    /// Its name, as MKA sends it; none while none was given, or seen.
    pub ckn: Option<String>,
    /// Seconds since it came into use; none where wpa_supplicant derives it.
    pub ckn_age_s: Option<u64>,
    /// The process id of wpa_supplicant, while it runs.
    pub process: Option<u32>,
}

/// EAP-TLS at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EapStatus {
    /// `authenticator`, or `peer`.
    pub end: String,
    /// The key exchange group of the latest handshake; of wpa_supplicant the groups that it was allowed.
    pub group: Option<String>,
    /// Its cipher suite, where this end is the authenticator.
    pub cipher: Option<String>,
    /// Number of authentications that ended well without another key.
    pub not_rekeyed: u64,
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
    /// State by the kernel alone, for a link without a controller that answers.
    ///
    /// # Errors
    ///
    /// Fails if port or device is gone, or the kernel does not answer.
    pub fn found(setting: &Setting) -> Result<Self, crate::Error> {
        let port = setting.port()?;
        let absent = || crate::Error::NoInterface(setting.device.clone());
        let secy = SecY::open(&setting.device, &port)?.ok_or_else(absent)?;
        let state = secy.state()?;
        let association = |an: crate::An, sa: &SaState| Association {
            an: an.number(),
            key_id: sa.key.to_string(),
            generation: None,
            age_s: None,
        };
        let sends = state.sends().map(|sa| association(state.encoding, sa));
        let receives = match agreed(&state) {
            Some((agreed, _)) => sends.clone().filter(|sends| sends.key_id == agreed.key.to_string()),
            None => {
                let mut installed = state.channels.iter().flat_map(|channel| &channel.associations);
                installed.find(|(_, sa)| sa.active).map(|(&an, sa)| association(an, sa))
            }
        };
        let difference = state.difference(&setting.device_settings);
        Ok(Self {
            mtu: secy.interface().mtu,
            up: sends.is_some() && receives.is_some() && difference.is_none(),
            encrypted: state.encrypts(),
            trouble: difference.map(|difference| format!("the device is not as the file asks: {difference}")),
            sends,
            receives,
            counters: Some(state.counters),
            ..Self::of(setting)
        })
    }

    /// Returns true if it was read from the kernel alone: no controller looks after it.
    #[must_use]
    pub fn unattended(&self) -> bool {
        self.sends.as_ref().is_some_and(|sends| sends.age_s.is_none())
    }

    /// State of a link whose device cannot be made or is gone.
    pub fn closed(setting: &Setting, error: &crate::Error) -> Self {
        let hint = error.hint().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        Self {
            trouble: Some(format!("{error}{hint}")),
            ..Self::of(setting)
        }
    }

    /// The status of a link of which nothing but its setting is known.
    fn of(setting: &Setting) -> Self {
        Self {
            link: setting.name.clone(),
            peer: setting.peer.clone(),
            interface: setting.interface.name().to_owned(),
            port: setting.port.clone(),
            device: setting.device.clone(),
            keying: keying(setting),
            suite: setting.device_settings.suite.name.to_owned(),
            encrypted: encrypted(setting),
            ..Self::default()
        }
    }
}

/// An exchange of keys that ended well.
#[derive(Debug)]
struct Exchanged {
    established: Arc<Established>,
    began: Instant,
    ended: Instant,
}

impl Exchanged {
    fn shown(&self, now: Instant) -> Exchange {
        let negotiated = &self.established.negotiated;
        let took = self.ended.saturating_duration_since(self.began);
        Exchange {
            group: negotiated.group.name.clone(),
            peer_signature: negotiated.peer_signature.as_ref().map(|scheme| scheme.name.clone()),
            cipher: negotiated.cipher.name.clone(),
            sent: self.established.bytes.sent,
            received: self.established.bytes.received,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            age_s: now.saturating_duration_since(self.ended).as_secs(),
        }
    }
}

/// Memory of a link.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) wants_exchange: bool,
    sends: Option<(Association, Instant)>,
    receives: Option<(Association, Instant)>,
    exchange: Option<Exchanged>,
    exchanges: u64,
    keys: u64,
    outlived: bool,
    trouble: Option<String>,
    /// The channel that the peer had last.
    pub(super) peer: Option<Sci>,
    /// A removal of keys has failed.
    pub(super) keys_stay: bool,
}

impl Seen {
    /// No key is in both directions any more.
    pub(super) fn gone(&mut self) {
        (self.sends, self.receives) = (None, None);
    }

    /// Holds where the kernel uses the keys of both directions.
    pub(super) fn are_in(&self, state: &State) -> bool {
        type Used = Option<(Association, Instant)>;
        fn is_among<'a>(used: &Used, mut all: impl Iterator<Item = (&'a crate::An, &'a SaState)>) -> bool {
            let is = |used: &Association, (an, sa): (&crate::An, &SaState)| {
                sa.active && used.an == an.number() && used.key_id == sa.key.to_string()
            };
            used.as_ref().is_none_or(|(used, _)| all.any(|one| is(used, one)))
        }
        let sends = state.sends().map(|sa| (&state.encoding, sa));
        let received = state.channels.iter().flat_map(|channel| &channel.associations);
        is_among(&self.sends, sends.into_iter()) && is_among(&self.receives, received)
    }

    pub(super) fn well(&mut self) {
        self.trouble = None;
    }

    pub(super) fn known(&self, answers: bool) -> (bool, bool, u64, u64, Option<String>) {
        let up = self.sends.is_some() && self.receives.is_some();
        (up, answers, self.keys, self.exchanges, self.trouble.clone())
    }

    pub(super) fn trouble(&mut self, said: &str) {
        self.trouble = Some(said.to_owned());
    }

    pub(super) fn lost(&mut self, said: &str) {
        self.wants_exchange = false;
        self.trouble(said);
    }

    pub(super) fn exchanged(&mut self, established: &Arc<Established>, began: Instant, now: Instant) {
        self.exchange = Some(Exchanged {
            established: Arc::clone(established),
            began,
            ended: now,
        });
        self.exchanges += 1;
        self.trouble = None;
        self.wants_exchange = false;
    }

    /// The authenticator of this end says that all is well.
    pub(super) fn authenticated(&mut self) {
        self.exchanges += 1;
        self.trouble = None;
    }

    pub(super) fn notice(&mut self, notice: &Notice, peer: Option<Sci>, now: Instant) {
        let association = |an: crate::An, key: &crate::KeyId, generation| {
            let association = Association {
                an: an.number(),
                key_id: key.to_string(),
                generation: Some(generation),
                age_s: None,
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
            // It says so itself.
            Notice::NotRekeyed { .. } => {}
            Notice::Outlived { age, packets, key, .. } => {
                self.outlived = true;
                tracing::error!(
                    key_id = %key, age_s = age.as_secs(), packets, hint = "does the peer answer? `bartizan status` says what is wrong",
                    "a key is used for longer than its policy lets it be"
                );
            }
        }
    }

    fn eap(&self, setting: &Setting, keyer: &Keyer) -> Option<EapStatus> {
        setting.eap()?;
        let negotiated = self.exchange.as_ref().map(|exchange| &exchange.established.negotiated);
        Some(match keyer {
            Keyer::Eap(eap) => {
                let groups: Vec<_> = eap.supplicant.groups().iter().map(ToString::to_string).collect();
                EapStatus {
                    end: "peer".to_owned(),
                    group: (!groups.is_empty()).then(|| groups.join(" or ")),
                    cipher: None,
                    not_rekeyed: eap.authentication.not_rekeyed,
                }
            }
            Keyer::Direct(_) | Keyer::Mka(_) => EapStatus {
                end: "authenticator".to_owned(),
                group: negotiated.map(|negotiated| negotiated.group.name.clone()),
                cipher: negotiated.map(|negotiated| negotiated.cipher.name.clone()),
                not_rekeyed: 0,
            },
        })
    }

    pub(super) fn status(
        &self,
        setting: &Setting,
        mtu: u32,
        state: Option<&State>,
        (keyer, certificate_ends): (&Keyer, Option<SystemTime>),
        answers: bool,
        now: Instant,
    ) -> Status {
        let age = |since: Instant| now.saturating_duration_since(since).as_secs();
        let (authenticated, ends) = keyer.authentication();
        let ends = ends.map(|at| at.saturating_duration_since(now));
        let of_certificate = certificate_ends.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        let of = |association: &Option<(Association, Instant)>| {
            association.as_ref().map(|(association, since)| Association {
                age_s: Some(age(*since)),
                ..association.clone()
            })
        };
        Status {
            mtu,
            up: self.sends.is_some() && self.receives.is_some(),
            peer_answers: answers,
            sends: of(&self.sends),
            receives: of(&self.receives),
            exchange: self.exchange.as_ref().map(|exchange| exchange.shown(now)),
            mka: match keyer {
                Keyer::Direct(_) => None,
                Keyer::Mka(mka) => {
                    let cak = match (&mka.file, setting.eap()) {
                        (Some(_), _) => "file",
                        (None, Some(_)) => "eap-tls",
                        (None, None) => "exchange",
                    };
                    Some(MkaStatus {
                        cak: cak.to_owned(),
                        ckn: mka.rotation.running().map(ToString::to_string),
                        ckn_age_s: mka.rotation.given.map(age),
                        process: mka.supplicant.id(),
                    })
                }
                Keyer::Eap(eap) => Some(MkaStatus {
                    cak: "eap-tls".to_owned(),
                    ckn: None,
                    ckn_age_s: None,
                    process: eap.supplicant.id(),
                }),
            },
            eap: self.eap(setting, keyer),
            authenticated_s: authenticated.map(age),
            ends_s: ends.into_iter().chain(of_certificate).min().map(|left| left.as_secs()),
            keys_stay: self.keys_stay,
            exchanges: self.exchanges,
            keys: self.keys,
            outlived: self.outlived,
            encrypted: state.map_or(encrypted(setting), State::encrypts),
            counters: state.map(|state| state.counters),
            trouble: self.trouble.clone(),
            ..Status::of(setting)
        }
    }
}

fn encrypted(setting: &Setting) -> bool {
    setting.device_settings.confidentiality == Confidentiality::Encrypted
}

fn keying(setting: &Setting) -> String {
    let word = match (&setting.mka, setting.eap()) {
        (None, _) => "direct",
        (Some(_), None) => "mka",
        (Some(_), Some(_)) => "eap-tls",
    };
    word.to_owned()
}
