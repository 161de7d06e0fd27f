//! State that the handshakes of one node share, and the configuration each connection gets from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{InterfaceKind, Module, Revocation};
use bartizan_registry::{SCTP_OVER_QUIC, SCTP_OVER_TLS};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{IpAddr, ServerName, UnixTime};
use rustls::server::{ClientHello, NoServerSessionStorage};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};
use time::{Date, OffsetDateTime};

use crate::chain::Chains;
use crate::client::{ClientRole, ClientStore};
use crate::credentials::Shown;
use crate::handshake::{Handshake, Side, Transport};
use crate::proven::Proven;
use crate::session::Sessions;
use crate::terms::{Classical, Terms, names};
use crate::{Credentials, Error, Flaw, OwnCertificate, Peer, Watch, scheme};

/// HTTP/2 over TLS (RFC 9113, section 3.2): SBI speaks nothing else (TS 29.500, clause 5.2).
const HTTP2: &[u8] = b"h2";

/// State that the handshakes of one node share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub(crate) shared: Arc<Shared>,
}

/// State that every handshake of an endpoint may read.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) credentials: Credentials,
    pub(crate) peers: Vec<Peer>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) chains: Chains,
    pub(crate) proven: Proven,
    /// The application protocol, by its name in ALPN (RFC 7301).
    protocol: &'static [u8],
    compiled: Vec<Compiled>,
    clock: Arc<dyn TimeProvider>,
    in_effect: Mutex<Option<Arc<InEffect>>>,
}

/// A peer's policy while its exception holds, and after.
#[derive(Debug)]
struct Compiled {
    before: Arc<Terms>,
    after: Arc<Terms>,
}

/// The terms of every peer on one day.
#[derive(Debug)]
pub(crate) struct InEffect {
    day: Date,
    /// In the order of the endpoint's peers.
    pub(crate) peers: Vec<Arc<Terms>>,
    /// The node's certificates that the terms of each peer accept, by their places.
    own: Vec<Vec<usize>>,
    listeners: BTreeMap<InterfaceKind, Listener>,
    /// For the listener of an interface without peers.
    without_peers: Listener,
}

/// A listener of an interface, which does not know yet which peer connects.
#[derive(Debug)]
struct Listener {
    /// Accepts what any of the peers may use.
    terms: Arc<Terms>,
    /// The node's certificates that the terms of any of the peers accept, by their places.
    own: Vec<usize>,
}

impl InEffect {
    fn on(day: Date, known: &[Peer], peers: Vec<Arc<Terms>>, credentials: &Credentials) -> Self {
        let accepted = |terms: &Terms| {
            let suits = |&place: &usize| credentials.own()[place].suits(&terms.signatures, &terms.chain_signatures);
            (0..credentials.own().len()).filter(suits).collect::<Vec<_>>()
        };
        let own: Vec<_> = peers.iter().map(|terms| accepted(terms)).collect();
        let mut by_interface = BTreeMap::<_, (Vec<_>, BTreeSet<_>)>::new();
        for ((peer, terms), own) in known.iter().zip(&peers).zip(&own) {
            let (of_interface, accepted) = by_interface.entry(peer.interface).or_default();
            of_interface.push(Arc::clone(terms));
            accepted.extend(own);
        }
        let listener = |(interface, (peers, own)): (_, (Vec<_>, BTreeSet<_>))| {
            let terms = Arc::new(Terms::of_listener(&peers));
            let own = own.into_iter().collect();
            (interface, Listener { terms, own })
        };
        let terms = Arc::new(Terms::of_listener(&[]));
        Self {
            day,
            own,
            listeners: by_interface.into_iter().map(listener).collect(),
            without_peers: Listener {
                own: accepted(&terms),
                terms,
            },
            peers,
        }
    }

    fn of_listener(&self, interface: InterfaceKind) -> &Listener {
        self.listeners.get(&interface).unwrap_or(&self.without_peers)
    }

    /// Terms that a listener of `interface` offers: those of any of the interface's peers, and none
    /// of another interface.
    pub(crate) fn listener(&self, interface: InterfaceKind) -> &Terms {
        &self.of_listener(interface).terms
    }

    /// Places of the node's certificates that may be shown on this side.
    pub(crate) fn own(&self, side: Side) -> &[usize] {
        match side {
            Side::Client(peer) | Side::ServerOf(peer) => &self.own[peer],
            Side::Server(interface) => &self.of_listener(interface).own,
        }
    }
}

/// One outbound TLS connection to be made.
#[derive(Debug)]
pub struct Connecting {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<ClientConfig>,
    /// The name for SNI. Authorisation is by the deployment's names, not by this one.
    pub name: ServerName<'static>,
    /// Observer of its handshake.
    pub watch: Watch,
}

/// One inbound TLS connection to be accepted.
#[derive(Debug)]
pub struct Accepting {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<ServerConfig>,
    /// Observer of its handshake.
    pub watch: Watch,
}

impl Endpoint {
    /// Puts policy and credentials together, and warms the random number generator up: its first use in a process costs
    /// 30 ms, which would otherwise show in the first handshake.
    ///
    /// # Errors
    /// Fails if the credentials cannot meet the policy of a peer's interface.
    pub fn new(credentials: Credentials, peers: Vec<Peer>) -> Result<Self, Error> {
        Self::with_clock(credentials, peers, Arc::new(DefaultTimeProvider))
    }

    /// The same with a clock of the caller's: it decides on dates of certificates, revocation lists and exceptions, and on
    /// the age of sessions.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn with_clock(credentials: Credentials, peers: Vec<Peer>, clock: Arc<dyn TimeProvider>) -> Result<Self, Error> {
        Self::assemble(credentials, peers, clock, Arc::default(), HTTP2)
    }

    /// An endpoint for another protocol than HTTP/2, by its name in ALPN. A handshake for one is
    /// refused where the other is spoken, so that no attacker can lead a connection of the one to a
    /// listener of the other.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn for_protocol(credentials: Credentials, peers: Vec<Peer>, protocol: &'static [u8]) -> Result<Self, Error> {
        let clock = Arc::new(DefaultTimeProvider);
        Self::assemble(credentials, peers, clock, Arc::default(), protocol)
    }

    /// The same endpoint with other credentials, after a renewal or a new revocation list. Sessions stay: each is judged by
    /// the new roots and lists when it is resumed. What was remembered of certificates is forgotten.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn with_credentials(&self, credentials: Credentials) -> Result<Self, Error> {
        let shared = &self.shared;
        Self::assemble(
            credentials,
            shared.peers.clone(),
            Arc::clone(&shared.clock),
            Arc::clone(&shared.sessions),
            shared.protocol,
        )
    }

    fn assemble(
        credentials: Credentials,
        peers: Vec<Peer>,
        clock: Arc<dyn TimeProvider>,
        sessions: Arc<Sessions>,
        protocol: &'static [u8],
    ) -> Result<Self, Error> {
        aws_lc_rs::rand::fill(&mut [0; 32]).map_err(|_| Error::Ours(rustls::Error::FailedToGetRandomBytes))?;
        let compiled = peers.iter().map(compile).collect::<Result<_, _>>()?;
        let shared = Shared {
            credentials,
            peers,
            sessions,
            chains: Chains::default(),
            proven: Proven::default(),
            protocol,
            compiled,
            clock,
            in_effect: Mutex::new(None),
        };
        shared.check_credentials()?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Configuration of one connection to `peer` over `interface`.
    ///
    /// # Errors
    /// [`Error::UnknownPeer`] where no such interface leads there.
    pub fn connect(&self, peer: &str, interface: InterfaceKind) -> Result<Connecting, Error> {
        self.client(peer, interface, Transport::Records)
    }

    pub(crate) fn client(
        &self,
        peer: &str,
        interface: InterfaceKind,
        transport: Transport,
    ) -> Result<Connecting, Error> {
        let shared = &self.shared;
        let index = self.place(peer, interface)?;
        let in_effect = shared.in_effect();
        let terms = Arc::clone(&in_effect.peers[index]);
        let handshake = Arc::new(Handshake::new(
            Arc::clone(shared),
            in_effect,
            Side::Client(index),
            transport,
        ));
        let (role, resumption) = self.resumption(index, &terms, &handshake);
        role.serve(&handshake);
        let verifier: Arc<ClientRole> = Arc::clone(&role);
        let mut config = ClientConfig::builder_with_details(Arc::clone(&terms.provider), Arc::clone(&shared.clock))
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(role);
        config.alpn_protocols = vec![handshake.protocol().to_vec()];
        config.resumption = resumption;
        Ok(Connecting {
            config: Arc::new(config),
            name: server_name(&shared.peers[index]),
            watch: Watch::new(handshake),
        })
    }

    fn resumption(&self, peer: usize, terms: &Terms, handshake: &Arc<Handshake>) -> (Arc<ClientRole>, Resumption) {
        let shared = &self.shared;
        let (Some(within), Some(now)) = (terms.resumption, shared.now()) else {
            return (Arc::new(ClientRole::new(handshake)), Resumption::disabled());
        };
        let session = shared.sessions.take_client(shared.peers[peer].link(), now);
        let young = session.filter(|session| now.as_secs().saturating_sub(session.life.begun) <= within.as_secs());
        let accepted = |own: &Arc<Shown>| own.suits(&terms.signatures, &terms.chain_signatures);
        let young = young.filter(|session| session.life.signed_by.as_ref().is_none_or(accepted));
        let (role, ticket) = match young {
            Some(session) => {
                handshake.state().life = Some(session.life);
                (session.role, Some(session.ticket))
            }
            None => (Arc::new(ClientRole::new(handshake)), None),
        };
        let store = ClientStore::new(Arc::clone(handshake), Arc::clone(&role), ticket);
        (role, Resumption::store(Arc::new(store)))
    }

    /// The place of a peer of this interface among the peers.
    fn place(&self, peer: &str, interface: InterfaceKind) -> Result<usize, Error> {
        let is = |known: &Peer| known.node.as_str() == peer && known.interface == interface;
        let found = self.shared.peers.iter().position(is);
        found.ok_or_else(|| Error::UnknownPeer {
            peer: peer.to_owned(),
            interface,
        })
    }

    /// Configuration of one connection from `peer` over `interface`. Every other node is refused,
    /// also one that is a peer of this interface elsewhere.
    ///
    /// # Errors
    /// [`Error::UnknownPeer`] where no such interface leads there.
    pub fn accept(&self, peer: &str, interface: InterfaceKind) -> Result<Accepting, Error> {
        let side = Side::ServerOf(self.place(peer, interface)?);
        Ok(self.server(side, Transport::Records))
    }

    /// Configuration of one connection to a listener that every peer of `interface` may reach. It
    /// is judged by the connecting peer's policy for that interface.
    #[must_use]
    pub fn accept_any(&self, interface: InterfaceKind) -> Accepting {
        self.server(Side::Server(interface), Transport::Records)
    }

    pub(crate) fn server(&self, side: Side, transport: Transport) -> Accepting {
        let shared = &self.shared;
        let in_effect = shared.in_effect();
        let handshake = Arc::new(Handshake::new(Arc::clone(shared), in_effect, side, transport));
        let provider = &handshake.terms().provider;
        Accepting {
            config: server_config(&handshake, provider),
            watch: Watch::new(handshake),
        }
    }

    /// Peers of this node, each with its interface and policy.
    pub fn peers(&self) -> &[Peer] {
        &self.shared.peers
    }

    /// Flaws of this node's own files now, by the clock of its handshakes, the most severe first.
    #[must_use]
    pub fn flaws(&self) -> Vec<Flaw> {
        let shared = &self.shared;
        shared
            .credentials
            .flaws_remembering(&shared.peers, self.moment(), &shared.proven)
    }

    /// The node's certificates that the policy of a peer accepts now; all of them where it has no
    /// peer.
    pub fn in_use(&self) -> impl Iterator<Item = &OwnCertificate> {
        self.shared.credentials.in_use(&self.shared.peers, self.moment())
    }

    /// Now, by the clock of its handshakes.
    fn moment(&self) -> SystemTime {
        let now = self.shared.now();
        SystemTime::UNIX_EPOCH + now.map_or(Duration::ZERO, |now| Duration::from_secs(now.as_secs()))
    }

    /// Certificate, key, roots and revocation lists of this node.
    pub fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }
}

impl Accepting {
    /// The configuration for a client whose hello was read already, as `rustls::server::Acceptor` does.
    ///
    /// rustls takes the first group of the client's list that it has. Where the policy prefers post-quantum groups and this
    /// client offers one, classical groups are left out, so that the policy's order holds against the client's.
    pub fn config_for(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let handshake = &self.watch.handshake;
        let offered = hello.named_groups().unwrap_or_default();
        let preferred = handshake.terms().post_quantum_provider.as_ref();
        match preferred.filter(|provider| provider.kx_groups.iter().any(|group| offered.contains(&group.name()))) {
            Some(provider) => server_config(handshake, provider),
            None => Arc::clone(&self.config),
        }
    }
}

fn server_config(handshake: &Arc<Handshake>, provider: &Arc<CryptoProvider>) -> Arc<ServerConfig> {
    let clock = Arc::clone(&handshake.shared.clock);
    let mut config = ServerConfig::builder_with_details(Arc::clone(provider), clock)
        .with_protocol_versions(&[&TLS13])
        .expect("terms have at least one group and one cipher suite, all of TLS 1.3")
        .with_client_cert_verifier(Arc::clone(handshake) as _)
        .with_cert_resolver(Arc::clone(handshake) as _);
    config.alpn_protocols = vec![handshake.protocol().to_vec()];
    config.ignore_client_order = true;
    if handshake.terms().resumption.is_some() {
        config.session_storage = Arc::clone(handshake) as _;
        config.send_tls13_tickets = 1;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Arc::new(config)
}

impl Shared {
    /// The application protocol of an interface, by its name in ALPN: SCTP associations for an
    /// interface that runs over SCTP.
    pub(crate) fn protocol(&self, interface: InterfaceKind, transport: Transport) -> &'static [u8] {
        match transport {
            Transport::Quic => SCTP_OVER_QUIC.as_bytes(),
            Transport::Records if self.protocol == HTTP2 && interface.over_sctp() => SCTP_OVER_TLS.as_bytes(),
            Transport::Records => self.protocol,
        }
    }

    pub(crate) fn now(&self) -> Option<UnixTime> {
        self.clock.current_time()
    }

    /// Today in UTC. Without a clock every exception counts as ended.
    fn today(&self) -> Date {
        let seconds = self.now().and_then(|now| i64::try_from(now.as_secs()).ok());
        seconds
            .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok())
            .map_or(Date::MAX, OffsetDateTime::date)
    }

    /// The terms of today: a process that runs for months crosses the end of an exception.
    pub(crate) fn in_effect(&self) -> Arc<InEffect> {
        let day = self.today();
        let mut known = self.in_effect.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.day == day) {
            return Arc::clone(known);
        }
        let terms = self.peers.iter().zip(&self.compiled).map(|(peer, compiled)| {
            Arc::clone(if peer.policy.admits_classical(day) {
                &compiled.before
            } else {
                &compiled.after
            })
        });
        let peers: Vec<Arc<Terms>> = terms.collect();
        let fresh = Arc::new(InEffect::on(day, &self.peers, peers, &self.credentials));
        *known = Some(Arc::clone(&fresh));
        fresh
    }

    /// A node that has no certificate for one of its peers fails here rather than in every handshake.
    fn check_credentials(&self) -> Result<(), Error> {
        let in_effect = self.in_effect();
        let credentials = &self.credentials;
        for (index, (peer, terms)) in self.peers.iter().zip(&in_effect.peers).enumerate() {
            let (interface, node) = (peer.interface.name(), &peer.node);
            if peer.policy.module == Module::Validated && !VALIDATED {
                return Err(Error::Module(format!("policy of {interface} to {node}")));
            }
            if in_effect.own[index].is_empty() {
                return Err(unsuitable(&credentials.own()[0], peer, terms));
            }
            if terms.revocation == Revocation::Require && credentials.lists().is_empty() {
                return Err(Error::Credentials {
                    place: "trust.crl".into(),
                    cause: format!("{interface} to {node} requires a revocation list, and none is named"),
                    hint: "write one with `bartizan ca crl` and name it in `trust: { crl: FILE }`".into(),
                });
            }
        }
        Ok(())
    }
}

/// Why the terms of a peer do not accept a certificate.
fn unsuitable(own: &OwnCertificate, peer: &Peer, terms: &Terms) -> Error {
    let (accepted, cause) = match terms.signatures.contains(&own.scheme()) {
        false => (&terms.signatures, format!("its key signs by {}", own.scheme())),
        true => {
            let refused =
                |signed: &&Result<_, _>| !signed.as_ref().is_ok_and(|code| terms.chain_signatures.contains(code));
            let refused = own.signed_with().iter().find(refused);
            let name = match refused {
                Some(Ok(code)) => code.to_string(),
                Some(Err(name)) => name.clone(),
                None => String::new(),
            };
            (&terms.chain_signatures, format!("its chain is signed by {name}"))
        }
    };
    let algorithm = accepted
        .first()
        .map_or("ml-dsa-65", |&code| scheme::command_line_name(code));
    let (interface, node) = (peer.interface.name(), &peer.node);
    Error::Credentials {
        place: own.place.to_owned(),
        cause: format!(
            "{cause}, and {interface} to {node} accepts {} (policy {})",
            names(accepted),
            terms.profile
        ),
        hint: format!(
            "issue one by a CA of that algorithm: `bartizan ca init --dir NEW --algorithm {algorithm}`, then \
             `bartizan ca issue --dir NEW --dns NAME`"
        ),
    }
}

fn compile(peer: &Peer) -> Result<Compiled, Error> {
    let nothing = |when: &str| Error::Credentials {
        place: format!("policy of {} to {}", peer.interface.name(), peer.node),
        cause: format!("leaves nothing to negotiate with {when}"),
        hint: "it needs a group, a signature, a chain signature and a cipher suite that are post-quantum".into(),
    };
    let before = Terms::of(&peer.policy, Classical::Admitted).ok_or_else(|| nothing("today"))?;
    let ended = peer.policy.in_effect(Date::MAX);
    let after = Terms::of(&ended, Classical::Excluded).ok_or_else(|| nothing("once its exception has ended"))?;
    Ok(Compiled {
        before: Arc::new(before),
        after: Arc::new(after),
    })
}

/// SNI carries a DNS name or nothing (RFC 6066, section 3); a node known by an address or a URI alone is asked for without.
fn server_name(peer: &Peer) -> ServerName<'static> {
    let dns = peer
        .identity
        .dns()
        .iter()
        .find_map(|name| ServerName::try_from(name.clone()).ok());
    let address = peer.identity.ip().first().copied();
    dns.unwrap_or_else(|| {
        let none = std::net::IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
        ServerName::IpAddress(IpAddr::from(address.unwrap_or(none)))
    })
}

/// True if that module is validated under FIPS 140-3: aws-lc-rs as it is built here is not its FIPS
/// module.
const VALIDATED: bool = false;

/// Which cryptographic module does the work.
pub fn module() -> &'static str {
    "AWS-LC (aws-lc-rs 1.19, not FIPS-validated)"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_named_as_it_is_linked() {
        let lock = include_str!("../../../../Cargo.lock");
        let (_, package) = lock.split_once("name = \"aws-lc-rs\"\nversion = \"").unwrap();
        let version: Vec<_> = package.split('.').take(2).collect();
        assert!(
            module().contains(&format!("aws-lc-rs {}", version.join("."))),
            "{}",
            module()
        );
        assert_eq!(module().contains("not FIPS"), aws_lc_rs::try_fips_mode().is_err());
    }
}
