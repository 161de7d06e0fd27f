//! Key exchange methods (RFC 7296, section 2.14; RFC 8031, RFC 5903, draft-ietf-ipsecme-ikev2-mlkem).
//!
//! One trait for Diffie-Hellman and KEMs: an initiator begins and finishes, a responder answers. In
//! a KEM the initiator's data are an encapsulation key, the responder's a ciphertext.

#[cfg(feature = "research-kems")]
mod research;

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::kem::{self, DecapsulationKey, EncapsulationKey};
use bartizan_wire::ike::KeyExchangeMethod;
use zeroize::Zeroizing;

/// A shared secret.
pub type Secret = Zeroizing<Vec<u8>>;

/// The peer's data cannot be used, or the cryptographic library failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key exchange failed")]
pub struct ExchangeFailed;

/// A method by which two ends agree on a secret.
pub trait KeyExchange: Sync {
    /// Begins: what an initiator sends, and what finishes it.
    ///
    /// # Errors
    /// The cryptographic library fails.
    fn begin(&self) -> Result<(Vec<u8>, Box<dyn Pending>), ExchangeFailed>;

    /// Answers an initiator's data: what a responder sends, and the secret.
    ///
    /// # Errors
    /// The data cannot be used.
    fn answer(&self, data: &[u8]) -> Result<(Vec<u8>, Secret), ExchangeFailed>;
}

/// An initiator's half, until the responder has answered.
pub trait Pending: Send {
    /// The secret.
    ///
    /// # Errors
    /// The data cannot be used.
    fn finish(&self, data: &[u8]) -> Result<Secret, ExchangeFailed>;
}

/// The method with this number; none where it is not implemented here.
pub fn key_exchange(method: KeyExchangeMethod) -> Option<&'static dyn KeyExchange> {
    Some(match method.known()?.name {
        "Curve25519" => &Agreement {
            algorithm: &agreement::X25519,
            is_point: false,
        },
        "256-bit random ECP" => &Agreement {
            algorithm: &agreement::ECDH_P256,
            is_point: true,
        },
        "384-bit random ECP" => &Agreement {
            algorithm: &agreement::ECDH_P384,
            is_point: true,
        },
        "521-bit random ECP" => &Agreement {
            algorithm: &agreement::ECDH_P521,
            is_point: true,
        },
        "ml-kem-512" => &Encapsulation(&kem::ML_KEM_512),
        "ml-kem-768" => &Encapsulation(&kem::ML_KEM_768),
        "ml-kem-1024" => &Encapsulation(&kem::ML_KEM_1024),
        #[cfg(feature = "research-kems")]
        name => research::named(name)?,
        #[cfg(not(feature = "research-kems"))]
        _ => return None,
    })
}

/// The first byte of an uncompressed point, which IKEv2 leaves out (RFC 5903, section 7).
const UNCOMPRESSED: u8 = 0x04;

struct Agreement {
    algorithm: &'static agreement::Algorithm,
    is_point: bool,
}

struct PendingAgreement {
    key: PrivateKey,
    is_point: bool,
}

impl KeyExchange for Agreement {
    fn begin(&self) -> Result<(Vec<u8>, Box<dyn Pending>), ExchangeFailed> {
        let key = PrivateKey::generate(self.algorithm).map_err(|_| ExchangeFailed)?;
        let public = key.compute_public_key().map_err(|_| ExchangeFailed)?;
        let data = match public.as_ref() {
            [UNCOMPRESSED, point @ ..] if self.is_point => point.to_vec(),
            bytes => bytes.to_vec(),
        };
        let is_point = self.is_point;
        Ok((data, Box::new(PendingAgreement { key, is_point })))
    }

    fn answer(&self, data: &[u8]) -> Result<(Vec<u8>, Secret), ExchangeFailed> {
        let (answer, pending) = self.begin()?;
        Ok((answer, pending.finish(data)?))
    }
}

impl Pending for PendingAgreement {
    fn finish(&self, data: &[u8]) -> Result<Secret, ExchangeFailed> {
        let mut public = Vec::with_capacity(data.len() + 1);
        if self.is_point {
            public.push(UNCOMPRESSED);
        }
        public.extend(data);
        let public = UnparsedPublicKey::new(self.key.algorithm(), public);
        // The shared secret is the x coordinate alone (RFC 5903, section 7).
        agreement::agree(&self.key, public, ExchangeFailed, |secret| {
            Ok(Zeroizing::new(secret.to_vec()))
        })
    }
}

struct Encapsulation(&'static kem::Algorithm<kem::AlgorithmId>);

struct PendingEncapsulation(DecapsulationKey);

impl KeyExchange for Encapsulation {
    fn begin(&self) -> Result<(Vec<u8>, Box<dyn Pending>), ExchangeFailed> {
        let key = DecapsulationKey::generate(self.0).map_err(|_| ExchangeFailed)?;
        let public = key.encapsulation_key().map_err(|_| ExchangeFailed)?;
        let data = public.key_bytes().map_err(|_| ExchangeFailed)?.as_ref().to_vec();
        Ok((data, Box::new(PendingEncapsulation(key))))
    }

    fn answer(&self, data: &[u8]) -> Result<(Vec<u8>, Secret), ExchangeFailed> {
        let key = EncapsulationKey::new(self.0, data).map_err(|_| ExchangeFailed)?;
        let (ciphertext, secret) = key.encapsulate().map_err(|_| ExchangeFailed)?;
        Ok((ciphertext.as_ref().to_vec(), Zeroizing::new(secret.as_ref().to_vec())))
    }
}

impl Pending for PendingEncapsulation {
    fn finish(&self, data: &[u8]) -> Result<Secret, ExchangeFailed> {
        let secret = self.0.decapsulate(data.into()).map_err(|_| ExchangeFailed)?;
        Ok(Zeroizing::new(secret.as_ref().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    mod acvp;
    mod wycheproof;

    use bartizan_registry::{TRANSFORMS, TransformKind};
    use proptest::prelude::*;

    use super::*;

    const IMPLEMENTED: usize = if cfg!(feature = "research-kems") { 15 } else { 7 };

    fn implemented() -> Vec<(KeyExchangeMethod, &'static dyn KeyExchange)> {
        let known = TRANSFORMS
            .iter()
            .filter(|known| known.kind == TransformKind::KeyExchange);
        let methods = known.map(|known| KeyExchangeMethod(known.id));
        methods
            .filter_map(|method| Some((method, key_exchange(method)?)))
            .collect()
    }

    #[test]
    fn both_ends_agree_and_send_as_much_as_the_registry_says() {
        assert_eq!(implemented().len(), IMPLEMENTED);
        for (method, exchange) in implemented() {
            let known = method.known().unwrap();
            let (data, pending) = exchange.begin().unwrap();
            let (answer, secret) = exchange.answer(&data).unwrap();
            let lengths = [data.len(), answer.len()].map(|length| Some(length as u16));
            assert_eq!(lengths, [known.initiator, known.responder], "{method}");
            assert_eq!(pending.finish(&answer).unwrap(), secret, "{method}");
            assert!(secret.iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn data_of_another_length_are_refused() {
        for (method, exchange) in implemented() {
            let (data, _) = exchange.begin().unwrap();
            assert!(exchange.answer(&data[1..]).is_err(), "{method}");
            assert!(exchange.answer(&[&data[..], &[0]].concat()).is_err(), "{method}");
            assert!(exchange.answer(&[]).is_err(), "{method}");
        }
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        // RFC 8031, section 2.3: an all-zero secret must be.
        let curve25519 = implemented().into_iter().find(|(method, _)| method.0 == 31).unwrap().1;
        assert!(curve25519.answer(&[0; 32]).is_err());
    }

    proptest! {
        #[test]
        fn no_data_make_it_panic(which in 0..IMPLEMENTED, whole in any::<bool>(), seed in prop::collection::vec(any::<u8>(), 0..64)) {
            let (method, exchange) = implemented()[which];
            let length = if whole { usize::from(method.known().unwrap().initiator.unwrap()) } else { seed.len() };
            let data: Vec<u8> = seed.iter().copied().cycle().take(length).collect();
            let _ = exchange.answer(&data);
            let (_, pending) = exchange.begin().unwrap();
            let _ = pending.finish(&data);
        }
    }
}
