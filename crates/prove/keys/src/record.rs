//! Keys of the record layer: AES-GCM and ChaCha20-Poly1305 of TLS 1.3 (RFC 9846, section 5.2) and TLS 1.2 (RFC 5288,
//! RFC 7905).

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use bartizan_registry::{Cipher, cipher};
use bartizan_wire::Side;
use bartizan_wire::keys::{RecordKey, TlsDirection};
use bartizan_wire::tls::Version;
use zeroize::Zeroizing;

use crate::schedule::{Hash, expand_label, prf};

/// Bytes of a nonce.
const NONCE: usize = 12;
/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes of the nonce that TLS 1.2 sends with each record of AES-GCM (RFC 5288, section 3).
const EXPLICIT: usize = 8;
/// Approximate bytes of a key: AWS-LC's context with AES round keys and the table of GCM.
const HELD: usize = 1024;

/// Protection by a cipher suite.
#[derive(Clone, Copy)]
pub(crate) struct Suite {
    pub(crate) aead: &'static Algorithm,
    pub(crate) hash: Hash,
}

impl Suite {
    /// By its name in the registry, which says all of it; none for what is not opened: CCM, CBC, SM4.
    pub(crate) fn of(cipher: &Cipher) -> Option<Self> {
        let (_, protection) = cipher
            .name
            .split_once("_WITH_")
            .or_else(|| cipher.name.split_once('_'))?;
        let (aead, hash) = match protection {
            "AES_128_GCM_SHA256" => (&AES_128_GCM, Hash::Sha256),
            "AES_256_GCM_SHA384" => (&AES_256_GCM, Hash::Sha384),
            "CHACHA20_POLY1305_SHA256" => (&CHACHA20_POLY1305, Hash::Sha256),
            _ => return None,
        };
        Some(Self { aead, hash })
    }

    fn is_gcm(self) -> bool {
        self.aead != &CHACHA20_POLY1305
    }
}

bartizan_registry::made! {
    /// Opens one direction's records.
    pub(crate) struct Record, of_traffic(suite: Suite, secret: &[u8]) -> Option<Self> {
        let key = expand_label(suite.hash, secret, "key", suite.aead.key_len())?;
        let iv = expand_label(suite.hash, secret, "iv", NONCE)?;
        suite: Suite,
        key: LessSafeKey = LessSafeKey::new(UnboundKey::new(suite.aead, &key).ok()?),
        /// TLS 1.3, and ChaCha20-Poly1305: mixed with the sequence number. AES-GCM of TLS 1.2: the
        /// part that is not sent, in front.
        iv: Zeroizing<[u8; NONCE]> = Zeroizing::new(*iv.first_chunk()?),
        /// TLS 1.3: what the next key is made of.
        secret: Option<Zeroizing<Box<[u8]>>> = Some(Zeroizing::new(secret.into())),
    }
}

impl Record {
    /// From a traffic secret, or the master secret of TLS 1.2; none where the cipher suite is not
    /// opened or the secret is none of its hash.
    pub(crate) fn new(wanted: &TlsDirection<'_>, secret: &[u8]) -> Option<Self> {
        let suite = Suite::of(cipher(wanted.cipher_suite)?)?;
        match wanted.version {
            Version::TLS13 => Self::of_traffic(suite, secret),
            Version::TLS12 => Self::of_master(suite, wanted, secret),
            _ => None,
        }
    }

    fn of_master(suite: Suite, wanted: &TlsDirection<'_>, master: &[u8]) -> Option<Self> {
        let (key, iv) = (
            suite.aead.key_len(),
            if suite.is_gcm() { NONCE - EXPLICIT } else { NONCE },
        );
        let seed: [&[u8]; 2] = [wanted.server_random, wanted.client_random];
        let block = prf(suite.hash, master, "key expansion", &seed, 2 * (key + iv));
        let (keys, ivs) = block.split_at(2 * key);
        let (client, server) = (keys.split_at(key), ivs.split_at(iv));
        let (key, iv) = match wanted.side {
            Side::Client => (client.0, server.0),
            Side::Server => (client.1, server.1),
        };
        let mut whole = Zeroizing::new([0; NONCE]);
        whole[..iv.len()].copy_from_slice(iv);
        Some(Self {
            suite,
            key: LessSafeKey::new(UnboundKey::new(suite.aead, key).ok()?),
            iv: whole,
            secret: None,
        })
    }

    /// The nonce made of the sequence number.
    fn mixed(&self, sequence: u64) -> Nonce {
        let mut nonce = *self.iv;
        for (byte, other) in nonce[NONCE - 8..].iter_mut().zip(sequence.to_be_bytes()) {
            *byte ^= other;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    fn open_13(&self, sequence: u64, header: &[u8; 5], body: &mut Vec<u8>) -> Option<()> {
        let length = self
            .key
            .open_in_place(self.mixed(sequence), Aad::from(header), body)
            .ok()?
            .len();
        body.truncate(length);
        Some(())
    }

    fn open_12(&self, sequence: u64, header: &[u8; 5], body: &mut Vec<u8>) -> Option<()> {
        let nonce = if self.suite.is_gcm() {
            let mut nonce = *self.iv;
            nonce[NONCE - EXPLICIT..].copy_from_slice(body.get(..EXPLICIT)?);
            body.drain(..EXPLICIT);
            Nonce::assume_unique_for_key(nonce)
        } else {
            self.mixed(sequence)
        };
        let length = body.len().checked_sub(TAG)?;
        let mut additional = [0; 13];
        additional[..8].copy_from_slice(&sequence.to_be_bytes());
        additional[8..11].copy_from_slice(&header[..3]);
        // The content of a record is shorter than the record, whose length has two bytes.
        additional[11..].copy_from_slice(&(length as u16).to_be_bytes());
        self.key.open_in_place(nonce, Aad::from(additional), body).ok()?;
        body.truncate(length);
        Some(())
    }
}

impl RecordKey for Record {
    fn open(&mut self, sequence: u64, header: &[u8; 5], body: &mut Vec<u8>) -> bool {
        let opened = match self.secret {
            Some(_) => self.open_13(sequence, header, body),
            None => self.open_12(sequence, header, body),
        };
        opened.is_some()
    }

    fn update(&mut self) -> bool {
        let suite = self.suite;
        let next = self.secret.as_ref().and_then(|secret| {
            let next = expand_label(suite.hash, secret, "traffic upd", suite.hash.length())?;
            Self::of_traffic(suite, &next)
        });
        match next {
            Some(next) => {
                *self = next;
                true
            }
            None => false,
        }
    }

    fn held(&self) -> usize {
        size_of::<Self>() + HELD + self.secret.as_ref().map_or(0, |secret| secret.len())
    }
}
