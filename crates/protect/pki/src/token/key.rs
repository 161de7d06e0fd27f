//! A private key in a token, held by a session that is opened again where a signature fails.

mod generate;
mod mechanism;
mod object;
mod session;
mod signature;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use cryptoki::error::{Error as CryptokiError, RvError};
use cryptoki::object::ObjectHandle;

use super::{Pin, Pkcs11Uri, TokenFault};
use crate::{Algorithm, Error, PublicKey};

use session::Token;

/// Message that is signed to check that the key in a token is the expected one: the beginning of no
/// certificate or list.
const PROBE: &[u8] = b"Bartizan: is the key in the token that of the certificate?";

/// A private key in a token, with a session of its own.
pub(crate) struct TokenKey {
    uri: Pkcs11Uri,
    pin: Option<Pin>,
    public: PublicKey,
    /// None after a failure: the next signature opens a session.
    session: Mutex<Option<Open>>,
}

/// A session and a private key in it.
struct Open {
    token: Token,
    key: ObjectHandle,
}

impl TokenKey {
    /// Opens the key that a URI names, and has it sign to see that it is that of `public`.
    pub(crate) fn open(uri: &Pkcs11Uri, pin: Option<&Pin>, public: &PublicKey) -> Result<Self, Error> {
        let named = named(uri);
        let open = Open::of(uri, pin)?;
        open.require_usable(public.algorithm()).map_err(&named)?;
        let key = Self::held(uri, pin, public.clone(), open);
        key.sign(PROBE)?;
        Ok(key)
    }

    /// The key that a URI names, with the public key that the token gives for it.
    pub(crate) fn find(uri: &Pkcs11Uri, pin: Option<&Pin>) -> Result<Self, Error> {
        let named = named(uri);
        let open = Open::of(uri, pin)?;
        let algorithm = object::algorithm(&open.token, open.key).map_err(&named)?;
        open.require_usable(algorithm).map_err(&named)?;
        if !object::is_sensitive(&open.token, open.key).map_err(&named)? {
            return Err(named(TokenFault::Readable));
        }
        // Nothing but a signature shows which public key is the private one's.
        for public in object::public(&open.token, open.key, algorithm).map_err(&named)? {
            let signature = open.sign(algorithm, PROBE).map_err(|error| named(failed(&error)))?;
            if public.has_signed(algorithm.signature_oid(), PROBE, &signature) {
                return Ok(Self::held(uri, pin, public, open));
            }
        }
        Err(named(TokenFault::NoPublicKey))
    }

    /// Refuses a token in which [`TokenKey::generate`] could make no such key: it lacks the
    /// mechanism, or has a key of this name.
    pub(crate) fn require(uri: &Pkcs11Uri, pin: Option<&Pin>, algorithm: Algorithm) -> Result<(), Error> {
        let named = named(uri);
        let token = Token::open(uri, pin, session::Access::Write)?;
        generate::require(&token, uri, algorithm).map_err(&named)
    }

    /// Makes a key that never leaves the token, with the label and CKA_ID of the URI.
    pub(crate) fn generate(uri: &Pkcs11Uri, pin: Option<&Pin>, algorithm: Algorithm) -> Result<Self, Error> {
        let named = named(uri);
        let token = Token::open(uri, pin, session::Access::Write)?;
        generate::require(&token, uri, algorithm).map_err(&named)?;
        let (public, key) = generate::pair(&token, uri, algorithm).map_err(&named)?;
        let made = Self::held(uri, pin, public, Open { token, key });
        made.sign(PROBE)?;
        Ok(made)
    }

    /// A signature over `message`, which has been verified: what a token gives is believed no more
    /// than what a file holds.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*session {
            if let Ok(signature) = open.sign(self.algorithm(), message) {
                return self.verified(message, signature);
            }
            // Modules name a token that was lost in ways of their own, and an operation that a
            // failure left half done fails each one after it.
            *session = None;
        }
        let open = Open::of(&self.uri, self.pin.as_ref())?;
        let signature = open.sign(self.algorithm(), message);
        let signature = self.verified(message, signature.map_err(|error| named(&self.uri)(failed(&error)))?)?;
        *session = Some(open);
        Ok(signature)
    }

    pub(crate) fn public_key(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn uri(&self) -> &Pkcs11Uri {
        &self.uri
    }

    fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    fn held(uri: &Pkcs11Uri, pin: Option<&Pin>, public: PublicKey, open: Open) -> Self {
        Self {
            uri: uri.clone(),
            pin: pin.cloned(),
            public,
            session: Mutex::new(Some(open)),
        }
    }

    fn verified(&self, message: &[u8], signature: Vec<u8>) -> Result<Vec<u8>, Error> {
        if self
            .public
            .has_signed(self.algorithm().signature_oid(), message, &signature)
        {
            Ok(signature)
        } else {
            Err(named(&self.uri)(TokenFault::OtherKey))
        }
    }
}

/// Says which key and nothing of it.
impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey")
            .field("uri", &self.uri.to_string())
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

impl Open {
    fn of(uri: &Pkcs11Uri, pin: Option<&Pin>) -> Result<Self, Error> {
        let token = Token::open(uri, pin, session::Access::Read)?;
        let key = object::private(&token, uri)
            .and_then(|found| found.map_or_else(|| Err(object::no_key(&token)), Ok))
            .map_err(named(uri))?;
        Ok(Self { token, key })
    }

    /// Refuses a key that is of another kind, or that asks for the PIN at each use.
    fn require_usable(&self, algorithm: Algorithm) -> Result<(), TokenFault> {
        let found = object::algorithm(&self.token, self.key)?;
        if found != algorithm {
            return Err(TokenFault::KeyKind(format!(
                "{found}, and the certificate's {algorithm}"
            )));
        }
        if object::asks_each_time(&self.token, self.key)? {
            return Err(TokenFault::AlwaysAuthenticate);
        }
        Ok(())
    }

    /// The signature as certificates carry it, not verified.
    fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Result<Vec<u8>, CryptokiError> {
        let mechanism = mechanism::signing(algorithm);
        let signed = mechanism::signed(algorithm, message);
        let signature = self.token.session.sign(&mechanism, self.key, &signed)?;
        signature::encoded(algorithm, signature)
    }
}

/// An error about the key of a URI.
fn named(uri: &Pkcs11Uri) -> impl Fn(TokenFault) -> Error {
    let uri = uri.to_string();
    move |fault| Error::Token {
        uri: uri.clone(),
        fault,
    }
}

/// A return value by its name in the standard.
fn failed(error: &CryptokiError) -> TokenFault {
    let (function, reason) = match error {
        CryptokiError::Pkcs11(value @ (RvError::VendorDefined(_) | RvError::UnknownErrorCode(_)), function) => {
            (format!("C_{function:?}"), value.to_string())
        }
        CryptokiError::Pkcs11(value, function) => {
            let mut name = String::from("CKR");
            for letter in format!("{value:?}").chars() {
                if letter.is_ascii_uppercase() {
                    name.push('_');
                }
                name.push(letter.to_ascii_uppercase());
            }
            (format!("C_{function:?}"), name)
        }
        other => ("PKCS#11".to_owned(), other.to_string()),
    };
    TokenFault::Failed { function, reason }
}

#[cfg(test)]
mod tests;
