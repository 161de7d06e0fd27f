//! How strong an algorithm is, and how firm its specification.

use serde::Serialize;

/// NIST post-quantum security category (1, 2, 3 or 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Category(pub u8);

/// Whether an algorithm withstands an attacker with a cryptographically relevant quantum computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// No quantum attack better than generic search is known.
    QuantumSafe,
    /// Falls to Shor's algorithm.
    Vulnerable,
}

/// How far a specification has come: 3GPP builds on RFCs, not on drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A published RFC.
    Rfc,
    /// A published standard of NIST, IEEE, ISO/IEC or 3GPP.
    Standard,
    /// An Internet-Draft that may still change.
    Draft,
    /// Withdrawn, expired or obsoleted: only named so that it can be recognised.
    Obsolete,
    /// A private or experimental code point.
    Private,
}

/// The document that defines a code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Standing {
    /// Its name: `RFC 10024`, `draft-ietf-tls-mldsa-06`.
    pub document: &'static str,
    /// Its date as published, `2026-08`; empty where it is older than this project's interest in it.
    pub date: &'static str,
    /// How far it has come.
    pub state: State,
}
