//! Strength of an algorithm, and maturity of its specification.

use serde::Serialize;

/// NIST post-quantum security category (1, 2, 3 or 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Category(pub u8);

impl Category {
    /// The category of AES with a key of so many bits: 1, 3 and 5 are defined by it.
    pub const fn of_aes(key_bits: u16) -> Option<Self> {
        match key_bits {
            128 => Some(Self(1)),
            192 => Some(Self(3)),
            256 => Some(Self(5)),
            _ => None,
        }
    }
}

/// Safety of an algorithm from an attacker with a cryptographically relevant quantum computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// No quantum attack better than generic search is known.
    QuantumSafe,
    /// Falls to Shor's algorithm, or protects nothing at all (NULL ciphers).
    Vulnerable,
}

/// Maturity of a specification: 3GPP builds on RFCs, not on drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A published RFC.
    Rfc,
    /// A published standard of NIST, IEEE, ISO/IEC or 3GPP.
    Standard,
    /// An Internet-Draft, or a specification on its way to a standard: it may still change.
    Draft,
    /// Withdrawn, expired or obsoleted: only named so that it can be recognised.
    Obsolete,
    /// A private or experimental code point.
    Private,
}

/// The document that defines a code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Status {
    /// Its name: `RFC 10024`, `draft-ietf-tls-mldsa-06`.
    pub document: &'static str,
    /// Its date as published, `2026-08`; empty where this project has not seen it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub date: &'static str,
    /// Its maturity.
    pub state: State,
}

impl Status {
    pub(crate) const fn new(document: &'static str, date: &'static str, state: State) -> Self {
        Self { document, date, state }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Rfc => "RFC",
            Self::Standard => "standard",
            Self::Draft => "draft",
            Self::Obsolete => "obsolete",
            Self::Private => "private",
        })
    }
}
