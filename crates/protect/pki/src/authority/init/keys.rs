//! The keys of a new authority: those in tokens are come by in an order that leaves none behind without a name.
//!
//! A token takes no part in what makes a directory whole or not at all. So the URI of a key, with a
//! random CKA_ID that no other key has, is on disk before the token makes the key, and an attempt
//! after a crash uses the key that the crash left.

use std::fs;
use std::sync::Arc;

use super::KeySource;
use crate::authority::Layout;
use crate::authority::key::{AuthorityKey, file_of, uri_in};
use crate::files::{self, Readers};
use crate::records::Role;
use crate::token::TokenKey;
use crate::{Algorithm, Error, ExistingKey, Pkcs11Uri, Secrets, TokenFault};

/// Octets of a CKA_ID.
const ID: usize = 16;

/// Keys that an attempt which was cut short may have made in a token, for what is wanted now.
pub(in crate::authority) struct Earlier {
    pub(in crate::authority) root: Option<Pkcs11Uri>,
    pub(in crate::authority) intermediate: Option<Pkcs11Uri>,
}

/// Clears away what an attempt left, but for the names of keys in a token: they are replaced when there are others.
pub(in crate::authority) fn clear(
    stage: &Layout,
    root: &KeySource,
    intermediate: Option<&KeySource>,
) -> Result<Earlier, Error> {
    let earlier = Earlier {
        root: named_before(stage, Role::Root, Some(root))?,
        intermediate: named_before(stage, Role::Intermediate, intermediate)?,
    };
    files::create_directory(&stage.dir)?;
    let kept = [
        earlier.root.is_some().then(|| stage.key(Role::Root)),
        earlier.intermediate.is_some().then(|| stage.key(Role::Intermediate)),
    ];
    for entry in fs::read_dir(&stage.dir).map_err(Error::file("look into", &stage.dir))? {
        let path = entry.map_err(Error::file("look into", &stage.dir))?.path();
        if !kept.iter().flatten().any(|kept| *kept == path) {
            files::remove(&path)?;
        }
    }
    Ok(earlier)
}

fn named_before(stage: &Layout, role: Role, source: Option<&KeySource>) -> Result<Option<Pkcs11Uri>, Error> {
    let Some(KeySource::Token(wanted)) = source else {
        return Ok(None);
    };
    let Some(text) = crate::key::read_file(&stage.key(role))? else {
        return Ok(None);
    };
    let named = uri_in(&text).and_then(Result::ok);
    Ok(named.filter(|uri| uri.specifies(&wanted.uri)))
}

/// A key, or that a token can make it.
pub(in crate::authority) enum Prepared {
    Key(AuthorityKey),
    InToken(Box<Pkcs11Uri>, Algorithm),
}

impl Prepared {
    pub(in crate::authority) fn of(
        source: KeySource,
        algorithm: Algorithm,
        secrets: &Secrets,
        earlier: Option<Pkcs11Uri>,
    ) -> Result<Self, Error> {
        let pin = secrets.pin.as_ref();
        let wanted = match source {
            KeySource::Fresh => return AuthorityKey::generate(algorithm).map(Self::Key),
            KeySource::File(key) => return Ok(Self::Key(AuthorityKey::Memory(key))),
            KeySource::Token(wanted) => wanted,
        };
        let unlike = |found: &TokenKey, fault| {
            Err(Error::Token {
                uri: found.uri().to_string(),
                fault,
            })
        };
        if let ExistingKey::Take(algorithm) = wanted.existing {
            let found = TokenKey::find(&wanted.uri, pin)?;
            let kind = found.public_key().algorithm();
            return match algorithm {
                Some(expected) if expected != kind => unlike(
                    &found,
                    TokenFault::KeyKind(format!("{kind}, and {expected} is asked for")),
                ),
                _ => Ok(Self::Key(AuthorityKey::Token(Arc::new(found)))),
            };
        }
        if let Some(uri) = earlier {
            match TokenKey::find(&uri, pin) {
                Ok(found) if found.public_key().algorithm() == algorithm => {
                    return Ok(Self::Key(AuthorityKey::Token(Arc::new(found))));
                }
                Ok(found) => {
                    let kind = found.public_key().algorithm();
                    let reason = format!("{kind}, left by an attempt that was cut short, and {algorithm} is asked for");
                    return unlike(&found, TokenFault::KeyKind(reason));
                }
                // The attempt ended before the token had made it whole.
                Err(Error::Token {
                    fault: TokenFault::NoKey { .. },
                    ..
                }) => {}
                Err(other) => return Err(other),
            }
        }
        TokenKey::require(&wanted.uri, pin, algorithm)?;
        Ok(Self::InToken(Box::new(wanted.uri), algorithm))
    }

    /// The key; made now where a token makes it.
    pub(in crate::authority) fn key(
        self,
        stage: &Layout,
        role: Role,
        secrets: &Secrets,
    ) -> Result<AuthorityKey, Error> {
        let (uri, algorithm) = match self {
            Self::Key(key) => return Ok(key),
            Self::InToken(uri, algorithm) => (*uri, algorithm),
        };
        let uri = if uri.has_id() {
            uri
        } else {
            let mut id = [0; ID];
            aws_lc_rs::rand::fill(&mut id)?;
            uri.with_id(&id)
        };
        files::write(&stage.key(role), file_of(&uri).as_bytes(), Readers::Owner)?;
        TokenKey::generate(&uri, secrets.pin.as_ref(), algorithm).map(|key| AuthorityKey::Token(Arc::new(key)))
    }
}
