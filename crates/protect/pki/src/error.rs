//! Errors, by whose fault.

use std::path::PathBuf;

use crate::{Algorithm, Serial, TokenFault};

/// Reason why the authority could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // --- the caller's fault: what was asked for cannot be granted ---
    /// The directory holds no authority.
    #[error("{} holds no certificate authority", .0.display())]
    NoAuthority(PathBuf),
    /// The initialisation of this directory was cut short; nothing was ever issued from it.
    #[error("the certificate authority in {} was never finished; nothing was issued by it", .0.display())]
    Unfinished(PathBuf),
    /// The directory holds an authority already.
    #[error("{} holds a certificate authority already", .0.display())]
    AuthorityExists(PathBuf),
    /// The directory holds files of an authority, but its records are gone.
    #[error("{} holds {file} but no records: this authority has lost its database", .dir.display())]
    RecordsLost {
        /// The authority's directory.
        dir: PathBuf,
        /// A file of the authority that is there.
        file: String,
    },
    /// A file is in the way and overwriting was not asked for.
    #[error("{} exists already", .0.display())]
    FileExists(PathBuf),
    /// Roots of another authority are in the way.
    #[error("{} has roots of another authority: {}", .path.display(), .roots.join("; "))]
    ForeignRoots {
        /// The file.
        path: PathBuf,
        /// Subjects of the roots.
        roots: Vec<String>,
    },
    /// A name, address or URI cannot stand in a certificate.
    #[error("{what} {value:?}: {reason}")]
    Name {
        /// Kind of name.
        what: &'static str,
        /// As it was written.
        value: String,
        /// Its fault.
        reason: &'static str,
    },
    /// An algorithm's name is not known.
    #[error("unknown algorithm {0:?}: known are {known}", known = crate::Algorithm::names())]
    UnknownAlgorithm(String),
    /// A profile's name is not known.
    #[error("unknown profile {0:?}: known are nf, ipsec")]
    UnknownProfile(String),
    /// An IPsec endpoint's certificate cannot have this key, or stand under an authority with this key.
    #[error("{what} is {algorithm}, which no released strongSwan verifies")]
    NotForIpsec {
        /// The key's owner.
        what: &'static str,
        /// Its kind.
        algorithm: Algorithm,
    },
    /// An IPsec endpoint has no name that IKE could use.
    #[error("no DNS name or IP address by which IKE peers could know the endpoint")]
    NoIkeName,
    /// The validity asked for is empty, too long or outlives its issuer.
    #[error("validity: {0}")]
    Lifetime(String),
    /// A certificate without any name would be accepted by no peer.
    #[error("no DNS name, IP address or URI for the certificate")]
    NoNames,
    /// More names than a certificate may carry.
    #[error("more than {names} names or {functions} network function types")]
    TooManyNames {
        /// Most subject alternative names.
        names: usize,
        /// Most network function types.
        functions: usize,
    },
    /// A path that is not text cannot be recorded.
    #[error("{}: not a path in UTF-8", .0.display())]
    Path(PathBuf),
    /// Several certificates that are not revoked have this name.
    #[error("{} certificates named {name:?} are in use: name one by its serial number", .serials.len())]
    SeveralCertificates {
        /// The name.
        name: String,
        /// Their serial numbers.
        serials: Vec<Serial>,
    },
    /// No certificate has this serial number or name.
    #[error("no certificate with the serial number or name {0:?}")]
    UnknownCertificate(String),
    /// The certificate was revoked before.
    #[error("certificate {0} is revoked already")]
    AlreadyRevoked(Serial),
    /// The operation cannot be done to this certificate.
    #[error("certificate {serial}: {reason}")]
    Unsuitable {
        /// The certificate.
        serial: Serial,
        /// The reason.
        reason: &'static str,
    },
    /// The CA's key is encrypted and no passphrase was given.
    #[error("{} is encrypted under a passphrase, and none was given", .0.display())]
    PassphraseNeeded(PathBuf),
    /// The passphrase does not open the key.
    #[error("{}: wrong passphrase", .0.display())]
    WrongPassphrase(PathBuf),
    /// The passphrase cannot be used.
    #[error("passphrase: {0}")]
    Passphrase(&'static str),
    /// The authority has no intermediate.
    #[error("this authority has no intermediate: its root signs")]
    NoIntermediate,
    /// A step of a root's succession comes at the wrong time.
    #[error("{0}")]
    Succession(&'static str),
    /// A key in a file would take the place of one in a token.
    #[error("{} names a key in a token, and the next one would be in a file", .0.display())]
    OutOfToken(PathBuf),
    /// Functions have certificates of before the next root was published, and may not trust it.
    #[error("{} functions have certificates of before the next root was published: {}", .0.len(), few(.0))]
    NotAware(Vec<String>),
    /// Certificates below the root of before are in use.
    #[error("{} functions have certificates below the root of before: {}", .0.len(), few(.0))]
    StillInUse(Vec<String>),
    /// Root and intermediate were to have one key.
    #[error("root and intermediate would have the same key")]
    OneKey,
    /// The key needed for this operation is not in the authority's directory.
    #[error("{} is not here: this operation needs it", .0.display())]
    KeyOffline(PathBuf),
    /// A PKCS #11 URI names no key that can be used.
    #[error("{uri}: {reason}")]
    Pkcs11Uri {
        /// The URI, without a PIN.
        uri: String,
        /// Its fault.
        reason: &'static str,
    },
    /// A PIN cannot be used.
    #[error("PIN: {0}")]
    Pin(&'static str),

    // --- a token's fault ---
    /// A key in a PKCS#11 token cannot be used.
    #[error("{uri}: {fault}")]
    Token {
        /// URI of the key.
        uri: String,
        /// Its fault.
        fault: TokenFault,
    },

    // --- a file's fault ---
    /// A private key cannot be used.
    #[error("private key: {0}")]
    Key(String),
    /// A private key file cannot be used.
    #[error("{}: {reason}", .path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Its fault.
        reason: String,
    },
    /// A key does not belong to the certificate next to it.
    #[error("{} is not the key of {}", .key.display(), .certificate.display())]
    KeyMismatch {
        /// The key's file.
        key: PathBuf,
        /// The certificate's file.
        certificate: PathBuf,
    },
    /// A certificate cannot be read.
    #[error("{place}: {reason}")]
    Certificate {
        /// File or record.
        place: String,
        /// Its fault.
        reason: String,
    },

    // --- the requester's fault ---
    /// A certificate signing request cannot be signed.
    #[error("signing request: {0}")]
    Request(String),
    /// A signing request's key is of a kind this authority does not certify.
    #[error(
        "signing request: keys of type {} are not certified; choose one of {}",
        .0,
        Algorithm::names()
    )]
    RequestKey(String),

    /// No invitation has this reference, or the invitation is closed.
    #[error("no open invitation has the reference {0:?}")]
    NotInvited(String),
    /// A function with another key has enrolled by this invitation.
    #[error("the invitation {0:?} was used with another key")]
    InvitationUsed(String),
    /// The key is that of a certificate that was revoked: who has it would be certified again.
    #[error("the key is that of certificate {0}, which is revoked: ask for a new one")]
    RevokedKey(Serial),
    /// The key is certified under another name.
    #[error("the key is that of certificate {0}, which has another name: ask for a new one")]
    KeyOfAnother(Serial),
    /// A name had as many new certificates in place of older ones as it may have in a day.
    #[error("{name} had {most} certificates within a day: try again tomorrow")]
    TooManyUpdates {
        /// Name of the certificates.
        name: String,
        /// Most updates in a day.
        most: u64,
    },
    /// A key that a quantum computer breaks, under an authority or in place of a key that it does not.
    #[error("an {0} key would be certified where a quantum-safe one is expected")]
    ClassicalKey(Algorithm),

    // --- the environment's fault ---
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    File {
        /// The action that was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another process holds the authority.
    #[error("another process is using the certificate authority in {}", .0.display())]
    Busy(PathBuf),
    /// Another process enrols or renews in this directory.
    #[error("another process is enrolling or renewing a certificate in {}", .0.display())]
    Enrolling(PathBuf),
    /// The records could not be read or written.
    #[error("records: {0}")]
    Records(#[from] rusqlite::Error),
    /// The records were written by a program that has other tables.
    #[error("records of version {found}; this program knows version {known}")]
    RecordsVersion {
        /// Version in the database.
        found: i64,
        /// Version this program writes.
        known: i64,
    },
    /// A value in the records is not one this program writes.
    #[error("records: {0}")]
    RecordsDamaged(String),

    // --- ours ---
    /// The cryptographic library refused an operation it should have done.
    #[error("cryptographic operation failed: {0}")]
    Cryptography(String),
}

impl Error {
    /// A closure that says which file operation failed.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { action, path, source }
    }
}

/// The first of many names.
fn few(names: &[String]) -> String {
    const MOST: usize = 10;
    let mut text = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", ...");
    }
    text
}

impl From<rcgen::Error> for Error {
    fn from(error: rcgen::Error) -> Self {
        Error::Cryptography(error.to_string())
    }
}

impl From<aws_lc_rs::error::Unspecified> for Error {
    fn from(_: aws_lc_rs::error::Unspecified) -> Self {
        Error::Cryptography("the library gives no reason".to_owned())
    }
}
