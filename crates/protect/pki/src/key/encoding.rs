//! PKCS#8 (RFC 5958) and the three forms of an ML-DSA private key inside it (RFC 9881, section 6).

use aws_lc_rs::encoding::AsRawBytes;
use aws_lc_rs::signature::{EcdsaKeyPair, Ed25519KeyPair, PqdsaKeyPair, PqdsaSigningAlgorithm};
use pem::{EncodeConfig, LineEnding, Pem};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{ObjectIdentifier, OctetStringRef};
use pkcs8::der::{Decode, Reader, SliceReader};
use zeroize::{Zeroize, Zeroizing};

use super::{ENCRYPTED_PRIVATE_KEY, Kind, PRIVATE_KEY, Pair, Passphrase, PrivateKey, encryption, kind};
use crate::{Algorithm, Error};

/// Octets of an ML-DSA seed (FIPS 204, algorithm 6).
const SEED_SIZE: usize = 32;

/// A key file larger than this is none: the largest, ML-DSA-87 with seed and expanded key, is 6.8 kB of PEM.
pub(super) const LARGEST_FILE: usize = 64 * 1024;

pub(super) fn pem(label: &str, document: &[u8]) -> Zeroizing<String> {
    let block = Pem::new(label, document);
    let text = pem::encode_config(&block, EncodeConfig::new().set_line_ending(LineEnding::LF));
    block.into_contents().zeroize();
    Zeroizing::new(text)
}

pub(super) fn read_pem(text: &[u8], passphrase: Option<&Passphrase>) -> Result<PrivateKey, Error> {
    if text.len() > LARGEST_FILE {
        return Err(Error::Key(format!("{} octets are too many for a key", text.len())));
    }
    let blocks = pem::parse_many(text).map_err(|error| Error::Key(error.to_string()))?;
    let mut labels = Vec::new();
    for block in blocks {
        match block.tag() {
            PRIVATE_KEY => return read(&Zeroizing::new(block.into_contents())),
            ENCRYPTED_PRIVATE_KEY => {
                let passphrase = passphrase.ok_or_else(|| Error::PassphraseNeeded("the key".into()))?;
                return read(&encryption::decrypt(&block.into_contents(), passphrase)?);
            }
            other => labels.push(other.to_owned()),
        }
    }
    Err(Error::Key(if labels.is_empty() {
        "no PEM block in it".to_owned()
    } else {
        format!("no PRIVATE KEY block (PKCS#8) in it, only {}", labels.join(", "))
    }))
}

pub(super) fn read(document: &[u8]) -> Result<PrivateKey, Error> {
    let info = PrivateKeyInfoRef::try_from(document).map_err(|_| Error::Key("not a PKCS#8 document".to_owned()))?;
    let curve = match info.algorithm.parameters {
        None => None,
        Some(parameters) => Some(
            parameters
                .decode_as::<ObjectIdentifier>()
                .map_err(|_| Error::Key(format!("unknown parameters of algorithm {}", info.algorithm.oid)))?,
        ),
    };
    let algorithm = Algorithm::of_key(&info.algorithm.oid, curve.as_ref())
        .ok_or_else(|| Error::Key(format!("algorithm {} is not known here", info.algorithm.oid)))?;
    let rejected = |error: aws_lc_rs::error::KeyRejected| Error::Key(format!("{algorithm} key refused: {error}"));
    match kind(algorithm) {
        Kind::Ecdsa(signing) => {
            let pair = EcdsaKeyPair::from_pkcs8(signing, document).map_err(rejected)?;
            PrivateKey::with_own_encoding(algorithm, Pair::Ecdsa(pair))
        }
        Kind::Ed25519 => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(document).map_err(rejected)?;
            PrivateKey::with_own_encoding(algorithm, Pair::Ed25519(pair))
        }
        Kind::MlDsa(signing) => {
            let form = Form::read(info.private_key.as_bytes(), algorithm)?;
            read_ml_dsa(algorithm, signing, &form, document)
        }
    }
}

fn read_ml_dsa(
    algorithm: Algorithm,
    signing: &'static PqdsaSigningAlgorithm,
    form: &Form<'_>,
    document: &[u8],
) -> Result<PrivateKey, Error> {
    let rejected = |error: aws_lc_rs::error::KeyRejected| Error::Key(format!("{algorithm} key refused: {error}"));
    let (seed, expanded) = match *form {
        // No seed can be had from an expanded key: the document is kept as it came.
        Form::Expanded(expanded) => {
            let pair = PqdsaKeyPair::from_raw_private_key(signing, expanded).map_err(rejected)?;
            let pkcs8 = Zeroizing::new(document.to_vec());
            return Ok(PrivateKey::with_encoding(algorithm, Pair::MlDsa(pair), pkcs8));
        }
        Form::Seed(seed) => (seed, None),
        Form::Both(seed, expanded) => (seed, Some(expanded)),
    };
    let pair = PqdsaKeyPair::from_seed(signing, seed).map_err(rejected)?;
    if let Some(expanded) = expanded {
        let ours = pair.private_key().as_raw_bytes()?;
        aws_lc_rs::constant_time::verify_slices_are_equal(ours.as_ref(), expanded).map_err(|_| {
            Error::Key(format!(
                "{algorithm} key holds a seed and an expanded key that do not belong together"
            ))
        })?;
    }
    PrivateKey::with_own_encoding(algorithm, Pair::MlDsa(pair))
}

/// ML-DSA-PrivateKey, a CHOICE (RFC 9881, section 6).
#[derive(Debug, PartialEq, Eq)]
enum Form<'a> {
    /// `seed [0] OCTET STRING (SIZE (32))`.
    Seed(&'a [u8]),
    /// `expandedKey OCTET STRING`.
    Expanded(&'a [u8]),
    /// `both SEQUENCE { seed, expandedKey }`.
    Both(&'a [u8], &'a [u8]),
}

impl<'a> Form<'a> {
    /// Distinguishes the forms by first octet and length: a bare seed may begin with any octet.
    fn read(contents: &'a [u8], algorithm: Algorithm) -> Result<Self, Error> {
        let expanded_size = algorithm
            .expanded_key_size()
            .ok_or_else(|| Error::Key(format!("{algorithm} has no expanded key")))?;
        if contents.len() == SEED_SIZE {
            return Err(bare(algorithm, "seed"));
        }
        if contents.len() == expanded_size {
            return Err(bare(algorithm, "expanded key"));
        }
        let malformed = || Error::Key(format!("{algorithm} key is none of seed, expanded key or both"));
        let form = match contents.split_first() {
            Some((0x80, [0x20, seed @ ..])) => Self::Seed(seed),
            Some((0x04, _)) => Self::Expanded(
                <&OctetStringRef>::from_der(contents)
                    .map_err(|_| malformed())?
                    .as_bytes(),
            ),
            Some((0x30, _)) => {
                let mut reader = SliceReader::new(contents).map_err(|_| malformed())?;
                let both = reader
                    .sequence(|inner: &mut SliceReader<'a>| {
                        let seed = <&OctetStringRef>::decode(inner)?;
                        let expanded = <&OctetStringRef>::decode(inner)?;
                        Ok::<_, pkcs8::der::Error>(Self::Both(seed.as_bytes(), expanded.as_bytes()))
                    })
                    .map_err(|_| malformed())?;
                reader.finish().map_err(|_| malformed())?;
                both
            }
            _ => return Err(malformed()),
        };
        let (seed, expanded) = match form {
            Self::Seed(seed) => (Some(seed), None),
            Self::Expanded(expanded) => (None, Some(expanded)),
            Self::Both(seed, expanded) => (Some(seed), Some(expanded)),
        };
        if seed.is_some_and(|seed| seed.len() != SEED_SIZE)
            || expanded.is_some_and(|expanded| expanded.len() != expanded_size)
        {
            return Err(Error::Key(format!("{algorithm} key of a wrong length")));
        }
        Ok(form)
    }
}

fn bare(algorithm: Algorithm, what: &str) -> Error {
    Error::Key(format!(
        "{algorithm} key is a bare {what} without the tag RFC 9881 asks for"
    ))
}
