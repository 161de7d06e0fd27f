//! One end of an IKE_SA.

mod agreement;
mod authenticating;
mod child;
mod exchanging;
mod init;
mod initiating;
mod life;
mod messages;
mod open;
mod preshared;
mod proof;
mod replacing;
mod responding;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bartizan_wire::ike::{ExchangeType, Party};
use bartizan_wire::udp::IKE_NAT;

use crate::allowance::Allowance;
use crate::assembly::Assembly;
use crate::config::Config;
use crate::error::Failure;
use crate::event::Event;
use crate::key_exchange::Pending;
use crate::proposal::Agreed;
use crate::protection::Protection;
use crate::random::{self, Chance, Random};
use crate::schedule::{Keys, Nonces};

use child::ChildSa;
use init::Starting;
pub(crate) use init::{Init, encode};
use initiating::Initiating;
use life::Task;
pub(crate) use messages::unknown_critical;
use messages::{Answered, Fingerprint, Outgoing, fingerprint};
use proof::Proof;
use replacing::Contest;
use responding::Responding;

/// Sockets of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ends {
    /// This end's address, as packets carry it.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

/// Port from which a datagram is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Port {
    /// 500.
    Ike,
    /// 4500, behind a non-ESP marker that the socket's owner writes (RFC 3948, section 2.2).
    Nat,
}

impl Port {
    /// The port of this end by which an IKE_SA begins. A peer may begin at 4500, and is answered
    /// from there (RFC 7296, sections 2.11 and 2.23).
    pub(crate) fn of(ends: Ends) -> Self {
        match ends.local.port() {
            IKE_NAT => Self::Nat,
            _ => Self::Ike,
        }
    }
}

impl Ends {
    /// The peer's socket for datagrams of this port: the one that it began by, or 4500 once both
    /// have moved there.
    pub fn to(&self, port: Port) -> SocketAddr {
        match (Port::of(*self), port) {
            (Port::Ike, Port::Nat) => SocketAddr::new(self.remote.ip(), IKE_NAT),
            _ => self.remote,
        }
    }
}

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Port from which it is sent.
    pub port: Port,
    /// An IKE message, or a fragment of one.
    pub datagram: Vec<u8>,
}

bartizan_registry::made! {
    /// One end of an IKE_SA, from its first message to its last.
    pub struct IkeSa,
    new(
        config: Arc<Config>,
        role: Party,
        ends: Ends,
        (spis, esp_spi): ([u64; 2], u32),
        (state, chance): (State, Chance),
        now: Instant,
    ) {
        let asked = Allowance::new(config.timing.asked, now);
        config: Arc<Config>,
        role: Party,
        ends: Ends,
        /// Sockets of the datagram that is being read.
        arrival: Option<Ends> = None,
        /// Sockets of the answer to a request that came again.
        answer_to: Option<Ends> = None,
        /// SPIs of initiator and responder; the latter is zero until it is known.
        spis: [u64; 2],
        /// Inbound SPI of the CHILD_SA that IKE_AUTH makes; zero in an IKE_SA that replaces
        /// another.
        esp_spi: u32,
        state: State,
        security: Option<Security> = None,
        peer: Abilities = Abilities::default(),
        transcript: Transcript = Transcript::default(),
        outgoing: Option<Outgoing> = None,
        /// Identifier of this end's next request.
        next_request: u32 = 0,
        /// Identifier of the peer's next request.
        expected: u32 = 0,
        answered: Option<Answered> = None,
        /// Fragments of requests and of responses.
        assemblies: [Assembly; 2] = [Assembly::new(), Assembly::new()],
        /// The first fragment, or all, of the request that is arriving.
        arriving: Fingerprint = Fingerprint::default(),
        children: Vec<ChildSa> = Vec::new(),
        /// True if this end sends INITIAL_CONTACT: it has no other IKE_SA with the peer.
        is_initial: bool = false,
        /// The place of the CHILD_SA that IKE_AUTH asks for, if it asks for one.
        first: Option<usize> = Some(0),
        /// Remaining rate of the peer's requests for SAs.
        asked: Allowance,
        /// Signature algorithms with which this end and the peer have authenticated themselves, and
        /// the time.
        proofs: [Vec<u8>; 2] = [Vec::new(), Vec::new()],
        proof: Option<Proof> = None,
        /// Tasks of this end, for when no request of its own is on its way.
        tasks: VecDeque<Task> = VecDeque::new(),
        /// Request of this end for an SA.
        initiating: Option<Initiating> = None,
        /// Request of the peer for an SA whose key exchanges are not all made.
        responding: Option<Responding> = None,
        /// An SA that both ends may have replaced at once.
        contest: Option<Contest> = None,
        /// SPIs by which the peer received in what it has deleted before this end has learned that
        /// it is made.
        deleted_early: Vec<u32> = Vec::new(),
        /// The CHILD_SA of which a deletion is on its way.
        deleting: Option<u32> = None,
        /// Times at which this end replaces the IKE_SA, and at which it deletes it.
        rekey: Option<Instant> = None,
        expires: Option<Instant> = None,
        /// Reason against the latest response to IKE_SA_INIT, which is unauthenticated.
        unusable: Option<Failure> = None,
        /// To be deleted, for this reason, once the request on its way is answered.
        closing: Option<Failure> = None,
        /// Time at which a peer that has not authenticated itself, or does not delete the SA that
        /// it has replaced, is given up.
        deadline: Option<Instant> = None,
        heard: Instant = now,
        /// Datagrams that were taken for the peer's: proven, or the answer that IKE_SA_INIT waits
        /// for.
        taken: u64 = 0,
        chance: Chance,
        transmits: VecDeque<Transmit> = VecDeque::new(),
        events: VecDeque<Event> = VecDeque::new(),
    }
}

enum State {
    /// Initiator: IKE_SA_INIT is on its way.
    Starting(Box<Starting>),
    /// Initiator: the additional key exchange of this place is on its way.
    Exchanging {
        index: usize,
        /// None where it is for a pre-shared key alone.
        pending: Option<Box<dyn Pending>>,
    },
    /// Initiator: IKE_AUTH is on its way.
    Authenticating,
    /// Responder: the additional key exchange of this place is expected, or behind the last IKE_AUTH.
    Awaiting {
        index: usize,
    },
    Established,
    /// The peer has replaced it, and is to delete it.
    Replaced,
    /// A deletion is on its way, for this reason.
    Closing(Failure),
    Closed,
}

/// Security state from IKE_SA_INIT on.
struct Security {
    agreed: Agreed,
    keys: Keys,
    /// Those without the pre-shared key, as long as the responder has not said whether it has that.
    unmixed: Option<Box<Keys>>,
    protection: Protection,
    nonces: Nonces,
}

/// Extensions that the peer has announced.
#[derive(Debug, Clone, Default)]
struct Abilities {
    fragments: bool,
    intermediate: bool,
    /// True if it takes a post-quantum pre-shared key in IKE_AUTH; likewise in IKE_INTERMEDIATE.
    ppk: bool,
    early_ppk: bool,
    /// True if it signs IKE_SA_INIT of both.
    full_transcript: bool,
    childless: bool,
    /// Hash algorithms of signatures that it verifies.
    hashes: Vec<u16>,
    /// True for this end, and for the peer, if behind a NAT; none if the peer has not sent NAT
    /// detection.
    translated: Option<(bool, bool)>,
}

/// Signed data besides identities.
#[derive(Default)]
struct Transcript {
    /// IKE_SA_INIT of initiator and responder, whole.
    init: [Vec<u8>; 2],
    /// IntAuth values of the IKE_INTERMEDIATE messages of both (RFC 9242, section 3.3.2); empty if
    /// there were none.
    intermediate: [Vec<u8>; 2],
    /// Number of those exchanges.
    exchanges: u32,
    /// True if a pre-shared key was named in the last of them.
    named: bool,
}

/// The first of a queue. One that is empty then gives its memory back: there are many IKE_SAs, and
/// most of them have nothing to say.
fn next_of<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        *queue = VecDeque::new();
    }
    first
}

impl std::fmt::Debug for IkeSa {
    /// Prints no key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IkeSa")
            .field("role", &self.role)
            .field("spis", &self.spis.map(|spi| format!("{spi:#018x}")))
            .field("children", &self.children)
            .finish_non_exhaustive()
    }
}

impl IkeSa {
    /// Begins an IKE_SA: its first datagram waits to be sent.
    ///
    /// # Errors
    /// The configuration names nothing that is implemented, or the cryptographic library fails.
    pub fn initiate(config: Arc<Config>, ends: Ends, random: &mut dyn Random, now: Instant) -> Result<Self, Failure> {
        let starting = Starting::new(&config, random)?;
        let spis = [random::spi(random), 0];
        let esp_spi = random::esp_spi(random);
        let state = State::Starting(Box::new(starting));
        let chance = Chance::new(random);
        let mut sa = Self::new(config, Party::Initiator, ends, (spis, esp_spi), (state, chance), now);
        sa.send_init(now)?;
        Ok(sa)
    }

    /// The SPIs of initiator and responder; the latter is zero until it is known.
    pub fn spis(&self) -> (u64, u64) {
        (self.spis[0], self.spis[1])
    }

    /// The SPI of this end, which the peer's messages carry.
    pub(crate) fn own_spi(&self) -> u64 {
        self.spis[usize::from(!self.is_initiator())]
    }

    /// Number of retransmissions of the request on its way: one or more mean that the peer has not
    /// answered in time.
    pub fn sent_again(&self) -> u32 {
        self.outgoing.as_ref().map_or(0, |outgoing| outgoing.sent_again)
    }

    /// Number of datagrams accepted from the peer. Those that an attacker with the SPIs can send
    /// are not counted.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Its sockets.
    pub fn ends(&self) -> Ends {
        self.ends
    }

    /// Returns true if a NAT translates the address of either end, or if ESP is carried in UDP
    /// without one: messages and ESP use port 4500.
    #[must_use]
    pub fn is_translated(&self) -> bool {
        let always = self.config.always_in_udp;
        let translated = self.peer.translated;
        translated.is_some_and(|(this_end, peer)| this_end || peer || always)
    }

    /// Returns true if this end is behind a NAT, so that it must send keepalives.
    #[must_use]
    pub fn is_behind_nat(&self) -> bool {
        self.peer.translated.is_some_and(|(this_end, _)| this_end)
    }

    /// Returns true if both ends are authenticated.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Established)
    }

    /// Returns true if it has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        next_of(&mut self.transmits)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        next_of(&mut self.events)
    }

    /// Ends it: an authenticated peer receives a Delete, and [`Event::Closed`] follows its
    /// response. If it is being replaced, its successor ends.
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::Established => {
                self.closing = Some(Failure::Closed);
                self.advance(now);
            }
            State::Closing(_) | State::Replaced | State::Closed => {}
            _ => self.fail(Failure::Closed),
        }
    }

    /// Says to the peer, once both are authenticated, that this end has no other IKE_SA with it:
    /// INITIAL_CONTACT. For one that has just begun.
    pub fn announce_initial_contact(&mut self) {
        self.is_initial = true;
    }

    /// Asks for the CHILD_SA of this place in IKE_AUTH, instead of the first one. For one that has just begun.
    pub fn begin_with(&mut self, place: usize) {
        self.first = Some(place);
    }

    /// Asks for no CHILD_SA in IKE_AUTH where the peer can do that (RFC 6023), so that each is made
    /// by CREATE_CHILD_SA with key exchanges of its own. For one that has just begun.
    pub fn begin_childless(&mut self) {
        self.first = None;
    }

    /// Ends it here, without a message to the peer.
    pub fn discard(&mut self) {
        self.fail(Failure::Dropped);
    }

    /// Returns true if this end initiated it, or requested it as a replacement of another.
    #[must_use]
    pub fn is_initiator(&self) -> bool {
        self.role == Party::Initiator
    }

    /// Ends it here and now.
    fn fail(&mut self, failure: Failure) {
        if self.is_closed() {
            return;
        }
        self.state = State::Closed;
        self.security = None;
        self.outgoing = None;
        self.deadline = None;
        self.children.clear();
        self.tasks.clear();
        (self.initiating, self.responding, self.contest) = (None, None, None);
        self.events.push_back(Event::Closed(failure));
    }

    /// The port that datagrams of this exchange leave by: 4500 once a translation was seen, or
    /// where the peer began there (RFC 7296, section 2.23).
    fn port(&self, exchange: ExchangeType) -> Port {
        match self.is_translated() && exchange != ExchangeType::IKE_SA_INIT {
            true => Port::Nat,
            false => Port::of(self.ends),
        }
    }
}
