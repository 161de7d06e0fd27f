//! One handshake: what it offers, what was seen of it, and how it is judged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bartizan_deployment::NodeName;
use bartizan_ledger as ledger;
use bartizan_registry::{CipherSuite, NamedGroup, SignatureScheme};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CommonState, DigitallySignedStruct, HandshakeKind, ProtocolVersion};
use webpki::EndEntityCert;

use crate::endpoint::{InForce, Shared};
use crate::ground::{Ground, Offered};
use crate::hello::{HELLO_RETRY_REQUEST, HelloReader};
use crate::session::Life;
use crate::terms::{Terms, cipher_code, names, quantum_safe_group};
use crate::verify::{self, Presented, Usage};
use crate::{Established, Reason, Refused, certificate, scheme};

/// Which end of the handshake this node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The TLS client, which asked for the peer of this place.
    Client(usize),
    /// The TLS server: whoever connects is known by its certificate.
    Server,
}

/// One handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) shared: Arc<Shared>,
    pub(crate) in_force: Arc<InForce>,
    pub(crate) side: Side,
    finished: AtomicBool,
    state: Mutex<State>,
}

/// What was seen of a handshake.
#[derive(Debug)]
pub(crate) struct State {
    bytes: ledger::Bytes,
    client_hello: HelloReader,
    server_hello: HelloReader,
    pub(crate) offered: Offered,
    pub(crate) local_signature: Option<SignatureScheme>,
    peer_signature: Option<SignatureScheme>,
    chain: Vec<CertificateDer<'static>>,
    /// Peers whose names the verified leaf carries and whose terms its chain meets.
    candidates: Vec<usize>,
    refusal: Option<Ground>,
    /// The life of the session that is being resumed or was begun by this handshake.
    pub(crate) life: Option<Life>,
    /// Tickets given out over this connection.
    pub(crate) issued: Vec<Vec<u8>>,
}

/// What rustls says was negotiated.
struct Facts {
    negotiated: ledger::Negotiated,
    group: NamedGroup,
    cipher: CipherSuite,
    local_signature: Option<SignatureScheme>,
    peer_signature: Option<SignatureScheme>,
}

impl Handshake {
    pub(crate) fn new(shared: Arc<Shared>, in_force: Arc<InForce>, side: Side) -> Self {
        Self {
            shared,
            in_force,
            side,
            finished: AtomicBool::new(false),
            state: Mutex::new(State {
                bytes: ledger::Bytes::default(),
                client_hello: HelloReader::client(),
                server_hello: HelloReader::server(),
                offered: Offered::default(),
                local_signature: None,
                peer_signature: None,
                chain: Vec::new(),
                candidates: Vec::new(),
                refusal: None,
                life: None,
                issued: Vec::new(),
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this handshake offers and accepts before the peer is known.
    pub(crate) fn terms(&self) -> &Terms {
        match self.side {
            Side::Client(peer) => &self.in_force.peers[peer],
            Side::Server => &self.in_force.union,
        }
    }

    /// Whether it came to its end, well or not.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    pub(crate) fn was_refused(&self) -> bool {
        self.state().refusal.is_some()
    }

    pub(crate) fn note_sent(&self, bytes: &[u8]) {
        if self.is_finished() {
            return;
        }
        let mut state = self.state();
        state.bytes.sent += bytes.len() as u64;
        match self.side {
            Side::Client(_) => state.client_hello.read(bytes),
            Side::Server => state.server_hello.read(bytes),
        }
    }

    pub(crate) fn note_received(&self, bytes: &[u8]) {
        if self.is_finished() {
            return;
        }
        let mut state = self.state();
        state.bytes.received += bytes.len() as u64;
        match self.side {
            Side::Client(_) => state.server_hello.read(bytes),
            Side::Server => state.client_hello.read(bytes),
        }
    }

    /// Checks a chain the peer presents, and remembers what came of it.
    pub(crate) fn verify_chain(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Ground> {
        let chain = std::iter::once(leaf).chain(intermediates);
        self.state().chain = chain.map(|der| der.clone().into_owned()).collect();
        let judged = self.candidates(leaf, intermediates, now);
        let mut state = self.state();
        match judged {
            Ok(candidates) => {
                let within = candidates
                    .iter()
                    .filter_map(|&peer| self.in_force.peers[peer].resumption)
                    .max();
                state.life = within.map(|within| Life {
                    begun: now.as_secs(),
                    until: now.as_secs().saturating_add(within.as_secs()),
                });
                state.candidates = candidates;
                Ok(())
            }
            Err(ground) => {
                state.refusal = Some(ground.clone());
                Err(ground)
            }
        }
    }

    /// The peers this chain may speak for. Never empty where it is well.
    fn candidates(
        &self,
        leaf_der: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Vec<usize>, Ground> {
        let leaf = verify::leaf(leaf_der)?;
        let presented = Presented {
            leaf: leaf_der,
            intermediates,
            usage: match self.side {
                Side::Client(_) => Usage::Server,
                Side::Server => Usage::Client,
            },
            now,
        };
        let credentials = &self.shared.credentials;
        let mut named = verify::matching(&leaf, &self.shared.peers);
        let mut asked = None;
        if let Side::Client(peer) = self.side {
            named.retain(|&index| index == peer);
            asked = Some(&self.shared.peers[peer]);
        }
        if named.is_empty() {
            // Whose certificate it is matters only once it is known to be a good one: an unknown CA is named as such.
            verify::chain(&presented, credentials, self.terms())?;
            return Err(verify::wrong_name(&leaf, asked));
        }
        let mut refusal = None;
        let mut candidates = Vec::new();
        for peer in named {
            match verify::chain(&presented, credentials, &self.in_force.peers[peer]) {
                Ok(()) => candidates.push(peer),
                Err(ground) => refusal = refusal.or(Some(ground)),
            }
        }
        match refusal {
            Some(ground) if candidates.is_empty() => Err(ground),
            _ => Ok(candidates),
        }
    }

    /// Checks CertificateVerify against the peer's key and the terms (RFC 9846, section 4.4.3).
    pub(crate) fn verify_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<(), Ground> {
        let code = scheme::from_rustls(signed.scheme);
        let verified = self.checked_signature(code, message, leaf, signed.signature());
        let mut state = self.state();
        match verified {
            Ok(()) => {
                state.peer_signature = Some(code);
                Ok(())
            }
            Err(ground) => {
                state.refusal = Some(ground.clone());
                Err(ground)
            }
        }
    }

    fn checked_signature(
        &self,
        code: SignatureScheme,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &[u8],
    ) -> Result<(), Ground> {
        let terms = self.terms();
        let accepted = terms
            .signatures
            .contains(&code)
            .then(|| scheme::verifier(code))
            .flatten();
        let Some(verifier) = accepted else {
            return Err(Ground::new(
                Reason::NoCommonSignature,
                format!(
                    "the peer signs by {code}; this node accepts {}",
                    names(&terms.signatures)
                ),
                "compare `bartizan check` on both nodes",
            ));
        };
        let bad = |error: webpki::Error| {
            Ground::new(
                Reason::BadSignature,
                format!("CertificateVerify does not verify: {error}"),
                "the peer does not hold the key of its certificate: someone may be in the middle",
            )
        };
        EndEntityCert::try_from(leaf)
            .and_then(|leaf| leaf.verify_signature(verifier, message, signature))
            .map_err(bad)
    }

    /// Remembers that no certificate of ours suits what the peer asks for.
    pub(crate) fn note_no_suitable_certificate(&self, accepted: &[SignatureScheme]) {
        self.state().refusal = Some(Ground::new(
            Reason::NoCommonSignature,
            format!(
                "the peer accepts signatures by {}; our certificate signs by {}",
                names(accepted),
                self.shared.credentials.scheme()
            ),
            "compare `bartizan check` on both nodes, and the algorithms of both certificates",
        ));
    }

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
        let refuse = |ground: Ground, negotiated| {
            self.state().refusal = Some(ground.clone());
            self.refused(ground, negotiated)
        };
        let facts = self.facts(connection).map_err(|ground| refuse(ground, None))?;
        let judged = self.judge_facts(connection, &facts);
        let (peer, verdict) = judged.map_err(|ground| refuse(ground, Some(facts.negotiated.clone())))?;
        let state = self.state();
        let peer = &self.shared.peers[peer];
        Ok(Established {
            peer: peer.node.clone(),
            interface: peer.interface,
            negotiated: facts.negotiated,
            chain: certificate::chain(connection.peer_certificates().unwrap_or_default()),
            key: state.key(),
            bytes: state.bytes,
            verdict,
        })
    }

    fn judge_facts(&self, connection: &CommonState, facts: &Facts) -> Result<(usize, ledger::Verdict), Ground> {
        if let Some(ground) = self.state().refusal.clone() {
            return Err(ground);
        }
        let chain = connection.peer_certificates().unwrap_or_default();
        let [leaf, intermediates @ ..] = chain else {
            return Err(Ground::new(
                Reason::NoCertificate,
                "the peer sent no certificate",
                "both ends of every link are authenticated",
            ));
        };
        let mut signature = facts.peer_signature;
        if facts.negotiated.resumed {
            signature = self.judge_resumed(leaf, intermediates)?;
        }
        let candidates = self.state().candidates.clone();
        let mut refusal = None;
        for peer in candidates {
            let terms = &self.in_force.peers[peer];
            match admits(terms, facts, signature) {
                Ok(()) => return Ok((peer, verdict(terms, facts, signature, chain))),
                Err(ground) => refusal = refusal.or(Some(ground)),
            }
        }
        Err(refusal.unwrap_or_else(|| {
            Ground::new(
                Reason::Ours,
                "the handshake ended and no certificate was checked",
                "this is a fault of bartizan: please report it",
            )
        }))
    }

    /// A resumed handshake carries no certificate: the one of the first handshake must still stand today. Gives the scheme its
    /// key signed in then.
    fn judge_resumed(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> Result<Option<SignatureScheme>, Ground> {
        let now = self.shared.now().ok_or_else(no_clock)?;
        let mut candidates = self.candidates(leaf, intermediates, now)?;
        let mut state = self.state();
        let life = state.life;
        candidates.retain(|&peer| {
            let within = self.in_force.peers[peer].resumption;
            within.zip(life).is_some_and(|(within, life)| {
                life.holds(now) && now.as_secs().saturating_sub(life.begun) <= within.as_secs()
            })
        });
        if candidates.is_empty() {
            return Err(Ground::new(
                Reason::Policy,
                "the peer resumed a session, and the policy does not allow that any more",
                "the next connection makes a full handshake",
            ));
        }
        state.candidates = candidates;
        drop(state);
        Ok(verify::leaf(leaf)?.scheme)
    }

    fn facts(&self, connection: &CommonState) -> Result<Facts, Ground> {
        let incomplete = || {
            Ground::new(
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
        let local_signature = state.local_signature.filter(|_| !resumed);
        let peer_signature = state.peer_signature.filter(|_| !resumed);
        Ok(Facts {
            negotiated: ledger::Negotiated {
                version: "TLS 1.3".into(),
                cipher: ledger::Code {
                    code: cipher.0,
                    name: cipher.to_string(),
                },
                group: group.into(),
                local_signature: local_signature.map(Into::into),
                peer_signature: peer_signature.map(Into::into),
                resumed,
                hello_retry,
            },
            group,
            cipher,
            local_signature,
            peer_signature,
        })
    }

    /// What a failed handshake is refused with: the ground our own checks recorded, else what the error says.
    pub(crate) fn fail(&self, error: &std::io::Error) -> Box<Refused> {
        self.finished.store(true, Ordering::Release);
        let ground = {
            let state = self.state();
            let recorded = state.refusal.clone();
            recorded.unwrap_or_else(|| Ground::of_io(error, &state.offered, self.terms()))
        };
        self.refused(ground, None)
    }

    /// A refusal on a ground that lies outside the handshake.
    pub(crate) fn end(&self, ground: Ground) -> Box<Refused> {
        self.finished.store(true, Ordering::Release);
        self.refused(ground, None)
    }

    fn refused(&self, ground: Ground, negotiated: Option<ledger::Negotiated>) -> Box<Refused> {
        let state = self.state();
        Box::new(Refused {
            reason: ground.reason,
            detail: ground.detail,
            hint: ground.hint,
            peer: self.peer(&state),
            key: state.key(),
            bytes: state.bytes,
            negotiated,
            chain: certificate::chain(&state.chain),
        })
    }

    /// The peer asked for, or the one whose verified certificate was seen. A name nobody vouches for is no peer.
    fn peer(&self, state: &State) -> Option<NodeName> {
        let peer = match self.side {
            Side::Client(peer) => Some(peer),
            Side::Server => state.candidates.first().copied(),
        };
        peer.map(|peer| self.shared.peers[peer].node.clone())
    }

    /// A refused handshake leaves nothing behind to resume.
    fn forget_sessions(&self) {
        match self.side {
            Side::Client(peer) => self.shared.sessions.forget_client(&self.shared.peers[peer].node),
            Side::Server => {
                for ticket in std::mem::take(&mut self.state().issued) {
                    self.shared.sessions.take_server(&ticket);
                }
            }
        }
    }
}

impl State {
    fn key(&self) -> Option<ledger::Key> {
        let client_random = ledger::Random(self.client_hello.random()?);
        Some(ledger::Key::Tls { client_random })
    }
}

/// Refuses because the clock cannot be read.
pub(crate) fn no_clock() -> Ground {
    Ground::new(Reason::Ours, "this machine's clock cannot be read", "set it")
}

/// Whether what was negotiated is what the terms ask for.
fn admits(terms: &Terms, facts: &Facts, peer_signature: Option<SignatureScheme>) -> Result<(), Ground> {
    let refuse = |what: String| {
        Err(Ground::new(
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
    match facts.local_signature {
        Some(code) if !terms.signatures.contains(&code) => {
            refuse(format!("we sign by {code}, not by one of {accepted}"))
        }
        _ => Ok(()),
    }
}

/// What the policy says of a handshake it admits: under an exception, anything classical in it is named as excepted.
fn verdict(
    terms: &Terms,
    facts: &Facts,
    peer_signature: Option<SignatureScheme>,
    chain: &[CertificateDer<'_>],
) -> ledger::Verdict {
    let signatures = [peer_signature, facts.local_signature];
    let classical = !quantum_safe_group(facts.group)
        || signatures.into_iter().flatten().any(|code| !scheme::quantum_safe(code))
        || certificate::any_classical_signature(chain);
    match &terms.exception {
        Some(reason) if classical => ledger::Verdict::Excepted { reason: reason.clone() },
        _ => ledger::Verdict::Accepted,
    }
}
