//! Observations of a namespace, and the circumstances under which it is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use bartizan_registry::SignatureScheme;
use serde_json::Value;

use crate::asked::{Asked, Cause, Stray};
use crate::protection::{Finding, Protection};

/// SHA-256 of a PEM text.
pub type Digest = [u8; 32];

/// Metadata of an object, as far as it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Its name.
    pub name: String,
    /// Its uid, which no other object ever has.
    pub uid: String,
    /// Its resourceVersion.
    pub version: String,
    /// Its generation: counts changes of its spec.
    pub generation: i64,
    /// Time of its creation, as the API server writes it (RFC 3339, UTC), so that texts sort by
    /// time.
    pub created: String,
    /// True if it is labelled as this controller's.
    pub managed: bool,
    /// The uid of its owner that is a Network.
    pub owner: Option<String>,
}

/// A Network: the deployment file of its namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// Its metadata.
    pub meta: Meta,
    /// The deployment file.
    pub spec: Value,
    /// Its status as it is stored.
    pub status: Value,
}

/// An Exception: classical handshakes at one interface, for a reason, until a day.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exception {
    /// Its metadata.
    pub meta: Meta,
    /// Network, interface, nodes, reason and last day.
    pub spec: Value,
    /// Its status as it is stored.
    pub status: Value,
}

/// The ConfigMap that pods mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigMap {
    /// Its metadata.
    pub meta: Meta,
    /// Its deployment file, where it has one.
    pub file: Option<String>,
}

/// A Secret that is labelled as this controller's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secret {
    /// Its metadata.
    pub meta: Meta,
    /// Its certificate, where it has one that can be read.
    pub certificate: Option<Certificate>,
    /// Its `ca.crt`.
    pub root: Option<Digest>,
    /// Its `ca.crl`.
    pub list: Option<Digest>,
}

/// Facts about a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Subject alternative names, `DNS:amf`.
    pub names: BTreeSet<String>,
    /// First second of validity.
    pub not_before: SystemTime,
    /// Last second of validity.
    pub not_after: SystemTime,
    /// Its serial number as the authority writes it.
    pub serial: String,
    /// True if the authority's issuing certificate has signed it. For an issuer elsewhere, true if
    /// that issuer has, and the chain leads to the root next to it.
    pub of_this_authority: bool,
    /// True if the key next to it is its key.
    pub key_matches: bool,
}

/// Pods of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pods {
    /// Pods that have not ended.
    pub all: usize,
    /// Those whose sidecar answers `/ready`.
    pub ready: usize,
    /// Those of these whose sidecar has said what it carries.
    pub answered: usize,
    /// The worst that one of them said.
    pub found: Option<(Finding, Box<str>)>,
    /// The reason why one of them has said nothing.
    pub silent: Option<Box<str>>,
}

impl Pods {
    /// Counts a pod that has not ended, and what its sidecar said, where it is ready.
    pub fn count(&mut self, said: Option<&Protection>) {
        self.all += 1;
        let Some(said) = said else {
            return;
        };
        self.ready += 1;
        match said {
            Protection::NotAsked => {}
            Protection::Silent(why) => self.silent = Some(why.clone()),
            Protection::Protected => self.answered += 1,
            Protection::Found(finding, why) => {
                self.answered += 1;
                if self.found.as_ref().is_none_or(|(worst, _)| finding < worst) {
                    self.found = Some((*finding, why.clone()));
                }
            }
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its cause.
    pub cause: Cause,
    /// The reason.
    pub reason: String,
    /// Number of failures in a row.
    pub count: u32,
    /// Not attempted again before.
    pub again: SystemTime,
}

/// A namespace as it is observed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Its name.
    pub namespace: String,
    /// Its Networks.
    pub networks: Vec<Network>,
    /// Its Exceptions.
    pub exceptions: Vec<Exception>,
    /// The ConfigMap of the configured name.
    pub config_map: Option<ConfigMap>,
    /// This controller's Secrets, by name.
    pub secrets: BTreeMap<String, Secret>,
    /// Names of Secrets that are not this controller's.
    pub foreign: BTreeSet<String>,
    /// Pods by the node that their annotation names.
    pub pods: BTreeMap<String, Pods>,
    /// Attempts to issue that failed, by node.
    pub failures: BTreeMap<String, Failure>,
    /// Nodes whose Secret was written a moment ago, and may not be observed yet.
    pub held: BTreeSet<String>,
    /// CertificateRequests that are waited for, by node.
    pub asked: BTreeMap<String, Asked>,
    /// CertificateRequests of this controller that no node waits for.
    pub strays: BTreeSet<Stray>,
}

/// The certificate authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// It issues.
    Ready {
        /// Its root certificate.
        root: Digest,
        /// Its newest revocation lists, where it has signed some.
        list: Option<Digest>,
        /// Serial numbers on them.
        revoked: BTreeSet<String>,
        /// Lists that cannot be renewed, each with its issuer, its end and the reason.
        unrenewed: Vec<String>,
    },
    /// An issuer of cert-manager issues.
    Elsewhere {
        /// Its root certificates, where they are configured.
        root: Option<Digest>,
        /// The scheme in which the keys that it certifies sign.
        signs: SignatureScheme,
    },
    /// It cannot be used, for this reason.
    Unavailable(String),
}

/// Configuration of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name of the ConfigMap.
    pub config_map: String,
    /// Prefix of a Secret's name, before the node's name.
    pub secret_prefix: String,
    /// Time before its end at which a certificate is renewed; a third of its lifetime where this is
    /// left out.
    pub renew_before: Option<Duration>,
    /// True if sidecars are asked what they carry.
    pub state: bool,
    /// Largest difference of this machine's clock from the API server's. Certificates are valid
    /// from five minutes before they are issued.
    pub clock_tolerance: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            config_map: "bartizan".to_owned(),
            secret_prefix: "bartizan-".to_owned(),
            renew_before: None,
            state: true,
            clock_tolerance: Duration::from_secs(120),
        }
    }
}

impl Settings {
    /// Returns true if a clock with this difference from the API server's may be trusted with dates
    /// of certificates and revocation lists.
    #[must_use]
    pub fn is_right(&self, skew: i64) -> bool {
        skew.unsigned_abs() <= self.clock_tolerance.as_secs()
    }
}

/// Circumstances of a decision, besides the namespace.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// This machine's time.
    pub now: SystemTime,
    /// Difference from the API server's time in seconds: positive where this machine's clock is
    /// ahead.
    pub skew: i64,
    /// The authority.
    pub authority: &'a Authority,
    /// Configuration of the controller.
    pub settings: &'a Settings,
}

impl Circumstances<'_> {
    /// Returns true if the clock may be trusted with certificates' dates.
    #[must_use]
    pub fn clock_is_right(&self) -> bool {
        self.settings.is_right(self.skew)
    }
}
