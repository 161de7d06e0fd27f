//! The certificate authority of a mobile core: keys, certificates of network functions and IPsec
//! endpoints, revocation lists, records.
//!
//! [`Authority`] issues, signs, renews, invites and revokes; [`Holder`] keeps the files of a
//! certificate that came from elsewhere; [`Register`] only reads what was done. A certificate is
//! recorded in SQLite before the first byte of it is visible outside, and every file appears
//! whole or not at all, so that a crash at any moment neither loses an issued certificate, reuses a
//! serial number nor leaves half a key.
//!
//! The crate reads no clock: the time of an operation is passed in.
#![forbid(unsafe_code)]

mod algorithm;
mod anchors;
mod authority;
mod certificate;
mod error;
mod fetched;
mod files;
mod holder;
mod key;
mod lifetime;
mod name;
mod newest;
mod profile;
mod records;
mod request;
mod revocation_list;
mod secret_file;
mod secrets;
mod serial;
mod token;
mod trust;

pub use algorithm::Algorithm;
pub use anchors::{NoAnchor, TrustAnchors, Untrusted};
pub use authority::{
    Anyway, Authority, Destination, InitOptions, Intermediate, Invitation, InvitationState, Invite, Issued, IssuedList,
    KeySource, Leaf, OpenedKey, Overwrite, Published, Renewal, Revoked, RootUpdate, Signing, Successor, Unrenewed,
    Vendor,
};
pub use certificate::Certificate;
pub use error::Error;
pub use fetched::{LARGEST_FETCHED, Renewed, renew_lists};
pub use files::{Access, CLOSE_FOLDER, CLOSE_KEY, GIVE_KEY, no_key, open_folder, open_to_everyone};
pub use holder::{Held, Holder};
pub use key::{Passphrase, PrivateKey, PublicKey};
pub use lifetime::{Lifetime, no_current_root};
pub use name::{AlternativeName, DnsName, Name, NfType};
pub use newest::{InEffect, LARGEST_LISTS, NewestLists, Older, Unknown};
pub use profile::Profile;
pub use records::{Entry, Origin, Phase, Reason, Register, Role, State};
pub use request::SigningRequest;
pub use revocation_list::{CLOCKS_DIFFER, RevocationList};
pub use secret_file::{SecretFile, secret_in};
pub use secrets::Secrets;
pub use serial::Serial;
pub use token::{ExistingKey, PKCS11, Pin, Pkcs11Uri, TokenFault, TokenSource};
pub use trust::{ForeignCertificate, NoChain, Signed, chain_to, signed_by, trusted_chain};

/// Writes a world-readable file, such as a revocation list: whole or not at all.
pub fn write_public_file(path: &std::path::Path, contents: &[u8]) -> Result<(), Error> {
    files::write(path, contents, files::Readers::Everybody)
}

/// Writes a new file that its owner alone may read, such as the secret of an invitation: whole or not at all.
pub fn write_secret_file(path: &std::path::Path, contents: &[u8]) -> Result<(), Error> {
    files::write(path, contents, files::Readers::Owner)
}
