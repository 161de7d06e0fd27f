//! Bytes of a TLS 1.3 handshake, flight by flight.

use bartizan_registry::{Group, Header, Signature, TLS_RECORD_CONTENT, cipher_named};
use serde::{Serialize, Serializer};

use crate::Source;
use crate::overhead::{OverheadError, Tls};
use crate::unit::Bytes;

/// Certificates and signature by which an end authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Certificates {
    /// Certificates sent, including the leaf. The root is not sent.
    pub chain: u8,
    /// Bytes of each that are neither key nor signature: names, dates, extensions, DER.
    pub extra: Bytes,
}

impl Certificates {
    /// Bytes of a certificate of `bartizan ca` with one DNS name that are neither its ML-DSA key nor the signature on it, as captured (5632 - 1952 - 3309).
    pub const CAPTURED_EXTRA: u16 = 371;

    /// Source of [`Self::CAPTURED_EXTRA`].
    pub fn captured() -> Source {
        Source::record(
            "sidecar-hybrid.pcap",
            "crates/prove/wire/tests/data: certificate of the client",
        )
    }

    /// All certificates of a chain whose keys and signatures are of one scheme; none where the registry has no size of it.
    pub fn each(&self, scheme: &Signature) -> Option<Bytes> {
        Some(Bytes::from(scheme.public_key?) + Bytes::from(scheme.signature?) + self.extra)
    }
}

/// A full TLS 1.3 handshake in which both ends show a certificate.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TlsHandshake {
    /// The group whose shares are sent.
    #[serde(serialize_with = "group_name")]
    pub group: &'static Group,
    /// The scheme of certificates and of CertificateVerify.
    #[serde(serialize_with = "scheme_name")]
    pub scheme: &'static Signature,
    /// Certificates that each end sends.
    pub certificates: Certificates,
}

fn group_name<S: Serializer>(group: &&Group, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(group.name)
}

fn scheme_name<S: Serializer>(scheme: &&Signature, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scheme.name)
}

/// Bytes of a ClientHello of our sidecar without the key share, record header included: 1385 - 1216, as captured with one server name. OpenSSL 3.5 sends 165 to 202.
const CLIENT_HELLO: u16 = 169;
/// EncryptedExtensions and CertificateRequest of our sidecar, as captured.
const EXTENSIONS_AND_REQUEST: u16 = 84;
/// A ServerHello without the key share (RFC 9846, section 4.1.3): 4 of header, version 2, random 32, session identifier 33, suite 2, compression 1, extensions 2,
/// key_share 8, supported_versions 6.
const SERVER_HELLO: u16 = 4 + 2 + 32 + 33 + 2 + 1 + 2 + 8 + 6;
/// ChangeCipherSpec for middleboxes (RFC 9846, appendix D.4), record header included.
const CHANGE_CIPHER_SPEC: u16 = 6;
/// Finished with SHA-384.
const FINISHED: u16 = 4 + 48;
/// CertificateVerify without the signature: header 4, scheme 2, length 2.
const CERTIFICATE_VERIFY: u16 = 8;
/// Certificate without its entries: header 4, context 1, length 3; each entry has a length of 3 and extensions of 2.
const CERTIFICATE: u16 = 8;
const CERTIFICATE_ENTRY: u16 = 5;

impl TlsHandshake {
    /// The ClientHello.
    pub fn client_hello(&self) -> Bytes {
        Bytes::from(CLIENT_HELLO) + Bytes::from(self.group.client_share)
    }

    /// All that the server sends behind it, to its Finished. None where the scheme has no size of its own (RSA).
    pub fn server_flight(&self) -> Result<Option<Bytes>, OverheadError> {
        let hello =
            Bytes::from(Header::TLS_RECORD.bytes) + Bytes::from(SERVER_HELLO) + Bytes::from(self.group.server_share);
        let Some(proof) = self.proof() else { return Ok(None) };
        let encrypted = self.records(Bytes::from(EXTENSIONS_AND_REQUEST) + proof)?;
        Ok(Some(hello + Bytes::from(CHANGE_CIPHER_SPEC) + encrypted))
    }

    /// Size of the client's second flight: certificate, proof, Finished.
    pub fn client_flight(&self) -> Result<Option<Bytes>, OverheadError> {
        let Some(proof) = self.proof() else { return Ok(None) };
        Ok(Some(Bytes::from(CHANGE_CIPHER_SPEC) + self.records(proof)?))
    }

    /// The same of QUIC, where handshake messages are in CRYPTO frames without records: ServerHello to Finished.
    pub fn server_messages(&self) -> Option<Bytes> {
        let hello = Bytes::from(SERVER_HELLO) + Bytes::from(self.group.server_share);
        Some(hello + Bytes::from(EXTENSIONS_AND_REQUEST) + self.proof()?)
    }

    /// The client's of QUIC.
    pub fn client_messages(&self) -> Option<Bytes> {
        self.proof()
    }

    /// Certificate, CertificateVerify and Finished.
    fn proof(&self) -> Option<Bytes> {
        let each = self.certificates.each(self.scheme)? + Bytes::from(CERTIFICATE_ENTRY);
        let chain: Bytes = (0..self.certificates.chain).map(|_| each).sum();
        let verify = Bytes::from(CERTIFICATE_VERIFY) + Bytes::from(self.scheme.signature?);
        Some(Bytes::from(CERTIFICATE) + chain + verify + Bytes::from(FINISHED))
    }

    fn records(&self, content: Bytes) -> Result<Bytes, OverheadError> {
        // The suite that hybrid and CNSA policies prefer; all others but CCM-8 have the same sizes.
        let Some(cipher) = cipher_named("TLS_AES_256_GCM_SHA384") else {
            return Err(OverheadError::TooSmall {
                given: 0,
                least: u64::from(TLS_RECORD_CONTENT),
                what: "the registry's list of suites",
            });
        };
        Ok(Tls { cipher }.records(content)?.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_registry::{group_named, signature_named};
    use proptest::prelude::*;

    fn handshake(group: &str, scheme: &str, chain: u8) -> TlsHandshake {
        TlsHandshake {
            group: group_named(group).unwrap(),
            scheme: signature_named(scheme).unwrap(),
            certificates: Certificates {
                chain,
                extra: Bytes::from(Certificates::CAPTURED_EXTRA),
            },
        }
    }

    #[test]
    fn the_flights_of_our_sidecar_are_those_that_were_captured() {
        // sidecar-hybrid.pcap: 1385, then 7240 + 3101, then 6 + 7240 + 1796 bytes of TCP.
        let hybrid = handshake("X25519MLKEM768", "mldsa65", 1);
        assert_eq!(hybrid.client_hello().value(), 1385);
        assert_eq!(hybrid.client_flight().unwrap().unwrap().value(), 6 + 7240 + 1796);
        assert_eq!(hybrid.server_flight().unwrap().unwrap().value(), 7240 + 3101);
    }

    #[test]
    fn server_hellos_of_openssl_have_the_sizes_that_were_captured() {
        // openssl-3.5.7.pcap, ports 4403, 4406 to 4410: records of 122, 858, 1178, 1658, 1243 and 1755 bytes.
        for (group, record) in [
            ("x25519", 122),
            ("MLKEM512", 858),
            ("MLKEM768", 1178),
            ("MLKEM1024", 1658),
            ("SecP256r1MLKEM768", 1243),
            ("SecP384r1MLKEM1024", 1755),
        ] {
            let share = group_named(group).unwrap().server_share;
            assert_eq!(SERVER_HELLO + share, record, "{group}");
        }
    }

    proptest! {
        #[test]
        fn longer_chains_and_larger_schemes_never_send_less(chain in 1_u8..8) {
            let size = |scheme, chain| handshake("X25519MLKEM768", scheme, chain).server_flight().unwrap().unwrap();
            prop_assert!(size("mldsa65", chain + 1) > size("mldsa65", chain));
            prop_assert!(size("mldsa87", chain) > size("mldsa65", chain));
            prop_assert!(size("mldsa65", chain) > size("mldsa44", chain));
            prop_assert!(size("mldsa44", chain) > size("ecdsa_secp256r1_sha256", chain));
        }
    }
}
