//! Subjects of a plan's comparison: an engine with its key exchange, authentication, chain and
//! sessions.

use bartizan_registry::{signature_named, transform_named, x509_algorithm_named};

use super::record::{CryptoCost, Operation};
use super::{CostError, EngineCosts, ike, tls};
use crate::Sourced;
use crate::simulation::Procedures;
use bartizan_budget::Source;

/// Signature algorithm of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authentication {
    /// As this project's commands name it: `ml-dsa-65`.
    pub name: &'static str,
    /// The primitive in the registry and in records of costs.
    pub primitive: &'static str,
    /// Its key's algorithm in a certificate.
    x509: &'static str,
    /// Its signature scheme of TLS.
    scheme: &'static str,
}

const AUTHENTICATIONS: &[Authentication] = &[
    authentication("ecdsa-p256", "ECDSA P-256", "P-256", "ecdsa_secp256r1_sha256"),
    authentication("ecdsa-p384", "ECDSA P-384", "P-384", "ecdsa_secp384r1_sha384"),
    authentication("ed25519", "Ed25519", "ED25519", "ed25519"),
    authentication("ml-dsa-44", "ML-DSA-44", "ML-DSA-44", "mldsa44"),
    authentication("ml-dsa-65", "ML-DSA-65", "ML-DSA-65", "mldsa65"),
    authentication("ml-dsa-87", "ML-DSA-87", "ML-DSA-87", "mldsa87"),
];

const fn authentication(
    name: &'static str,
    primitive: &'static str,
    x509: &'static str,
    scheme: &'static str,
) -> Authentication {
    Authentication {
        name,
        primitive,
        x509,
        scheme,
    }
}

/// Bytes of a certificate beyond its SubjectPublicKeyInfo and its signature: names, dates, serial
/// number and extensions of those that strongSwan's `pki` makes for the charons of the experiment
/// sa-setup. Longer names make them longer.
const CERTIFICATE_BEYOND: u32 = 232;

impl Authentication {
    /// By its name.
    ///
    /// # Errors
    /// [`CostError::Unknown`].
    pub fn named(name: &str) -> Result<Self, CostError> {
        let names = || {
            AUTHENTICATIONS
                .iter()
                .map(|known| known.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        AUTHENTICATIONS
            .iter()
            .find(|known| known.name == name)
            .copied()
            .ok_or_else(|| CostError::Unknown {
                what: "authentication",
                given: name.to_owned(),
                known: names(),
            })
    }

    /// Bytes of a signature, the most where it varies.
    pub(super) fn signature(&self) -> Result<u32, CostError> {
        signature_named(self.scheme)
            .and_then(|scheme| scheme.signature)
            .map(u32::from)
            .ok_or_else(|| CostError::Missing(format!("size of {}", self.scheme)))
    }

    /// Bytes of a SubjectPublicKeyInfo.
    pub(super) fn spki(&self) -> Result<u32, CostError> {
        x509_algorithm_named(self.x509)
            .and_then(|algorithm| algorithm.spki)
            .map(u32::from)
            .ok_or_else(|| CostError::Missing(format!("size of {}", self.x509)))
    }

    /// Bytes of a certificate of such a key, signed by another.
    pub(super) fn certificate(&self) -> Result<u32, CostError> {
        Ok(CERTIFICATE_BEYOND + self.spki()? + self.signature()?)
    }
}

/// Engine whose processor time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// strongSwan's charon: IKEv2.
    StrongSwan,
    /// Bartizan's sidecar: TLS 1.3 over TCP, both ends authenticated.
    Bartizan,
}

impl Engine {
    /// As flags and records name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StrongSwan => "strongswan",
            Self::Bartizan => "bartizan",
        }
    }

    /// By its name.
    ///
    /// # Errors
    /// [`CostError::Unknown`].
    pub fn named(name: &str) -> Result<Self, CostError> {
        [Self::StrongSwan, Self::Bartizan]
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| CostError::Unknown {
                what: "engine",
                given: name.to_owned(),
                known: "strongswan, bartizan".to_owned(),
            })
    }
}

/// Subject of a plan's comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Engine whose processor time counts.
    pub engine: Engine,
    /// Key exchange. For IKE: strongSwan's keywords joined as in a proposal, `x25519-ke1_mlkem768`.
    /// For TLS: the group, `X25519MLKEM768`.
    pub key_exchange: String,
    /// Signature algorithm of both ends.
    pub authentication: Authentication,
    /// Certificates that each end sends: its own, and intermediates.
    pub chain: u8,
    /// True if sessions are resumed (TLS; RFC 9846, section 2.2).
    pub resumes: bool,
}

/// A suite with its numbers.
#[derive(Debug, Clone)]
pub struct Worked {
    /// The exchanges.
    pub procedures: Procedures,
    /// Source of each number.
    pub sources: Vec<Source>,
    /// True if an engine's processor time was measured with this key exchange and authentication,
    /// false if it was derived from another's.
    pub measured: bool,
    /// The ends of the 95 % interval of the measured processor time as shares of its median.
    pub cost_interval: [f64; 2],
    /// Bytes that an SA or a connection takes of the gateway's memory; none where no record has it.
    pub memory: Option<Sourced<u64>>,
}

/// Longest chain that is planned: TLS and IKE end points refuse more.
const LONGEST_CHAIN: u8 = 8;

impl Suite {
    /// Name in tables.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = format!("{} {}", self.key_exchange, self.authentication.name);
        if self.chain > 1 {
            name.push_str(&format!(", chain of {}", self.chain));
        }
        if self.resumes {
            name.push_str(", resumed");
        }
        name
    }

    /// Exchanges, bytes, packets and processor time, with a CRL of so many entries.
    ///
    /// # Errors
    /// [`CostError`] where a size or a time is not known.
    pub fn worked(&self, crypto: &CryptoCost, engines: &EngineCosts, entries: u32) -> Result<Worked, CostError> {
        if !(1..=LONGEST_CHAIN).contains(&self.chain) {
            return Err(CostError::Unknown {
                what: "chain",
                given: self.chain.to_string(),
                known: format!("1 to {LONGEST_CHAIN} certificates"),
            });
        }
        match self.engine {
            Engine::StrongSwan => ike::worked(self, crypto, engines, entries),
            Engine::Bartizan => tls::worked(self, crypto, engines, entries),
        }
    }
}

/// An end of a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The site.
    Initiator,
    /// The gateway.
    Responder,
}

/// Microseconds of an end for one part of a key exchange, by its IKE keyword.
pub(super) fn key_exchange_us(crypto: &CryptoCost, part: &str, end: End) -> Result<f64, CostError> {
    let of = KeyExchangeTimes::of(crypto, part)?;
    Ok(match end {
        End::Initiator => of.before_us + of.after_us,
        End::Responder => of.responder_us,
    })
}

/// Microseconds of one part of a key exchange: the initiator's before its message, the responder's,
/// the initiator's after the answer.
pub(super) struct KeyExchangeTimes {
    pub(super) before_us: f64,
    pub(super) responder_us: f64,
    pub(super) after_us: f64,
}

impl KeyExchangeTimes {
    /// By the part's IKE keyword.
    pub(super) fn of(crypto: &CryptoCost, part: &str) -> Result<Self, CostError> {
        let time = |primitive: &str, operation| crypto.time(primitive, operation).map(|time| time.median_us);
        let kem = bartizan_registry::primitive(part)
            .filter(|primitive| primitive.purpose == bartizan_registry::Purpose::Kem)
            .map(|primitive| primitive.name);
        if let Some(kem) = kem {
            return Ok(Self {
                before_us: time(kem, Operation::KeyGeneration)?,
                responder_us: time(kem, Operation::Encapsulation)?,
                after_us: time(kem, Operation::Decapsulation)?,
            });
        }
        let name = match part {
            "x25519" => "X25519",
            "ecp256" | "secp256r1" => "ECDH P-256",
            "ecp384" | "secp384r1" => "ECDH P-384",
            other => return Err(CostError::Missing(format!("{other} agreement"))),
        };
        // Both ends of a Diffie-Hellman exchange do the same.
        let (before_us, after_us) = (time(name, Operation::KeyGeneration)?, time(name, Operation::Agreement)?);
        Ok(Self {
            before_us,
            responder_us: before_us + after_us,
            after_us,
        })
    }
}

/// Microseconds of one signature and `verified` verifications.
pub(super) fn authentication_us(
    crypto: &CryptoCost,
    authentication: Authentication,
    verified: u8,
) -> Result<(f64, f64), CostError> {
    let primitive = authentication.primitive;
    let sign = crypto.time(primitive, Operation::Signing)?.median_us;
    let verify = crypto.time(primitive, Operation::Verification)?.median_us;
    Ok((sign, verify * f64::from(verified)))
}

/// Initiator's and responder's bytes of one part of an IKE key exchange, by strongSwan's keyword.
pub(super) fn transform_bytes(part: &str) -> Result<(u32, u32), CostError> {
    let unknown = || CostError::Unknown {
        what: "key exchange",
        given: part.to_owned(),
        known:
            "strongSwan's keywords with sizes in the registry: x25519, ecp256, ecp384, mlkem512, mlkem768, mlkem1024"
                .to_owned(),
    };
    let transform = transform_named(bartizan_registry::TransformKind::KeyExchange, part).ok_or_else(unknown)?;
    match (transform.initiator, transform.responder) {
        (Some(initiator), Some(responder)) => Ok((u32::from(initiator), u32::from(responder))),
        _ => Err(unknown()),
    }
}

/// Whole nanoseconds of microseconds that were read from a record or summed from such: below 10^13.
pub(super) fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds.max(0.0) * 1e3).round() as u64
}

/// Bytes of a CRL with so many entries: each is a SEQUENCE of a serial number of 20 bytes and a
/// UTCTime (RFC 5280, sections 4.1.2.2 and 5.1), with lengths 2 + (2 + 20) + (2 + 13); around them
/// what a certificate has around its key.
pub(super) fn list_bytes(authentication: Authentication, entries: u32) -> Result<u32, CostError> {
    const ENTRY: u32 = 2 + (2 + 20) + (2 + 13);
    Ok(ENTRY.saturating_mul(entries) + CERTIFICATE_BEYOND + authentication.signature()?)
}
