//! Keys that a token makes and never gives away.

use cryptoki::error::{Error as CryptokiError, RvError};
use cryptoki::object::{Attribute, ObjectHandle};

use super::session::Token;
use super::{failed, mechanism, object};
use crate::token::{Pkcs11Uri, TokenFault};
use crate::{Algorithm, PublicKey};

/// Refuses where the token lacks the algorithm, or has a private key that the URI names.
pub(super) fn require(token: &Token, uri: &Pkcs11Uri, algorithm: Algorithm) -> Result<(), TokenFault> {
    if uri.object.is_none() {
        return Err(TokenFault::NoLabel);
    }
    let offered = mechanism::offered(&token.mechanisms()?);
    if !offered.contains(&algorithm) {
        return Err(TokenFault::Unsupported {
            algorithm,
            token: token.label.clone(),
            module: token.module(),
            offered,
        });
    }
    match object::private(token, uri) {
        Ok(None) => Ok(()),
        Ok(Some(_)) | Err(TokenFault::SeveralKeys { .. }) => Err(TokenFault::KeyExists(token.label.clone())),
        Err(other) => Err(other),
    }
}

/// Makes a pair with the label and CKA_ID of the URI, and sees to it that the private key stays where it is.
pub(super) fn pair(
    token: &Token,
    uri: &Pkcs11Uri,
    algorithm: Algorithm,
) -> Result<(PublicKey, ObjectHandle), TokenFault> {
    let label = uri.object.clone().ok_or(TokenFault::NoLabel)?.into_bytes();
    let mut named = vec![Attribute::Token(true), Attribute::Label(label)];
    named.extend(uri.id.iter().map(|id| Attribute::Id(id.clone())));
    let private = [
        named.as_slice(),
        &[
            Attribute::Private(true),
            Attribute::Sensitive(true),
            Attribute::Extractable(false),
            Attribute::Sign(true),
        ],
    ]
    .concat();
    let (mechanism, kinds) = mechanism::generating(algorithm);
    let mut last = CryptokiError::NotSupported;
    for kind in kinds {
        let public = [
            named.as_slice(),
            &[Attribute::Private(false), Attribute::Verify(true), kind],
        ]
        .concat();
        match token.session.generate_key_pair(&mechanism, &public, &private) {
            Ok((public, private)) => return checked(token, algorithm, public, private),
            // The curve may be known by its other name.
            Err(
                error @ CryptokiError::Pkcs11(
                    RvError::CurveNotSupported
                    | RvError::AttributeValueInvalid
                    | RvError::DomainParamsInvalid
                    | RvError::TemplateInconsistent,
                    _,
                ),
            ) => last = error,
            Err(error) => return Err(failed(&error)),
        }
    }
    Err(failed(&last))
}

fn checked(
    token: &Token,
    algorithm: Algorithm,
    public: ObjectHandle,
    private: ObjectHandle,
) -> Result<(PublicKey, ObjectHandle), TokenFault> {
    if !object::is_sensitive(token, private)? || object::is_extractable(token, private)? {
        return Err(TokenFault::Exportable);
    }
    let public = object::public_of(token, public, algorithm)?.ok_or(TokenFault::NoPublicKey)?;
    Ok((public, private))
}
