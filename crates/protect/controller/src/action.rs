//! Writes to the API server.

use std::fmt;

use serde_json::Value;

use crate::asked::Cause;

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write the deployment file into the ConfigMap.
    WriteFile {
        /// The file.
        text: String,
        /// Its owner: name and uid of the Network.
        owner: (String, String),
        /// The resourceVersion that is replaced; none where there is no ConfigMap, which must then still be so.
        replaces: Option<String>,
    },
    /// Issue a certificate and write it into a Secret, or ask the issuer for one.
    Issue(Order),
    /// Write the certificate that the issuer has issued for this order into its Secret.
    Take(Order),
    /// Remove a CertificateRequest, and the private key that waited for it.
    Withdraw {
        /// Name of the request.
        request: String,
        /// Its uid: another of this name stays.
        uid: String,
        /// The node, where a key waited.
        node: Option<String>,
        /// The reason why there is no certificate, where that is a failure.
        failure: Option<(Cause, String)>,
    },
    /// Write the authority's newest revocation lists into a Secret of ours.
    WriteList {
        /// Name of the Secret.
        secret: String,
        /// The resourceVersion that is replaced.
        replaces: String,
    },
    /// Write the status of a resource.
    WriteStatus {
        /// Kind of the resource.
        object: Object,
        /// Its name.
        name: String,
        /// All of it.
        status: Value,
    },
}

/// A certificate to issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The node of the deployment file.
    pub node: String,
    /// Name of the Secret.
    pub secret: String,
    /// DNS names.
    pub dns: Vec<String>,
    /// Addresses.
    pub ip: Vec<String>,
    /// URIs.
    pub uri: Vec<String>,
    /// The reason.
    pub why: Why,
    /// The resourceVersion that is replaced; none where there is no Secret, which must then still be so.
    pub replaces: Option<String>,
    /// Its owner: name and uid of the Network. A Secret for a ConfigMap that is not this
    /// controller's has none: it is exchanged by deleting it.
    pub owner: Option<(String, String)>,
}

/// Reason why a certificate is issued, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// There is none.
    Missing,
    /// The stored certificate cannot be read.
    Unreadable,
    /// The key next to it is another one's.
    AnotherKey,
    /// It is revoked.
    Revoked,
    /// Another authority signed it, or another root is next to it.
    AnotherAuthority,
    /// It carries other names than the deployment file lists.
    OtherNames,
    /// The Secret belongs to a Network that is gone.
    AnotherOwner,
    /// It ends soon.
    Ends,
}

/// Kind of a resource that has a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    /// A Network.
    Network,
    /// An Exception.
    Exception,
}

/// Writes that a turn may make, for all namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Certificates that are missing or wrong.
    pub urgent: usize,
    /// Certificates that end soon.
    pub renewals: usize,
    /// Secrets that get newer revocation lists.
    pub lists: usize,
}

/// Work of a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    /// The writes, in this order.
    pub actions: Vec<Action>,
    /// Writes that the budget left for the next turn.
    pub waiting: usize,
    /// Nodes of the deployment file that have a certificate of this controller, or shall have one.
    pub nodes: usize,
    /// Those whose certificate is as it should be.
    pub issued: usize,
    /// Reason why the namespace cannot be served, for the log.
    pub complaint: Option<String>,
}

impl Budget {
    /// A turn's. With a pause of five seconds, 5,000 renewals take 52 minutes.
    pub const TURN: Self = Self {
        urgent: 20,
        renewals: 8,
        lists: 50,
    };

    pub(crate) fn take(left: &mut usize) -> bool {
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "it is missing",
            Self::Unreadable => "what is there is no certificate",
            Self::AnotherKey => "the key is not the certificate's",
            Self::Revoked => "it is revoked",
            Self::AnotherAuthority => "it is of another authority",
            Self::OtherNames => "it has other names than the deployment file",
            Self::AnotherOwner => "its Network is gone",
            Self::Ends => "it ends soon",
        })
    }
}
