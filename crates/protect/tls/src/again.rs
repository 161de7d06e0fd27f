//! Judging an open connection again, as if its handshake ended now.
//!
//! Files change and time passes while a connection is open: a peer is taken out of the deployment file, a root is replaced, a
//! certificate is revoked or ends, a policy is narrowed, an exception has its last day. What was negotiated and with whom is kept, and
//! judged by the code that judges handshakes.

use std::sync::Arc;

use bartizan_deployment::NodeName;
use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;

use crate::chain::Chain;
use crate::handshake::{Facts, Handshake, Side, Transport};
use crate::verify::Usage;
use crate::{Endpoint, Reason};

/// What a connection negotiated and with whom, for as long as it is open. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionFacts(Arc<Kept>);

#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) peer: NodeName,
    pub(crate) interface: bartizan_deployment::InterfaceKind,
    /// What the peer's certificate is used for.
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
    /// What to do next.
    pub hint: String,
}

impl SessionFacts {
    pub(crate) fn new(kept: Kept) -> Self {
        Self(Arc::new(kept))
    }
}

impl Endpoint {
    /// Judges an open connection by today's roots, revocation lists, dates and interfaces, and by today's policy of its interface
    /// for what it negotiated, as a handshake that ended now would be.
    ///
    /// # Errors
    /// Why such a handshake would be refused.
    pub fn judge_again(&self, session: &SessionFacts) -> Result<ledger::Verdict, Refusal> {
        let shared = self.shared();
        let kept = &*session.0;
        let refuse = |cause: crate::cause::Cause| Refusal {
            reason: cause.reason,
            detail: cause.detail,
            hint: cause.hint,
        };
        let side = match kept.usage {
            Usage::Client => Side::Server(kept.interface),
            Usage::Server => {
                let found = shared.peers.iter().position(|peer| peer.is(&kept.peer, kept.interface));
                Side::Client(found.ok_or_else(|| Refusal {
                    reason: Reason::WrongName,
                    detail: format!(
                        "no {} interface with a sidecar joins this node to {} any more",
                        kept.interface.name(),
                        kept.peer
                    ),
                    hint: "add it to the deployment file again, if it was not meant to go".into(),
                })?)
            }
        };
        let handshake = Handshake::new(Arc::clone(shared), shared.in_effect(), side, Transport::Records);
        handshake
            .judge_again(&kept.peer, &kept.chain, &kept.facts, kept.signature)
            .map_err(refuse)
    }
}
