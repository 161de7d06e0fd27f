//! What a node proves itself with, and whom it trusts.

mod file;
mod flaws;
mod pem;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use bartizan_deployment::{Files, Identity};
use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;
use quinn_proto::crypto::HmacKey;
use rustls::DistinguishedName;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use rustls::sign::CertifiedKey;
use webpki::CertRevocationList;

use self::file::{read, warn_if_others_read};
pub use self::flaws::{Flaw, Weight};
use self::pem::{Trusted, certificates, certified, revocation_lists, trusted};
use crate::certificate::{self, Leaf};
use crate::{Error, identity};

/// A node's chain, key, trusted roots and revocation lists as loaded. The bytes of the key are cleared once it is parsed, the
/// parsed key when this is dropped.
#[derive(Debug)]
pub struct Credentials {
    leaf: Leaf,
    scheme: SignatureScheme,
    certified: Arc<CertifiedKey>,
    /// Derived from the private key.
    reset_key: Arc<hmac::Key>,
    chain: Vec<ledger::Certificate>,
    roots: Vec<Root>,
    anchors: Vec<TrustAnchor<'static>>,
    subjects: Vec<DistinguishedName>,
    lists: Vec<RevocationList>,
    /// Certificates among the roots that are none of an authority: they are not trusted as one.
    not_authorities: Vec<String>,
    /// Where the certificate came from, for messages.
    place: String,
    roots_place: String,
    crl_place: String,
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
    /// Whose it is.
    issuer: String,
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
        let (leaf, scheme, certified) = own(certificate, key, places)?;
        let Trusted {
            roots,
            anchors,
            subjects,
            not_authorities,
        } = trusted(roots, places.roots)?;
        Ok(Self {
            leaf,
            scheme,
            reset_key: Arc::new(reset_key(key)),
            chain: certificate::chain(&certified.cert),
            certified: Arc::new(certified),
            roots,
            anchors,
            subjects,
            lists: crl
                .map(|text| revocation_lists(text, places.crl))
                .transpose()?
                .unwrap_or_default(),
            not_authorities,
            place: places.certificate.to_owned(),
            roots_place: places.roots.to_owned(),
            crl_place: places.crl.to_owned(),
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

    /// The key by which this node's processes, one after the other, reset QUIC connections that
    /// they do not know.
    #[must_use]
    pub fn reset_key(&self) -> Arc<dyn HmacKey> {
        Arc::clone(&self.reset_key) as _
    }

    /// The first and the last moment of the leaf.
    #[must_use]
    pub fn validity(&self) -> (SystemTime, SystemTime) {
        let leaf = self
            .certified
            .cert
            .first()
            .and_then(|leaf| certificate::validity(leaf).ok());
        let (begins, ends) = leaf.unwrap_or_default();
        let moment = |seconds: i64| UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        (moment(begins), moment(ends))
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
                && root.is_current(now)
        })
    }
}

impl Root {
    fn is_current(&self, now: i64) -> bool {
        (self.not_before..=self.not_after).contains(&now)
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

/// A server's chain and key, without anybody it would trust.
pub(crate) fn server(certificate: &Path, key: &Path) -> Result<(SignatureScheme, CertifiedKey), Error> {
    let (text, secret) = (read(certificate)?, read(key)?);
    warn_if_others_read(key);
    let shown = |path: &Path| path.display().to_string();
    let places = Places {
        certificate: &shown(certificate),
        key: &shown(key),
        roots: "",
        crl: "",
    };
    let (_, scheme, certified) = own(&text, &secret, &places)?;
    Ok((scheme, certified))
}

/// What proves who one is: the leaf, the scheme its key signs in, chain and key.
fn own(certificate: &[u8], key: &[u8], places: &Places<'_>) -> Result<(Leaf, SignatureScheme, CertifiedKey), Error> {
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
    Ok((leaf, scheme, certified))
}

/// The certificates of a file of roots, each as it stands there.
pub(crate) fn trusted_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read(file)?;
    let place = file.display().to_string();
    let begins = "it begins -----BEGIN CERTIFICATE-----";
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|error| fault(&place, format!("is not PEM: {error}"), begins))?;
    if all.is_empty() {
        return Err(fault(&place, "holds no certificate", begins));
    }
    Ok(all)
}

/// The key of stateless resets (RFC 9000, section 10.3.2): the same in each process that has this
/// private key.
fn reset_key(private_key: &[u8]) -> hmac::Key {
    let private_key = hmac::Key::new(hmac::HMAC_SHA256, private_key);
    let derived = hmac::sign(&private_key, b"bartizan: QUIC stateless reset");
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

fn fault(place: &str, cause: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::Credentials {
        place: place.to_owned(),
        cause: cause.into(),
        hint: hint.into(),
    }
}
