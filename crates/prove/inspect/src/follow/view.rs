//! Present state of a source: parts that had packets within the window, whether they live or not.

use std::collections::BTreeMap;
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_posture::{
    Concern, Evidence, Ipsec, Ledgers, Links, Network, Part, Posture, Source, Verdict, association_posture,
    datagrams_posture,
};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::path::Path;
use bartizan_wire::sctp::Association;
use bartizan_wire::{Address, Connection, FlowKind, Moment, Omitted, Sink, Timestamp};

use super::handshakes::{Handshakes, Noting};
use crate::remedy::{Place, Remedy, of_hole, remedy};
use crate::shares::Shares;

/// Parts of the window that go out of it at once.
const SLICES: u64 = 8;

/// Time before a part that is not shown to be safe is reported: a handshake takes several packets,
/// and an IKE_SA several exchanges.
const SETTLED_NS: u64 = 5_000_000_000;

/// No packet since the last view.
const NONE: Timestamp = Timestamp(u64::MAX);

/// Occurrences distinguished; an unauthenticated peer chooses what they say.
const OCCURRENCES: usize = 1000;

/// Something in a part that is no property of its link: a contradiction, a hole above the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Occurrence {
    pub(super) sources: Vec<Source>,
    /// Its remedy.
    pub(super) remedy: Remedy,
    /// The newest packet of a part that shows it.
    pub(super) last: Timestamp,
}

/// Identity of an occurrence: the concern, the hosts, the carrier, and the reason.
pub(super) type Occurring = (Concern, [Address; 2], Path, String);

#[derive(Debug, Clone, Default)]
struct Occurrences(BTreeMap<Occurring, Occurrence>);

impl Occurrences {
    fn add(&mut self, part: &Part<'_>, posture: &Posture) {
        let contradictions = posture.contradictions.iter().map(|found| {
            let remedy = remedy(Concern::Contradiction, Place::from(posture));
            (
                Concern::Contradiction,
                found.what.as_str(),
                found.sources.as_slice(),
                remedy,
            )
        });
        let holes = posture.holes.iter();
        let holes = holes
            .filter(|hole| hole.judgement.verdict() != Verdict::QuantumSafe)
            .map(|hole| {
                let judgement = &hole.judgement;
                let (because, sources) = (judgement.because(), judgement.sources());
                (Concern::AboveTransport, because, sources, of_hole(hole.kind))
            });
        for (concern, because, sources, remedy) in contradictions.chain(holes) {
            let key = (concern, part.hosts(), part.path().clone(), because.to_owned());
            let last = part.span()[1].time;
            if let Some(known) = self.0.get_mut(&key) {
                known.last = known.last.max(last);
            } else if self.0.len() < OCCURRENCES {
                let sources = sources.to_vec();
                let occurrence = Occurrence { sources, remedy, last };
                self.0.insert(key, occurrence);
            }
        }
    }
}

bartizan_registry::made! {
    /// Parts that have ended within the window, and those that memory had no room for.
    #[derive(Debug)]
    pub struct Recent,
    /// Nothing has ended yet. Parts are kept for a `window`, in the room that `shares` give.
    pub new(window: Duration, shares: Shares) {
        window_ns: u64 = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
        /// The oldest packet since the last view: a file that is behind, or a clock that was set back,
        /// brings some that no window reaches.
        unseen: Timestamp = NONE,
        /// By the time of their last packets, in eighths of the window.
        slices: BTreeMap<u64, Links> = BTreeMap::new(),
        /// Bytes that all slices together may hold, and those that a view may.
        within: usize = shares.window,
        view_within: usize = shares.view,
        /// IPsec that was not read, at any time: what ESP is worth hangs on all IKE between its hosts, however long ago.
        missing: Links = Links::within(0),
        occurrences: Occurrences = Occurrences::default(),
        /// Handshakes, if a reader looks at each of them.
        handshakes: Option<Noting> = None,
    }
}

impl Recent {
    /// The same, which takes handshakes one by one as well.
    #[must_use]
    pub fn with_handshakes(self) -> Self {
        Self {
            handshakes: Some(Noting::default()),
            ..self
        }
    }

    /// The handshakes that completed since the last time, with those in a view that was made now;
    /// `newest` is the number of the source's newest packet.
    pub fn handshakes(&mut self, view: &mut View, newest: u64) -> Handshakes {
        match (&mut self.handshakes, view.handshakes.take()) {
            (Some(noting), Some(of_view)) => noting.take(of_view, newest),
            _ => Handshakes::default(),
        }
    }

    /// Notes that a packet of this time was read. Parts with packets since the last view are in the
    /// next one, however old they are.
    pub fn passed(&mut self, time: Timestamp) {
        self.unseen = self.unseen.min(time);
    }

    /// Notes that a reader had the view of what passed so far.
    pub fn viewed(&mut self) {
        self.unseen = NONE;
    }

    /// Parts with packets since then are in a view at this time.
    fn since(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.window_ns)).min(self.unseen)
    }

    fn slice(&self, time: Timestamp) -> u64 {
        time.0 / (self.window_ns / SLICES).max(1)
    }

    /// Takes a part that has ended.
    pub(crate) fn add(&mut self, part: &Part<'_>, posture: &Posture) {
        self.links_at(part.span()[1].time).add(part);
        self.occurrences.add(part, posture);
        if let Some(noting) = &mut self.handshakes {
            noting.ended(part, posture);
        }
    }

    /// A packet was not read: as long as it is within the window nothing that it may belong to is
    /// called safe, and IPsec never again.
    pub(crate) fn omit(&mut self, omitted: &Omitted) {
        match omitted.flow {
            FlowKind::IkeSa | FlowKind::EspSa => self.missing.omit(omitted),
            FlowKind::Connection | FlowKind::Association | FlowKind::Datagrams(_) => {
                self.links_at(omitted.at.time).omit(omitted);
            }
        }
    }

    /// The slice for this time. If all together hold too much, the oldest goes into the one behind
    /// it: pairs of hosts that both have are kept once, and parts that were in it stay within the
    /// window for longer.
    fn links_at(&mut self, time: Timestamp) -> &mut Links {
        let slice = self.slice(time);
        while self.slices.len() > 1 && self.slices.values().map(Links::held).sum::<usize>() >= self.within {
            let Some((_, oldest)) = self.slices.pop_first() else {
                break;
            };
            if let Some(mut next) = self.slices.first_entry() {
                next.get_mut().merge(&oldest);
            }
        }
        let within = self.within;
        self.slices.entry(slice).or_insert_with(|| Links::within(within))
    }

    /// Lets go what the window has left behind, if a view has shown it: a part goes when its slice
    /// is as old as a window.
    pub fn age(&mut self, newest: Timestamp) {
        let first = self.slice(newest).saturating_sub(SLICES).min(self.slice(self.unseen));
        self.slices = self.slices.split_off(&first);
        let since = self.since(newest);
        self.occurrences.0.retain(|_, occurrence| occurrence.last >= since);
    }

    /// The view at this time, with nothing that lives in it yet.
    #[must_use]
    pub fn view<'a>(&self, ledgers: &'a Ledgers, now: Timestamp, last: bool) -> Viewing<'a> {
        let mut links = Links::within(self.view_within);
        links.merge(&self.missing);
        for slice in self.slices.values() {
            links.merge(slice);
        }
        Viewing {
            ledgers,
            now,
            last,
            since: self.since(now),
            links,
            occurrences: self.occurrences.clone(),
            handshakes: self.handshakes.as_ref().map(Noting::afresh),
            ipsec: Ipsec::default(),
        }
    }
}

/// A view while it is put together.
#[derive(Debug)]
pub struct Viewing<'a> {
    ledgers: &'a Ledgers,
    now: Timestamp,
    /// Nothing will come that could tell more.
    last: bool,
    since: Timestamp,
    links: Links,
    occurrences: Occurrences,
    handshakes: Option<Noting>,
    ipsec: Ipsec,
}

/// The present state.
#[derive(Debug)]
pub struct View {
    pub(super) network: Network,
    pub(super) occurrences: BTreeMap<Occurring, Occurrence>,
    handshakes: Option<Noting>,
}

impl View {
    /// The links.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

impl Viewing<'_> {
    fn take(&mut self, part: &Part<'_>, posture: &Posture) {
        let [first, last] = part.span();
        if last.time < self.since {
            return;
        }
        if let Some(noting) = &mut self.handshakes {
            noting.living(part, posture);
        }
        if !self.is_settled(first, posture) {
            return;
        }
        self.links.add(part);
        self.occurrences.add(part, posture);
    }

    /// Returns true if enough of it was seen to say what it is: what is shown to be safe or
    /// vulnerable stays so, the rest may have only begun.
    fn is_settled(&self, first: Moment, posture: &Posture) -> bool {
        let verdict = posture.confidentiality.verdict();
        self.last
            || !matches!(verdict, Verdict::NotSeen | Verdict::NotObservable)
            || self.now.since(first.time) >= SETTLED_NS
    }

    /// All of it is in.
    #[must_use]
    pub fn finish(mut self, deployment: Option<&Deployment>) -> View {
        let ledgers = self.ledgers;
        let mut judged = std::mem::take(&mut self.ipsec).judge_ike(ledgers);
        for ike in &judged.ike {
            self.take(&Part::ike(ike), &ike.posture);
        }
        judged.judge_esp(ledgers, |esp| self.take(&Part::esp(&esp), &esp.posture));
        View {
            network: self.links.finish(deployment),
            occurrences: self.occurrences.0,
            handshakes: self.handshakes,
        }
    }
}

impl Sink for Viewing<'_> {
    fn connection(&mut self, connection: Connection) {
        if connection.last.time >= self.since {
            let posture = Evidence::new(&connection, self.ledgers).posture();
            self.take(&Part::connection(&connection, &posture), &posture);
        }
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        self.take(&Part::association(&association, &posture), &posture);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, self.ledgers);
        self.take(&Part::datagrams(&datagrams, &posture), &posture);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}
