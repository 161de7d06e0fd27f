//! Reasons why a key in a token cannot be used.

use crate::Algorithm;

/// Fault of a token, its module or a key in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// This program is linked statically.
    #[error("this build is static and cannot load a PKCS#11 module")]
    StaticBuild,
    /// The module is not there, or is none.
    #[error("module {module}: {reason}")]
    Module {
        /// Its file or name.
        module: String,
        /// The report of the loader or the module.
        reason: String,
    },
    /// No token has these attributes.
    #[error("no such token; present: {}", listed(.0))]
    NoToken(Vec<String>),
    /// Several tokens have these attributes.
    #[error("several tokens fit: {}", listed(.0))]
    SeveralTokens(Vec<String>),
    /// The token wants its PIN and none was given.
    #[error("token {0} needs its PIN, and none was given")]
    PinNeeded(String),
    /// The token refuses the PIN.
    #[error("token {0}: wrong PIN")]
    WrongPin(String),
    /// The PIN is locked after too many attempts.
    #[error("token {0}: its PIN is locked")]
    PinLocked(String),
    /// One more wrong PIN would lock the token.
    #[error("token {0} reports that one more wrong PIN locks it: the PIN was not tried")]
    LastAttempt(String),
    /// No private key has these attributes.
    #[error("token {token} has no such private key; present: {}", listed(.present))]
    NoKey {
        /// Label of the token.
        token: String,
        /// Labels of those that are there.
        present: Vec<String>,
    },
    /// Several private keys have these attributes.
    #[error("token {token} has several private keys that fit, with the ids {}", listed(.ids))]
    SeveralKeys {
        /// Label of the token.
        token: String,
        /// Their CKA_ID, as a URI writes them.
        ids: Vec<String>,
    },
    /// A key was to be made and there is one.
    #[error("token {0} has a private key of this name already")]
    KeyExists(String),
    /// A key is to be made of which nothing but its CKA_ID is given.
    #[error("a key that is made needs a label: give object")]
    NoLabel,
    /// The token has no mechanism for this algorithm.
    #[error("token {token} (module {module}) has no {algorithm}; it has {}", algorithms(.offered))]
    Unsupported {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
        /// Label of the token.
        token: String,
        /// Description and version of the module.
        module: String,
        /// The algorithms that it has.
        offered: Vec<Algorithm>,
    },
    /// The key is of a kind that signs no certificates here.
    #[error("its key is {0}")]
    KeyKind(String),
    /// The token does not give the public key.
    #[error("the token has no public key with the same CKA_ID, so that the private key is of no use")]
    NoPublicKey,
    /// Every use of the key needs the PIN again.
    #[error("the key asks for the PIN at each signature (CKA_ALWAYS_AUTHENTICATE), which is not supported")]
    AlwaysAuthenticate,
    /// The token gives the key to every user that is logged in.
    #[error("the key can be read out of the token (CKA_SENSITIVE is false)")]
    Readable,
    /// The token has made a key that can leave it.
    #[error("the token made a key that can be exported from it")]
    Exportable,
    /// A signature of the token does not verify: the key is not the certificate's.
    #[error("the key in the token is not the certificate's: its signature does not verify")]
    OtherKey,
    /// A function of the module failed.
    #[error("{function}: {reason}")]
    Failed {
        /// The function.
        function: String,
        /// The return value.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

fn algorithms(offered: &[Algorithm]) -> String {
    listed(&offered.iter().map(ToString::to_string).collect::<Vec<_>>())
}
