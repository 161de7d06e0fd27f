//! A CertificateRequest (cert-manager.io/v1): what became of it, and whether what was issued is what was asked for.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::objects::{Certificate, Circumstances};
use crate::renewal::renew_at;

/// The annotation of a Secret that names the issuer of its certificate.
pub const ISSUER: &str = "bartizan/issuer";

/// So many wait for an answer at a time in a namespace: their keys are in memory.
pub(crate) const MOST: usize = 64;
/// After so long without an answer it is asked again. A person may have to approve.
pub(crate) const PATIENCE: Duration = Duration::from_secs(86_400);

/// A request whose private key this process has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its name.
    pub request: String,
    /// Its uid.
    pub uid: String,
    /// The names that it asks for, as certificates' are written.
    pub names: BTreeSet<String>,
    /// The time at which it was written.
    pub since: SystemTime,
    /// Its state.
    pub answer: Answer,
}

/// A request of this controller whose private key is lost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stray {
    /// Its name.
    pub request: String,
    /// Its uid.
    pub uid: String,
}

/// State of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet: what it waits for.
    Waiting(String),
    /// It was issued.
    Issued {
        /// The chain, leaf first: PEM, and that in Base64.
        certificate: String,
        /// The root as the issuer knows it, in the same form; many give none.
        root: Option<String>,
    },
    /// It never will be, for this reason.
    Refused(Cause, String),
    /// It is not there any more.
    Gone,
}

bartizan_registry::named! {
    /// Reason why an attempt failed, as the condition `Issued` gives it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Cause, word {
        /// It was not approved.
        Denied = "Denied",
        /// The issuer finds the request wrong.
        InvalidRequest = "InvalidRequest",
        /// Anything else.
        #[default]
        Failed = "Failed",
    }
}

/// An issued certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The certificate. Its mark of being this authority's has no meaning yet.
    pub certificate: Certificate,
    /// True if it may sign certificates.
    pub is_authority: bool,
    /// True if peers take it from a client and from a server.
    pub is_for_both_ends: bool,
    /// Objection of peers with that root to the chain.
    pub flaw: Option<String>,
}

impl Answer {
    /// Reads the status of a request.
    pub fn of(status: &Value) -> Self {
        let condition = |kind: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.clone().find(|one| one["type"] == kind)
        };
        let holds = |kind: &str| condition(kind).filter(|one| one["status"] == "True");
        if let Some(one) = holds("Denied") {
            return Self::Refused(Cause::Denied, said(one));
        }
        if let Some(one) = holds("InvalidRequest") {
            return Self::Refused(Cause::InvalidRequest, said(one));
        }
        let ready = condition("Ready");
        let certificate = status["certificate"].as_str().filter(|text| !text.is_empty());
        match (ready, certificate) {
            (Some(one), Some(certificate)) if one["status"] == "True" => Self::Issued {
                certificate: certificate.to_owned(),
                root: status["ca"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
            },
            (Some(one), _) if one["status"] == "False" && one["reason"] == "Denied" => {
                Self::Refused(Cause::Denied, said(one))
            }
            (Some(one), _) if one["status"] == "False" && one["reason"] == "Failed" => {
                Self::Refused(Cause::Failed, said(one))
            }
            _ if holds("Approved").is_none() => Self::Waiting("is not approved yet".to_owned()),
            (Some(one), _) => Self::Waiting(format!("is approved and not issued yet: {}", said(one))),
            (None, _) => Self::Waiting("is approved, and no issuer has looked at it yet".to_owned()),
        }
    }
}

/// A condition's reason and message in one line, which another program has written.
fn said(condition: &Value) -> String {
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    let line: String = format!("{}: {}", text("reason"), text("message"))
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect();
    line.trim_matches([' ', ':']).to_owned()
}

impl Received {
    /// The reason why it must not be written into the Secret of a node; none where it is what was
    /// asked for.
    #[must_use]
    pub fn fault(
        &self,
        names: &BTreeSet<String>,
        namespace: &str,
        node: &str,
        circumstances: &Circumstances<'_>,
    ) -> Option<String> {
        let certificate = &self.certificate;
        if !certificate.key_matches {
            return Some("the certificate issued is of another key than the request's".to_owned());
        }
        if self.is_authority {
            return Some("the certificate issued is an authority's, which may sign others".to_owned());
        }
        let (asked, carried) = (lower(names), lower(&certificate.names));
        if let Some(name) = asked.difference(&carried).next() {
            return Some(format!("the certificate issued lacks the name {name}"));
        }
        if let Some(name) = carried.difference(&asked).next() {
            return Some(format!(
                "the certificate issued has the name {name}, which was not asked for"
            ));
        }
        if !self.is_for_both_ends {
            return Some(
                "the certificate issued is not for TLS clients and servers both, by its extended key usage".to_owned(),
            );
        }
        let tolerated = circumstances.now + circumstances.settings.clock_tolerance;
        if certificate.not_before > tolerated {
            return Some("the certificate issued is not valid yet; hint: compare the clocks".to_owned());
        }
        let due = renew_at(certificate, circumstances.settings.renew_before, namespace, node);
        if due <= circumstances.now {
            return Some("the certificate issued would have to be renewed at once; hint: the issuer's own certificate may end soon".to_owned());
        }
        self.flaw.clone()
    }
}

pub(crate) fn lower(names: &BTreeSet<String>) -> BTreeSet<String> {
    names.iter().map(|name| name.to_ascii_lowercase()).collect()
}
