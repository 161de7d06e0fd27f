//! All keys that were given, by what packets show.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, PoisonError, RwLock};

use bartizan_registry::QuicVersion;
use bartizan_tls::certificate_of;
use bartizan_wire::keys::{Candidate, Certificate, IkeCandidate, InitialKeys, Keys, QuicCandidate, TlsDirection};
use bartizan_wire::tls::Version;
use flate2::read::ZlibDecoder;
use zeroize::Zeroizing;

use crate::ike::IkeSaKey;
use crate::ike_table::IkeSecret;
use crate::key_log::{KeyLog, Label, LineError, Read, Secret};
use crate::quic::{Initial, Protected};
use crate::record::Record;

/// Secrets that are kept: five are what a connection of TLS 1.3 has.
const SECRETS: u64 = 5_000_000;
/// Secrets kept for one direction of one connection; more than one is a mistake of the log's
/// author.
const SAME: usize = 4;
/// Sets of keys kept for one IKE_SA: one for IKE_SA_INIT, and one for each of at most seven additional exchanges.
const IKE: usize = 16;

/// Result of adding a piece of a key log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Secrets read.
    pub secrets: u64,
    /// Secrets there was no room for.
    pub beyond: u64,
    /// Lines that are none of a key log.
    pub damaged: Vec<LineError>,
}

/// Keys of all kinds. It may be added to while another thread looks keys up: a capture can hold its
/// own.
#[derive(Default)]
pub struct Keyring(RwLock<Kept>);

#[derive(Default)]
struct Kept {
    /// Names of key logs, in the order they were begun.
    names: Vec<String>,
    tls: HashMap<[u8; 32], Vec<Held>>,
    ike: HashMap<(u64, u64), Vec<HeldIke>>,
    secrets: u64,
}

/// Keys of an IKE_SA.
struct HeldIke {
    secret: IkeSecret,
    name: u32,
    line: u64,
}

/// A secret of a connection.
struct Held {
    label: Label,
    bytes: Zeroizing<Box<[u8]>>,
    name: u32,
    line: u64,
}

impl Keyring {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the key log of this name; `log` keeps where it is. None at its end.
    pub fn add(&self, name: &str, log: &mut KeyLog, bytes: Option<&[u8]>) -> Added {
        let mut added = Added::default();
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let name = kept.name(name);
        let mut give = |one: Result<Read, LineError>| match one {
            Ok(read) if kept.secrets < SECRETS => {
                added.secrets += 1;
                match read {
                    Read::Tls(secret) => kept.add(name, secret),
                    Read::Ike(secret, line) => kept.add_ike(name, secret, line),
                }
            }
            Ok(_) => added.beyond += 1,
            Err(error) => added.damaged.push(error),
        };
        match bytes {
            Some(bytes) => log.push(bytes, &mut give),
            None => log.finish(&mut give),
        }
        added
    }

    /// Number of secrets.
    pub fn secrets(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).secrets
    }
}

impl Kept {
    /// The number of a name.
    fn name(&mut self, name: &str) -> u32 {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    fn add(&mut self, name: u32, secret: Secret) {
        let held = self.tls.entry(secret.client_random).or_default();
        let alike = || held.iter().filter(|known| known.label == secret.label);
        // Two files may hold the same line.
        if alike().count() >= SAME || alike().any(|known| known.bytes[..] == secret.bytes[..]) {
            return;
        }
        self.secrets += 1;
        held.push(Held {
            label: secret.label,
            bytes: Zeroizing::new(secret.bytes.as_slice().into()),
            name,
            line: secret.line,
        });
    }

    fn add_ike(&mut self, name: u32, secret: IkeSecret, line: u64) {
        let held = self.ike.entry(secret.spis).or_default();
        if held.len() < IKE && !held.iter().any(|known| known.secret == secret) {
            self.secrets += 1;
            held.push(HeldIke { secret, name, line });
        }
    }

    fn place(&self, name: u32, line: u64) -> String {
        let name = self.names.get(name as usize).map_or("a key log", String::as_str);
        format!("line {line} of {name}")
    }
}

impl Keys for Keyring {
    fn knows_tls(&self, client_random: &[u8; 32]) -> bool {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.tls.contains_key(client_random)
    }

    fn tls(&self, wanted: &TlsDirection<'_>) -> Vec<Candidate> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let label = match wanted.version {
            Version::TLS13 => Label::Traffic(wanted.side, wanted.epoch),
            _ => Label::Master,
        };
        let held = kept.tls.get(wanted.client_random).into_iter().flatten();
        let fitting = held.filter(|held| held.label == label);
        fitting
            .filter_map(|held| {
                Some(Candidate {
                    key: Box::new(Record::new(wanted, &held.bytes)?),
                    given: kept.place(held.name, held.line),
                })
            })
            .collect()
    }

    fn unpack(&self, algorithm: u16, packed: &[u8], length: usize) -> Option<Vec<u8>> {
        // RFC 8879, section 7.3. The others are Brotli and Zstandard.
        const ZLIB: u16 = 1;
        if algorithm != ZLIB {
            return None;
        }
        let mut body = Vec::new();
        // One byte more than there should be shows that there are more.
        let most = u64::try_from(length).ok()?.checked_add(1)?;
        ZlibDecoder::new(packed).take(most).read_to_end(&mut body).ok()?;
        (body.len() == length).then_some(body)
    }

    fn ike(&self, initiator_spi: u64, responder_spi: u64) -> Vec<IkeCandidate> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let held = kept.ike.get(&(initiator_spi, responder_spi)).into_iter().flatten();
        held.filter_map(|held| {
            let keys = held.secret.keys.each_ref().map(|(one, other)| (&one[..], &other[..]));
            Some(IkeCandidate {
                key: Box::new(IkeSaKey::new(held.secret.cipher, keys)?),
                given: kept.place(held.name, held.line),
            })
        })
        .collect()
    }

    fn quic(&self, version: &QuicVersion, destination: &[u8]) -> Option<Arc<dyn InitialKeys>> {
        Some(Arc::new(Initial::new(version, destination)?))
    }

    fn quic_of_tls(&self, version: &QuicVersion, wanted: &TlsDirection<'_>) -> Vec<QuicCandidate> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let label = Label::Traffic(wanted.side, wanted.epoch);
        let held = kept.tls.get(wanted.client_random).into_iter().flatten();
        held.filter(|held| held.label == label)
            .filter_map(|held| {
                Some(QuicCandidate {
                    key: Arc::new(Protected::new(version, wanted, &held.bytes)?),
                    given: kept.place(held.name, held.line),
                })
            })
            .collect()
    }

    fn certificate(&self, der: &[u8]) -> Certificate {
        let read = certificate_of(der);
        Certificate {
            subject: read.subject,
            public_key: read.public_key,
            signature: read.signature,
            not_after: read.not_after,
            sha256: read.sha256,
        }
    }
}
