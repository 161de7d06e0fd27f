//! Private keys under a passphrase: PBES2 (RFC 8018, section 6.2), as OpenSSL reads and writes it.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_256, Algorithm as Cipher, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::der::Encode;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{self, Kdf, Pbkdf2Prf};
use zeroize::Zeroizing;

use crate::Error;

/// Rounds of PBKDF2 when writing: OWASP's recommendation of 2023 for HMAC-SHA-256.
const ROUNDS: u32 = 600_000;

/// Most rounds accepted when reading: some ten seconds of one core, not an hour by a hostile file.
const MOST_ROUNDS: u32 = 20_000_000;

/// A passphrase, erased from memory when it goes out of scope.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Shortest passphrase in characters; NIST SP 800-63B, section 3.1.1.2, asks for eight.
    pub const SHORTEST: usize = 8;

    /// Takes a passphrase of at least [`Passphrase::SHORTEST`] characters; ends of line are not part of one.
    pub fn new(text: Zeroizing<String>) -> Result<Self, Error> {
        if text.contains(['\n', '\r', '\0']) {
            return Err(Error::Passphrase("it holds an end of line or a zero octet"));
        }
        if text.chars().count() < Self::SHORTEST {
            return Err(Error::Passphrase("it is shorter than 8 characters"));
        }
        Ok(Self(text))
    }
}

/// Shows nothing of the passphrase.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// Encrypts a PKCS#8 document; gives an EncryptedPrivateKeyInfo, DER.
pub(super) fn encrypt(document: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, Error> {
    encrypt_with_rounds(document, passphrase, ROUNDS)
}

pub(super) fn encrypt_with_rounds(
    document: &[u8],
    passphrase: &Passphrase,
    rounds: u32,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let (mut salt, mut iv) = ([0u8; 16], [0u8; 16]);
    aws_lc_rs::rand::fill(&mut salt)?;
    aws_lc_rs::rand::fill(&mut iv)?;
    let encoding = |error: &dyn fmt::Display| Error::Cryptography(format!("PBES2: {error}"));
    let parameters =
        pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(rounds, &salt, iv).map_err(|e| encoding(&e))?;

    let key = derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, passphrase, 32)?;
    let cipher = PaddedBlockEncryptingKey::cbc_pkcs7(UnboundCipherKey::new(&AES_256, &key)?)?;
    let mut data = Vec::with_capacity(document.len() + 16);
    data.extend_from_slice(document);
    cipher.less_safe_encrypt(&mut data, EncryptionContext::Iv128(FixedLength::from(iv)))?;

    let info = EncryptedPrivateKeyInfoRef {
        encryption_algorithm: EncryptionScheme::from(parameters),
        encrypted_data: OctetStringRef::new(&data).map_err(|e| encoding(&e))?,
    };
    Ok(Zeroizing::new(info.to_der().map_err(|e| encoding(&e))?))
}

/// Decrypts an EncryptedPrivateKeyInfo, DER; gives the PKCS#8 document.
pub(super) fn decrypt(document: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, Error> {
    let info = EncryptedPrivateKeyInfoRef::try_from(document)
        .map_err(|_| Error::Key("not an encrypted PKCS#8 document that is understood here".to_owned()))?;
    let unsupported = |what: &str| Error::Key(format!("encrypted with {what}; convert it to PBKDF2 with AES-256-CBC"));
    let EncryptionScheme::Pbes2(parameters) = &info.encryption_algorithm else {
        return Err(unsupported("PBES1"));
    };
    let Kdf::Pbkdf2(kdf) = &parameters.kdf else {
        return Err(unsupported("scrypt"));
    };
    if kdf.iteration_count > MOST_ROUNDS {
        return Err(Error::Key(format!(
            "{} rounds of PBKDF2; at most {MOST_ROUNDS} are read",
            kdf.iteration_count
        )));
    }
    let hash = match kdf.prf {
        Pbkdf2Prf::HmacWithSha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Pbkdf2Prf::HmacWithSha384 => pbkdf2::PBKDF2_HMAC_SHA384,
        Pbkdf2Prf::HmacWithSha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        _ => return Err(unsupported("PBKDF2 under a broken hash")),
    };
    let (cipher, size, iv): (&'static Cipher, usize, [u8; 16]) = match parameters.encryption {
        pbes2::EncryptionScheme::Aes128Cbc { iv } => (&AES_128, 16, iv),
        pbes2::EncryptionScheme::Aes256Cbc { iv } => (&AES_256, 32, iv),
        _ => return Err(unsupported("another cipher than AES-CBC")),
    };

    let key = derive(hash, kdf.iteration_count, kdf.salt.as_ref(), passphrase, size)?;
    let cipher = PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(cipher, &key)?)?;
    let mut data = Zeroizing::new(info.encrypted_data.as_bytes().to_vec());
    let wrong = || Error::WrongPassphrase("the key".into());
    let length = cipher
        .decrypt(&mut data, DecryptionContext::Iv128(FixedLength::from(iv)))
        .map_err(|_| wrong())?
        .len();
    data.truncate(length);
    // One wrong passphrase in 256 leaves valid padding: what comes out must also be a PKCS#8 document.
    pkcs8::PrivateKeyInfoRef::try_from(data.as_slice()).map_err(|_| wrong())?;
    Ok(data)
}

fn derive(
    hash: pbkdf2::Algorithm,
    rounds: u32,
    salt: &[u8],
    passphrase: &Passphrase,
    size: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let rounds = NonZeroU32::new(rounds).ok_or_else(|| Error::Key("0 rounds of PBKDF2".to_owned()))?;
    let mut key = Zeroizing::new(vec![0; size]);
    pbkdf2::derive(hash, rounds, salt, passphrase.0.as_bytes(), &mut key);
    Ok(key)
}
