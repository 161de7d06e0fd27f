//! Ciphers that seal and open a packet in place: AES-GCM, AES-CCM and ChaCha20-Poly1305 (RFC 4106,
//! RFC 4309, RFC 7634), AES-CBC with HMAC (RFC 3602, RFC 4868).
//!
//! Both work on what stands behind a header: initialization vector, content, integrity check value.
//! That of IKEv2's encrypted payload is laid out in the same way (RFC 5282), so that both protocols
//! have one implementation.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{self, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{constant_time, hmac, rand};
use zeroize::Zeroizing;

use crate::ccm::Ccm;
use crate::error::{OpenError, SealError, Unusable};
use crate::suite::{Encryption, Integrity, Suite};

const SALT: usize = 4;
const EXPLICIT: usize = 8;
const BLOCK: usize = 16;

/// Seals packets of ESP, and messages of IKEv2, with one key.
pub struct Sealing {
    suite: Suite,
    key: SealingKey,
}

enum SealingKey {
    Aead(Aead),
    Ccm(Ccm),
    Cbc(Box<CbcSealing>),
}

/// Opens them.
pub struct Opening {
    suite: Suite,
    key: OpeningKey,
}

enum OpeningKey {
    Aead(Aead),
    Ccm(Ccm),
    Cbc(Box<CbcOpening>),
}

struct CbcSealing {
    key: EncryptingKey,
    proof: hmac::Key,
    vectors: EncryptingKey,
}

struct CbcOpening {
    key: DecryptingKey,
    proof: hmac::Key,
}

bartizan_registry::made! {
    struct Aead, new(algorithm: &'static aead::Algorithm, keys: &[u8]) -> Result<Self, Unusable> {
        let (key, salt) = keys.split_last_chunk::<SALT>().ok_or(Unusable::Refused)?;
        let key = UnboundKey::new(algorithm, key).map_err(|_| Unusable::Refused)?;
        key: LessSafeKey = LessSafeKey::new(key),
        salt: Zeroizing<[u8; SALT]> = Zeroizing::new(*salt),
    }
}

/// Bytes in front of the initialization vector, authenticated and not encrypted.
#[derive(Clone, Copy)]
pub struct Associated<'a> {
    /// In ESP the SPI and sequence number; in IKEv2 the message up to the vector (RFC 7296, section
    /// 3.14; RFC 5282, section 5.1).
    pub header: &'a [u8],
    /// The upper half of an extended sequence number, which is not sent (RFC 4303, section 2.2.1).
    pub upper: Option<[u8; 4]>,
}

impl Associated<'_> {
    /// As an AEAD authenticates it: the upper half stands before the lower (RFC 4106, section 5).
    fn for_aead<T>(self, work: impl FnOnce(&[u8]) -> T) -> T {
        match (self.header.split_last_chunk::<4>(), self.upper) {
            (Some((&[a, b, c, d], lower)), Some(upper)) => {
                let mut header = [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0];
                header[4..8].copy_from_slice(&upper);
                header[8..].copy_from_slice(lower);
                work(&header)
            }
            _ => work(self.header),
        }
    }

    /// The HMAC whose first bytes are the integrity check value of these bytes behind the header;
    /// the upper half comes last.
    fn proof(self, key: &hmac::Key, behind: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(key);
        context.update(self.header);
        context.update(behind);
        if let Some(upper) = self.upper {
            context.update(&upper);
        }
        context.sign()
    }
}

impl Aead {
    fn nonce(&self, explicit: [u8; EXPLICIT]) -> Nonce {
        let mut nonce = [0; SALT + EXPLICIT];
        nonce[..SALT].copy_from_slice(&self.salt[..]);
        nonce[SALT..].copy_from_slice(&explicit);
        Nonce::assume_unique_for_key(nonce)
    }
}

enum Kind {
    Aead(&'static aead::Algorithm),
    Ccm,
    Cbc(&'static cipher::Algorithm, Integrity),
}

fn kind(suite: Suite) -> Result<Kind, Unusable> {
    Ok(match (suite.encryption, suite.integrity) {
        (Encryption::AesGcm128, _) => Kind::Aead(&aead::AES_128_GCM),
        (Encryption::AesGcm192, _) => Kind::Aead(&aead::AES_192_GCM),
        (Encryption::AesGcm256, _) => Kind::Aead(&aead::AES_256_GCM),
        (Encryption::AesCcm128 | Encryption::AesCcm192 | Encryption::AesCcm256, _) => Kind::Ccm,
        (Encryption::ChaCha20Poly1305, _) => Kind::Aead(&aead::CHACHA20_POLY1305),
        (Encryption::AesCbc128, Some(integrity)) => Kind::Cbc(&cipher::AES_128, integrity),
        (Encryption::AesCbc192, Some(integrity)) => Kind::Cbc(&cipher::AES_192, integrity),
        (Encryption::AesCbc256, Some(integrity)) => Kind::Cbc(&cipher::AES_256, integrity),
        (Encryption::AesCbc128 | Encryption::AesCbc192 | Encryption::AesCbc256, None) => {
            return Err(Unusable::Combination);
        }
    })
}

/// Splits keys into that of the cipher, with its salt, and that of the proof.
fn split(suite: Suite, keys: &[u8]) -> Result<(&[u8], &[u8]), Unusable> {
    let needed = suite.key_material();
    if keys.len() != needed {
        return Err(Unusable::KeyMaterial {
            given: keys.len(),
            needed,
        });
    }
    let (key, salt) = suite.encryption.key();
    Ok(keys.split_at(key + salt))
}

fn proof(integrity: Integrity, key: &[u8]) -> hmac::Key {
    let algorithm = match integrity {
        Integrity::HmacSha256 => hmac::HMAC_SHA256,
        Integrity::HmacSha384 => hmac::HMAC_SHA384,
        Integrity::HmacSha512 => hmac::HMAC_SHA512,
    };
    hmac::Key::new(algorithm, key)
}

impl Sealing {
    /// With this key material: encryption key, salt, integrity key.
    ///
    /// # Errors
    /// If it has another length than the suite's.
    pub fn new(suite: Suite, keys: &[u8]) -> Result<Self, Unusable> {
        // Initialization vectors of CBC must be unpredictable (RFC 3602, section 3): each is its
        // sequence number, encrypted with a key that nothing else has.
        let mut vectors = Zeroizing::new([0; BLOCK]);
        rand::fill(&mut vectors[..]).map_err(|_| Unusable::Refused)?;
        let (encryption, integrity) = split(suite, keys)?;
        let key = match kind(suite)? {
            Kind::Aead(algorithm) => SealingKey::Aead(Aead::new(algorithm, encryption)?),
            Kind::Ccm => SealingKey::Ccm(Ccm::new(encryption, suite.icv)?),
            Kind::Cbc(algorithm, with) => {
                let key = |algorithm, bytes| UnboundCipherKey::new(algorithm, bytes).map_err(|_| Unusable::Refused);
                let vectors = key(&cipher::AES_128, &vectors[..])?;
                SealingKey::Cbc(Box::new(CbcSealing {
                    key: EncryptingKey::cbc(key(algorithm, encryption)?).map_err(|_| Unusable::Refused)?,
                    proof: proof(with, integrity),
                    vectors: EncryptingKey::ecb(vectors).map_err(|_| Unusable::Refused)?,
                }))
            }
        };
        Ok(Self { suite, key })
    }

    /// Writes the initialization vector of the packet with this number, which comes once.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn write_vector(&self, sequence: u64, vector: &mut [u8]) -> Result<(), SealError> {
        let mut block = [0; BLOCK];
        block[..EXPLICIT].copy_from_slice(&sequence.to_be_bytes());
        if let SealingKey::Cbc(cbc) = &self.key {
            let encrypted = cbc.vectors.less_safe_encrypt(&mut block, EncryptionContext::None);
            encrypted.map_err(|_| SealError::Failed)?;
        }
        let bytes = block.get(..vector.len()).ok_or(SealError::Failed)?;
        vector.copy_from_slice(bytes);
        Ok(())
    }

    /// Encrypts the content behind the vector, and writes the integrity check value that ends these bytes.
    ///
    /// # Errors
    /// If content and vector are shorter than the suite's, or not of whole blocks.
    pub fn seal(&self, associated: Associated<'_>, behind: &mut [u8]) -> Result<(), SealError> {
        const FAILED: SealError = SealError::Failed;
        let end = behind.len().checked_sub(self.suite.icv).ok_or(FAILED)?;
        let (authenticated, icv) = behind.split_at_mut(end);
        match &self.key {
            SealingKey::Aead(aead) => {
                let (vector, content) = authenticated.split_first_chunk_mut::<EXPLICIT>().ok_or(FAILED)?;
                let nonce = aead.nonce(*vector);
                let seal = |header: &[u8]| aead.key.seal_in_place_separate_tag(nonce, Aad::from(header), content);
                icv.copy_from_slice(associated.for_aead(seal).map_err(|_| FAILED)?.as_ref());
            }
            SealingKey::Ccm(ccm) => {
                let (vector, content) = authenticated.split_first_chunk_mut::<EXPLICIT>().ok_or(FAILED)?;
                let seal = |header: &[u8]| ccm.seal(*vector, header, content, icv);
                associated.for_aead(seal).ok_or(FAILED)?;
            }
            SealingKey::Cbc(cbc) => {
                let (vector, content) = authenticated.split_first_chunk_mut::<BLOCK>().ok_or(FAILED)?;
                let context = EncryptionContext::Iv128(FixedLength::from(*vector));
                cbc.key.less_safe_encrypt(content, context).map_err(|_| FAILED)?;
                let tag = associated.proof(&cbc.proof, authenticated);
                icv.copy_from_slice(tag.as_ref().get(..icv.len()).ok_or(FAILED)?);
            }
        }
        Ok(())
    }
}

impl Opening {
    /// With this key material: encryption key, salt, integrity key.
    ///
    /// # Errors
    /// If it has another length than the suite's.
    pub fn new(suite: Suite, keys: &[u8]) -> Result<Self, Unusable> {
        let (encryption, integrity) = split(suite, keys)?;
        let key = match kind(suite)? {
            Kind::Aead(algorithm) => OpeningKey::Aead(Aead::new(algorithm, encryption)?),
            Kind::Ccm => OpeningKey::Ccm(Ccm::new(encryption, suite.icv)?),
            Kind::Cbc(algorithm, with) => {
                let key = UnboundCipherKey::new(algorithm, encryption).map_err(|_| Unusable::Refused)?;
                OpeningKey::Cbc(Box::new(CbcOpening {
                    key: DecryptingKey::cbc(key).map_err(|_| Unusable::Refused)?,
                    proof: proof(with, integrity),
                }))
            }
        };
        Ok(Self { suite, key })
    }

    /// Proves vector and content and decrypts the content where it stands, between vector and
    /// integrity check value. Content that is not proven is not decrypted, or has been overwritten.
    ///
    /// # Errors
    /// If it is too short or not proven.
    pub fn open<'a>(&self, associated: Associated<'_>, behind: &'a mut [u8]) -> Result<&'a mut [u8], OpenError> {
        const WRONG: OpenError = OpenError::Integrity;
        let end = behind.len().checked_sub(self.suite.icv).ok_or(OpenError::Length)?;
        match &self.key {
            OpeningKey::Aead(aead) => {
                let (vector, content) = behind.split_first_chunk_mut::<EXPLICIT>().ok_or(OpenError::Length)?;
                let nonce = aead.nonce(*vector);
                let opened = associated.for_aead(|header| aead.key.open_in_place(nonce, Aad::from(header), content));
                opened.map(|_| ()).map_err(|_| WRONG)?;
            }
            OpeningKey::Ccm(ccm) => {
                let (authenticated, icv) = behind.split_at_mut(end);
                let (vector, content) = authenticated
                    .split_first_chunk_mut::<EXPLICIT>()
                    .ok_or(OpenError::Length)?;
                let open = |header: &[u8]| ccm.open(*vector, header, content, icv);
                associated.for_aead(open).ok_or(WRONG)?;
            }
            OpeningKey::Cbc(cbc) => {
                let (authenticated, icv) = behind.split_at_mut(end);
                let tag = associated.proof(&cbc.proof, authenticated);
                let tag = tag.as_ref().get(..icv.len()).ok_or(OpenError::Length)?;
                constant_time::verify_slices_are_equal(tag, icv).map_err(|_| WRONG)?;
                let (vector, content) = authenticated
                    .split_first_chunk_mut::<BLOCK>()
                    .ok_or(OpenError::Length)?;
                let context = DecryptionContext::Iv128(FixedLength::from(*vector));
                cbc.key.decrypt(content, context).map_err(|_| WRONG)?;
            }
        }
        behind.get_mut(self.suite.iv..end).ok_or(OpenError::Length)
    }
}
