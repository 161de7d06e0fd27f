//! Object identifiers of messages.

use der::asn1::ObjectIdentifier;

/// PasswordBasedMac (RFC 9810, section 5.1.3.1).
pub(crate) const PASSWORD_BASED_MAC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113533.7.66.13");
/// PBMAC1 and its key derivation (RFC 9481, sections 6.1.2 and 4.4).
pub(crate) const PBMAC1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.14");
pub(crate) const PBKDF2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.12");
/// Encryption by a password (RFC 8018, section 6.2), which is no key derivation.
pub(crate) const PBES2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.13");
/// MACs that are not computed here: by a key of Diffie-Hellman (RFC 9810, section 5.1.3.2), by one
/// that was encapsulated (5.1.3.4).
pub(crate) const OTHER_MACS: [ObjectIdentifier; 2] = [
    ObjectIdentifier::new_unwrap("1.2.840.113533.7.66.30"),
    ObjectIdentifier::new_unwrap("1.2.840.113533.7.66.16"),
];
/// Hash functions (RFC 5754, section 2).
pub(crate) const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
pub(crate) const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
pub(crate) const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");
/// HMAC with SHA-1 by its two names (RFC 9481, section 6.2.1; RFC 8018, appendix B.1.1), which is OpenSSL's default.
pub(crate) const HMAC_SHA1_PKIX: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.8.1.2");
pub(crate) const HMAC_SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.7");
/// HMAC with SHA-2 (RFC 8018, appendix B.1.2).
pub(crate) const HMAC_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.9");
pub(crate) const HMAC_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.10");
pub(crate) const HMAC_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.11");
/// The certificate needs no confirmation (RFC 9810, section 5.1.1.1).
pub(crate) const IMPLICIT_CONFIRM: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.13");
/// Certificates of the authority, by a general message (RFC 9810, section 5.3.19.14).
pub(crate) const CA_CERTIFICATES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.17");
/// A root that shall be updated, and what takes its place (RFC 9810, section 5.3.19.15).
pub(crate) const ROOT_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.20");
pub(crate) const ROOT_KEY_UPDATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.18");
/// Revocation lists that the requester has or knows of, and newer ones (RFC 9810, section
/// 5.3.19.17).
pub(crate) const LIST_STATUS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.22");
pub(crate) const LISTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.4.23");
/// The certificate that an update replaces (RFC 4211, section 6.5).
pub(crate) const OLD_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.5.1.5");
/// commonName (X.520).
pub(crate) const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
/// Signatures that bring a hash of their own (RFC 5758, section 3.2; RFC 8017, appendix A.2.4).
pub(crate) const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
pub(crate) const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
pub(crate) const RSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
pub(crate) const RSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12");
