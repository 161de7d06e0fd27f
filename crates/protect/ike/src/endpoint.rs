//! All IKE_SAs of a node: which datagram belongs to which of them, when each is due, and how many
//! may be half open (RFC 7296, section 2.6).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_wire::ike::Header;

use crate::acceptor::{Acceptor, Admission, Cookies};
use crate::allowance::{Allowance, Pace};
use crate::config::Config;
use crate::error::Failure;
use crate::event::Event;
use crate::random::Random;
use crate::sa::{Ends, IkeSa, Port, Transmit};

/// An IKE_SA of an endpoint. None has the number of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaId(u64);

/// Limits on half-open IKE_SAs of a responder, whose peers have not authenticated themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfOpen {
    /// From so many on, first requests must come again with a cookie.
    pub cookies_from: usize,
    /// So many at most: further first requests are dropped, and their senders try again.
    pub most: usize,
    /// Rate at which a peer is admitted, by its address. With less than half of that left, first
    /// requests must come again with a cookie, so that only a peer that receives at that address
    /// can use it up.
    pub pace: Pace,
}

impl Default for HalfOpen {
    fn default() -> Self {
        Self {
            cookies_from: 16,
            most: 1024,
            pace: Pace {
                at_once: 64,
                each: Duration::from_millis(50),
            },
        }
    }
}

/// An event of an endpoint's IKE_SA.
#[derive(Debug)]
pub enum Report {
    /// The first request of a peer was admitted, between these sockets. It is not authenticated yet.
    Admitted(SaId, Ends),
    /// An event of the IKE_SA itself, never [`Event::Rekeyed`].
    Event(SaId, Event),
    /// Another takes its place, or was made in vain where both ends have replaced it at once: that one ends by itself.
    Rekeyed {
        /// The replaced IKE_SA.
        old: SaId,
        /// Its replacement.
        new: SaId,
    },
}

struct Held {
    sa: Box<IkeSa>,
    due: Option<Instant>,
    /// The first request's SPI and sender, as long as its peer is not authenticated.
    first: Option<(u64, SocketAddr)>,
}

/// The acceptor of first requests between two addresses, and its remaining rate.
struct Accepting {
    acceptor: Acceptor,
    allowance: Option<Allowance>,
}

bartizan_registry::made! {
    /// IKE_SAs by the SPIs of this end, and those who may begin one.
    pub struct Endpoint,
    /// An endpoint that accepts no peer yet.
    pub new(half_open: HalfOpen) {
        /// By the addresses of this end and of the peer.
        accepts: HashMap<(IpAddr, IpAddr), Accepting> = HashMap::new(),
        cookies: Option<Cookies> = None,
        half_open: HalfOpen,
        held: BTreeMap<SaId, Held> = BTreeMap::new(),
        by_spi: HashMap<u64, SaId> = HashMap::new(),
        /// First requests come again without the SPI of this end.
        by_first: HashMap<(u64, SocketAddr), SaId> = HashMap::new(),
        timers: BTreeSet<(Instant, SaId)> = BTreeSet::new(),
        next: u64 = 0,
        transmits: VecDeque<(Ends, Transmit)> = VecDeque::new(),
        reports: VecDeque<Report> = VecDeque::new(),
    }
}

impl Endpoint {
    /// Accepts IKE_SAs of this configuration between an address of this end and one of a peer from now on.
    pub fn accept(&mut self, (local, remote): (IpAddr, IpAddr), config: Arc<Config>, random: &mut dyn Random) {
        let cookies = self.cookies.get_or_insert_with(|| Cookies::new(random));
        let acceptor = Acceptor::with(config, cookies.clone());
        let before = self.accepts.remove(&(local, remote));
        let allowance = before.and_then(|before| before.allowance);
        self.accepts.insert((local, remote), Accepting { acceptor, allowance });
    }

    /// Accepts none between these addresses any more; what is established stays.
    pub fn refuse(&mut self, (local, remote): (IpAddr, IpAddr)) {
        self.accepts.remove(&(local, remote));
    }

    /// Begins an IKE_SA.
    ///
    /// # Errors
    /// The configuration names nothing that is implemented, or the cryptographic library fails.
    pub fn initiate(
        &mut self,
        config: Arc<Config>,
        ends: Ends,
        random: &mut dyn Random,
        now: Instant,
    ) -> Result<SaId, Failure> {
        let sa = IkeSa::initiate(config, ends, random, now)?;
        Ok(self.hold(Box::new(sa), None))
    }

    /// Does something with an IKE_SA that has not ended: replaces it, replaces or deletes a CHILD_SA of it, closes it.
    pub fn with<T>(&mut self, id: SaId, what: impl FnOnce(&mut IkeSa) -> T) -> Option<T> {
        let held = self.held.get_mut(&id)?;
        let done = what(&mut held.sa);
        self.take(id);
        Some(done)
    }

    /// An IKE_SA that has not ended.
    pub fn sa(&self, id: SaId) -> Option<&IkeSa> {
        self.held.get(&id).map(|held| &*held.sa)
    }

    /// The one whose messages carry this SPI of this end.
    pub fn with_spi(&self, own: u64) -> Option<SaId> {
        self.by_spi.get(&own).copied()
    }

    /// IKE_SAs that have not ended.
    pub fn sas(&self) -> impl Iterator<Item = (SaId, &IkeSa)> {
        self.held.iter().map(|(id, held)| (*id, &*held.sa))
    }

    /// Number of IKE_SAs that have not ended, and number of half-open ones.
    pub fn count(&self) -> (usize, usize) {
        (self.held.len(), self.by_first.len())
    }

    /// A datagram between these sockets, without a non-ESP marker.
    pub fn receive(&mut self, now: Instant, ends: Ends, datagram: &[u8], random: &mut dyn Random) {
        let Ok(header) = Header::read(datagram) else {
            return;
        };
        // The SPI of the end that a message is for.
        let own = if header.flags.is_from_initiator() {
            header.responder_spi
        } else {
            header.initiator_spi
        };
        let first = (header.initiator_spi, ends.remote);
        let known = if own == 0 {
            self.by_first.get(&first)
        } else {
            self.by_spi.get(&own)
        };
        if let Some(&id) = known {
            if let Some(held) = self.held.get_mut(&id) {
                held.sa.receive_between(now, ends, datagram);
            }
            self.take(id);
            return;
        }
        let half_open = self.by_first.len();
        if own != 0 || half_open >= self.half_open.most {
            return;
        }
        let pace = self.half_open.pace;
        let between = (ends.local.ip(), ends.remote.ip());
        let Some(Accepting { acceptor, allowance }) = self.accepts.get_mut(&between) else {
            return;
        };
        let allowance = allowance.get_or_insert_with(|| Allowance::new(pace, now));
        let left = allowance.left(now);
        if left == 0 {
            return;
        }
        let must_return = half_open >= self.half_open.cookies_from || left <= pace.at_once / 2;
        let admission = acceptor.admit(ends, datagram, must_return, random, now);
        if matches!(admission, Admission::Admitted(_) | Admission::Refused(_)) {
            allowance.take(now);
        }
        match admission {
            Admission::Admitted(sa) => {
                let id = SaId(self.next);
                self.reports.push_back(Report::Admitted(id, ends));
                self.hold(sa, Some(first));
            }
            Admission::Answered(datagram) | Admission::Refused(datagram) => {
                let port = Port::of(ends);
                self.transmits.push_back((ends, Transmit { port, datagram }));
            }
            Admission::Ignored => {}
        }
    }

    /// Time at which to call [`Self::handle_timeout`], unless a datagram is received before.
    pub fn timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Lets every IKE_SA that is due do what it is to.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = self.timers.iter().take_while(|(due, _)| *due <= now);
        let due: Vec<SaId> = due.map(|(_, id)| *id).collect();
        for id in due {
            if let Some(held) = self.held.get_mut(&id) {
                held.sa.handle_timeout(now);
            }
            self.take(id);
        }
    }

    /// The next datagram to send, and between which sockets.
    pub fn poll_transmit(&mut self) -> Option<(Ends, Transmit)> {
        self.transmits.pop_front()
    }

    /// Returns the next report.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    fn hold(&mut self, sa: Box<IkeSa>, first: Option<(u64, SocketAddr)>) -> SaId {
        let id = SaId(self.next);
        self.next += 1;
        self.hold_as(id, sa, first);
        id
    }

    fn hold_as(&mut self, id: SaId, sa: Box<IkeSa>, first: Option<(u64, SocketAddr)>) {
        self.by_spi.insert(sa.own_spi(), id);
        if let Some(first) = first {
            self.by_first.insert(first, id);
        }
        self.held.insert(id, Held { sa, due: None, first });
        self.take(id);
    }

    /// Takes what an IKE_SA has to send and to report, and forgets it where it has ended.
    fn take(&mut self, id: SaId) {
        let Some(held) = self.held.get_mut(&id) else {
            return;
        };
        let ends = held.sa.ends_of_answer();
        while let Some(transmit) = held.sa.poll_transmit() {
            self.transmits.push_back((ends, transmit));
        }
        let mut successors = Vec::new();
        while let Some(event) = held.sa.poll_event() {
            match event {
                Event::Rekeyed(successor) => {
                    let new = SaId(self.next);
                    self.next += 1;
                    self.reports.push_back(Report::Rekeyed { old: id, new });
                    successors.push((new, successor));
                }
                event => self.reports.push_back(Report::Event(id, event)),
            }
        }
        let is_open = held.sa.is_established() || held.sa.is_closed();
        if let Some(first) = held.first.take_if(|_| is_open) {
            self.by_first.remove(&first);
        }
        let due = held.sa.timeout();
        if due != held.due {
            if let Some(before) = held.due.take() {
                self.timers.remove(&(before, id));
            }
            held.due = due;
            self.timers.extend(due.map(|due| (due, id)));
        }
        if held.sa.is_closed() {
            self.by_spi.remove(&held.sa.own_spi());
            self.held.remove(&id);
        }
        for (new, successor) in successors {
            self.hold_as(new, successor, None);
        }
    }
}
