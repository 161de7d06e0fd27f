//! Judging a handshake that rustls has completed: the negotiated parameters, the peer, the policy.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bartizan_ledger as ledger;
use bartizan_registry::{CipherSuite, NamedGroup, SignatureScheme};
use rustls::{CommonState, HandshakeKind, ProtocolVersion};

use super::Handshake;
use crate::again::Kept;
use crate::cause::Cause;
use crate::chain::Chain;
use crate::credentials::Shown;
use crate::hello::HELLO_RETRY_REQUEST;
use crate::terms::{Terms, cipher_code, names, quantum_safe_group};
use crate::{Established, PeerIdentity, Reason, Refused, SessionFacts, scheme, verify};

bartizan_registry::made! {
    /// Parameters that were negotiated, according to rustls.
    #[derive(Debug, Clone)]
    pub(crate) struct Facts,
    /// Those of a handshake of another process.
    pub(crate) recorded(negotiated: &ledger::Negotiated) {
        let scheme = |code: &ledger::Code| SignatureScheme(code.code);
        negotiated: ledger::Negotiated = negotiated.clone(),
        group: NamedGroup = NamedGroup(negotiated.group.code),
        cipher: CipherSuite = CipherSuite(negotiated.cipher.code),
        /// The certificate that this node showed; where it resumed, that of its first handshake.
        local: Option<Arc<Shown>> = None,
        pub(crate) peer_signature: Option<SignatureScheme> = negotiated.peer_signature.as_ref().map(scheme),
    }
}

impl Facts {
    /// The scheme of this node's CertificateVerify; where it resumed, that of its first handshake.
    fn own_signature(&self) -> Option<SignatureScheme> {
        let recorded = || Some(SignatureScheme(self.negotiated.local_signature.as_ref()?.code));
        self.local.as_ref().map(|own| own.scheme).or_else(recorded)
    }
}

/// Cause of a peer without a chain.
pub(crate) fn no_certificate() -> Cause {
    Cause::new(
        Reason::NoCertificate,
        "the peer sent no certificate",
        "both ends of every link are authenticated",
    )
}

impl Handshake {
    /// Judges what rustls completed.
    pub(crate) fn finish(&self, connection: &CommonState) -> Result<Established, Box<Refused>> {
        let judged = self.judge(connection);
        self.finished.store(true, Ordering::Release);
        if judged.is_err() {
            self.forget_sessions();
        }
        judged
    }

    fn judge(&self, connection: &CommonState) -> Result<Established, Box<Refused>> {
        // A peer that completed a handshake with a certificate holds its key, or the secret of a
        // session that was begun with it.
        let identity = match connection.peer_certificates() {
            Some([_, ..]) if !connection.is_handshaking() => PeerIdentity::Proven,
            _ => PeerIdentity::Unproven,
        };
        let refuse = |cause: Cause, negotiated| {
            self.state().refusal = Some(cause.clone());
            self.refused(cause, negotiated, identity)
        };
        let facts = self.facts(connection).map_err(|cause| refuse(cause, None))?;
        let judged = self.judge_facts(connection, &facts);
        let (peer, chain, signature, verdict) =
            judged.map_err(|cause| refuse(cause, Some(facts.negotiated.clone())))?;
        self.shared.chains.keep(&chain);
        let state = self.state();
        let peer = &self.shared.peers[peer];
        Ok(Established {
            peer: peer.node.clone(),
            interface: peer.interface,
            negotiated: facts.negotiated.clone(),
            // A resumed handshake shows no certificate.
            local_chain: match &facts.local {
                Some(own) if !facts.negotiated.resumed => Arc::clone(&own.chain),
                _ => Arc::default(),
            },
            chain: chain.entries(),
            facts: SessionFacts::new(Kept {
                peer: peer.node.clone(),
                interface: peer.interface,
                usage: self.side.usage(),
                chain,
                facts,
                signature,
            }),
            key: state.key(),
            bytes: state.bytes,
            verdict,
        })
    }

    fn judge_facts(
        &self,
        connection: &CommonState,
        facts: &Facts,
    ) -> Result<(usize, Arc<Chain>, Option<SignatureScheme>, ledger::Verdict), Cause> {
        if let Some(cause) = self.state().refusal.clone() {
            return Err(cause);
        }
        let [leaf, intermediates @ ..] = connection.peer_certificates().unwrap_or_default() else {
            return Err(no_certificate());
        };
        let mut signature = facts.peer_signature;
        let presented = self.state().chain.clone();
        // A resumed handshake presents none: rustls kept the one of the first.
        let chain = presented.unwrap_or_else(|| self.shared.chains.of(leaf, intermediates));
        if facts.negotiated.resumed {
            signature = self.judge_resumed(&chain)?;
        }
        let candidates = self.state().candidates.clone();
        let (peer, verdict) = self.admitted(candidates, facts, signature, &chain)?;
        Ok((peer, chain, signature, verdict))
    }

    /// The first of these peers whose terms admit what was negotiated.
    fn admitted(
        &self,
        candidates: Vec<usize>,
        facts: &Facts,
        signature: Option<SignatureScheme>,
        chain: &Chain,
    ) -> Result<(usize, ledger::Verdict), Cause> {
        let mut refusal = None;
        for peer in candidates {
            let terms = &self.in_effect.peers[peer];
            match admits(terms, facts, signature) {
                Ok(()) => return Ok((peer, verdict(terms, facts, signature, chain))),
                Err(cause) => refusal = refusal.or(Some(cause)),
            }
        }
        Err(refusal.unwrap_or_else(|| {
            Cause::new(
                Reason::Ours,
                "the handshake ended and no certificate was checked",
                "this is a fault of bartizan: please report it",
            )
        }))
    }

    /// Judges what an earlier handshake negotiated, with `peer` who showed this chain.
    pub(crate) fn judge_again(
        &self,
        peer: &str,
        chain: &Chain,
        facts: &Facts,
        signature: Option<SignatureScheme>,
    ) -> Result<ledger::Verdict, Cause> {
        let mut candidates = self.judge_chain(peer, chain)?;
        if facts.negotiated.resumed {
            // The age of a session is checked when it is resumed; a connection has no such bound.
            candidates.retain(|&index| self.in_effect.peers[index].resumption.is_some());
            if candidates.is_empty() {
                return Err(Cause::new(
                    Reason::Policy,
                    "the connection resumed a session, and the policy does not allow that any more",
                    "the next connection makes a full handshake",
                ));
            }
        }
        self.admitted(candidates, facts, signature, chain)
            .map(|(_, verdict)| verdict)
    }

    /// Judges a chain that `peer` presented before; returns the terms that it may be judged by.
    fn judge_chain(&self, peer: &str, chain: &Chain) -> Result<Vec<usize>, Cause> {
        let now = self.shared.now().ok_or_else(no_clock)?;
        let mut candidates = self.candidates(chain, now)?;
        let is = |index: usize| self.shared.peers[index].node.as_str() == peer;
        // Its names may be another node's by now: what it was admitted as is what it is judged as.
        candidates.retain(|&index| is(index));
        if candidates.is_empty() {
            let asked = (0..self.shared.peers.len()).find(|&index| is(index));
            return Err(verify::wrong_name(
                verify::leaf(chain)?,
                asked.map(|index| &self.shared.peers[index]),
                self.side.interface(&self.shared),
            ));
        }
        Ok(candidates)
    }

    /// A resumed handshake carries no certificate: the one of the first handshake must still stand today. Gives the scheme its
    /// key signed in then.
    fn judge_resumed(&self, chain: &Chain) -> Result<Option<SignatureScheme>, Cause> {
        let now = self.shared.now().ok_or_else(no_clock)?;
        let mut candidates = self.candidates(chain, now)?;
        let mut state = self.state();
        let life = state.life.clone();
        candidates.retain(|&peer| {
            let terms = &self.in_effect.peers[peer];
            terms.resumption.zip(life.as_ref()).is_some_and(|(within, life)| {
                life.holds(now) && now.as_secs().saturating_sub(life.begun) <= within.as_secs()
            })
        });
        if candidates.is_empty() {
            return Err(Cause::new(
                Reason::Policy,
                "the peer resumed a session, and the policy does not allow that any more",
                "the next connection makes a full handshake",
            ));
        }
        state.candidates = candidates;
        drop(state);
        Ok(verify::leaf(chain)?.scheme)
    }

    fn facts(&self, connection: &CommonState) -> Result<Facts, Cause> {
        let incomplete = || {
            Cause::new(
                Reason::Ours,
                "the handshake was judged before it ended",
                "this is a fault of bartizan: please report it",
            )
        };
        let kind = connection.handshake_kind().ok_or_else(incomplete)?;
        let group = connection.negotiated_key_exchange_group().ok_or_else(incomplete)?;
        let cipher = connection.negotiated_cipher_suite().ok_or_else(incomplete)?;
        if connection.is_handshaking() || connection.protocol_version() != Some(ProtocolVersion::TLSv1_3) {
            return Err(incomplete());
        }
        let group = NamedGroup(u16::from(group.name()));
        let cipher = CipherSuite(u16::from(cipher.suite()));
        let resumed = kind == HandshakeKind::Resumed;
        let state = self.state();
        // rustls forgets the retry of a handshake that then resumes; the ServerHello on the wire shows it.
        let hello_retry = kind == HandshakeKind::FullWithHelloRetryRequest
            || state.server_hello.random() == Some(HELLO_RETRY_REQUEST);
        // A server chooses its certificate before it knows that it resumes.
        let local = match resumed {
            true => state.life.as_ref().and_then(|life| life.signed_by.clone()),
            false => state.local.clone(),
        };
        let peer_signature = state.peer_signature.filter(|_| !resumed);
        Ok(Facts {
            negotiated: ledger::Negotiated {
                version: "TLS 1.3".into(),
                cipher: ledger::Code {
                    code: cipher.0,
                    name: cipher.to_string(),
                },
                group: group.into(),
                local_signature: local.as_ref().filter(|_| !resumed).map(|own| own.scheme.into()),
                peer_signature: peer_signature.map(Into::into),
                resumed,
                hello_retry,
            },
            group,
            cipher,
            local,
            peer_signature,
        })
    }
}

/// Refuses because the clock cannot be read.
fn no_clock() -> Cause {
    Cause::new(Reason::Ours, "this machine's clock cannot be read", "set it")
}

/// Checks the negotiated parameters against the terms.
fn admits(terms: &Terms, facts: &Facts, peer_signature: Option<SignatureScheme>) -> Result<(), Cause> {
    let refuse = |what: String| {
        Err(Cause::new(
            Reason::Policy,
            format!("{what} (policy {})", terms.profile),
            "compare `bartizan check` on both nodes",
        ))
    };
    if !terms.groups.contains(&facts.group) {
        let accepted = names(&terms.groups);
        return refuse(format!("the group {} is not one of {accepted}", facts.group));
    }
    if !terms
        .ciphers
        .iter()
        .any(|&cipher| cipher_code(cipher) == facts.cipher.0)
    {
        return refuse(format!("the cipher suite {} is not allowed", facts.cipher));
    }
    let accepted = names(&terms.signatures);
    match peer_signature {
        Some(code) if terms.signatures.contains(&code) => {}
        Some(code) => return refuse(format!("the peer signs by {code}, not by one of {accepted}")),
        None => return refuse("the peer's signature was not seen".into()),
    }
    if let Some(own) = facts.own_signature().filter(|own| !terms.signatures.contains(own)) {
        return refuse(format!("we sign by {own}, not by one of {accepted}"));
    }
    match &facts.local {
        Some(own) if !own.suits(&terms.signatures, &terms.chain_signatures) => refuse(format!(
            "the chain of our certificate is not signed by {} alone",
            names(&terms.chain_signatures)
        )),
        _ => Ok(()),
    }
}

/// The policy's verdict on a handshake it admits: under an exception, anything classical in it is
/// named as excepted.
fn verdict(terms: &Terms, facts: &Facts, peer_signature: Option<SignatureScheme>, chain: &Chain) -> ledger::Verdict {
    let classical = !quantum_safe_group(facts.group)
        || peer_signature.is_some_and(|code| !scheme::quantum_safe(code))
        || facts.local.as_ref().is_some_and(|own| !own.quantum_safe)
        || chain.has_classical_signature();
    match &terms.exception {
        Some(reason) if classical => ledger::Verdict::Excepted { reason: reason.clone() },
        _ => ledger::Verdict::Accepted,
    }
}
