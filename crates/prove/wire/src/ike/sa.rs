//! An IKE_SA as packets showed it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::session::{requester, sender};
use super::{
    Arrival, Exchange, ExchangeType, Exchanges, Header, KeyExchangeMethod, Malformed, Mode, NotifyType, Phase1,
    Proposal, Rekey,
};
use crate::allocation::allocated;
use crate::blocks::Blocks;
use crate::path::Path;
use crate::share::{self, NotAKey};
use crate::{Captured, Moment, Seen};

/// One end of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The end that began it.
    Initiator,
    /// The other.
    Responder,
}

impl Party {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
        })
    }
}

/// The beginning of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Its IKE_SA_INIT is in the capture.
    Init,
    /// A rekey made it: the initiator's message 0, which in an IKE_SA made by IKE_SA_INIT is that, is another exchange.
    Rekey,
    /// Session resumption made it (RFC 5723): its keys come from those of an earlier one.
    Resumed,
    /// It was already there.
    Midstream,
}

bartizan_registry::made! {
    /// Content of a KE payload in plaintext.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct KeyExchangeData, pub(super) new(method: KeyExchangeMethod, from: Party, data: &[u8]) {
        /// Made with.
        pub method: KeyExchangeMethod = method,
        /// Bytes of data: a payload has no more than 65535 (RFC 7296, section 3.2).
        pub length: u16 = data.len() as u16,
        /// The reason for which they are no key of the method.
        pub fault: Option<NotAKey> = share::of_ike(method.0, from == Party::Initiator, data),
    }
}

/// A notification in plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Notified {
    /// Sender.
    pub from: Party,
    /// Notify message type.
    pub kind: NotifyType,
}

/// Reason for another IKE_SA_INIT request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// To show that it receives at its address.
    Cookie,
    /// To make the key exchange with another method: this one.
    KeyExchange(KeyExchangeMethod),
}

/// A violation of the standard, or an unreadable message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// A message that contradicts itself.
    #[error("a message cannot be read: {0}")]
    Malformed(Malformed),
    /// A message of which the capture has a part only.
    #[error("a message was captured in part only")]
    Snapped,
    /// A second answer to IKE_SA_INIT that chooses something else: one of the two is not the responder's.
    #[error("two different answers to one IKE_SA_INIT")]
    TwoAnswers,
    /// A second IKE_SA_INIT request that says something else, and no answer before it asked for another.
    #[error("two different requests of one IKE_SA_INIT, and no answer asks for another")]
    TwoRequests,
    /// A message was sent again with other bytes: no end does that (RFC 7296, section 2.1).
    #[error("a message was sent again with other bytes")]
    TwoMessages,
    /// Two messages of one end under one key have the same initialization vector.
    #[error(
        "two different messages have one nonce under one key: its sender used it twice, or one of them was injected"
    )]
    NonceReused,
    /// The same of several initialization vectors: an injected message has one.
    #[error("different messages have one nonce under one key, several times: a recorder of both reads them now")]
    NoncesReused,
    /// The checksum of a message is wrong, and right in others of the same end: its receiver drops it.
    #[error("a checksum is wrong among right ones: forged, or damaged on the way")]
    Corrupt,
    /// Payloads in plaintext before what is encrypted, or a notification in its place.
    #[error("payloads in plaintext behind IKE_SA_INIT")]
    Clear,
    /// Nothing of a message is encrypted that must be: no end takes it.
    #[error("a message behind IKE_SA_INIT is not encrypted")]
    Unencrypted,
}

/// Traffic of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartyTraffic {
    /// IP packets.
    pub packets: u64,
    /// Bytes of IP packets as sent, headers included.
    pub ip_bytes: u64,
    /// Parts of fragmented IP packets.
    pub ip_fragments: u64,
    /// IKE fragments.
    pub ike_fragments: u64,
    /// Messages and fragments seen before.
    pub repeated: u64,
}

/// A bounded list: the first of many, and how many there were beyond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<T> {
    /// The first, in their order.
    pub first: Vec<T>,
    /// Number of items after those.
    pub omitted: u64,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            omitted: 0,
        }
    }
}

impl<T> Kept<T> {
    pub(super) fn push(&mut self, item: T, limit: usize) {
        if self.first.len() < limit {
            // Most hold a few for good, and there may be a hundred thousand such lists: no room is kept for growing.
            if self.first.len() == self.first.capacity() {
                self.first.reserve_exact(1 + self.first.len() / 8);
            }
            self.first.push(item);
        } else {
            self.omitted += 1;
        }
    }

    /// Number of all items.
    pub fn count(&self) -> u64 {
        self.first.len() as u64 + self.omitted
    }
}

/// The initiator's offer before it learned the responder's method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstOffer {
    /// Proposals.
    pub proposals: Seen<Vec<Proposal>>,
    /// Its KE payload.
    pub key_exchange: Option<KeyExchangeData>,
}

/// Phase 1 negotiation of IKEv1, as far as it is not encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Negotiation {
    /// The mode.
    pub mode: Option<Mode>,
    /// Transforms that the initiator proposes.
    pub offered: Option<Seen<Vec<Phase1>>>,
    /// Transform that the responder chose.
    pub chosen: Option<Seen<Phase1>>,
}

bartizan_registry::made! {
    /// An IKE_SA, at the capture's end. Only a [`Session`](super::Session) makes one.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct IkeSa, pub(super) new(number: u64, header: &Header, arrival: &Arrival) {
        let from = match header.major {
            2 => sender(header),
            // Nothing but the first message says who began in version 1.
            _ => Party::Initiator,
        };
        let (initiator, responder) = match from {
            Party::Initiator => (arrival.source, arrival.destination),
            Party::Responder => (arrival.destination, arrival.source),
        };
        /// Its place in the order of first packets, from 1, among everything an observer gives.
        pub number: u64 = number,
        /// First address of the initiator.
        pub initiator: SocketAddr = initiator,
        /// First address of the responder.
        pub responder: SocketAddr = responder,
        /// Chosen by the initiator.
        pub initiator_spi: u64 = header.initiator_spi,
        /// Chosen by the responder; zero where it never agreed.
        pub responder_spi: u64 = header.responder_spi,
        /// Encapsulation of the messages of initiator and responder; none for an end that sent nothing.
        pub paths: [Option<Path>; 2] = [None, None],
        /// Packets of the capture that belong to it.
        pub captured: Captured = Captured::default(),
        /// Major and minor version.
        pub version: (u8, u8) = (header.major, header.minor),
        /// Its beginning in the capture.
        pub origin: Origin = Origin::Midstream,
        /// True where its first message in the capture is of the responder's request 0: it was there
        /// before, or a rekey made it.
        pub responder_first: bool =
            header.major == 2 && header.message_id == 0 && requester(header) == Party::Responder,
        /// Further addresses of initiator and responder between which both ends sent messages: it moved
        /// (RFC 4555). Four at most.
        pub moved: Vec<[IpAddr; 2]> = Vec::new(),
        /// First packet.
        pub first: Moment = arrival.first,
        /// Last packet.
        pub last: Moment = arrival.at,
        /// Proposals of the initiator's last IKE_SA_INIT.
        pub offered: Option<Seen<Vec<Proposal>>> = None,
        /// The initiator's KE payload in that.
        pub offered_key_exchange: Option<KeyExchangeData> = None,
        /// Its first offer, if that differed: an initiator that is asked for another method proposes
        /// that one.
        pub first_offer: Option<Box<FirstOffer>> = None,
        /// Proposal chosen by the responder.
        pub chosen: Option<Seen<Proposal>> = None,
        /// The responder's KE payload.
        pub chosen_key_exchange: Option<KeyExchangeData> = None,
        /// Reasons for further IKE_SA_INIT requests.
        pub retries: Kept<Seen<Retry>> = Kept::default(),
        /// The error with which the responder refused, where it did and did not agree later.
        pub refused: Option<Seen<NotifyType>> = None,
        /// Notifications of IKE_SA_INIT, each once.
        pub notified: Kept<Notified> = Kept::default(),
        /// All exchanges but INFORMATIONAL, in the order of their first packets.
        pub exchanges: Exchanges = Exchanges::from(arrival.first),
        /// INFORMATIONAL exchanges.
        pub informational: u64 = 0,
        /// CREATE_CHILD_SA that were not refused.
        pub rekeys: u64 = 0,
        /// The rekey with the least room for key exchange data, of all that were seen whole.
        pub tightest_rekey: Option<Box<Rekey>> = None,
        /// CREATE_CHILD_SA that the other end refused.
        pub refused_rekeys: u64 = 0,
        /// CREATE_CHILD_SA of which a message or a fragment is missing.
        pub unseen_rekeys: u64 = 0,
        /// Traffic from the initiator.
        pub from_initiator: PartyTraffic = PartyTraffic::default(),
        /// Traffic from the responder.
        pub from_responder: PartyTraffic = PartyTraffic::default(),
        /// True if it moved to port 4500.
        pub encapsulated: bool = false,
        /// Faults, each once.
        pub faults: Kept<Seen<Fault>> = Kept::default(),
        /// IKEv1: phase 1.
        pub phase_1: Option<Box<Negotiation>> = None,
        /// Decrypted content, if keys were given for it.
        pub opened: Option<Box<super::Opened>> = None,
    }
}

impl IkeSa {
    /// Bytes it holds besides its own.
    pub fn held(&self) -> usize {
        fn list<T>(capacity: usize) -> usize {
            allocated(capacity * size_of::<T>())
        }
        let inside = |proposal: &Proposal| {
            allocated(proposal.spi.capacity()) + list::<super::Transform>(proposal.transforms.capacity())
        };
        let proposals = |seen: &Seen<Vec<Proposal>>| {
            list::<Proposal>(seen.value.capacity()) + seen.value.iter().map(inside).sum::<usize>()
        };
        let first = self.first_offer.as_ref();
        let first = first.map_or(0, |first| list::<FirstOffer>(1) + proposals(&first.proposals));
        let phase_1 = self.phase_1.as_ref().map_or(0, |phase_1| {
            let offered = phase_1.offered.as_ref();
            list::<Negotiation>(1) + offered.map_or(0, |seen| list::<Phase1>(seen.value.capacity()))
        });
        self.offered.as_ref().map_or(0, proposals)
            + phase_1
            + first
            + self.chosen.as_ref().map_or(0, |seen| inside(&seen.value))
            + self.exchanges.held()
            + list::<Notified>(self.notified.first.capacity())
            + self.tightest_rekey.as_ref().map_or(0, |_| list::<Rekey>(1))
            + list::<Seen<Retry>>(self.retries.first.capacity())
            + list::<Seen<Fault>>(self.faults.first.capacity())
            + list::<[IpAddr; 2]>(self.moved.capacity())
    }

    /// The key exchanges it was made with: those of the chosen proposal, the KE payload's first.
    pub fn key_exchanges(&self) -> impl Iterator<Item = KeyExchangeMethod> {
        self.chosen.iter().flat_map(|chosen| chosen.value.key_exchanges())
    }

    /// Exchanges of one kind, in their order, as far as kept.
    pub fn exchanges_of(&self, kind: ExchangeType) -> impl Iterator<Item = Exchange> {
        self.exchanges.iter().filter(move |exchange| exchange.kind == kind)
    }

    /// Lengths of its encrypted messages, as far as its exchanges are kept.
    pub fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        let encrypted = self
            .exchanges
            .iter()
            .filter(|exchange| exchange.kind != ExchangeType::IKE_SA_INIT);
        let halves = encrypted.flat_map(|exchange| [exchange.request, exchange.response]);
        let whole = halves.flatten().filter(|half| half.complete && half.fragments == 0);
        whole.for_each(|half| blocks.take(half.bytes));
        blocks
    }

    /// Each CREATE_CHILD_SA that is kept with the IKE_FOLLOWUP_KE that followed it, those that were refused left out.
    pub fn rekeyed(&self) -> Vec<(Exchange, Vec<Exchange>)> {
        let mut rekeyed: Vec<(Exchange, Vec<Exchange>)> = Vec::new();
        for exchange in self.exchanges.iter() {
            match exchange.kind {
                ExchangeType::CREATE_CHILD_SA => rekeyed.push((exchange, Vec::new())),
                ExchangeType::IKE_FOLLOWUP_KE => {
                    let mut newest = rekeyed.iter_mut().rev();
                    if let Some((_, follow_ups)) = newest.find(|(create, _)| create.requester == exchange.requester) {
                        follow_ups.push(exchange);
                    }
                }
                _ => {}
            }
        }
        rekeyed.retain(|(create, _)| !Rekey::of(create).is_some_and(|rekey| rekey.is_refused()));
        rekeyed
    }

    /// Returns true if an end sent this notification.
    #[must_use]
    pub fn has_notified(&self, from: Party, kind: NotifyType) -> bool {
        self.notified.first.contains(&Notified { from, kind })
    }

    /// From the first IKE_SA_INIT to the end of IKE_AUTH, in nanoseconds; none unless both are whole.
    pub fn set_up(&self) -> Option<u64> {
        let first = self
            .exchanges_of(super::ExchangeType::IKE_SA_INIT)
            .find_map(|init| init.request)?;
        // With EAP there are several; the last of those without a gap ends it.
        let last = self.exchanges_of(ExchangeType::IKE_AUTH).last()?;
        last.duration()?;
        let last = last.response?;
        Some(last.last.time.since(first.first.time))
    }
}
