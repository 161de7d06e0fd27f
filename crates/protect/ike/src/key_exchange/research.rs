//! KEMs that are no standard, as liboqs has them: for experiments with what has been published of
//! them. The registry says which version of a scheme each is.
//!
//! Classic McEliece is not here: its smallest key takes 261120 octets, and a payload of IKE 65535
//! (RFC 7296, section 3.2).

use oqs::kem::{Algorithm, Kem};
use zeroize::Zeroizing;

use super::{ExchangeFailed, KeyExchange, Pending, Secret};

/// The one with this name in the registry.
pub(super) fn named(name: &str) -> Option<&'static dyn KeyExchange> {
    Some(match name {
        "eFrodoKEM-640-AES" => &Research(Algorithm::FrodoKem640Aes),
        "eFrodoKEM-976-AES" => &Research(Algorithm::FrodoKem976Aes),
        "eFrodoKEM-1344-AES" => &Research(Algorithm::FrodoKem1344Aes),
        "BIKE-L1 (round 4)" => &Research(Algorithm::BikeL1),
        "BIKE-L3 (round 4)" => &Research(Algorithm::BikeL3),
        "HQC-128 (round 4)" => &Research(Algorithm::Hqc128),
        "HQC-192 (round 4)" => &Research(Algorithm::Hqc192),
        "HQC-256 (round 4)" => &Research(Algorithm::Hqc256),
        _ => return None,
    })
}

struct Research(Algorithm);

struct PendingResearch {
    kem: Kem,
    key: Zeroizing<Vec<u8>>,
}

fn failed(_: oqs::Error) -> ExchangeFailed {
    ExchangeFailed
}

impl Research {
    fn kem(&self) -> Result<Kem, ExchangeFailed> {
        oqs::init();
        Kem::new(self.0).map_err(failed)
    }
}

impl KeyExchange for Research {
    fn begin(&self) -> Result<(Vec<u8>, Box<dyn Pending>), ExchangeFailed> {
        let kem = self.kem()?;
        let (public, key) = kem.keypair().map_err(failed)?;
        let key = Zeroizing::new(key.into_vec());
        Ok((public.into_vec(), Box::new(PendingResearch { kem, key })))
    }

    fn answer(&self, data: &[u8]) -> Result<(Vec<u8>, Secret), ExchangeFailed> {
        let kem = self.kem()?;
        let public = kem.public_key_from_bytes(data).ok_or(ExchangeFailed)?;
        let (ciphertext, secret) = kem.encapsulate(public).map_err(failed)?;
        Ok((ciphertext.into_vec(), Zeroizing::new(secret.into_vec())))
    }
}

impl Pending for PendingResearch {
    fn finish(&self, data: &[u8]) -> Result<Secret, ExchangeFailed> {
        let ciphertext = self.kem.ciphertext_from_bytes(data).ok_or(ExchangeFailed)?;
        let key = self.kem.secret_key_from_bytes(&self.key).ok_or(ExchangeFailed)?;
        let secret = self.kem.decapsulate(key, ciphertext).map_err(failed)?;
        Ok(Zeroizing::new(secret.into_vec()))
    }
}
