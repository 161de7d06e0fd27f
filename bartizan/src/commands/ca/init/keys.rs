//! Sources of a new authority's keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_pki::{
    Algorithm, Error, ExistingKey, KeySource, Passphrase, Pkcs11Uri, PrivateKey, Role, Secrets, TokenSource,
};
use zeroize::Zeroizing;

use crate::commands::ca::failure::failure;
use crate::commands::ca::passphrase;
use crate::outcome::Failure;

/// A key that exists in a file, or one of a token.
#[derive(Debug, Clone)]
enum Place {
    File(PathBuf),
    Token(Box<Pkcs11Uri>),
}

fn place(text: &str) -> Result<Place, Error> {
    if Pkcs11Uri::is_meant(text) {
        uri(text).map(Place::Token)
    } else {
        Ok(Place::File(text.into()))
    }
}

fn uri(text: &str) -> Result<Box<Pkcs11Uri>, Error> {
    text.parse().map(Box::new)
}

#[derive(clap::Args)]
pub(super) struct KeyArgs {
    /// Kind of the root's key: ml-dsa-44, ml-dsa-65, ml-dsa-87, ecdsa-p256, ecdsa-p384 or ed25519
    #[arg(long, value_name = "ALGORITHM", required_unless_present = "root_key")]
    algorithm: Option<Algorithm>,
    /// Make the root from this private key (PKCS#8, PEM) instead of a fresh one; or have its key in a PKCS#11 token, by a URI
    /// (RFC 7512)
    #[arg(long, value_name = "FILE|URI", value_parser = place)]
    root_key: Option<Place>,
    /// Make an intermediate that signs from day to day, with a key of this kind or, without ALGORITHM, of the root's
    #[arg(long, value_name = "ALGORITHM", num_args = 0..=1)]
    intermediate: Option<Option<Algorithm>>,
    /// Have the intermediate's key in a PKCS#11 token, by a URI (RFC 7512)
    #[arg(long, value_name = "URI", requires = "intermediate", value_parser = uri)]
    intermediate_key: Option<Box<Pkcs11Uri>>,
    /// Take the keys that the URIs name as they are in their token; without it they are made there, and one that exists is refused
    #[arg(long)]
    existing_keys: bool,
}

/// Requested keys, including those read from files.
pub(super) struct Keys {
    pub(super) algorithm: Algorithm,
    pub(super) root: KeySource,
    pub(super) intermediate: Option<(Algorithm, KeySource)>,
}

impl KeyArgs {
    pub(super) fn read(&self, secrets: &Secrets) -> Result<Keys, Failure> {
        let in_token = self.intermediate_key.is_some() || matches!(self.root_key, Some(Place::Token(_)));
        if self.existing_keys && !in_token {
            return Err(Failure::usage("--existing-keys without a key in a token")
                .hint("name the keys by --root-key pkcs11:... and --intermediate-key pkcs11:..."));
        }
        let (algorithm, root) = self.root(secrets)?;
        let intermediate = self.intermediate.map(|own| {
            let source = match &self.intermediate_key {
                None => KeySource::Fresh,
                Some(uri) => KeySource::Token(self.source(uri, own)),
            };
            (own.unwrap_or(algorithm), source)
        });
        Ok(Keys {
            algorithm,
            root,
            intermediate,
        })
    }

    fn root(&self, secrets: &Secrets) -> Result<(Algorithm, KeySource), Failure> {
        match (&self.root_key, self.algorithm) {
            (None, Some(algorithm)) => Ok((algorithm, KeySource::Fresh)),
            (None, None) => Err(Failure::usage("--algorithm or --root-key is needed")),
            (Some(Place::File(path)), None) => {
                let key = read_key(path, secrets.passphrase.as_ref())?;
                Ok((key.algorithm(), KeySource::File(Arc::new(key))))
            }
            (Some(Place::File(path)), Some(_)) => Err(Failure::usage(format!(
                "--algorithm: the key in {} has its own",
                path.display()
            ))),
            (Some(Place::Token(uri)), Some(algorithm)) => {
                Ok((algorithm, KeySource::Token(self.source(uri, Some(algorithm)))))
            }
            // The kind of an intermediate made next to it is unknown until the token answers.
            (Some(Place::Token(_)), None) if self.intermediate == Some(None) && self.intermediate_key.is_none() => {
                Err(Failure::usage("the kind of the intermediate's key is not known")
                    .hint("give --intermediate ALGORITHM, or --algorithm for both"))
            }
            (Some(Place::Token(uri)), None) if self.existing_keys => {
                Ok((Algorithm::EcdsaP384, KeySource::Token(self.source(uri, None))))
            }
            (Some(Place::Token(_)), None) => Err(Failure::usage("--algorithm: the kind of the root's key is needed")
                .hint("--existing-keys takes a key that is in the token already")),
        }
    }

    fn source(&self, uri: &Pkcs11Uri, algorithm: Option<Algorithm>) -> Box<TokenSource> {
        Box::new(TokenSource {
            uri: uri.clone(),
            existing: if self.existing_keys {
                ExistingKey::Take(algorithm)
            } else {
                ExistingKey::Refuse
            },
        })
    }
}

impl Keys {
    /// Returns true if a key of the authority's own certificates goes to a file.
    pub(super) fn has_file(&self) -> bool {
        let in_file = |source: &KeySource| !matches!(source, KeySource::Token(_));
        in_file(&self.root) || self.intermediate.as_ref().is_some_and(|(_, source)| in_file(source))
    }

    /// Returns true if the key of the root or of the intermediate is in a token.
    pub(super) fn is_in_token(&self, role: Role) -> bool {
        let source = match role {
            Role::Root => Some(&self.root),
            _ => self.intermediate.as_ref().map(|(_, source)| source),
        };
        matches!(source, Some(KeySource::Token(_)))
    }
}

/// A foreign key that is encrypted is tried with the passphrase given; without one, its own is asked for.
fn read_key(path: &Path, given: Option<&Passphrase>) -> Result<PrivateKey, Failure> {
    let place = |error| {
        failure(match error {
            Error::Key(reason) => Error::KeyFile {
                path: path.to_owned(),
                reason,
            },
            Error::WrongPassphrase(_) => Error::WrongPassphrase(path.to_owned()),
            other => other,
        })
    };
    let text = std::fs::read(path)
        .map(Zeroizing::new)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    match PrivateKey::from_pem(&text, given) {
        Err(Error::PassphraseNeeded(_)) => {
            let passphrase = passphrase::ask(path)?;
            PrivateKey::from_pem(&text, Some(&passphrase)).map_err(place)
        }
        other => other.map_err(place),
    }
}
