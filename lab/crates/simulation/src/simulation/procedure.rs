//! Procedures between a site and a gateway: exchanges of a request and an answer, one after the
//! other.

use serde::{Deserialize, Serialize};

/// One direction of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Bytes on the link, headers of IP included.
    pub bytes: u32,
    /// Packets it travels in, each of which can be lost.
    pub packets: u16,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// As its standard names it: `IKE_SA_INIT`.
    pub name: String,
    /// The site's message.
    pub request: Message,
    /// The gateway's message.
    pub answer: Message,
    /// Time of the site's processor before the request leaves, in nanoseconds.
    pub site_ns: u64,
    /// Time of a core of the gateway for request and answer, in nanoseconds.
    pub gateway_ns: u64,
    /// True if packets that arrived count when the message is sent again. IKE fragments (RFC 7383,
    /// section 2.6) and TCP segments do, IP fragments do not.
    pub keeps: bool,
}

/// Exchanges that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    /// In their order; at least one.
    pub exchanges: Vec<Exchange>,
    /// Time of the site's processor after the last answer, in nanoseconds.
    pub after_ns: u64,
}

impl Procedure {
    /// Time of the gateway's cores for all of it, in nanoseconds.
    #[must_use]
    pub fn gateway_ns(&self) -> u64 {
        self.exchanges.iter().map(|exchange| exchange.gateway_ns).sum()
    }

    /// Bytes in both directions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let both = |exchange: &Exchange| u64::from(exchange.request.bytes) + u64::from(exchange.answer.bytes);
        self.exchanges.iter().map(both).sum()
    }

    /// Packets in both directions.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let both = |exchange: &Exchange| u64::from(exchange.request.packets) + u64::from(exchange.answer.packets);
        self.exchanges.iter().map(both).sum()
    }
}

/// Kind of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum ProcedureKind {
    /// A whole set-up with certificates.
    SetUp = 0,
    /// A set-up that resumes a session.
    Resume = 1,
    /// Dead peer detection.
    DeadPeer = 2,
    /// New keys of a CHILD_SA.
    RekeyChild = 3,
    /// New keys of the IKE_SA.
    RekeyIke = 4,
    /// A new certificate.
    Renew = 5,
    /// A list of revoked certificates.
    FetchList = 6,
}

/// One of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedures {
    /// A whole set-up.
    pub set_up: Procedure,
    /// A set-up that resumes a session, where the protocol and the plan have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Procedure>,
    /// Dead peer detection.
    pub dead_peer: Procedure,
    /// CREATE_CHILD_SA for a CHILD_SA.
    pub rekey_child: Procedure,
    /// CREATE_CHILD_SA for the IKE_SA.
    pub rekey_ike: Procedure,
    /// A request for a certificate and the certificate.
    pub renew: Procedure,
    /// A request for a CRL and the CRL.
    pub fetch_list: Procedure,
}

impl Procedures {
    /// That of a kind; a whole set-up where sessions are not resumed.
    #[must_use]
    pub fn of(&self, kind: ProcedureKind) -> &Procedure {
        match kind {
            ProcedureKind::SetUp => &self.set_up,
            ProcedureKind::Resume => self.resume.as_ref().unwrap_or(&self.set_up),
            ProcedureKind::DeadPeer => &self.dead_peer,
            ProcedureKind::RekeyChild => &self.rekey_child,
            ProcedureKind::RekeyIke => &self.rekey_ike,
            ProcedureKind::Renew => &self.renew,
            ProcedureKind::FetchList => &self.fetch_list,
        }
    }

    /// All there are.
    pub fn all(&self) -> impl Iterator<Item = &Procedure> {
        [
            &self.set_up,
            &self.dead_peer,
            &self.rekey_child,
            &self.rekey_ike,
            &self.renew,
            &self.fetch_list,
        ]
        .into_iter()
        .chain(&self.resume)
    }
}
