//! The keys of root and intermediate: in memory from a file, or in a token.

use std::cell::RefCell;
use std::sync::Arc;

use super::Layout;
use crate::records::Entry;
use crate::token::TokenKey;
use crate::{Algorithm, Error, Passphrase, Pkcs11Uri, PrivateKey, PublicKey, Secrets, TokenFault};

/// A key of the authority. Copies are of the same key: of one session, where it is in a token.
#[derive(Debug, Clone)]
pub(crate) enum AuthorityKey {
    /// Read from a file, or made to be written to one.
    Memory(Arc<PrivateKey>),
    /// In a token, which signs.
    Token(Arc<TokenKey>),
}

impl AuthorityKey {
    /// A fresh key in memory.
    pub(super) fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        Ok(Self::from(PrivateKey::generate(algorithm)?))
    }

    /// The key of one of the authority's own certificates, by the file that holds it or names it.
    pub(super) fn read(layout: &Layout, owner: &Entry, secrets: &Secrets) -> Result<Self, Error> {
        let path = layout.key_of(owner);
        let text = crate::key::read_file(&path)?.ok_or_else(|| Error::KeyOffline(path.clone()))?;
        let placed = |error| match error {
            Error::Key(reason) => Error::KeyFile {
                path: path.clone(),
                reason,
            },
            Error::Pkcs11Uri { reason, .. } => Error::KeyFile {
                path: path.clone(),
                reason: format!("PKCS#11 URI: {reason}"),
            },
            Error::PassphraseNeeded(_) => Error::PassphraseNeeded(path.clone()),
            Error::WrongPassphrase(_) => Error::WrongPassphrase(path.clone()),
            other => other,
        };
        if let Some(uri) = uri_in(&text) {
            let uri = uri.map_err(placed)?;
            let key = TokenKey::open(&uri, secrets.pin.as_ref(), owner.certificate.public_key())?;
            return Ok(Self::Token(Arc::new(key)));
        }
        let key = PrivateKey::from_pem(&text, secrets.passphrase.as_ref()).map_err(placed)?;
        if key.public_key() != owner.certificate.public_key() {
            return Err(Error::KeyMismatch {
                key: path,
                certificate: layout.certificate(owner.role),
            });
        }
        Ok(Self::from(key))
    }

    /// Contents of the file of the key: itself, encrypted under a passphrase where there is one, or
    /// the URI of the token's.
    pub(super) fn file(&self, passphrase: Option<&Passphrase>) -> Result<zeroize::Zeroizing<String>, Error> {
        match (self, passphrase) {
            (Self::Token(key), _) => Ok(file_of(key.uri())),
            (Self::Memory(key), None) => Ok(key.to_pem()),
            (Self::Memory(key), Some(passphrase)) => key.to_encrypted_pem(passphrase),
        }
    }

    pub(crate) fn public_key(&self) -> &PublicKey {
        match self {
            Self::Memory(key) => key.public_key(),
            Self::Token(key) => key.public_key(),
        }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.public_key().algorithm()
    }

    /// Runs what signs by this key, and gives the token's own error where it was the token that failed.
    pub(super) fn signing<T>(&self, sign: impl FnOnce(&SigningKey<'_>) -> Result<T, rcgen::Error>) -> Result<T, Error> {
        let signing = SigningKey {
            key: self,
            failure: RefCell::new(None),
        };
        sign(&signing).map_err(|error| signing.failure.take().unwrap_or_else(|| error.into()))
    }
}

impl From<PrivateKey> for AuthorityKey {
    fn from(key: PrivateKey) -> Self {
        Self::Memory(Arc::new(key))
    }
}

/// The URI that a key file holds in place of a key.
pub(super) fn uri_in(text: &[u8]) -> Option<Result<Pkcs11Uri, Error>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    Pkcs11Uri::is_meant(text).then(|| text.parse())
}

/// A key file that holds a URI.
pub(super) fn file_of(uri: &Pkcs11Uri) -> zeroize::Zeroizing<String> {
    format!("{uri}\n").into()
}

/// Returns true if an error of reading a key says that it is elsewhere: its file, or the token that
/// its file names.
pub(super) fn is_elsewhere(error: &Error) -> bool {
    matches!(
        error,
        Error::KeyOffline(_)
            | Error::Token {
                fault: TokenFault::NoToken(_),
                ..
            }
    )
}

/// A key as rcgen signs by it, whose errors have no place for what a token reports.
pub(super) struct SigningKey<'a> {
    key: &'a AuthorityKey,
    failure: RefCell<Option<Error>>,
}

impl rcgen::PublicKeyData for SigningKey<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.key.public_key().as_bytes()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        self.key.algorithm().for_rcgen()
    }
}

impl rcgen::SigningKey for SigningKey<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match self.key {
            AuthorityKey::Memory(key) => rcgen::SigningKey::sign(&**key, message),
            AuthorityKey::Token(key) => key.sign(message).map_err(|error| {
                self.failure.replace(Some(error));
                rcgen::Error::RemoteKeyError
            }),
        }
    }
}
