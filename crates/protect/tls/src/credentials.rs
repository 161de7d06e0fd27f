//! What a node proves itself with, and whom it trusts.

mod file;
mod flaws;
mod lists;
mod pem;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use bartizan_deployment::{Files, Identity};
use bartizan_ledger as ledger;
use bartizan_pki::{NewestLists, Older};
use bartizan_registry::SignatureScheme;
use quinn_proto::crypto::HmacKey;
use rustls::DistinguishedName;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use rustls::sign::CertifiedKey;

use self::file::{read, warn_if_others_read};
pub use self::flaws::{Flaw, Weight};
use self::lists::Lists;
pub(crate) use self::lists::RevocationList;
use self::pem::{Trusted, certificates, certified, trusted};
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
    lists: Lists,
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
        Self::read(files, None)
    }

    /// Reads them again: revocation lists that are older than those of `self` do not take their
    /// place.
    ///
    /// # Errors
    /// As [`Credentials::load`].
    pub fn load_again(&self, files: &Files) -> Result<Self, Error> {
        Self::read(files, Some(self))
    }

    fn read(files: &Files, before: Option<&Self>) -> Result<Self, Error> {
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
        let crl = crl.as_ref().map(|text| -> Result<_, Error> {
            let before = before.map(|before| &before.lists.newest);
            Ok((
                text.as_slice(),
                lists::seen_before(files.known_lists.as_deref(), before)?,
            ))
        });
        Self::parse(&certificate, &key, &roots, crl.transpose()?, &places)
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
        let crl = crl.map(|text| (text, NewestLists::default()));
        Self::parse(certificate, key, roots, crl, &places)
    }

    fn parse(
        certificate: &[u8],
        key: &[u8],
        roots: &[u8],
        crl: Option<(&[u8], NewestLists)>,
        places: &Places<'_>,
    ) -> Result<Self, Error> {
        let (leaf, scheme, certified) = own(certificate, key, places)?;
        let Trusted {
            roots,
            anchors,
            subjects,
            certificates,
            not_authorities,
        } = trusted(roots, places.roots)?;
        let (certificates, own): (Vec<&[u8]>, Vec<&[u8]>) = (
            certificates.iter().map(AsRef::as_ref).collect(),
            certified.cert.iter().map(AsRef::as_ref).collect(),
        );
        let lists = crl.map(|(text, newest)| Lists::read(text, places.crl, newest, (&certificates, &own)));
        let lists = lists.transpose()?.unwrap_or_default();
        Ok(Self {
            leaf,
            scheme,
            reset_key: Arc::new(reset_key(key)),
            chain: certificate::chain(&certified.cert),
            certified: Arc::new(certified),
            roots,
            anchors,
            subjects,
            lists,
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
        let given = self.lists.in_effect.iter().filter(|list| list.is_given);
        given.filter_map(|list| list.list.next_update()).min()
    }

    /// Revocation lists of the file that are refused, as newer ones were seen before.
    #[must_use]
    pub fn older_lists(&self) -> &[Older] {
        &self.lists.older
    }

    /// The file by which the newest lists outlive this process; none where no folder is named for
    /// it.
    #[must_use]
    pub fn known_lists(&self) -> Option<&Path> {
        self.lists.newest.file()
    }

    /// Writes the newest lists to that file, where there is one.
    ///
    /// # Errors
    /// Where it cannot be written: an older list is accepted after the next restart then.
    pub fn remember_lists(&self) -> Result<(), Error> {
        let place = self.known_lists().map(|file| file.display().to_string());
        self.lists.newest.save().map_err(|error| {
            let hint = "let this user write in the folder `trust: { state }`: until then an older list is accepted after a restart";
            fault(&place.unwrap_or_default(), error.to_string(), hint)
        })
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
        &self.lists.in_effect
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
