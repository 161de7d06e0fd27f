//! CHILD_SAs: what an end offers, the other chooses, and both then hold (RFC 7296, sections 1.2, 1.3 and 2.9).

use std::time::Instant;

use bartizan_esp::Suite;
use bartizan_wire::ike::{Body, Message, NotifyType, Payload, PayloadType, Proposal, TrafficSelector, Transform};

use super::IkeSa;
use super::init::{notify, payload};
use crate::config::{ChildConfig, Mode};
use crate::event::{Child, Event, Requester};
use crate::proposal::{self, ESP};
use crate::schedule::CipherKeys;
use crate::selector::{Selector, narrow};

/// A CHILD_SA that is installed.
#[derive(Debug)]
pub(super) struct ChildSa {
    /// Its place in the configuration.
    pub(super) place: usize,
    /// SPIs by which this end receives and sends.
    pub(super) inbound: u32,
    pub(super) outbound: u32,
    /// Times at which this end replaces it, and at which it deletes it.
    pub(super) rekey: Option<Instant>,
    pub(super) expires: Option<Instant>,
    pub(super) stage: Stage,
    replaces: Option<u32>,
    /// True if the peer is known to have its keys, so that packets may be sent.
    sends: bool,
}

/// Stage in the life of a CHILD_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Live,
    /// The peer has replaced it, and is to delete it.
    Replaced,
    /// This end deletes it, or is about to.
    Closing,
}

/// A message's offer of a CHILD_SA.
#[derive(Default)]
pub(super) struct Offered<'a> {
    pub(super) proposals: Option<&'a [Proposal]>,
    /// Selectors of requester and responder.
    selectors: [Option<&'a [TrafficSelector<'a>]>; 2],
    transport: bool,
}

impl<'a> Offered<'a> {
    pub(super) fn of(message: &'a Message<'a>) -> Self {
        let mut read = Self::default();
        for payload in &message.payloads {
            match (payload.kind, &payload.body) {
                (_, Body::Proposals(all)) => read.proposals = Some(all),
                (PayloadType::TS_INITIATOR, Body::TrafficSelectors(all)) => read.selectors[0] = Some(all),
                (PayloadType::TS_RESPONDER, Body::TrafficSelectors(all)) => read.selectors[1] = Some(all),
                (_, Body::Notify { kind, .. }) if *kind == NotifyType::USE_TRANSPORT_MODE => read.transport = true,
                _ => {}
            }
        }
        read
    }
}

impl Offered<'_> {
    pub(super) fn is_none(&self) -> bool {
        self.proposals.is_none() && self.selectors.iter().all(Option::is_none)
    }
}

/// A CHILD_SA as both ends agree on it.
pub(super) struct Made {
    /// Its place in the configuration.
    pub(super) place: usize,
    pub(super) chosen: Proposal,
    pub(super) suite: Suite,
    /// Selectors of requester and responder.
    selectors: [Vec<Selector>; 2],
    /// The SPI by which the peer receives.
    pub(super) theirs: u32,
}

impl Made {
    pub(super) fn selectors(&self) -> Selectors {
        Selectors::new([&self.selectors[0], &self.selectors[1]])
    }
}

/// Traffic selectors as they stand on the wire: type, protocol and range of each.
pub(super) struct Selectors([Vec<(u8, u8, Vec<u8>)>; 2]);

impl Selectors {
    /// Selectors of requester and responder.
    pub(super) fn new(both: [&[Selector]; 2]) -> Self {
        let encode = |selector: &Selector| {
            let (kind, range) = selector.encode();
            (kind, selector.protocol, range)
        };
        Self(both.map(|all| all.iter().map(encode).collect()))
    }

    pub(super) fn payloads(&self) -> [Payload<'_>; 2] {
        let body = |place: usize| {
            let all = self.0[place].iter().map(|(kind, protocol, range)| TrafficSelector {
                kind: *kind,
                protocol: *protocol,
                range,
            });
            Body::TrafficSelectors(all.collect())
        };
        [
            payload(PayloadType::TS_INITIATOR, body(0)),
            payload(PayloadType::TS_RESPONDER, body(1)),
        ]
    }
}

impl IkeSa {
    /// Place of the CHILD_SA that an offer is for, by its traffic: the one with that very traffic,
    /// else one within it, else one that shares some of it; none if no CHILD_SA shares any.
    pub(super) fn place_of(&self, offered: &Offered<'_>) -> Option<usize> {
        let fits = |ours: &ChildConfig| -> Option<u8> {
            let [Some(requesting), Some(responding)] = offered.selectors else {
                return None;
            };
            let both = [(requesting, &ours.remote), (responding, &ours.local)];
            let ranks = both.map(|(offered, ours)| {
                let narrowed = narrow(offered, ours);
                let offered: Vec<Selector> = offered.iter().filter_map(Selector::read).collect();
                let within = |some: &[Selector], all: &[Selector]| {
                    let in_all = |one: &Selector| all.iter().any(|other| other.contains(one));
                    some.iter().all(in_all)
                };
                match (within(ours, &narrowed), within(&offered, ours)) {
                    _ if narrowed.is_empty() => 0,
                    (true, true) => 3,
                    (true, false) => 2,
                    (false, _) => 1,
                }
            });
            let [one, other] = ranks;
            Some(one.min(other)).filter(|rank| *rank > 0)
        };
        let ranked = self.config.children().map(fits).zip(0..);
        let ranked = ranked.filter_map(|(rank, place)| Some((rank?, place)));
        // The first among equal ranks.
        let best = ranked.max_by_key(|(rank, place)| (*rank, std::cmp::Reverse(*place)));
        best.map(|(_, place)| place)
    }

    /// Chooses from an offer for the CHILD_SA of this place.
    pub(super) fn choose_child(
        &self,
        offered: &Offered<'_>,
        place: usize,
        lists: &[Vec<Transform>],
    ) -> Result<Made, NotifyType> {
        const NONE: NotifyType = NotifyType::NO_PROPOSAL_CHOSEN;
        let ours = self.config.child_of(place);
        let proposals = offered.proposals.ok_or(NONE)?;
        let chosen = proposal::choose(proposals, lists, ESP).ok_or(NONE)?;
        let suite = proposal::suite(&chosen).ok_or(NONE)?;
        let theirs = self.fresh_spi(&chosen).ok_or(NONE)?;
        // A tunnel that is offered as transport is accepted without a notification, and is a tunnel
        // then (RFC 7296, section 1.3.1).
        if ours.mode == Mode::Transport && !offered.transport {
            return Err(NONE);
        }
        let [Some(requesting), Some(responding)] = offered.selectors else {
            return Err(NotifyType::TS_UNACCEPTABLE);
        };
        let selectors = [narrow(requesting, &ours.remote), narrow(responding, &ours.local)];
        if selectors
            .iter()
            .any(|all| all.is_empty() || all.len() > usize::from(u8::MAX))
        {
            return Err(NotifyType::TS_UNACCEPTABLE);
        }
        Ok(Made {
            place,
            chosen,
            suite,
            selectors,
            theirs,
        })
    }

    /// Payloads that say what this end has chosen, with the SPI by which it receives.
    pub(super) fn chosen_child<'a>(&self, made: &Made, own: u32, selectors: &'a Selectors) -> Vec<Payload<'a>> {
        let mut payloads = Vec::new();
        if self.config.child_of(made.place).mode == Mode::Transport {
            payloads.push(notify(NotifyType::USE_TRANSPORT_MODE, &[]));
        }
        let mut chosen = made.chosen.clone();
        chosen.spi = own.to_be_bytes().to_vec();
        payloads.push(payload(PayloadType::SA, Body::Proposals(vec![chosen])));
        payloads.extend(selectors.payloads());
        payloads
    }

    /// Accepts the peer's choice, if it was offered.
    pub(super) fn accept_child(&self, offered: &Offered<'_>, place: usize, lists: &[Vec<Transform>]) -> Option<Made> {
        let ours = self.config.child_of(place);
        let [chosen] = offered.proposals? else {
            return None;
        };
        let mode = if offered.transport {
            Mode::Transport
        } else {
            Mode::Tunnel
        };
        let (suite, theirs) = (proposal::suite(chosen)?, self.fresh_spi(chosen)?);
        let read = |selectors: Option<&[TrafficSelector<'_>]>, allowed: &[Selector]| {
            let read = selectors?.iter().map(Selector::read);
            let read: Vec<Selector> = read.collect::<Option<_>>()?;
            let within = |one: &Selector| allowed.iter().any(|allowed| allowed.contains(one));
            (!read.is_empty() && read.iter().all(within)).then_some(read)
        };
        let selectors = [
            read(offered.selectors[0], &ours.local)?,
            read(offered.selectors[1], &ours.remote)?,
        ];
        let made = Made {
            place,
            chosen: chosen.clone(),
            suite,
            selectors,
            theirs,
        };
        let is_offered = proposal::is_of(chosen, &proposal::offer(lists, ESP, &[]));
        (is_offered && mode == ours.mode).then_some(made)
    }

    /// Holds a CHILD_SA from now on, and gives its keys to the owner.
    pub(super) fn keep_child(
        &mut self,
        now: Instant,
        made: Made,
        own: u32,
        [requesting, responding]: CipherKeys,
        (requester, replaces): (Requester, Option<u32>),
    ) {
        let [of_requester, of_responder] = made.selectors;
        let (sending, receiving, local, remote) = match requester {
            Requester::ThisEnd => (requesting, responding, of_requester, of_responder),
            Requester::Peer => (responding, requesting, of_responder, of_requester),
        };
        let lifetime = self.config.timing.child;
        let open = replaces.is_some_and(|old| self.child(old).is_some());
        let child = ChildSa {
            place: made.place,
            inbound: own,
            outbound: made.theirs,
            rekey: lifetime.map(|lifetime| self.due(now, lifetime)),
            expires: lifetime.map(|lifetime| now + lifetime.expire),
            stage: Stage::Live,
            replaces,
            sends: requester == Requester::ThisEnd || !open,
        };
        self.children.push(child);
        self.events.push_back(Event::Child(Box::new(Child {
            place: made.place,
            suite: made.suite,
            numbers: proposal::numbers(&made.chosen),
            transforms: made.chosen.transforms,
            mode: self.config.child_of(made.place).mode,
            inbound: (own, receiving),
            outbound: (made.theirs, sending),
            local,
            remote,
            in_udp: self.is_translated(),
            requester,
            replaces,
        })));
    }

    /// The CHILD_SA by which packets of the first traffic are to be sent now, by the SPI by which
    /// this end receives: the newest that this end has asked for, and one that the peer has asked
    /// for once the one that it replaces is deleted (RFC 7296, section 2.8).
    pub fn sending(&self) -> Option<u32> {
        self.sending_of(0)
    }

    /// The same of the traffic of a place.
    pub fn sending_of(&self, place: usize) -> Option<u32> {
        let open = self
            .children
            .iter()
            .filter(|child| child.place == place && child.stage != Stage::Closing);
        let best = open.max_by_key(|child| (child.sends, child.stage == Stage::Live));
        best.map(|child| child.inbound)
    }

    /// The CHILD_SAs that are installed, by the SPIs by which this end receives.
    pub fn children(&self) -> impl Iterator<Item = u32> {
        self.children.iter().map(|child| child.inbound)
    }

    /// Returns true if a CHILD_SA of this place exists and is not about to be deleted.
    pub(super) fn has_child(&self, place: usize) -> bool {
        let mut children = self.children.iter();
        children.any(|child| child.place == place && child.stage != Stage::Closing)
    }

    /// The SPI that the peer receives by: one that is in use is none, since two SAs to it could not be distinguished.
    fn fresh_spi(&self, chosen: &Proposal) -> Option<u32> {
        spi_of(chosen).filter(|spi| !self.children.iter().any(|child| child.outbound == *spi))
    }

    pub(super) fn child(&mut self, inbound: u32) -> Option<&mut ChildSa> {
        self.children.iter_mut().find(|child| child.inbound == inbound)
    }

    pub(super) fn refused_child(&mut self, place: usize, requester: Requester, kind: NotifyType) {
        self.events.push_back(Event::ChildRefused { place, requester, kind });
    }

    /// Forgets it.
    pub(super) fn child_deleted(&mut self, inbound: u32) {
        let before = self.children.len();
        self.children.retain(|child| child.inbound != inbound);
        for child in &mut self.children {
            child.sends |= child.replaces == Some(inbound);
        }
        if self.children.len() < before {
            self.events.push_back(Event::ChildDeleted { inbound });
        }
    }
}

fn spi_of(proposal: &Proposal) -> Option<u32> {
    let spi = <[u8; 4]>::try_from(&proposal.spi[..]).ok()?;
    Some(u32::from_be_bytes(spi)).filter(|spi| *spi > 255)
}
