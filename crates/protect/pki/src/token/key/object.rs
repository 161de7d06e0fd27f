//! Keys among the objects of a token.

use cryptoki::object::{Attribute, AttributeType, KeyType, MlDsaParameterSetType, ObjectClass, ObjectHandle};

use super::failed;
use super::mechanism::algorithm_of_curve;
use super::session::Token;
use crate::token::{Pkcs11Uri, TokenFault};
use crate::{Algorithm, PublicKey};

/// Most names of keys in a message.
const MOST_LISTED: usize = 10;

/// The private key that a URI names; none where there is none, an error where there are several.
pub(super) fn private(token: &Token, uri: &Pkcs11Uri) -> Result<Option<ObjectHandle>, TokenFault> {
    let mut wanted = vec![Attribute::Class(ObjectClass::PRIVATE_KEY)];
    wanted.extend(
        uri.object
            .iter()
            .map(|label| Attribute::Label(label.clone().into_bytes())),
    );
    wanted.extend(uri.id.iter().map(|id| Attribute::Id(id.clone())));
    match find(token, &wanted)?[..] {
        [] => Ok(None),
        [key] => Ok(Some(key)),
        ref several => Err(TokenFault::SeveralKeys {
            token: token.label.clone(),
            ids: several
                .iter()
                .take(MOST_LISTED)
                .map(|key| Ok(id(token, *key)?.iter().map(|octet| format!("%{octet:02X}")).collect()))
                .collect::<Result<_, _>>()?,
        }),
    }
}

/// The error of a private key that is not there, with those that are.
pub(super) fn no_key(token: &Token) -> TokenFault {
    let keys = find(token, &[Attribute::Class(ObjectClass::PRIVATE_KEY)]).unwrap_or_default();
    let present = keys.into_iter().take(MOST_LISTED).filter_map(|key| {
        let label = read(token, key, AttributeType::Label).ok()??;
        match label {
            Attribute::Label(label) => Some(String::from_utf8_lossy(&label).into_owned()),
            _ => None,
        }
    });
    TokenFault::NoKey {
        token: token.label.clone(),
        present: present.collect(),
    }
}

/// Kind of a private key.
pub(super) fn algorithm(token: &Token, key: ObjectHandle) -> Result<Algorithm, TokenFault> {
    let Some(Attribute::KeyType(kind)) = read(token, key, AttributeType::KeyType)? else {
        return Err(TokenFault::KeyKind("of no kind that the token gives".to_owned()));
    };
    let found = match kind {
        KeyType::EC | KeyType::EC_EDWARDS => match read(token, key, AttributeType::EcParams)? {
            Some(Attribute::EcParams(curve)) => algorithm_of_curve(&curve),
            _ => None,
        },
        KeyType::ML_DSA => match read(token, key, AttributeType::ParameterSet)? {
            Some(Attribute::ParameterSet(set)) => match MlDsaParameterSetType::from(set) {
                MlDsaParameterSetType::ML_DSA_44 => Some(Algorithm::MlDsa44),
                MlDsaParameterSetType::ML_DSA_65 => Some(Algorithm::MlDsa65),
                MlDsaParameterSetType::ML_DSA_87 => Some(Algorithm::MlDsa87),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        TokenFault::KeyKind(format!(
            "of type {kind} and signs no certificates here; known are {}",
            Algorithm::names()
        ))
    })
}

/// The public keys that may be a private key's: those of its CKA_ID, and that in
/// CKA_PUBLIC_KEY_INFO of the private key itself.
pub(super) fn public(token: &Token, key: ObjectHandle, algorithm: Algorithm) -> Result<Vec<PublicKey>, TokenFault> {
    let id = id(token, key)?;
    let mut found = Vec::new();
    if !id.is_empty() {
        for object in find(token, &[Attribute::Class(ObjectClass::PUBLIC_KEY), Attribute::Id(id)])? {
            found.extend(public_of(token, object, algorithm)?);
        }
    }
    if let Some(Attribute::PublicKeyInfo(info)) = read(token, key, AttributeType::PublicKeyInfo)? {
        found.extend(
            PublicKey::from_spki(&info)
                .ok()
                .filter(|key| key.algorithm() == algorithm),
        );
    }
    Ok(found)
}

/// The public key of a public key object; none where it is of another kind.
pub(super) fn public_of(
    token: &Token,
    object: ObjectHandle,
    algorithm: Algorithm,
) -> Result<Option<PublicKey>, TokenFault> {
    let raw = match algorithm {
        Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => {
            match read(token, object, AttributeType::Value)? {
                Some(Attribute::Value(raw)) => raw,
                _ => return Ok(None),
            }
        }
        Algorithm::EcdsaP256 | Algorithm::EcdsaP384 | Algorithm::Ed25519 => {
            match read(token, object, AttributeType::EcPoint)? {
                Some(Attribute::EcPoint(point)) => match super::signature::point(algorithm, &point) {
                    Some(raw) => raw.to_vec(),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
    };
    Ok(Some(PublicKey::from_raw(algorithm, &raw)))
}

/// Returns true if a key cannot be read out in plaintext.
pub(super) fn is_sensitive(token: &Token, key: ObjectHandle) -> Result<bool, TokenFault> {
    let read = read(token, key, AttributeType::Sensitive)?;
    Ok(matches!(read, Some(Attribute::Sensitive(true))))
}

/// Returns true if a key can leave the token, wrapped under another.
pub(super) fn is_extractable(token: &Token, key: ObjectHandle) -> Result<bool, TokenFault> {
    let read = read(token, key, AttributeType::Extractable)?;
    Ok(!matches!(read, Some(Attribute::Extractable(false))))
}

/// Returns true if the PIN is asked for at every use of a key.
pub(super) fn asks_each_time(token: &Token, key: ObjectHandle) -> Result<bool, TokenFault> {
    let read = read(token, key, AttributeType::AlwaysAuthenticate)?;
    Ok(matches!(read, Some(Attribute::AlwaysAuthenticate(true))))
}

fn id(token: &Token, key: ObjectHandle) -> Result<Vec<u8>, TokenFault> {
    Ok(match read(token, key, AttributeType::Id)? {
        Some(Attribute::Id(id)) => id,
        _ => Vec::new(),
    })
}

fn find(token: &Token, wanted: &[Attribute]) -> Result<Vec<ObjectHandle>, TokenFault> {
    token.session.find_objects(wanted).map_err(|error| failed(&error))
}

/// An attribute; none where the object has none of this type.
fn read(token: &Token, object: ObjectHandle, kind: AttributeType) -> Result<Option<Attribute>, TokenFault> {
    let mut read = token
        .session
        .get_attributes(object, &[kind])
        .map_err(|error| failed(&error))?;
    Ok(read.pop())
}
