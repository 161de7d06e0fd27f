//! The operations, and what they are asked with.

use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_768};
use aws_lc_rs::signature::{KeyPair as _, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use crate::stand_in::exchange::file::bytes;
use crate::stand_in::sbi::Error;

/// Operation of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: what a call costs by itself.
    Nothing,
    /// A key pair of ML-KEM-768.
    Keygen,
    /// Encapsulation to a public key.
    Encapsulate,
    /// Decapsulation with a secret key that comes with the call.
    Decapsulate,
    /// A signature by ML-DSA-65 with the service's own key.
    Sign,
    /// Its verification with a public key that comes with the call.
    Verify,
}

impl Operation {
    /// Each once.
    pub const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Keygen,
        Self::Encapsulate,
        Self::Decapsulate,
        Self::Sign,
        Self::Verify,
    ];

    /// Its name, which is its path too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Keygen => "keygen",
            Self::Encapsulate => "encapsulate",
            Self::Decapsulate => "decapsulate",
            Self::Sign => "sign",
            Self::Verify => "verify",
        }
    }

    pub(super) fn at(path: &str) -> Option<Self> {
        let name = path.strip_prefix('/')?;
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// Message to sign: 130 bytes, as long as the content that TLS 1.3 signs (RFC 9846, section 4.4.3).
const SIGNED: [u8; 130] = [0x20; 130];

/// The service's key, and everything that calls are made with.
#[derive(Debug)]
pub struct Keys {
    signing: PqdsaKeyPair,
}

impl Keys {
    /// A fresh key.
    ///
    /// # Errors
    /// Fails if the library has no randomness.
    pub fn generate() -> Result<Self, Error> {
        let signing = PqdsaKeyPair::generate(&ML_DSA_65_SIGNING);
        Ok(Self {
            signing: signing.map_err(|_| failed("making a key"))?,
        })
    }

    /// The body of a call of each operation, in the order of [`Operation::ALL`], made by the library itself.
    ///
    /// # Errors
    /// Fails if the library fails.
    pub fn bodies(&self) -> Result<Vec<Value>, Error> {
        let key = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| failed("making a key"))?;
        let public = key.encapsulation_key().map_err(|_| failed("the public key"))?;
        let (ciphertext, _) = public.encapsulate().map_err(|_| failed("encapsulating"))?;
        let public = public.key_bytes().map_err(|_| failed("the public key"))?;
        let secret = key.key_bytes().map_err(|_| failed("the secret key"))?;
        let bodies = Operation::ALL.map(|operation| match operation {
            Operation::Nothing | Operation::Keygen => Ok(json!({})),
            Operation::Encapsulate => Ok(json!({ "publicKey": HEXLOWER.encode(public.as_ref()) })),
            Operation::Decapsulate => {
                Ok(json!({ "secretKey": HEXLOWER.encode(secret.as_ref()), "ciphertext": HEXLOWER.encode(ciphertext.as_ref()) }))
            }
            Operation::Sign => Ok(json!({ "message": HEXLOWER.encode(&SIGNED) })),
            Operation::Verify => {
                let signature = self.sign(&SIGNED)?;
                Ok(json!({
                    "publicKey": HEXLOWER.encode(self.signing.public_key().as_ref()),
                    "message": HEXLOWER.encode(&SIGNED),
                    "signature": HEXLOWER.encode(&signature),
                }))
            }
        });
        bodies.into_iter().collect()
    }

    /// Does it, and gives the members of the answer.
    pub(super) fn perform(&self, operation: Operation, asked: &Value) -> Result<Value, String> {
        let member = |name: &str| {
            let text = asked[name].as_str().ok_or_else(|| format!("`{name}` is missing"))?;
            bytes(text).ok_or_else(|| format!("`{name}` is not hexadecimal"))
        };
        let refused = |what: &str| format!("{what} is refused");
        match operation {
            Operation::Nothing => Ok(json!({})),
            Operation::Keygen => {
                let key = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| refused("making a key"))?;
                let public = key.encapsulation_key().and_then(|public| public.key_bytes());
                let public = public.map_err(|_| refused("the public key"))?;
                let secret = key.key_bytes().map_err(|_| refused("the secret key"))?;
                Ok(
                    json!({ "publicKey": HEXLOWER.encode(public.as_ref()), "secretKey": HEXLOWER.encode(secret.as_ref()) }),
                )
            }
            Operation::Encapsulate => {
                let key =
                    EncapsulationKey::new(&ML_KEM_768, &member("publicKey")?).map_err(|_| refused("publicKey"))?;
                let (ciphertext, secret) = key.encapsulate().map_err(|_| refused("publicKey"))?;
                Ok(
                    json!({ "ciphertext": HEXLOWER.encode(ciphertext.as_ref()), "sharedSecret": HEXLOWER.encode(secret.as_ref()) }),
                )
            }
            Operation::Decapsulate => {
                let key =
                    DecapsulationKey::new(&ML_KEM_768, &member("secretKey")?).map_err(|_| refused("secretKey"))?;
                let ciphertext = member("ciphertext")?;
                let secret = key.decapsulate(Ciphertext::from(ciphertext.as_slice()));
                let secret = secret.map_err(|_| refused("ciphertext"))?;
                Ok(json!({ "sharedSecret": HEXLOWER.encode(secret.as_ref()) }))
            }
            Operation::Sign => {
                let signature = self.sign(&member("message")?).map_err(|error| error.to_string())?;
                Ok(json!({ "signature": HEXLOWER.encode(&signature) }))
            }
            Operation::Verify => {
                let key = UnparsedPublicKey::new(&ML_DSA_65, member("publicKey")?);
                let valid = key.verify(&member("message")?, &member("signature")?).is_ok();
                Ok(json!({ "valid": valid }))
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signature = vec![0; self.signing.algorithm().signature_len()];
        let length = self.signing.sign(message, &mut signature);
        signature.truncate(length.map_err(|_| failed("signing"))?);
        Ok(signature)
    }
}

fn failed(what: &str) -> Error {
    Error::Configuration(format!("{what} failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encapsulated_is_decapsulated_and_what_is_signed_is_verified() {
        let keys = Keys::generate().unwrap();
        let made = keys.perform(Operation::Keygen, &json!({})).unwrap();
        let sent = keys.perform(Operation::Encapsulate, &made).unwrap();
        let asked = json!({ "secretKey": made["secretKey"], "ciphertext": sent["ciphertext"] });
        let got = keys.perform(Operation::Decapsulate, &asked).unwrap();
        assert_eq!(got["sharedSecret"], sent["sharedSecret"]);
        assert_eq!(sent["sharedSecret"].as_str().unwrap().len(), 64);
        // FIPS 203, table 3; FIPS 204, table 2: bytes in two digits each.
        for (value, length) in [
            (&made["publicKey"], 1184),
            (&made["secretKey"], 2400),
            (&sent["ciphertext"], 1088),
        ] {
            assert_eq!(value.as_str().unwrap().len(), 2 * length);
        }
        let bodies = keys.bodies().unwrap();
        let signed = keys.perform(Operation::Sign, &bodies[4]).unwrap();
        assert_eq!(signed["signature"].as_str().unwrap().len(), 2 * 3309);
        assert_eq!(keys.perform(Operation::Verify, &bodies[5]).unwrap()["valid"], true);
        let mut forged = bodies[5].clone();
        forged["message"] = "00".into();
        assert_eq!(keys.perform(Operation::Verify, &forged).unwrap()["valid"], false);
    }

    #[test]
    fn calls_that_cannot_be_done_are_refused() {
        let keys = Keys::generate().unwrap();
        for (operation, asked) in [
            (Operation::Encapsulate, json!({})),
            (Operation::Encapsulate, json!({ "publicKey": "00" })),
            (Operation::Decapsulate, json!({ "secretKey": "zz" })),
            (Operation::Sign, json!({ "message": 1 })),
        ] {
            assert!(keys.perform(operation, &asked).is_err());
        }
    }
}
