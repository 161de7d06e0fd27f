//! One handshake: what it offers, what was seen of it, and what the checks of its certificates found.

mod judgement;

pub(crate) use judgement::{Facts, no_certificate};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bartizan_deployment::{InterfaceKind, NodeName};
use bartizan_ledger as ledger;
use bartizan_registry::SignatureScheme;
use rustls::DigitallySignedStruct;
use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::EndEntityCert;

use crate::cause::{Cause, Offered};
use crate::chain::Chain;
use crate::credentials::Shown;
use crate::endpoint::{InEffect, Shared};
use crate::hello::HelloReader;
use crate::session::Life;
use crate::terms::{Terms, names};
use crate::verify::{self, Presented, Usage};
use crate::{OwnCertificate, PeerIdentity, Reason, Refused, scheme};

/// Which end of the handshake this node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The TLS client, which asked for the peer of this place.
    Client(usize),
    /// The TLS server of a listener of this interface, which admits every peer of it.
    Server(InterfaceKind),
    /// The TLS server of a link to the peer of this place, which admits no other.
    ServerOf(usize),
}

impl Side {
    /// Usage of the peer's certificate.
    pub(crate) fn usage(self) -> Usage {
        match self {
            Self::Client(_) => Usage::Server,
            Self::Server(_) | Self::ServerOf(_) => Usage::Client,
        }
    }

    pub(crate) fn interface(self, shared: &Shared) -> InterfaceKind {
        match self {
            Self::Client(peer) | Self::ServerOf(peer) => shared.peers[peer].interface,
            Self::Server(interface) => interface,
        }
    }
}

/// Transport of the handshake messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Records of TLS, over TCP.
    Records,
    /// CRYPTO frames of QUIC (RFC 9001).
    Quic,
}

bartizan_registry::made! {
    /// One handshake.
    #[derive(Debug)]
    pub(crate) struct Handshake,
    pub(crate) new(shared: Arc<Shared>, in_effect: Arc<InEffect>, side: Side, transport: Transport) {
        pub(crate) shared: Arc<Shared>,
        pub(crate) in_effect: Arc<InEffect>,
        pub(crate) side: Side,
        transport: Transport,
        finished: AtomicBool = AtomicBool::new(false),
        state: Mutex<State> = Mutex::new(State {
            bytes: ledger::Bytes::default(),
            client_hello: HelloReader::client(),
            server_hello: HelloReader::server(),
            offered: Offered::default(),
            local: None,
            peer_signature: None,
            chain: None,
            candidates: Vec::new(),
            refusal: None,
            life: None,
            issued: Vec::new(),
        }),
    }
}

/// Observations of a handshake.
#[derive(Debug)]
pub(crate) struct State {
    bytes: ledger::Bytes,
    client_hello: HelloReader,
    server_hello: HelloReader,
    pub(crate) offered: Offered,
    /// The certificate that this node showed.
    pub(crate) local: Option<Arc<Shown>>,
    peer_signature: Option<SignatureScheme>,
    /// The chain that the peer presented in this handshake.
    chain: Option<Arc<Chain>>,
    /// Peers whose names the verified leaf carries and whose terms its chain meets.
    candidates: Vec<usize>,
    refusal: Option<Cause>,
    /// The life of the session that is being resumed or was begun by this handshake.
    pub(crate) life: Option<Life>,
    /// Tickets given out over this connection.
    pub(crate) issued: Vec<Vec<u8>>,
}

impl Transport {
    fn read(self, hello: &mut HelloReader, bytes: &[u8]) {
        match self {
            Self::Records => hello.read(bytes),
            Self::Quic => hello.read_messages(bytes),
        }
    }
}

impl Handshake {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Terms that this handshake offers and accepts before the peer is known.
    pub(crate) fn terms(&self) -> &Terms {
        match self.side {
            Side::Client(peer) | Side::ServerOf(peer) => &self.in_effect.peers[peer],
            Side::Server(interface) => self.in_effect.listener(interface),
        }
    }

    /// The application protocol, by its name in ALPN.
    pub(crate) fn protocol(&self) -> &'static [u8] {
        self.shared.protocol(self.side.interface(&self.shared), self.transport)
    }

    /// Returns true once it has ended, well or not.
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
            Side::Client(_) => self.transport.read(&mut state.client_hello, bytes),
            Side::Server(_) | Side::ServerOf(_) => self.transport.read(&mut state.server_hello, bytes),
        }
    }

    pub(crate) fn note_received(&self, bytes: &[u8]) {
        if self.is_finished() {
            return;
        }
        let mut state = self.state();
        state.bytes.received += bytes.len() as u64;
        match self.side {
            Side::Client(_) => self.transport.read(&mut state.server_hello, bytes),
            Side::Server(_) | Side::ServerOf(_) => self.transport.read(&mut state.client_hello, bytes),
        }
    }

    /// Checks a chain the peer presents, and remembers what came of it.
    pub(crate) fn verify_chain(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Cause> {
        let chain = self.shared.chains.of(leaf, intermediates);
        self.state().chain = Some(Arc::clone(&chain));
        let judged = self.candidates(&chain, now);
        let mut state = self.state();
        match judged {
            Ok(candidates) => {
                let within = candidates
                    .iter()
                    .filter_map(|&peer| self.in_effect.peers[peer].resumption)
                    .max();
                state.life = within.map(|within| Life {
                    begun: now.as_secs(),
                    until: now.as_secs().saturating_add(within.as_secs()),
                    signed_by: None,
                });
                state.candidates = candidates;
                Ok(())
            }
            Err(cause) => {
                state.refusal = Some(cause.clone());
                Err(cause)
            }
        }
    }

    /// The peers this chain may speak for. Never empty where it is well.
    fn candidates(&self, chain: &Chain, now: UnixTime) -> Result<Vec<usize>, Cause> {
        let leaf = verify::leaf(chain)?;
        let presented = Presented {
            chain,
            usage: self.side.usage(),
            now,
        };
        let judge = |terms: &Terms| verify::chain(&presented, &self.shared.credentials, &self.shared.proven, terms);
        let mut named = verify::matching(leaf, &self.shared.peers);
        let mut asked = None;
        match self.side {
            Side::Client(peer) | Side::ServerOf(peer) => {
                named.retain(|&index| index == peer);
                asked = Some(&self.shared.peers[peer]);
            }
            // A peer of another interface is no peer here: its policy may be a weaker one.
            Side::Server(interface) => named.retain(|&index| self.shared.peers[index].interface == interface),
        }
        if named.is_empty() {
            // The owner of the certificate matters only once the certificate is known to be good:
            // an unknown CA is reported as such.
            judge(self.terms())?;
            return Err(verify::wrong_name(leaf, asked, self.side.interface(&self.shared)));
        }
        let mut refusal = None;
        let mut candidates = Vec::new();
        for peer in named {
            match judge(&self.in_effect.peers[peer]) {
                Ok(()) => candidates.push(peer),
                Err(cause) => refusal = refusal.or(Some(cause)),
            }
        }
        match refusal {
            Some(cause) if candidates.is_empty() => Err(cause),
            _ => Ok(candidates),
        }
    }

    /// Checks CertificateVerify against the peer's key and the terms (RFC 9846, section 4.4.3).
    pub(crate) fn verify_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<(), Cause> {
        let code = scheme::from_rustls(signed.scheme);
        let verified = self.checked_signature(code, message, leaf, signed.signature());
        let mut state = self.state();
        match verified {
            Ok(()) => {
                state.peer_signature = Some(code);
                Ok(())
            }
            Err(cause) => {
                state.refusal = Some(cause.clone());
                Err(cause)
            }
        }
    }

    fn checked_signature(
        &self,
        code: SignatureScheme,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &[u8],
    ) -> Result<(), Cause> {
        let terms = self.terms();
        let accepted = terms
            .signatures
            .contains(&code)
            .then(|| scheme::verifier(code))
            .flatten();
        let Some(verifier) = accepted else {
            return Err(Cause::new(
                Reason::NoCommonSignature,
                format!(
                    "the peer signs by {code}; this node accepts {}",
                    names(&terms.signatures)
                ),
                "compare `bartizan check` on both nodes",
            ));
        };
        let bad = |error: webpki::Error| {
            Cause::new(
                Reason::BadSignature,
                format!("CertificateVerify does not verify: {error}"),
                "the peer does not hold the key of its certificate: someone may be in the middle",
            )
        };
        EndEntityCert::try_from(leaf)
            .and_then(|leaf| leaf.verify_signature(verifier, message, signature))
            .map_err(bad)
    }

    /// The certificate to show to a peer that verifies these schemes, of those that the policy
    /// accepts today: one within its dates first, then a quantum-safe one, then one whose chain the
    /// peer verifies too, then the order of the deployment file.
    ///
    /// rustls does not show `signature_algorithms_cert`. Of the stacks that send it, Go 1.27 leaves
    /// ML-DSA out of it and verifies such chains; the others list what `signature_algorithms` lists,
    /// and more.
    pub(crate) fn choose(&self, verified: &[rustls::SignatureScheme]) -> Option<&OwnCertificate> {
        let verifies = |code: SignatureScheme| verified.contains(&scheme::to_rustls(code));
        let own = self.own().filter(|own| verifies(own.scheme()));
        let now = self.shared.now();
        own.min_by_key(|own| {
            let is_current = now.is_some_and(|now| own.is_current(now));
            (
                !is_current,
                !own.is_quantum_safe(),
                !own.shown.chain_is_signed_by(verifies),
            )
        })
    }

    /// The node's certificates that the policy accepts today.
    pub(crate) fn own(&self) -> impl Iterator<Item = &OwnCertificate> {
        let own = self.shared.credentials.own();
        self.in_effect.own(self.side).iter().map(|&place| &own[place])
    }

    /// The schemes that this node can sign in under the policy of today.
    pub(crate) fn signs_by(&self) -> Vec<SignatureScheme> {
        self.own().map(OwnCertificate::scheme).collect()
    }

    /// Remembers that no certificate of this node suits what the peer verifies.
    pub(crate) fn note_no_suitable_certificate(&self) {
        let mut state = self.state();
        let refused = Cause::no_common_signature(&state.offered, self.terms(), &self.signs_by());
        state.refusal = Some(refused);
    }

    /// The refusal of a failed handshake: the cause our own checks recorded, else the one of the
    /// error.
    pub(crate) fn fail(&self, error: &std::io::Error) -> Box<Refused> {
        self.finished.store(true, Ordering::Release);
        let cause = {
            let state = self.state();
            let recorded = state.refusal.clone();
            recorded.unwrap_or_else(|| Cause::of_io(error, &state.offered, self.terms(), &self.signs_by()))
        };
        self.refused(cause, None, PeerIdentity::Unproven)
    }

    /// A refusal on a cause that lies outside the handshake.
    pub(crate) fn end(&self, cause: Cause) -> Box<Refused> {
        self.finished.store(true, Ordering::Release);
        self.refused(cause, None, PeerIdentity::Unproven)
    }

    fn refused(&self, cause: Cause, negotiated: Option<ledger::Negotiated>, identity: PeerIdentity) -> Box<Refused> {
        let state = self.state();
        Box::new(Refused {
            reason: cause.reason,
            detail: cause.detail,
            hint: cause.hint,
            peer: self.peer(&state),
            identity,
            key: state.key(),
            bytes: state.bytes,
            negotiated,
            chain: state
                .chain
                .as_ref()
                .map_or_else(Vec::new, |chain| chain.entries().to_vec()),
        })
    }

    /// The peer asked for, or the one whose verified certificate was seen. A name without a
    /// verified certificate is no peer.
    fn peer(&self, state: &State) -> Option<NodeName> {
        let peer = match self.side {
            Side::Client(peer) => Some(peer),
            Side::Server(_) | Side::ServerOf(_) => state.candidates.first().copied(),
        };
        peer.map(|peer| self.shared.peers[peer].node.clone())
    }

    /// A refused handshake leaves nothing behind to resume.
    fn forget_sessions(&self) {
        match self.side {
            Side::Client(peer) => self.shared.sessions.forget_client(self.shared.peers[peer].link()),
            Side::Server(_) | Side::ServerOf(_) => {
                for ticket in std::mem::take(&mut self.state().issued) {
                    self.shared.sessions.take_server(&ticket);
                }
            }
        }
    }
}

impl State {
    /// The life of a session that this handshake hands out: with the signature of its full
    /// handshake.
    pub(crate) fn life_of_session(&self) -> Option<Life> {
        let life = self.life.clone()?;
        Some(Life {
            signed_by: life.signed_by.or_else(|| self.local.clone()),
            ..life
        })
    }

    fn key(&self) -> Option<ledger::Key> {
        let client_random = ledger::Random(self.client_hello.random()?);
        Some(ledger::Key::Tls { client_random })
    }
}
