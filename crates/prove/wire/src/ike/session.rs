//! Messages of one IKE_SA in, what they amount to out.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use bartizan_registry::{TransformKind, esp_encryption};

use super::exchange::Assembly;
use super::opened::Opener;
use super::sa::{FirstOffer, Notified};
use super::{
    Body, Exchange, ExchangeType, Fault, Half, Header, IkeSa, KeyExchangeData, KeyExchangeMethod, Message, NotifyType,
    Origin, Party, PartyTraffic, Payload, PayloadType, Rekey, Retry, v1,
};
use crate::allocation::allocated;
use crate::checksum::{Checksum, Sums};
use crate::keys::Keys;
use crate::nonce::Nonces;
use crate::path::Path;
use crate::{Captured, Moment, Seen};

/// Exchanges that may still go on. Each end has one at a time unless a window was agreed on (RFC
/// 7296, section 2.3); the others are for messages that come late.
const OPEN: usize = 4;
/// Exchanges, rekeys and notifications kept.
const KEPT: usize = 64;
/// Faults and retries kept.
const FAULTS: usize = 8;

/// Origin of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The packet that completed it.
    pub at: Moment,
    /// Its first packet, where IP fragmented it; otherwise the same.
    pub first: Moment,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// IP packets it took.
    pub packets: u32,
    /// Bytes of these as sent, headers included.
    pub ip_bytes: u64,
    /// True if all of it was captured.
    pub whole: bool,
}

bartizan_registry::made! {
    /// One IKE_SA while it lives.
    #[derive(Clone)]
    pub struct Session,
    /// An IKE_SA whose first message, not yet taken, has this header.
    pub new(number: u64, header: &Header, arrival: &Arrival) {
        sa: IkeSa = IkeSa::new(number, header, arrival),
        open: VecDeque<Open> = VecDeque::new(),
        /// Digest of the newest IKE_SA_INIT request, to distinguish a retransmission from another
        /// attempt.
        request: Option<u64> = None,
        /// Number of responses before it that asked for another request.
        retries: u64 = 0,
        /// Digest of the response that chose a proposal.
        answer: Option<u64> = None,
        /// The checksums of either end.
        sums: [Sums; 2] = Default::default(),
        /// Initialization vectors of either end.
        nonces: [Nonces; 2] = Default::default(),
        /// The newest CREATE_CHILD_SA of either end, waiting for what follows it up.
        creating: [Option<Box<Rekey>>; 2] = [None, None],
        opener: Option<Box<Opener>> = None,
        /// Addresses to which it may be moving, and the end that sent between them.
        moving: Option<([IpAddr; 2], Party)> = None,
    }
}

/// An exchange that may still go on.
#[derive(Clone)]
struct Open {
    kind: ExchangeType,
    message_id: u32,
    requester: Party,
    /// Request and response.
    halves: [Assembly; 2],
    kept: Where,
}

/// Place of an exchange while it is open.
#[derive(Clone)]
enum Where {
    /// Among those of its IKE_SA, at this place.
    Listed(usize),
    /// Here: it is one too many to be listed, and yet part of a rekey.
    Here(Box<Exchange>),
    /// Nowhere: it is one too many, or INFORMATIONAL.
    Nowhere,
}

impl Session {
    /// Its place in the order of first packets.
    pub fn number(&self) -> u64 {
        self.sa.number
    }

    /// The hosts at its two ends.
    pub fn hosts(&self) -> [IpAddr; 2] {
        [self.sa.initiator.ip(), self.sa.responder.ip()]
    }

    /// Time and packet of its last message.
    pub fn last(&self) -> Moment {
        self.sa.last
    }

    /// Bytes it holds.
    pub fn held(&self) -> usize {
        let rekeys = self.creating.iter().flatten().count();
        let open = self.open.iter().map(|open| {
            let here = matches!(open.kept, Where::Here(_)).then(|| allocated(size_of::<Exchange>()));
            here.unwrap_or(0) + open.halves.iter().map(Assembly::held).sum::<usize>()
        });
        allocated(size_of::<Self>())
            + self.sa.held()
            + allocated(self.open.capacity() * size_of::<Open>())
            + open.sum::<usize>()
            + self.nonces.iter().map(Nonces::held).sum::<usize>()
            + rekeys * allocated(size_of::<Rekey>())
            + self.opener.as_ref().map_or(0, |opener| opener.held())
    }

    /// Returns true if the responder has agreed to a proposal.
    #[must_use]
    pub fn is_agreed(&self) -> bool {
        self.sa.chosen.is_some()
    }

    /// Returns true if the receiver takes a message whose datagram has this checksum.
    pub(crate) fn admits(&mut self, header: &Header, arrival: &Arrival, checksum: Checksum) -> bool {
        let sums = &mut self.sums[index(self.party(header, arrival))];
        let admitted = sums.admit(checksum, true);
        if !admitted || sums.have_changed() {
            self.fault(Fault::Corrupt, arrival);
        }
        admitted
    }

    /// Takes a message: its header, and all bytes of it that were captured, header included.
    pub fn message(&mut self, header: &Header, message: &[u8], arrival: &Arrival) {
        let from = self.party(header, arrival);
        self.sa.last = arrival.at;
        self.sa.encapsulated |= arrival.source.port() == crate::udp::IKE_NAT;
        let traffic = self.traffic(from);
        traffic.packets += u64::from(arrival.packets);
        traffic.ip_bytes += arrival.ip_bytes;
        if arrival.packets > 1 {
            traffic.ip_fragments += u64::from(arrival.packets);
        }
        if header.major != 2 {
            self.phase_1(header, message, arrival, from);
            return;
        }
        if !arrival.whole {
            self.fault(Fault::Snapped, arrival);
        }
        self.follow(from, arrival);
        let rest = message.get(Header::LENGTH..).unwrap_or_default();
        if header.exchange == ExchangeType::IKE_SA_INIT {
            self.init(header, rest, message, arrival);
            return;
        }
        if header.exchange == ExchangeType::IKE_SESSION_RESUME {
            // In plaintext, as IKE_SA_INIT is (RFC 5723, section 4.3.2).
            self.sa.origin = Origin::Resumed;
            self.take(header, arrival, (false, 0), None);
            return;
        } else if self.sa.origin == Origin::Midstream && header.message_id == 0 && requester(header) == Party::Initiator
        {
            self.sa.origin = Origin::Rekey;
        }
        let (kind, clear) = sealed(header.next, rest);
        if clear > 0 {
            self.fault(Fault::Clear, arrival);
        }
        let sealed = rest.get(clear..).unwrap_or_default();
        let fragment = fragment(kind, sealed).unwrap_or_else(|fault| {
            self.fault(fault, arrival);
            None
        });
        if fragment.is_some() {
            self.traffic(from).ike_fragments += 1;
        }
        self.encrypted(kind, sealed, from, arrival);
        let repeated = self.take(header, arrival, (false, clear as u64), fragment);
        self.compare(header, message, repeated, fragment, arrival);
    }

    /// Follows it to other addresses, once both ends sent messages between them: a message of one
    /// end may be forged.
    fn follow(&mut self, from: Party, arrival: &Arrival) {
        /// Pairs of addresses that are kept.
        const MOVES: usize = 4;
        let ends = match from {
            Party::Initiator => [arrival.source.ip(), arrival.destination.ip()],
            Party::Responder => [arrival.destination.ip(), arrival.source.ip()],
        };
        if ends == self.hosts() || self.sa.moved.contains(&ends) {
            return;
        }
        match self.moving {
            Some((known, by)) if known == ends => {
                if by != from && self.sa.moved.len() < MOVES {
                    self.sa.moved.push(ends);
                }
            }
            _ => self.moving = Some((ends, from)),
        }
    }

    /// Further addresses of initiator and responder, in the order in which it moved to them.
    pub fn moved(&self) -> &[[IpAddr; 2]] {
        &self.sa.moved
    }

    /// Looks at the initialization vector of a message: two messages never have one.
    fn encrypted(&mut self, sealed: PayloadType, rest: &[u8], from: Party, arrival: &Arrival) {
        let start = match sealed {
            PayloadType::ENCRYPTED => 4,
            PayloadType::ENCRYPTED_FRAGMENT => 8,
            _ => return,
        };
        let transforms = self.sa.chosen.iter().flat_map(|chosen| &chosen.value.transforms);
        let mut ciphers = transforms.filter(|one| one.kind == TransformKind::Encryption.code());
        let vector = ciphers
            .next()
            .and_then(|one| esp_encryption(one.id))
            .map(|known| known.iv);
        let Some(sealed) = rest.get(start..).filter(|_| arrival.whole && vector != Some(0)) else {
            return;
        };
        let nonces = &mut self.nonces[index(from)];
        if let Some(vector) = sealed.first_chunk()
            && nonces.take(u64::from_be_bytes(*vector), sealed, 0, arrival.at)
        {
            let several = nonces.reuse().is_some_and(|reuse| reuse.several);
            self.fault(
                if several {
                    Fault::NoncesReused
                } else {
                    Fault::NonceReused
                },
                arrival,
            );
        }
    }

    /// Compares a message, or a fragment of one, with what was sent before under its number: a
    /// retransmission is the same to the bit (RFC 7296, section 2.1). A message may be cut anew,
    /// into more fragments.
    fn compare(
        &mut self,
        header: &Header,
        message: &[u8],
        repeated: bool,
        fragment: Option<(u16, u16)>,
        arrival: &Arrival,
    ) {
        if !arrival.whole {
            return;
        }
        // Two that differ have one digest once in four thousand million.
        let (requester, digest) = (requester(header), NonZeroU32::new(digest(message) as u32));
        let mut open = self.open.iter_mut().rev();
        let open = open.find(|open| {
            open.kind == header.exchange && open.message_id == header.message_id && open.requester == requester
        });
        let Some(open) = open else { return };
        let half = usize::from(header.flags.is_response());
        let differs = match fragment {
            Some(fragment) => open.halves[half].differs(fragment, digest.map_or(0, NonZeroU32::get)),
            None => {
                let known = &mut open.halves[half].digest;
                let differs = known.is_some() && *known != digest;
                *known = known.or(digest);
                repeated && differs
            }
        };
        if differs {
            self.fault(Fault::TwoMessages, arrival);
        }
    }

    /// Decrypts a message behind IKE_SA_INIT; call it next to [`message`](Self::message).
    pub fn open(&mut self, header: &Header, message: &[u8], arrival: &Arrival, keys: &dyn Keys) {
        if header.major != 2 || header.exchange == ExchangeType::IKE_SA_INIT || !arrival.whole {
            return;
        }
        if self.opener.is_none() {
            self.opener = Opener::new(header, keys).map(Box::new);
        }
        if let Some(opener) = &mut self.opener {
            opener.message(header, message, arrival, keys);
        }
    }

    /// Nothing more will come: what it amounts to.
    #[must_use]
    pub fn finish(mut self) -> IkeSa {
        self.sa.opened = self.opener.take().map(|opener| opener.outcome());
        while let Some(exchange) = self.open.pop_front() {
            self.retire(exchange);
        }
        for end in 0..2 {
            if let Some(rekey) = self.creating[end].take() {
                self.rekeyed(*rekey);
            }
        }
        self.sa
    }

    /// Packets of the capture that brought a message with this header; `path` is what they were carried in.
    pub(crate) fn arrived(
        &mut self,
        header: &Header,
        arrival: &Arrival,
        captured: Captured,
        path: impl FnOnce() -> Path,
    ) {
        self.sa.captured.add(captured);
        let way = match self.party(header, arrival) {
            Party::Initiator => 0,
            Party::Responder => 1,
        };
        self.sa.paths[way].get_or_insert_with(path);
    }

    /// Sender of a message. Version 1 has no flag for it: the initiator is known by its address, or
    /// by the cookie that is still missing.
    fn party(&self, header: &Header, arrival: &Arrival) -> Party {
        if header.major == 2 {
            return sender(header);
        }
        let is_initiator = header.responder_spi == 0 || arrival.source.ip() == self.sa.initiator.ip();
        if is_initiator {
            Party::Initiator
        } else {
            Party::Responder
        }
    }

    /// A message of version 1: what of it is not encrypted.
    fn phase_1(&mut self, header: &Header, message: &[u8], arrival: &Arrival, from: Party) {
        let Some(mode) = v1::mode(header.exchange.0, header.flags.0) else {
            return;
        };
        let read = message.get(Header::LENGTH..).unwrap_or_default();
        let transforms = match v1::transforms(header.next.0, read) {
            Ok(Some(transforms)) if arrival.whole => transforms,
            Ok(_) => return,
            Err(part) => return self.fault(Fault::Malformed(part), arrival),
        };
        let known = self.sa.phase_1.get_or_insert_default();
        known.mode.get_or_insert(mode);
        match (from, &transforms[..]) {
            (Party::Initiator, _) if known.offered.is_none() => {
                self.sa.origin = Origin::Init;
                known.offered = Some(Seen::new(transforms, arrival.first, arrival.at));
            }
            // A choice stands alone (RFC 2408, section 4.2).
            (Party::Responder, [chosen]) => {
                known
                    .chosen
                    .get_or_insert(Seen::new(*chosen, arrival.first, arrival.at));
                self.sa.responder_spi = header.responder_spi;
            }
            _ => {}
        }
    }

    /// IKE_SA_INIT, which may be sent more than once with the same number and another content.
    fn init(&mut self, header: &Header, rest: &[u8], message: &[u8], arrival: &Arrival) {
        self.sa.origin = Origin::Init;
        let mut another = false;
        if !header.flags.is_response() {
            let digest = digest(message);
            another = self.request.is_some_and(|before| before != digest);
            self.request = Some(digest);
            let retries = self.sa.retries.first.len() as u64 + self.sa.retries.omitted;
            if another && retries == self.retries && self.sa.refused.is_none() {
                self.fault(Fault::TwoRequests, arrival);
            }
            self.retries = retries;
        }
        let repeated = self.take(header, arrival, (another, 0), None);
        let response = header.flags.is_response();
        if repeated && !response || !arrival.whole {
            return;
        }
        match Message::read(header.next, rest) {
            Ok(read) if response => self.answer(header, &read, digest(message), arrival),
            Ok(read) => self.offer(&read, arrival),
            Err(malformed) => self.fault(Fault::Malformed(malformed), arrival),
        }
    }

    fn offer(&mut self, message: &Message<'_>, arrival: &Arrival) {
        if self.sa.chosen.is_some() {
            // The agreement belongs to an earlier request.
            return;
        }
        self.notifications(Party::Initiator, &message.payloads);
        let before = self.sa.offered.take().map(|proposals| FirstOffer {
            proposals,
            key_exchange: self.sa.offered_key_exchange.take(),
        });
        for payload in &message.payloads {
            match &payload.body {
                Body::Proposals(proposals) => {
                    self.sa.offered = Some(Seen::new(proposals.clone(), arrival.first, arrival.at));
                }
                Body::KeyExchange { method, data } => {
                    self.sa.offered_key_exchange = Some(KeyExchangeData::new(*method, Party::Initiator, data));
                }
                _ => {}
            }
        }
        let Some(before) = before else { return };
        let again = same_method(before.key_exchange, self.sa.offered_key_exchange);
        match &self.sa.offered {
            // Nothing is proposed in it: what was proposed stands.
            None => {
                self.sa.offered = Some(before.proposals);
                self.sa.offered_key_exchange = self.sa.offered_key_exchange.or(before.key_exchange);
            }
            Some(now) if self.sa.first_offer.is_none() && !(again && now.value == before.proposals.value) => {
                self.sa.first_offer = Some(Box::new(before));
            }
            Some(_) => {}
        }
    }

    fn answer(&mut self, header: &Header, message: &Message<'_>, digest: u64, arrival: &Arrival) {
        let chosen = message.payloads.iter().find_map(|payload| match &payload.body {
            Body::Proposals(proposals) => proposals.first(),
            _ => None,
        });
        let key_exchange = message.payloads.iter().find_map(|payload| match &payload.body {
            Body::KeyExchange { method, data } => Some(KeyExchangeData::new(*method, Party::Responder, data)),
            _ => None,
        });
        let Some(chosen) = chosen else {
            if self.sa.chosen.is_none() {
                self.refusal(message, arrival);
            }
            return;
        };
        if self.sa.chosen.is_some() {
            if self.answer != Some(digest) {
                self.fault(Fault::TwoAnswers, arrival);
            }
            return;
        }
        self.answer = Some(digest);
        self.sa.responder_spi = header.responder_spi;
        self.sa.chosen = Some(Seen::new(chosen.clone(), arrival.first, arrival.at));
        self.sa.chosen_key_exchange = key_exchange;
        self.sa.refused = None;
        self.notifications(Party::Responder, &message.payloads);
    }

    /// An answer that agrees to nothing.
    fn refusal(&mut self, message: &Message<'_>, arrival: &Arrival) {
        for payload in &message.payloads {
            let Body::Notify { kind, data, .. } = &payload.body else {
                continue;
            };
            let retry = match (*kind, data.first_chunk::<2>()) {
                (NotifyType::COOKIE, _) => Some(Retry::Cookie),
                (NotifyType::INVALID_KE_PAYLOAD, Some(wanted)) => {
                    Some(Retry::KeyExchange(KeyExchangeMethod(u16::from_be_bytes(*wanted))))
                }
                _ => None,
            };
            let seen = |value| Seen::new(value, arrival.first, arrival.at);
            match retry {
                Some(retry) => self
                    .sa
                    .retries
                    .push(Seen::new(retry, arrival.first, arrival.at), FAULTS),
                None if kind.is_error() => self.sa.refused = Some(seen(*kind)),
                None => {}
            }
        }
    }

    fn notifications(&mut self, from: Party, payloads: &[Payload<'_>]) {
        for payload in payloads {
            let Body::Notify { kind, .. } = &payload.body else {
                continue;
            };
            let notified = Notified { from, kind: *kind };
            if !self.sa.notified.first.contains(&notified) {
                self.sa.notified.push(notified, KEPT);
            }
        }
    }

    /// Takes a message, or a fragment of it, into its exchange; `another` asks for an exchange of
    /// its own, and `clear` bytes of it are in plaintext before what is encrypted. Says whether all
    /// of the message was there before.
    fn take(
        &mut self,
        header: &Header,
        arrival: &Arrival,
        (another, clear): (bool, u64),
        fragment: Option<(u16, u16)>,
    ) -> bool {
        let requester = requester(header);
        let place = self.open.iter().rposition(|open| {
            open.kind == header.exchange && open.message_id == header.message_id && open.requester == requester
        });
        let place = match place {
            Some(place) if !another => place,
            _ => self.begin(header, requester),
        };
        let open = &mut self.open[place];
        let response = header.flags.is_response();
        let assembly = &mut open.halves[usize::from(response)];
        let before = assembly.is_complete();
        let step = assembly.take(fragment);
        let change = |exchange: &mut Exchange| {
            let half = if response {
                &mut exchange.response
            } else {
                &mut exchange.request
            };
            let half = half.get_or_insert_with(|| Half::new(arrival));
            half.take(u64::from(header.length).saturating_sub(clear), step, arrival);
        };
        match &mut open.kept {
            Where::Listed(place) => self.sa.exchanges.change(*place, change),
            Where::Here(exchange) => change(exchange),
            Where::Nowhere => {}
        }
        self.traffic(sender(header)).repeated += u64::from(step.repeated);
        before
    }

    /// Opens an exchange. They are kept in the order of their first packets.
    fn begin(&mut self, header: &Header, requester: Party) -> usize {
        if self.open.len() == OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            self.retire(oldest);
        }
        let exchange = Exchange {
            kind: header.exchange,
            message_id: header.message_id,
            requester,
            request: None,
            response: None,
        };
        let of_rekey = [ExchangeType::CREATE_CHILD_SA, ExchangeType::IKE_FOLLOWUP_KE];
        let kept = if header.exchange == ExchangeType::INFORMATIONAL {
            Where::Nowhere
        } else {
            match self.sa.exchanges.push(&exchange, KEPT) {
                Some(place) => Where::Listed(place),
                None if of_rekey.contains(&header.exchange) => Where::Here(Box::new(exchange)),
                None => Where::Nowhere,
            }
        };
        // An idle IKE_SA has a few for good.
        self.open.reserve_exact(1);
        self.open.push_back(Open {
            kind: header.exchange,
            message_id: header.message_id,
            requester,
            halves: Default::default(),
            kept,
        });
        self.open.len() - 1
    }

    /// An exchange to which nothing is expected any more. They come in the order of their first packets.
    fn retire(&mut self, open: Open) {
        if open.kind == ExchangeType::INFORMATIONAL {
            self.sa.informational += 1;
            return;
        }
        let exchange = match open.kept {
            Where::Listed(place) => self.sa.exchanges.iter().nth(place),
            Where::Here(exchange) => Some(*exchange),
            Where::Nowhere => None,
        };
        let Some(exchange) = exchange else { return };
        let end = index(open.requester);
        match open.kind {
            ExchangeType::CREATE_CHILD_SA => {
                let rekey = Rekey::of(&exchange).map(Box::new);
                if let Some(before) = std::mem::replace(&mut self.creating[end], rekey) {
                    self.rekeyed(*before);
                }
            }
            ExchangeType::IKE_FOLLOWUP_KE => {
                if let Some(rekey) = &mut self.creating[end] {
                    rekey.follow(&exchange);
                }
            }
            _ => {}
        }
    }

    /// A CREATE_CHILD_SA that nothing can follow any more.
    fn rekeyed(&mut self, rekey: Rekey) {
        if rekey.is_refused() {
            self.sa.refused_rekeys += 1;
            return;
        }
        match rekey.capacity() {
            None => self.sa.unseen_rekeys += 1,
            Some((request, response)) => {
                let tightest = self.sa.tightest_rekey.as_deref().and_then(Rekey::capacity);
                if tightest.is_none_or(|(ask, answer)| request.min(response) < ask.min(answer)) {
                    self.sa.tightest_rekey = Some(Box::new(rekey));
                }
            }
        }
        self.sa.rekeys += 1;
    }

    fn traffic(&mut self, from: Party) -> &mut PartyTraffic {
        match from {
            Party::Initiator => &mut self.sa.from_initiator,
            Party::Responder => &mut self.sa.from_responder,
        }
    }

    fn fault(&mut self, fault: Fault, arrival: &Arrival) {
        let known = self.sa.faults.first.iter().any(|seen| seen.value == fault);
        if !known {
            let seen = Seen::new(fault, arrival.first, arrival.at);
            self.sa.faults.push(seen, FAULTS);
        }
    }
}

/// Tells messages apart: by chance alone two have the same.
fn digest(message: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    hasher.finish()
}

/// The encrypted payload of a message, or what is in its place, and bytes of payloads in plaintext
/// before it (RFC 7383, section 2.5.3).
pub(super) fn sealed(first: PayloadType, rest: &[u8]) -> (PayloadType, usize) {
    /// Payloads in plaintext that are passed over.
    const PAYLOADS: usize = 8;
    let (mut kind, mut at) = (first, 0);
    for _ in 0..PAYLOADS {
        if matches!(kind, PayloadType::ENCRYPTED | PayloadType::ENCRYPTED_FRAGMENT) {
            return (kind, at);
        }
        let Some(&[next, _, high, low]) = rest.get(at..).and_then(|payload| payload.first_chunk()) else {
            break;
        };
        kind = PayloadType(next);
        at += usize::from(u16::from_be_bytes([high, low])).max(4);
    }
    (first, 0)
}

/// Number and total, where the message is an IKE fragment. Reads no further than the first payload: what is behind it
/// may be many bytes, and none of them can be read.
fn fragment(first: PayloadType, rest: &[u8]) -> Result<Option<(u16, u16)>, Fault> {
    match first {
        // An empty INFORMATIONAL has an SK payload too; no payload at all is odd and harmless.
        PayloadType::ENCRYPTED | PayloadType::NONE => Ok(None),
        PayloadType::ENCRYPTED_FRAGMENT => {
            let Some([_, _, _, _, a, b, c, d]) = rest.first_chunk::<8>() else {
                return Err(Fault::Snapped);
            };
            let (number, total) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
            if number == 0 || number > total {
                let malformed = super::Malformed("a fragment number beyond the total");
                return Err(Fault::Malformed(malformed));
            }
            Ok(Some((number, total)))
        }
        // A remark about an IKE_SA that its sender does not know (RFC 7296, section 1.5).
        first if is_remark(first, rest) => Err(Fault::Clear),
        _ => Err(Fault::Unencrypted),
    }
}

fn is_remark(first: PayloadType, rest: &[u8]) -> bool {
    let read = Message::read(first, rest);
    read.is_ok_and(|read| read.payloads.iter().all(|payload| payload.kind == PayloadType::NOTIFY))
}

fn same_method(one: Option<KeyExchangeData>, other: Option<KeyExchangeData>) -> bool {
    one.map(|data| data.method) == other.map(|data| data.method)
}

pub(super) fn sender(header: &Header) -> Party {
    if header.flags.is_from_initiator() {
        Party::Initiator
    } else {
        Party::Responder
    }
}

/// Party that sent the request of a message's exchange.
pub(super) fn requester(header: &Header) -> Party {
    if header.flags.is_response() {
        sender(header).other()
    } else {
        sender(header)
    }
}

pub(super) fn index(party: Party) -> usize {
    match party {
        Party::Initiator => 0,
        Party::Responder => 1,
    }
}
