//! AES-CCM of ESP and IKEv2 (RFC 4309, RFC 5282). Three octets of salt and eight of initialization
//! vector are the nonce, so that four count octets.
//!
//! aws-lc-rs has no CCM in its safe interface: this is by the crates `ccm` and `aes`. They take the
//! processor's instructions for AES where it has them, and need the same time for every key without
//! them. CCM encrypts each block twice, the second time one block after the other, so that it is
//! several times slower than GCM.

use aes::{Aes128, Aes192, Aes256};
use ccm::aead::{AeadInOut, KeyInit};
use ccm::consts::{U8, U11, U12, U16};
use zeroize::Zeroizing;

use crate::error::Unusable;

/// Bytes of the salt behind the key (RFC 4309, section 7.1).
pub(crate) const SALT: usize = 3;
/// Bytes of initialization vector (RFC 4309, section 3.1).
const EXPLICIT: usize = 8;
const NONCE: usize = SALT + EXPLICIT;

/// The nonce that a packet with this initialization vector has (RFC 4309, section 4).
type Nonce = [u8; NONCE];

/// AES-CCM with a key, whatever its length and that of its check value.
trait Detached: Send + Sync {
    /// Encrypts the content and writes its check value; none where they are longer than CCM allows,
    /// or the check value has another length.
    fn seal(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8], icv: &mut [u8]) -> Option<()>;

    /// Decrypts the content and proves it; none where it is not proven, and the content is zeros then.
    fn open(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8], icv: &[u8]) -> Option<()>;
}

impl<C: AeadInOut<NonceSize = U11> + Send + Sync> Detached for C {
    fn seal(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8], icv: &mut [u8]) -> Option<()> {
        let sealed = self.encrypt_inout_detached(nonce.into(), associated, content.into());
        let tag = sealed.ok().filter(|tag| tag.len() == icv.len())?;
        icv.copy_from_slice(&tag);
        Some(())
    }

    fn open(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8], icv: &[u8]) -> Option<()> {
        let tag = icv.try_into().ok()?;
        self.decrypt_inout_detached(nonce.into(), associated, content.into(), tag)
            .ok()
    }
}

fn cipher<C: Detached + KeyInit + 'static>(key: &[u8]) -> Result<Box<dyn Detached>, Unusable> {
    C::new_from_slice(key)
        .map(|cipher| Box::new(cipher) as Box<dyn Detached>)
        .map_err(|_| Unusable::Refused)
}

/// A key of AES-CCM, with its salt.
pub(crate) struct Ccm {
    cipher: Box<dyn Detached>,
    salt: Zeroizing<[u8; SALT]>,
}

impl Ccm {
    /// Takes an encryption key of 16, 24 or 32 bytes with its salt behind it, for check values of
    /// 8, 12 or 16 bytes.
    pub(crate) fn new(keys: &[u8], icv: usize) -> Result<Self, Unusable> {
        let (key, salt) = keys.split_last_chunk::<SALT>().ok_or(Unusable::Refused)?;
        let cipher = match (key.len(), icv) {
            (16, 8) => cipher::<ccm::Ccm<Aes128, U8, U11>>(key),
            (16, 12) => cipher::<ccm::Ccm<Aes128, U12, U11>>(key),
            (16, 16) => cipher::<ccm::Ccm<Aes128, U16, U11>>(key),
            (24, 8) => cipher::<ccm::Ccm<Aes192, U8, U11>>(key),
            (24, 12) => cipher::<ccm::Ccm<Aes192, U12, U11>>(key),
            (24, 16) => cipher::<ccm::Ccm<Aes192, U16, U11>>(key),
            (32, 8) => cipher::<ccm::Ccm<Aes256, U8, U11>>(key),
            (32, 12) => cipher::<ccm::Ccm<Aes256, U12, U11>>(key),
            (32, 16) => cipher::<ccm::Ccm<Aes256, U16, U11>>(key),
            _ => Err(Unusable::Refused),
        }?;
        let salt = Zeroizing::new(*salt);
        Ok(Self { cipher, salt })
    }

    fn nonce(&self, explicit: [u8; EXPLICIT]) -> Nonce {
        let mut nonce = [0; NONCE];
        nonce[..SALT].copy_from_slice(&self.salt[..]);
        nonce[SALT..].copy_from_slice(&explicit);
        nonce
    }

    /// Encrypts the content and writes its check value; none where the library refuses.
    pub(crate) fn seal(
        &self,
        explicit: [u8; EXPLICIT],
        associated: &[u8],
        content: &mut [u8],
        icv: &mut [u8],
    ) -> Option<()> {
        self.cipher.seal(&self.nonce(explicit), associated, content, icv)
    }

    /// Decrypts the content; none where it is not proven, and it has been overwritten then.
    pub(crate) fn open(
        &self,
        explicit: [u8; EXPLICIT],
        associated: &[u8],
        content: &mut [u8],
        icv: &[u8],
    ) -> Option<()> {
        self.cipher.open(&self.nonce(explicit), associated, content, icv)
    }
}
