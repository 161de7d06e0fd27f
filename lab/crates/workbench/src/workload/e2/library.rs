//! The same ciphers by the cryptographic library in this binary (AWS-LC), which takes the
//! processor's own instructions for them where there are any, also in a guest.

use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, AES_192, AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;

use super::cipher::{ESP_HEADER, cbc};

/// A cipher with its key. Any will do: no secret is encrypted, and the time does not depend on it.
pub(super) enum LibraryCipher {
    /// One that authenticates what it encrypts.
    Aead(LessSafeKey),
    /// CBC, then an HMAC over what came of it.
    Cbc(Box<(EncryptingKey, hmac::Key)>),
}

impl LibraryCipher {
    /// By its name as a protection; none for what the library has not.
    pub(super) fn named(name: &str) -> Option<Self> {
        let key = [0x42; 32];
        let aead = |algorithm, length| UnboundKey::new(algorithm, &key[..length]).ok().map(LessSafeKey::new);
        let cbc = |bits: usize, hash: usize| {
            let algorithm = match bits {
                128 => &AES_128,
                192 => &AES_192,
                _ => &AES_256,
            };
            let check = match hash {
                256 => hmac::HMAC_SHA256,
                384 => hmac::HMAC_SHA384,
                _ => hmac::HMAC_SHA512,
            };
            let cipher = EncryptingKey::cbc(UnboundCipherKey::new(algorithm, &key[..bits / 8]).ok()?).ok()?;
            Some(Self::Cbc(Box::new((cipher, hmac::Key::new(check, &key)))))
        };
        match name {
            "aes128-gcm" => aead(&AES_128_GCM, 16).map(Self::Aead),
            "aes192-gcm" => aead(&AES_192_GCM, 24).map(Self::Aead),
            "aes256-gcm" => aead(&AES_256_GCM, 32).map(Self::Aead),
            "chacha20-poly1305" => aead(&CHACHA20_POLY1305, 32).map(Self::Aead),
            _ => self::cbc(name).and_then(|(bits, hash)| cbc(bits, hash)),
        }
    }

    /// Encrypts and authenticates a message where it stands.
    pub(super) fn encrypt(&self, message: &mut [u8]) -> Result<(), Unspecified> {
        let header = [0x20; ESP_HEADER];
        match self {
            Self::Aead(key) => {
                let nonce = Nonce::assume_unique_for_key([0x42; 12]);
                key.seal_in_place_separate_tag(nonce, Aad::from(header), message)
                    .map(drop)
            }
            Self::Cbc(keys) => {
                let (cipher, check) = &**keys;
                let vector = EncryptionContext::Iv128(FixedLength::from([0x42; 16]));
                cipher.less_safe_encrypt(message, vector)?;
                let mut context = hmac::Context::with_key(check);
                context.update(&header);
                context.update(message);
                std::hint::black_box(context.sign());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_it_has_changes_the_message_and_it_has_no_ccm() {
        for name in [
            "aes128-gcm",
            "aes192-gcm",
            "aes256-gcm",
            "chacha20-poly1305",
            "aes128-cbc-sha256",
            "aes192-cbc-sha384",
            "aes256-cbc-sha512",
        ] {
            let mut message = [0x20; 64];
            LibraryCipher::named(name).unwrap().encrypt(&mut message).unwrap();
            assert_ne!(message, [0x20; 64], "{name}");
        }
        assert!(LibraryCipher::named("aes128-ccm").is_none());
        assert!(LibraryCipher::named("null").is_none());
    }
}
