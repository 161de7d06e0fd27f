//! Keys of IKE_SAs: AES-GCM, AES-CCM and ChaCha20-Poly1305 (RFC 5282, RFC 7634), AES-CBC with HMAC
//! (RFC 3602, RFC 4868).

use aws_lc_rs::cipher::{self, DecryptingKey, DecryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{constant_time, hmac};
use bartizan_esp::{Associated, Opening, Suite};
use bartizan_registry::{TransformKind, transform_named};
use bartizan_wire::ike::Party;
use bartizan_wire::keys::IkeKey;
use zeroize::Zeroizing;

/// Bytes of an AES block.
const BLOCK: usize = 16;
/// Approximate bytes of a key besides its own size.
const HELD: usize = 1024;

/// Encryption of an IKE_SA, as far as it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    /// With a tag of 16 bytes.
    AesGcm,
    /// With a tag of so many bytes.
    AesCcm(Tag),
    ChaCha20Poly1305,
    AesCbc(Integrity),
}

/// Bytes of AES-CCM's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Eight,
    Twelve,
    Sixteen,
}

impl Cipher {
    /// The suite with keys of so many bytes, salt and all; none where no such key is the cipher's own, and for AES-CBC.
    fn aead(self, key: usize) -> Option<Suite> {
        let (name, salt) = match self {
            Self::AesGcm => ("ENCR_AES_GCM_16", 4),
            Self::AesCcm(Tag::Eight) => ("ENCR_AES_CCM_8", 3),
            Self::AesCcm(Tag::Twelve) => ("ENCR_AES_CCM_12", 3),
            Self::AesCcm(Tag::Sixteen) => ("ENCR_AES_CCM_16", 3),
            Self::ChaCha20Poly1305 => ("ENCR_CHACHA20_POLY1305", 4),
            Self::AesCbc(_) => return None,
        };
        let bits = u16::try_from(key.checked_sub(salt)? * 8).ok()?;
        let attribute = match self {
            // Its key length is fixed, and no attribute.
            Self::ChaCha20Poly1305 => (bits == 256).then_some(None)?,
            _ => Some(bits),
        };
        let id = transform_named(TransformKind::Encryption, name)?.id;
        Suite::of(id, attribute, None).ok()
    }

    /// Returns true if keys of encryption and of integrity have these lengths.
    pub(crate) fn fits(self, encryption: usize, integrity: usize) -> bool {
        match self {
            Self::AesCbc(check) => matches!(encryption, 16 | 24 | 32) && integrity == check.key(),
            _ => self.aead(encryption).is_some(),
        }
    }
}

/// Integrity protection of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integrity {
    HmacSha1_96,
    HmacSha256_128,
    HmacSha384_192,
    HmacSha512_256,
}

impl Integrity {
    fn algorithm(self) -> hmac::Algorithm {
        match self {
            Self::HmacSha1_96 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::HmacSha256_128 => hmac::HMAC_SHA256,
            Self::HmacSha384_192 => hmac::HMAC_SHA384,
            Self::HmacSha512_256 => hmac::HMAC_SHA512,
        }
    }

    /// Bytes of the check: half of the hash, of SHA-1 twelve.
    fn check(self) -> usize {
        match self {
            Self::HmacSha1_96 => 12,
            Self::HmacSha256_128 => 16,
            Self::HmacSha384_192 => 24,
            Self::HmacSha512_256 => 32,
        }
    }

    /// Bytes of its key: those of the hash.
    pub(crate) fn key(self) -> usize {
        match self {
            Self::HmacSha1_96 => 20,
            Self::HmacSha256_128 => 32,
            Self::HmacSha384_192 => 48,
            Self::HmacSha512_256 => 64,
        }
    }
}

/// One direction's keys.
enum Direction {
    Aead(Box<Opening>),
    Cbc {
        key: Zeroizing<Box<[u8]>>,
        integrity: Integrity,
        check: Box<hmac::Key>,
    },
}

/// Opens the messages of both ends of an IKE_SA.
pub(crate) struct IkeSaKey {
    directions: [Direction; 2],
}

impl IkeSaKey {
    /// From SK_ei and SK_ai, SK_er and SK_ar; none where their lengths are not those of the cipher.
    pub(crate) fn new(cipher: Cipher, keys: [(&[u8], &[u8]); 2]) -> Option<Self> {
        let [initiator, responder] = keys.map(|(encryption, integrity)| Direction::new(cipher, encryption, integrity));
        Some(Self {
            directions: [initiator?, responder?],
        })
    }
}

impl Direction {
    fn new(cipher: Cipher, encryption: &[u8], check: &[u8]) -> Option<Self> {
        if !cipher.fits(encryption.len(), check.len()) {
            return None;
        }
        if let Cipher::AesCbc(integrity) = cipher {
            return Some(Self::Cbc {
                key: Zeroizing::new(encryption.into()),
                integrity,
                check: Box::new(hmac::Key::new(integrity.algorithm(), check)),
            });
        }
        let suite = cipher.aead(encryption.len())?;
        Some(Self::Aead(Box::new(Opening::new(suite, encryption).ok()?)))
    }

    fn open(&self, message: &[u8], start: usize) -> Option<Vec<u8>> {
        let (header, sealed) = message.split_at_checked(start)?;
        let mut content = match self {
            Self::Aead(opening) => {
                let mut sealed = sealed.to_vec();
                // All that stands in front is authenticated (RFC 5282, section 5.1).
                let associated = Associated { header, upper: None };
                opening.open(associated, &mut sealed).ok()?.to_vec()
            }
            Self::Cbc { key, integrity, check } => {
                let whole = message.len().checked_sub(integrity.check())?;
                let (authenticated, sent) = message.split_at(whole);
                let computed = hmac::sign(check, authenticated);
                let computed = computed.as_ref().get(..sent.len())?;
                constant_time::verify_slices_are_equal(computed, sent).ok()?;
                let (iv, sealed) = authenticated.get(start..)?.split_first_chunk::<BLOCK>()?;
                if !sealed.len().is_multiple_of(BLOCK) {
                    return None;
                }
                let algorithm = match key.len() {
                    16 => &cipher::AES_128,
                    24 => &cipher::AES_192,
                    _ => &cipher::AES_256,
                };
                let key = DecryptingKey::cbc(UnboundCipherKey::new(algorithm, key).ok()?).ok()?;
                let mut content = sealed.to_vec();
                let context = DecryptionContext::Iv128(FixedLength::from(*iv));
                key.decrypt(&mut content, context).ok()?;
                content
            }
        };
        // Padding, and how much of it there is (RFC 7296, section 3.14).
        let padding = usize::from(content.pop()?);
        content.truncate(content.len().checked_sub(padding)?);
        Some(content)
    }
}

impl IkeKey for IkeSaKey {
    fn open(&self, from: Party, message: &[u8], start: usize) -> Option<Vec<u8>> {
        let [initiator, responder] = &self.directions;
        match from {
            Party::Initiator => initiator.open(message, start),
            Party::Responder => responder.open(message, start),
        }
    }

    fn held(&self) -> usize {
        size_of::<Self>() + 2 * HELD
    }
}
