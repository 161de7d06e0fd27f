//! Judging an open connection again, as if its handshake ended now.
//!
//! Files change and time passes while a connection is open: a peer is taken out of the deployment
//! file, a root is replaced, a certificate is revoked or ends, a policy is narrowed, an exception
//! has its last day. The negotiated parameters and the peer are kept, and judged by the code that
//! judges handshakes.

use std::sync::Arc;

use bartizan_deployment::{InterfaceKind, NodeName};
use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;
use rustls::pki_types::CertificateDer;

use crate::cause::Cause;
use crate::chain::Chain;
use crate::handshake::{Facts, Handshake, Side, Transport, no_certificate};
use crate::verify::Usage;
use crate::{Endpoint, Reason};

/// Negotiated parameters and peer of an open connection. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionFacts(Arc<Kept>);

#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) peer: NodeName,
    pub(crate) interface: InterfaceKind,
    /// Usage of the peer's certificate.
    pub(crate) usage: Usage,
    pub(crate) chain: Arc<Chain>,
    pub(crate) facts: Facts,
    /// The scheme of the peer's CertificateVerify; where it resumed, that of its first handshake.
    pub(crate) signature: Option<SignatureScheme>,
}

/// Why a connection that was admitted once would not be admitted now.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}: {detail}")]
pub struct Refusal {
    /// The reason, for counting.
    pub reason: Reason,
    /// The same in a sentence, with names and values.
    pub detail: String,
    /// Advice for the operator.
    pub hint: String,
}

impl From<Cause> for Refusal {
    fn from(cause: Cause) -> Self {
        Self {
            reason: cause.reason,
            detail: cause.detail,
            hint: cause.hint,
        }
    }
}

impl SessionFacts {
    pub(crate) fn new(kept: Kept) -> Self {
        Self(Arc::new(kept))
    }

    /// Certificates that the peer presented, in DER, leaf first.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chain.der()
    }
}

impl Endpoint {
    /// Judges an open connection by today's roots, revocation lists, dates and interfaces, and by today's policy of its interface
    /// for what it negotiated, as a handshake that ended now would be.
    ///
    /// # Errors
    /// Why such a handshake would be refused.
    pub fn judge_again(&self, session: &SessionFacts) -> Result<ledger::Verdict, Refusal> {
        let kept = &*session.0;
        self.judging(kept.peer.as_str(), kept.interface, kept.usage)?
            .judge_again(kept.peer.as_str(), &kept.chain, &kept.facts, kept.signature)
            .map_err(Refusal::from)
    }

    /// Judges a full handshake of `peer` with a process before this one, by its chain and what it
    /// negotiated, as [`Endpoint::judge_again`] does. `began` is its direction.
    ///
    /// # Errors
    /// Why such a handshake would be refused.
    pub fn judge_recorded(
        &self,
        (peer, interface): (&str, InterfaceKind),
        began: ledger::Direction,
        chain: &[Vec<u8>],
        negotiated: Option<&ledger::Negotiated>,
    ) -> Result<(), Refusal> {
        let usage = match began {
            ledger::Direction::Outbound => Usage::Server,
            ledger::Direction::Inbound => Usage::Client,
        };
        let handshake = self.judging(peer, interface, usage)?;
        let der: Vec<_> = chain.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let chain = der
            .split_first()
            .map(|(leaf, above)| self.shared.chains.of(leaf, above));
        let (chain, negotiated) = chain.zip(negotiated).ok_or_else(no_certificate)?;
        let facts = Facts::recorded(negotiated);
        let signature = facts.peer_signature;
        handshake.judge_again(peer, &chain, &facts, signature)?;
        Ok(())
    }

    fn judging(&self, peer: &str, interface: InterfaceKind, usage: Usage) -> Result<Handshake, Refusal> {
        let shared = &self.shared;
        let side = match usage {
            Usage::Client => Side::Server(interface),
            Usage::Server => {
                let found = shared.peers.iter().position(|known| known.is(peer, interface));
                Side::Client(found.ok_or_else(|| Refusal {
                    reason: Reason::WrongName,
                    detail: format!(
                        "no {} interface with a sidecar joins this node to {peer} any more",
                        interface.name()
                    ),
                    hint: "add it to the deployment file again, if it was not meant to go".into(),
                })?)
            }
        };
        Ok(Handshake::new(
            Arc::clone(shared),
            shared.in_effect(),
            side,
            Transport::Records,
        ))
    }
}
