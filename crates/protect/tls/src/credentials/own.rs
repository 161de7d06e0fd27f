//! One certificate of a node: chain, private key, and the policies it suits.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;
use rustls::pki_types::UnixTime;
use rustls::sign::CertifiedKey;

use super::pem::{certificates, certified};
use super::{Flaw, Pair, fault};
use crate::certificate::{self, Leaf, Names};
use crate::{Error, scheme};

/// The public part of a certificate of a node, which outlives its private key in sessions.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) scheme: SignatureScheme,
    /// Leaf first.
    pub(crate) chain: Arc<[ledger::Certificate]>,
    /// Schemes of the signatures on the chain, or the names of algorithms that this project does
    /// not verify.
    signed_with: Vec<Result<SignatureScheme, String>>,
    /// A forger with a quantum computer can forge neither its key's signatures nor its chain.
    pub(crate) quantum_safe: bool,
}

impl Shown {
    /// A policy with these schemes of CertificateVerify and of certificates accepts it.
    pub(crate) fn suits(&self, signatures: &[SignatureScheme], chain_signatures: &[SignatureScheme]) -> bool {
        signatures.contains(&self.scheme) && self.chain_is_signed_by(|code| chain_signatures.contains(&code))
    }

    /// Its chain is signed in accepted schemes alone.
    pub(crate) fn chain_is_signed_by(&self, accepts: impl Fn(SignatureScheme) -> bool) -> bool {
        let accepted = |signed: &Result<SignatureScheme, String>| signed.as_ref().is_ok_and(|&code| accepts(code));
        self.signed_with.iter().all(accepted)
    }
}

/// One certificate of a node with its private key.
#[derive(Debug)]
pub struct OwnCertificate {
    pub(crate) names: Names,
    pub(crate) certified: Arc<CertifiedKey>,
    pub(crate) shown: Arc<Shown>,
    /// Seconds since 1970 in which all of the chain is valid, the first and the last.
    valid: (i64, i64),
    /// The file it came from, for messages.
    pub place: String,
    /// Flaw of the folder of its key.
    pub(super) of_folder: Option<Flaw>,
}

impl OwnCertificate {
    pub(super) fn read(pair: &Pair<'_>) -> Result<Self, Error> {
        let place = pair.certificate_place;
        let chain = certificates(pair.certificate, place)?;
        let leaf = Leaf::read(&chain[0])
            .map_err(|cause| fault(place, format!("the first certificate {cause}"), "put the leaf first"))?;
        let Some(scheme) = leaf.scheme else {
            let cause = format!("a key of the kind {} cannot sign here", leaf.key);
            let hint =
                "issue one with `bartizan ca issue --dns NAME`: ML-DSA-44/65/87, ECDSA on P-256 or P-384, or Ed25519";
            return Err(fault(place, cause, hint));
        };
        let certified = certified(chain, scheme, pair)?;
        let signed = certified.cert.iter().filter(|der| !certificate::is_self_issued(der));
        let signed_with: Vec<_> = signed.filter_map(|der| certificate::signed_with(der).ok()).collect();
        let safe = |signed: &Result<_, _>| signed.as_ref().is_ok_and(|&code| scheme::quantum_safe(code));
        let validity = certified.cert.iter().filter_map(|der| certificate::validity(der).ok());
        let valid = validity.fold((0, i64::MAX), |(begins, ends), (from, until)| {
            (from.max(begins), until.min(ends))
        });
        Ok(Self {
            names: leaf.names,
            shown: Arc::new(Shown {
                scheme,
                chain: certificate::chain(&certified.cert).into(),
                quantum_safe: scheme::quantum_safe(scheme) && signed_with.iter().all(safe),
                signed_with,
            }),
            valid,
            certified: Arc::new(certified),
            place: place.to_owned(),
            of_folder: None,
        })
    }

    /// The chain sent to peers, leaf first.
    pub fn chain(&self) -> &[ledger::Certificate] {
        &self.shown.chain
    }

    /// All of the chain is valid now.
    pub(crate) fn is_current(&self, now: UnixTime) -> bool {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        (self.valid.0..=self.valid.1).contains(&now)
    }

    /// Command that renews it, as it is typed next to the authority.
    pub fn renewal(&self) -> String {
        let serial = self.shown.chain.first().map_or("NAME", |leaf| leaf.serial.as_str());
        format!("`bartizan ca renew {serial}{} --force`", self.out())
    }

    /// Option of `ca issue` and `ca renew` that writes to the folder of its file.
    fn out(&self) -> String {
        let folder = Path::new(&self.place).parent();
        match folder.filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => format!(" --out {}", folder.display()),
            None => String::new(),
        }
    }

    /// Options of `ca issue` that write one in its place.
    pub(super) fn place_options(&self) -> String {
        let file = Path::new(&self.place).file_name().and_then(|name| name.to_str());
        let name = file.and_then(|file| file.strip_suffix(".crt.pem"));
        let name = name.map_or_else(String::new, |name| format!(" --name {name}"));
        format!("{name}{} --force", self.out())
    }

    /// The scheme its key signs CertificateVerify in.
    pub fn scheme(&self) -> SignatureScheme {
        self.shown.scheme
    }

    /// A forger with a quantum computer can forge neither its key's signatures nor its chain.
    #[must_use]
    pub fn is_quantum_safe(&self) -> bool {
        self.shown.quantum_safe
    }

    /// First and last moment of the leaf.
    pub fn validity(&self) -> (SystemTime, SystemTime) {
        let leaf = self.certified.cert.first();
        let validity = leaf.and_then(|leaf| certificate::validity(leaf).ok());
        let (begins, ends) = validity.unwrap_or_default();
        (moment(begins), moment(ends))
    }

    /// When the last certificate of the chain begins.
    pub(super) fn not_before(&self) -> SystemTime {
        moment(self.valid.0)
    }

    /// When the first certificate of the chain ends.
    pub fn not_after(&self) -> SystemTime {
        moment(self.valid.1)
    }

    /// A policy with these schemes of CertificateVerify and of certificates accepts it.
    #[must_use]
    pub fn suits(&self, signatures: &[SignatureScheme], chain_signatures: &[SignatureScheme]) -> bool {
        self.shown.suits(signatures, chain_signatures)
    }

    /// The schemes of the signatures on the chain.
    pub(crate) fn signed_with(&self) -> &[Result<SignatureScheme, String>] {
        &self.shown.signed_with
    }
}

fn moment(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
