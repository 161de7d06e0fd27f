//! A build that can load no module: every use of a token is an error that says so.

use super::{Pin, Pkcs11Uri, TokenFault};
use crate::{Algorithm, Error, PublicKey};

/// There is none in such a build.
#[derive(Debug)]
pub(crate) enum TokenKey {}

impl TokenKey {
    pub(crate) fn open(uri: &Pkcs11Uri, _: Option<&Pin>, _: &PublicKey) -> Result<Self, Error> {
        Err(refusal(uri))
    }

    pub(crate) fn find(uri: &Pkcs11Uri, _: Option<&Pin>) -> Result<Self, Error> {
        Err(refusal(uri))
    }

    pub(crate) fn require(uri: &Pkcs11Uri, _: Option<&Pin>, _: Algorithm) -> Result<(), Error> {
        Err(refusal(uri))
    }

    pub(crate) fn generate(uri: &Pkcs11Uri, _: Option<&Pin>, _: Algorithm) -> Result<Self, Error> {
        Err(refusal(uri))
    }

    pub(crate) fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        match *self {}
    }

    pub(crate) fn public_key(&self) -> &PublicKey {
        match *self {}
    }

    pub(crate) fn uri(&self) -> &Pkcs11Uri {
        match *self {}
    }
}

fn refusal(uri: &Pkcs11Uri) -> Error {
    Error::Token {
        uri: uri.to_string(),
        fault: TokenFault::StaticBuild,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_build_says_that_it_is_one() {
        let uri: Pkcs11Uri = "pkcs11:object=root?module-name=softhsm2".parse().unwrap();
        let refused = TokenKey::find(&uri, None).unwrap_err();
        assert!(refused.to_string().contains("this build is static"), "{refused}");
    }
}
