//! Certificates, revocation lists and the key of a node, as charon is given them.

mod flaws;
mod ppk;

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bartizan_deployment::{Deployment, IkeEngine, IpsecNode};
use bartizan_ledger::state;
use bartizan_pki::{
    CLOSE_KEY, Certificate, GIVE_KEY, InEffect, LARGEST_LISTS, NewestLists, NoAnchor, Older, TrustAnchors, no_key,
    open_to_everyone,
};
use pem::Pem;
use zeroize::Zeroizing;

use crate::vici::{Message, Section};

pub use flaws::{Flaw, Weight};

/// Most octets of one file.
const LARGEST: u64 = LARGEST_LISTS;

/// Most octets of what goes into one value of a message (VICI counts them by 16 bits).
const LARGEST_VALUE: usize = u16::MAX as usize;

/// Rights of group and others in a file's mode.
const OTHERS: u32 = 0o077;

/// Why a node's files cannot be given to charon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The environment: a file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The configuration: a file does not hold what it should.
    #[error("{}: {cause}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The flaw.
        cause: String,
    },
}

impl CredentialsError {
    /// The file it is about, and what is wrong with it.
    pub fn place(&self) -> (&Path, String) {
        match self {
            Self::Read { path, source } => (path, source.to_string()),
            Self::Unusable { path, cause } => (path, cause.clone()),
        }
    }
}

/// A node's credentials and trust anchors, DER. The key is wiped when dropped.
pub struct Credentials {
    /// The node's own certificate, DER.
    pub(super) leaf: Vec<u8>,
    between: Vec<Vec<u8>>,
    /// The roots, DER.
    pub(super) roots: Vec<Vec<u8>>,
    /// The same, with their dates.
    anchors: TrustAnchors,
    /// Certificates among the roots that are none of an authority, by their subjects. No daemon is
    /// given one.
    not_authorities: Vec<String>,
    lists: InEffect,
    newest: NewestLists,
    key: Zeroizing<Vec<u8>>,
    /// By their names.
    ppks: Vec<(String, Zeroizing<Vec<u8>>)>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (between, roots, lists) = (self.between.len(), self.roots.len(), self.lists.lists.len());
        write!(
            f,
            "Credentials {{ {between} intermediates, {roots} roots, {lists} lists }}"
        )
    }
}

impl Credentials {
    /// Reads a node's files.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or does not hold a certificate, list or key in PEM.
    pub fn read(files: &IpsecNode) -> Result<Self, CredentialsError> {
        Self::read_after(None, files)
    }

    /// The same again: revocation lists that are older than those of `self` do not take their
    /// place.
    ///
    /// # Errors
    ///
    /// As [`Credentials::read`].
    pub fn read_again(&self, files: &IpsecNode) -> Result<Self, CredentialsError> {
        Self::read_after(Some(self), files)
    }

    fn read_after(before: Option<&Self>, files: &IpsecNode) -> Result<Self, CredentialsError> {
        let mut chain = blocks(&files.certificate, |tag| tag == "CERTIFICATE", "certificate")?.into_iter();
        // `blocks` has at least one.
        let leaf = chain.next().map(Pem::into_contents).unwrap_or_default();
        let place = files.certificate.display().to_string();
        let certificate = Certificate::from_der(&leaf, &place).map_err(|error| unusable(&files.certificate, error))?;
        if certificate.algorithm().is_quantum_safe() && files.engine == IkeEngine::Strongswan {
            let cause = format!(
                "its key is {}, which no released strongSwan can use: `bartizan ca issue --profile ipsec --dns NAME` makes one it can, and `engine: \
                 bartizan` can use this one where both ends have it",
                certificate.algorithm()
            );
            return Err(unusable(&files.certificate, cause));
        }
        let known = std::fs::metadata(&files.key).map_err(|source| CredentialsError::Read {
            path: files.key.clone(),
            source,
        })?;
        if let Some(cause) = no_key(&text(&files.key)?) {
            return Err(unusable(&files.key, format!("{cause}; {GIVE_KEY}")));
        }
        if let Some(cause) = open_to_everyone(&known) {
            return Err(unusable(&files.key, format!("{cause}; {CLOSE_KEY}")));
        }
        let key = blocks(&files.key, |tag| tag.ends_with("PRIVATE KEY"), "private key")?;
        if key[0].tag() == "ENCRYPTED PRIVATE KEY" {
            return Err(unusable(
                &files.key,
                "the key is encrypted, and nobody is there to be asked",
            ));
        }
        let key = key.into_iter().next().map(Pem::into_contents).unwrap_or_default();
        let mut roots = contents(blocks(&files.roots, |tag| tag == "CERTIFICATE", "certificate")?);
        let (anchors, not_authorities) = trusted(&mut roots, &files.roots)?;
        let between: Vec<_> = chain.map(Pem::into_contents).collect();
        let mut newest = before.map(|before| before.newest.clone()).unwrap_or_default();
        let lists = match &files.crl {
            Some(path) => {
                let given = text(path)?;
                let known = files.known_lists.as_deref();
                newest = NewestLists::remembered_in(known, Some(&newest))
                    .map_err(|error| unusable(known.unwrap_or(path), error))?;
                let [roots, between]: [Vec<&[u8]>; 2] =
                    [&roots, &between].map(|all| all.iter().map(Vec::as_slice).collect());
                newest
                    .in_effect(&given, &roots, &between)
                    .map_err(|why| unusable(path, why))?
            }
            None => InEffect::default(),
        };
        if let Some(large) = lists.lists.iter().find(|list| list.der().len() > LARGEST_VALUE) {
            let path = files.crl.as_deref().unwrap_or(&files.roots);
            return Err(too_large(path, "revocation list", large.der().len()));
        }
        Ok(Self {
            leaf,
            between,
            roots,
            anchors,
            not_authorities,
            lists,
            newest,
            key: Zeroizing::new(key),
            ppks: Vec::new(),
        })
    }

    /// The same with the pre-shared keys of a node's links.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, can be read by others than its owner, or holds no key that is long enough.
    pub fn with_ppks(mut self, deployment: &Deployment, node: &str) -> Result<Self, CredentialsError> {
        for (_, _, link) in deployment.ipsec_links(node) {
            let Some(ppk) = &link.ppk else { continue };
            // Links that share an IKE_SA have one.
            if self.ppks.iter().all(|(known, _)| *known != ppk.identity) {
                self.ppks.push((ppk.identity.clone(), ppk::read(&ppk.file)?));
            }
        }
        Ok(self)
    }

    /// Revocation lists of the file that are refused, as newer ones were seen before.
    pub fn older_lists(&self) -> &[Older] {
        &self.lists.older
    }

    /// Compares the revocation lists in effect with those of `other`.
    #[must_use]
    pub fn has_lists_of(&self, other: &Self) -> bool {
        let ders = |of: &Self| {
            of.lists
                .lists
                .iter()
                .map(|list| list.der().to_vec())
                .collect::<Vec<_>>()
        };
        ders(self) == ders(other)
    }

    /// Returns true if `other` trusts a root that is none of these.
    #[must_use]
    pub fn lacks_a_root_of(&self, other: &Self) -> bool {
        other.roots.iter().any(|root| !self.roots.contains(root))
    }

    /// The file by which the newest lists outlive this process; none where no folder is named for
    /// it.
    pub fn known_lists(&self) -> Option<&Path> {
        self.newest.file()
    }

    /// Writes the newest lists to that file, where there is one.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written: an older list is accepted after the next restart then.
    pub fn remember_lists(&self) -> Result<(), CredentialsError> {
        let path = self.known_lists().unwrap_or(Path::new(""));
        self.newest.save().map_err(|error| unusable(path, error))
    }

    /// Commands and messages that give all of it to charon, in order.
    pub fn load(&self) -> Vec<(&'static str, Message)> {
        let certificate = |kind: &str, flag: &str, der: &[u8]| {
            let message = Section::new().with("type", kind).with("flag", flag).with("data", der);
            ("load-cert", message)
        };
        let roots = self.roots.iter().map(|der| certificate("X509", "CA", der));
        // An intermediate of ours must not become an anchor of its own: it comes without the flag.
        let between = self.between.iter().map(|der| certificate("X509", "NONE", der));
        let lists = self
            .lists
            .lists
            .iter()
            .map(|list| certificate("X509_CRL", "NONE", list.der()));
        let key = Section::new().with("type", "any").with("data", &self.key);
        let ppks = self.ppks.iter().map(|(name, secret)| {
            let message = Section::new().with("id", format!("ppk-{name}")).with("type", "PPK");
            let message = message.with("data", secret).with_list("owners", [name.as_str()]);
            ("load-shared", message)
        });
        roots
            .chain(between)
            .chain(lists)
            .chain([certificate("X509", "NONE", &self.leaf), ("load-key", key)])
            .chain(ppks)
            .collect()
    }
}

/// Refusal of a pre-shared key that another user than its owner can use.
fn readable_by_owner_alone(path: &Path) -> Result<(), CredentialsError> {
    let known = std::fs::metadata(path).map_err(|source| CredentialsError::Read {
        path: path.to_owned(),
        source,
    })?;
    match known.mode() & OTHERS {
        0 => Ok(()),
        _ => Err(unusable(
            path,
            format!(
                "has mode {:03o}, and others than its owner can use it: chmod 600",
                known.mode() & 0o777
            ),
        )),
    }
}

/// The certificates of authorities among those of a file, which keep their places in `roots`, and
/// the subjects of the others.
fn trusted(roots: &mut Vec<Vec<u8>>, path: &Path) -> Result<(TrustAnchors, Vec<String>), CredentialsError> {
    let mut anchors = TrustAnchors::default();
    let (mut others, mut unreadable) = (Vec::new(), None);
    roots.retain(|der| match anchors.add(der) {
        Ok(()) => true,
        Err(NoAnchor::NotOfAnAuthority(subject)) => {
            others.push(subject);
            false
        }
        Err(NoAnchor::Unreadable(cause)) => {
            unreadable = Some(cause);
            false
        }
    });
    if let Some(cause) = unreadable {
        return Err(unusable(path, format!("a certificate {cause}")));
    }
    if roots.is_empty() {
        let cause = format!("holds no certificate of an authority, only {}", others.join(" and "));
        return Err(unusable(path, cause));
    }
    Ok((anchors, others))
}

fn contents(blocks: Vec<Pem>) -> Vec<Vec<u8>> {
    blocks.into_iter().map(Pem::into_contents).collect()
}

fn unusable(path: &Path, cause: impl ToString) -> CredentialsError {
    CredentialsError::Unusable {
        path: path.to_owned(),
        cause: cause.to_string(),
    }
}

/// The PEM blocks of a file that are what is wanted; at least one.
fn blocks(path: &Path, wanted: impl Fn(&str) -> bool, what: &str) -> Result<Vec<Pem>, CredentialsError> {
    let blocks = pem::parse_many(text(path)?).map_err(|error| unusable(path, error))?;
    let blocks: Vec<_> = blocks.into_iter().filter(|block| wanted(block.tag())).collect();
    if blocks.is_empty() {
        return Err(unusable(path, format!("holds no {what} in PEM")));
    }
    if let Some(large) = blocks.iter().find(|block| block.contents().len() > LARGEST_VALUE) {
        return Err(too_large(path, what, large.contents().len()));
    }
    Ok(blocks)
}

fn too_large(path: &Path, what: &str, octets: usize) -> CredentialsError {
    unusable(
        path,
        format!("a {what} has {octets} octets, and VICI takes {LARGEST_VALUE}"),
    )
}

/// Contents of a file; a private key in it is wiped when this is dropped.
fn text(path: &Path) -> Result<Zeroizing<Vec<u8>>, CredentialsError> {
    let read = |source| CredentialsError::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = Zeroizing::new(Vec::new());
    state::open_to_read(path)
        .map_err(read)?
        .take(LARGEST + 1)
        .read_to_end(&mut text)
        .map_err(read)?;
    match text.len() as u64 > LARGEST {
        true => Err(unusable(path, format!("is larger than {LARGEST} octets"))),
        false => Ok(text),
    }
}
