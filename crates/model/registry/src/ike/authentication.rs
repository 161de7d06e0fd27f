//! Authentication of IKEv2 peers (RFC 7296, section 3.8; RFC 7427).

use serde::Serialize;

use crate::document::*;
use crate::row::{note, safety};
use crate::{Safety, Status};

/// One IKEv2 authentication method.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AuthenticationMethod {
    /// Number in the AUTH payload.
    pub id: u8,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Safe against a forger with a quantum computer; none where something besides the method decides it.
    pub forgery: Option<Safety>,
    /// The defining document.
    pub status: Status,
    /// A caveat beyond the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// One hash algorithm a peer announces in SIGNATURE_HASH_ALGORITHMS.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct HashAlgorithm {
    /// Number in the notification.
    pub id: u16,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// The defining document.
    pub status: Status,
    /// A caveat beyond the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

macro_rules! methods {
    ($($id:literal $name:literal $forgery:tt $status:ident $($note:literal)?;)*) => {
        &[$(AuthenticationMethod {
            id: $id,
            name: $name,
            forgery: safety!($forgery),
            status: $status,
            note: note!($($note)?),
        }),*]
    };
}

/// Every authentication method this project knows, by number.
pub static AUTHENTICATION_METHODS: &[AuthenticationMethod] = methods! {
     1 "RSA Digital Signature"             broken RFC_7296;
     2 "Shared Key Message Integrity Code" -      RFC_7296 "as strong as the key is hard to guess";
     3 "DSS Digital Signature"             broken RFC_7296;
     9 "ECDSA with SHA-256 on P-256"       broken RFC_4754;
    10 "ECDSA with SHA-384 on P-384"       broken RFC_4754;
    11 "ECDSA with SHA-512 on P-521"       broken RFC_4754;
    12 "Generic Secure Password"           -      RFC_6467 "the password method decides";
    13 "NULL Authentication"               broken RFC_7619 "authenticates nobody";
    14 "Digital Signature"                 -      RFC_7427 "the AlgorithmIdentifier decides; ML-DSA and SLH-DSA come here (draft-ietf-ipsecme-ikev2-pqc-auth-12, 2026-08-24)";
};

macro_rules! hashes {
    ($($id:literal $name:literal $status:ident $($note:literal)?;)*) => {
        &[$(HashAlgorithm {
            id: $id,
            name: $name,
            status: $status,
            note: note!($($note)?),
        }),*]
    };
}

/// Every hash algorithm of RFC 7427 this project knows, by number.
pub static HASH_ALGORITHMS: &[HashAlgorithm] = hashes! {
    1 "SHA1"         RFC_7427;
    2 "SHA2-256"     RFC_7427;
    3 "SHA2-384"     RFC_7427;
    4 "SHA2-512"     RFC_7427;
    5 "Identity"     RFC_8420 "that ML-DSA and SLH-DSA use it is unverified";
    6 "STREEBOG_256" RFC_9385;
    7 "STREEBOG_512" RFC_9385;
};

/// The authentication method with this number.
pub fn authentication_method(id: u8) -> Option<&'static AuthenticationMethod> {
    AUTHENTICATION_METHODS.iter().find(|known| known.id == id)
}
