//! Keys that stay in a PKCS#11 token: named by a URI, used through the token's module, which is
//! loaded into this process.

mod fault;
mod pin;
mod uri;

// A static binary has no dynamic loader to load a module with.
#[cfg(target_feature = "crt-static")]
mod absent;
#[cfg(not(target_feature = "crt-static"))]
mod key;

pub use fault::TokenFault;
pub use pin::Pin;
pub use uri::Pkcs11Uri;

use crate::Algorithm;

#[cfg(target_feature = "crt-static")]
pub(crate) use absent::TokenKey;
#[cfg(not(target_feature = "crt-static"))]
pub(crate) use key::TokenKey;

/// True if this build can load modules: not if it is linked statically.
pub const PKCS11: bool = cfg!(not(target_feature = "crt-static"));

/// Source of a key in a token for a new authority.
#[derive(Debug, Clone)]
pub struct TokenSource {
    /// URI of the key.
    pub uri: Pkcs11Uri,
    /// Action on a key that is there.
    pub existing: ExistingKey,
}

/// Action on a key that the URI names and that is in the token already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExistingKey {
    /// It is refused: a fresh one is made where there is none.
    #[default]
    Refuse,
    /// It is taken; none is made.
    Take(Option<Algorithm>),
}
