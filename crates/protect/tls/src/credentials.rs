//! A node's certificates with their keys, and the roots and revocation lists by which it judges peers.

mod file;
mod flaws;
mod lists;
mod own;
mod pem;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use aws_lc_rs::hmac;
use bartizan_deployment::{CertificateFiles, Files, Identity, Policy, day_of};
use bartizan_pki::{CLOSE_FOLDER, NewestLists, Older, TrustAnchors, open_folder};
use quinn_proto::crypto::HmacKey;
use rustls::DistinguishedName;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use self::file::{read, read_key};
pub use self::flaws::{Flaw, Weight};
use self::lists::Lists;
pub(crate) use self::lists::RevocationList;
pub use self::own::OwnCertificate;
pub(crate) use self::own::Shown;
use self::pem::{Trusted, trusted};
use crate::{Error, Peer, identity};

/// A node's certificates, their keys, trusted roots and revocation lists as loaded. The bytes of a
/// key are cleared once it is parsed, the parsed key when this is dropped.
#[derive(Debug)]
pub struct Credentials {
    /// At least one, in the order of the deployment file.
    own: Vec<OwnCertificate>,
    /// Derived from the first private key.
    reset_key: Arc<hmac::Key>,
    pub(crate) anchors: TrustAnchors,
    pub(crate) subjects: Vec<DistinguishedName>,
    lists: Lists,
    /// Certificates among the roots that are none of an authority: they are not trusted as one.
    not_authorities: Vec<String>,
    roots_place: String,
    crl_place: String,
}

/// Text of a certificate chain and of its private key, with their names in messages.
struct Pair<'a> {
    certificate: &'a [u8],
    key: &'a [u8],
    certificate_place: &'a str,
    key_place: &'a str,
}

/// Names in messages of the files of trust.
struct Places<'a> {
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
        let own = files.certificates.iter().map(own_pair).collect::<Result<_, _>>()?;
        let roots = read(&files.roots)?;
        let crl = files.crl.as_deref().map(read).transpose()?;
        let places = Places {
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
        Self::assemble(own, &roots, crl.transpose()?, &places)
    }

    /// The same from PEM text already in memory.
    ///
    /// # Errors
    /// Names `certificate`, `key`, `roots` or `crl`, what is wrong with it and what to do.
    pub fn from_pem(certificate: &[u8], key: &[u8], roots: &[u8], crl: Option<&[u8]>) -> Result<Self, Error> {
        Self::from_several(&[(certificate, key)], roots, crl)
    }

    /// The same with several certificates, each with its key.
    ///
    /// # Errors
    /// As [`Credentials::from_pem`].
    pub fn from_several(own: &[(&[u8], &[u8])], roots: &[u8], crl: Option<&[u8]>) -> Result<Self, Error> {
        let read = |&(certificate, key): &(&[u8], &[u8])| {
            let pair = Pair {
                certificate,
                key,
                certificate_place: "certificate",
                key_place: "key",
            };
            Ok((OwnCertificate::read(&pair)?, reset_key(key)))
        };
        let own: Result<Vec<_>, Error> = own.iter().map(read).collect();
        let places = Places {
            roots: "roots",
            crl: "crl",
        };
        let crl = crl.map(|text| (text, NewestLists::default()));
        Self::assemble(own?, roots, crl, &places)
    }

    fn assemble(
        own: Vec<(OwnCertificate, hmac::Key)>,
        roots: &[u8],
        crl: Option<(&[u8], NewestLists)>,
        places: &Places<'_>,
    ) -> Result<Self, Error> {
        let (own, mut reset_keys): (Vec<_>, Vec<_>) = own.into_iter().unzip();
        if own.is_empty() {
            let hint = "name a certificate and its key";
            return Err(fault("certificates", "the node has no certificate", hint));
        }
        let Trusted {
            anchors,
            subjects,
            certificates,
            not_authorities,
        } = trusted(roots, places.roots)?;
        let certificates: Vec<&[u8]> = certificates.iter().map(AsRef::as_ref).collect();
        let chains = own.iter().flat_map(|own| &own.certified.cert);
        let chains: Vec<&[u8]> = chains.map(AsRef::as_ref).collect();
        let lists = crl.map(|(text, newest)| Lists::read(text, places.crl, newest, (&certificates, &chains)));
        let lists = lists.transpose()?.unwrap_or_default();
        Ok(Self {
            own,
            reset_key: Arc::new(reset_keys.swap_remove(0)),
            anchors,
            subjects,
            lists,
            not_authorities,
            roots_place: places.roots.to_owned(),
            crl_place: places.crl.to_owned(),
        })
    }

    /// Checks that each leaf carries the names this node must be recognised by: every peer would refuse it otherwise.
    ///
    /// # Errors
    /// Says which names it has and which are asked for, with the options of the command that issues one that has them.
    pub fn check_identity(&self, identity: &Identity) -> Result<(), Error> {
        let lacks = |own: &&OwnCertificate| !identity::carries(&own.names, identity);
        let Some(own) = self.own.iter().find(lacks) else {
            return Ok(());
        };
        let cause = format!(
            "the certificate carries {}, and the deployment knows this node by {}",
            own.names.in_words(),
            identity::wanted(identity)
        );
        let hint = format!(
            "issue one that has them: `bartizan ca issue{}{}`",
            identity::issue_options(identity),
            own.place_options()
        );
        Err(fault(&own.place, cause, hint))
    }

    /// The node's certificates, in the order of the deployment file. Never empty.
    pub fn own(&self) -> &[OwnCertificate] {
        &self.own
    }

    /// Those that the policy of any of these peers accepts now; all of them where there is no peer.
    pub fn in_use<'a>(&'a self, peers: &'a [Peer], now: SystemTime) -> impl Iterator<Item = &'a OwnCertificate> {
        let today = day_of(now);
        let policies: Vec<_> = peers.iter().map(|peer| peer.policy.in_effect(today)).collect();
        self.own.iter().filter(move |own| {
            let suits = |policy: &Policy| own.suits(&policy.signatures, &policy.chain_signatures);
            policies.is_empty() || policies.iter().any(suits)
        })
    }

    /// The key by which this node's processes, one after the other, reset QUIC connections that
    /// they do not know.
    pub fn reset_key(&self) -> Arc<dyn HmacKey> {
        Arc::clone(&self.reset_key) as _
    }

    /// When the first revocation list is due to be replaced; none where there is no list, or none says.
    pub fn revocation_due(&self) -> Option<SystemTime> {
        let given = self.lists.in_effect.iter().filter(|list| list.is_given);
        given.filter_map(|list| list.list.next_update()).min()
    }

    /// Revocation lists of the file that are refused, as newer ones were seen before.
    pub fn older_lists(&self) -> &[Older] {
        &self.lists.older
    }

    /// The file by which the newest lists outlive this process; none where no folder is named for
    /// it.
    pub fn known_lists(&self) -> Option<&Path> {
        self.lists.newest.file()
    }

    /// Writes the newest lists to that file, where there is one.
    ///
    /// # Errors
    /// Fails if it cannot be written: an older list is accepted after the next restart then.
    pub fn remember_lists(&self) -> Result<(), Error> {
        let place = self.known_lists().map(|file| file.display().to_string());
        self.lists.newest.save().map_err(|error| {
            let hint = "let this user write in the folder `trust: { state }`: until then an older list is accepted after a restart";
            fault(&place.unwrap_or_default(), error.to_string(), hint)
        })
    }

    pub(crate) fn lists(&self) -> &[RevocationList] {
        &self.lists.in_effect
    }
}

/// A server's chain and key, without roots.
pub(crate) fn server(certificate: &Path, key: &Path) -> Result<OwnCertificate, Error> {
    let files = CertificateFiles {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
    };
    Ok(own_pair(&files)?.0)
}

/// Reads a certificate and its key.
fn own_pair(files: &CertificateFiles) -> Result<(OwnCertificate, hmac::Key), Error> {
    let (certificate, key) = (read(&files.certificate)?, read_key(&files.key)?);
    let mut own = OwnCertificate::read(&Pair {
        certificate: &certificate,
        key: &key,
        certificate_place: &shown(&files.certificate),
        key_place: &shown(&files.key),
    })?;
    own.of_folder = open_folder(&files.key).map(|(folder, cause)| Flaw {
        place: shown(&folder),
        cause,
        hint: CLOSE_FOLDER.to_owned(),
        weight: Weight::Warning,
    });
    Ok((own, reset_key(&key)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
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
