//! What a node proves itself with, and whom it trusts.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_deployment::{Files, Identity};
use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;
use rustls::DistinguishedName;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, TrustAnchor, UnixTime};
use rustls::sign::CertifiedKey;
use webpki::{CertRevocationList, EndEntityCert, OwnedCertRevocationList};
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use zeroize::{Zeroize, Zeroizing};

use crate::certificate::{self, Leaf};
use crate::{Error, identity, scheme};

/// No file of certificates, keys or revocation lists is longer: 16 MiB hold the serials of 400,000 revoked certificates.
const LONGEST_FILE: u64 = 16 << 20;

/// A node's chain, key, trusted roots and revocation lists as loaded. The bytes of the key are cleared once it is parsed, the
/// parsed key when this is dropped.
#[derive(Debug)]
pub struct Credentials {
    leaf: Leaf,
    scheme: SignatureScheme,
    certified: Arc<CertifiedKey>,
    chain: Vec<ledger::Certificate>,
    roots: Vec<Root>,
    anchors: Vec<TrustAnchor<'static>>,
    subjects: Vec<DistinguishedName>,
    lists: Vec<RevocationList>,
    /// Where the certificate came from, for messages.
    place: String,
}

/// A trusted root's dates: path building takes an anchor as a name and a key, and would trust it for ever.
#[derive(Debug)]
struct Root {
    not_before: i64,
    not_after: i64,
}

/// A revocation list and what its dates say.
#[derive(Debug)]
pub(crate) struct RevocationList {
    pub(crate) list: CertRevocationList<'static>,
    this_update: i64,
    /// The second by which a newer list is due; none where the list does not say.
    next_update: Option<i64>,
    warned: AtomicBool,
}

/// Names in messages of the four parts.
struct Places<'a> {
    certificate: &'a str,
    key: &'a str,
    roots: &'a str,
    crl: &'a str,
}

impl Credentials {
    /// Reads a node's files.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what to do.
    pub fn load(files: &Files) -> Result<Self, Error> {
        let certificate = read(&files.certificate)?;
        let key = read(&files.key)?;
        warn_if_others_read(&files.key);
        let roots = read(&files.roots)?;
        let crl = files.crl.as_deref().map(read).transpose()?;
        let shown = |path: &Path| path.display().to_string();
        let places = Places {
            certificate: &shown(&files.certificate),
            key: &shown(&files.key),
            roots: &shown(&files.roots),
            crl: &files.crl.as_deref().map(shown).unwrap_or_default(),
        };
        Self::parse(
            &certificate,
            &key,
            &roots,
            crl.as_ref().map(|text| text.as_slice()),
            &places,
        )
    }

    /// The same from PEM text already in memory.
    ///
    /// # Errors
    /// Names `certificate`, `key`, `roots` or `crl`, what is wrong with it and what to do.
    pub fn from_pem(certificate: &[u8], key: &[u8], roots: &[u8], crl: Option<&[u8]>) -> Result<Self, Error> {
        let places = Places {
            certificate: "certificate",
            key: "key",
            roots: "roots",
            crl: "crl",
        };
        Self::parse(certificate, key, roots, crl, &places)
    }

    fn parse(
        certificate: &[u8],
        key: &[u8],
        roots: &[u8],
        crl: Option<&[u8]>,
        places: &Places<'_>,
    ) -> Result<Self, Error> {
        let chain = certificates(certificate, places.certificate)?;
        let leaf = Leaf::read(&chain[0]).map_err(|cause| {
            fault(
                places.certificate,
                format!("the first certificate {cause}"),
                "put the leaf first",
            )
        })?;
        let Some(scheme) = leaf.scheme else {
            return Err(fault(
                places.certificate,
                format!("a key of the kind {} cannot sign here", leaf.key),
                "issue one with `bartizan ca issue`: ML-DSA-44/65/87, ECDSA on P-256 or P-384, or Ed25519",
            ));
        };
        let certified = certified(chain, key, scheme, places)?;
        let (roots, anchors, subjects) = trusted(roots, places.roots)?;
        Ok(Self {
            leaf,
            scheme,
            chain: certificate::chain(&certified.cert),
            certified: Arc::new(certified),
            roots,
            anchors,
            subjects,
            lists: crl
                .map(|text| revocation_lists(text, places.crl))
                .transpose()?
                .unwrap_or_default(),
            place: places.certificate.to_owned(),
        })
    }

    /// Whether the leaf carries the names this node must be recognised by: every peer would refuse it otherwise.
    ///
    /// # Errors
    /// Says which names it has and which are asked for, with the options of the command that issues one that has them.
    pub fn check_identity(&self, identity: &Identity) -> Result<(), Error> {
        if identity::carries(&self.leaf.names, identity) {
            return Ok(());
        }
        let cause = format!(
            "the certificate carries {}, and the deployment knows this node by {}",
            self.leaf.names.in_words(),
            identity::wanted(identity)
        );
        let hint = format!(
            "issue one that has them: bartizan ca issue{}",
            identity::issue_options(identity)
        );
        Err(fault(&self.place, cause, hint))
    }

    /// The chain sent to peers, leaf first.
    #[must_use]
    pub fn chain(&self) -> &[ledger::Certificate] {
        &self.chain
    }

    /// When the first certificate of the chain ends.
    #[must_use]
    pub fn not_after(&self) -> SystemTime {
        let first = self.chain.iter().map(|certificate| certificate.not_after).min();
        let seconds = first.and_then(|first| u64::try_from(first).ok()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// The scheme this node signs CertificateVerify in.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// When the first revocation list is due to be replaced; none where there is no list, or none says.
    #[must_use]
    pub fn revocation_due(&self) -> Option<SystemTime> {
        let first = self.lists.iter().filter_map(|list| list.next_update).min()?;
        Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(first).ok()?))
    }

    /// The schemes of the signatures on the chain, or the names of algorithms this project verifies none of.
    pub(crate) fn signed_with(&self) -> impl Iterator<Item = Result<SignatureScheme, String>> {
        let chain = self
            .certified
            .cert
            .iter()
            .filter(|der| !certificate::is_self_issued(der));
        chain.filter_map(|der| certificate::signed_with(der).ok())
    }

    pub(crate) fn certified(&self) -> &Arc<CertifiedKey> {
        &self.certified
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    pub(crate) fn subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    pub(crate) fn lists(&self) -> &[RevocationList] {
        &self.lists
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Whether the root behind an anchor is within its dates.
    pub(crate) fn root_is_current(&self, anchor: &TrustAnchor<'_>, now: UnixTime) -> bool {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        self.anchors.iter().zip(&self.roots).any(|(known, root)| {
            known.subject == anchor.subject
                && known.subject_public_key_info == anchor.subject_public_key_info
                && (root.not_before..=root.not_after).contains(&now)
        })
    }
}

impl RevocationList {
    /// Warns once of a list that is honoured although a newer one is due.
    pub(crate) fn warn_if_stale(&self, now: UnixTime) {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if self.next_update.is_some_and(|due| due < now) && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                hint = "publish a new one with `bartizan ca crl`, or write `revocation: require` to refuse instead",
                "a revocation list is out of date: what was revoked since is still accepted"
            );
        }
    }
}

fn fault(place: &str, cause: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::Credentials {
        place: place.to_owned(),
        cause: cause.into(),
        hint: hint.into(),
    }
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let unreadable = |source| Error::Unreadable {
        file: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(std::io::Error::other("not a file")));
    }
    // Reserving all of it at once keeps a key from being copied about while the vector grows.
    let length = usize::try_from(metadata.len().min(LONGEST_FILE)).unwrap_or_default();
    let mut text = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(LONGEST_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(unreadable(std::io::Error::other("longer than 16 MiB")));
    }
    Ok(text)
}

fn warn_if_others_read(key: &Path) {
    if let Ok(metadata) = key.metadata() {
        let mode = metadata.permissions().mode();
        if mode & 0o007 != 0 {
            let mode = format!("{:04o}", mode & 0o7777);
            tracing::warn!(key = %key.display(), %mode, hint = "chmod 600", "everyone on this machine can read the key");
        }
    }
}

fn certificates(text: &[u8], place: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let mut chain = chain.map_err(|error| {
        fault(
            place,
            format!("is not PEM: {error}"),
            "it begins -----BEGIN CERTIFICATE-----",
        )
    })?;
    if chain.is_empty() {
        return Err(fault(
            place,
            "holds no certificate",
            "it begins -----BEGIN CERTIFICATE-----; DER is not read",
        ));
    }
    // A root in the chain costs every handshake its bytes and convinces nobody: it is trusted from a file or not at all.
    while chain.len() > 1 && chain.last().is_some_and(certificate::is_self_issued) {
        chain.pop();
    }
    Ok(chain)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: &[u8],
    scheme: SignatureScheme,
    places: &Places<'_>,
) -> Result<CertifiedKey, Error> {
    let mut der = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
        if contains(key, b"ENCRYPTED") {
            let hint = "a sidecar starts unattended: decrypt it with `openssl pkey` and protect the file by mode 0600";
            fault(places.key, "the key is encrypted", hint)
        } else {
            fault(
                places.key,
                "holds no private key",
                "it begins -----BEGIN PRIVATE KEY-----",
            )
        }
    })?;
    let parsed = any_supported_type(&der);
    der.zeroize();
    let key = parsed.map_err(|_| {
        fault(
            places.key,
            "the key cannot be read",
            "PKCS#8 of ML-DSA (seed, expanded or both), ECDSA on P-256 or P-384, or Ed25519 is read",
        )
    })?;
    let mismatch = || {
        fault(
            places.key,
            format!("the key is not the one of the certificate in {}", places.certificate),
            "both are written together by `bartizan ca issue`",
        )
    };
    // A signature made and verified proves the pair for every kind of key.
    let probe = b"bartizan: does this key belong to this certificate?";
    let signer = key
        .choose_scheme(&[scheme::to_rustls(scheme)])
        .filter(|signer| signer.scheme() == scheme::to_rustls(scheme));
    let signature = signer.and_then(|signer| signer.sign(probe).ok()).ok_or_else(mismatch)?;
    let verifier = scheme::verifier(scheme).ok_or_else(mismatch)?;
    let leaf = EndEntityCert::try_from(&chain[0]).map_err(|error| {
        fault(
            places.certificate,
            format!("the leaf cannot be read: {error}"),
            "reissue it",
        )
    })?;
    leaf.verify_signature(verifier, probe, &signature)
        .map_err(|_| mismatch())?;
    Ok(CertifiedKey::new(chain, key))
}

type Trusted = (Vec<Root>, Vec<TrustAnchor<'static>>, Vec<DistinguishedName>);

fn trusted(text: &[u8], place: &str) -> Result<Trusted, Error> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates.map_err(|error| {
        fault(
            place,
            format!("is not PEM: {error}"),
            "it begins -----BEGIN CERTIFICATE-----",
        )
    })?;
    let (mut roots, mut anchors, mut subjects) = (Vec::new(), Vec::new(), Vec::new());
    for (index, der) in certificates.iter().enumerate() {
        let number = index + 1;
        let unusable = |cause: String| fault(place, format!("certificate {number} {cause}"), "list roots of your CAs");
        let (not_before, not_after) = certificate::validity(der).map_err(unusable)?;
        let anchor = webpki::anchor_from_trusted_cert(der)
            .map_err(|error| unusable(format!("cannot be a root: {error}")))?
            .to_owned();
        subjects.push(DistinguishedName::in_sequence(anchor.subject.as_ref()));
        anchors.push(anchor);
        roots.push(Root { not_before, not_after });
    }
    if anchors.is_empty() {
        let hint = "put the root's certificate there: `bartizan ca issue` writes it as ca.crt.pem";
        return Err(fault(place, "holds no certificate", hint));
    }
    Ok((roots, anchors, subjects))
}

fn revocation_lists(text: &[u8], place: &str) -> Result<Vec<RevocationList>, Error> {
    let hint = "`bartizan ca crl` writes one in PEM";
    let mut lists = Vec::new();
    for (index, der) in CertificateRevocationListDer::pem_slice_iter(text).enumerate() {
        let number = index + 1;
        let der = der.map_err(|error| fault(place, format!("is not PEM: {error}"), hint))?;
        let unusable = |error: String| fault(place, format!("list {number} cannot be used: {error}"), hint);
        let (_, dates) = CertificateRevocationList::from_der(&der).map_err(|error| unusable(error.to_string()))?;
        let list = OwnedCertRevocationList::from_der(&der).map_err(|error| unusable(error.to_string()))?;
        lists.push(RevocationList {
            this_update: dates.last_update().timestamp(),
            next_update: dates.next_update().map(|due| due.timestamp()),
            list: list.into(),
            warned: AtomicBool::new(false),
        });
    }
    if lists.is_empty() {
        return Err(fault(place, "holds no revocation list", hint));
    }
    // The first list of an issuer decides: let it be the newest.
    lists.sort_by_key(|list| std::cmp::Reverse(list.this_update));
    Ok(lists)
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}
