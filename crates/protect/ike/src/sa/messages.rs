//! Requests and responses: numbered, sealed, sent again (RFC 7296, sections 2.1 and 2.2).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use aws_lc_rs::digest;
use bartizan_registry::Header as Layer;
use bartizan_wire::ike::{Body, ExchangeType, Flags, Header, Message, NotifyType, Payload, PayloadType};

use super::init::notify;
use super::{Ends, IkeSa, Port, State, Transmit};
use crate::error::Failure;
use crate::event::Event;

/// A request of this end that is not answered yet; there is one at most.
pub(super) struct Outgoing {
    pub(super) exchange: ExchangeType,
    pub(super) message_id: u32,
    pub(super) datagrams: Vec<Vec<u8>>,
    /// Retransmissions so far.
    pub(super) sent_again: u32,
    pub(super) due: Instant,
    pub(super) wait: Duration,
}

/// The peer's last request, and what was answered: answered again where it comes again.
pub(super) struct Answered {
    exchange: ExchangeType,
    /// Fingerprint of the whole request, or of its first fragment (RFC 7383, section 2.6.1).
    request: Fingerprint,
    datagrams: Vec<Vec<u8>>,
}

/// SHA-256 of a datagram: whether another is the same is all that is asked of it.
pub(super) type Fingerprint = [u8; digest::SHA256_OUTPUT_LEN];

pub(super) fn fingerprint(datagram: &[u8]) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    fingerprint.copy_from_slice(digest::digest(&digest::SHA256, datagram).as_ref());
    fingerprint
}

/// Content of a proven message.
pub(super) struct Content {
    pub(super) header: Header,
    pub(super) first: PayloadType,
    pub(super) bytes: Vec<u8>,
}

/// The first payload that must be understood and is not (RFC 7296, section 2.5).
pub(crate) fn unknown_critical(message: &Message<'_>) -> Option<PayloadType> {
    let mut critical = message.payloads.iter().filter(|payload| payload.critical);
    let unknown = critical.find(|payload| matches!(payload.body, Body::Other(_)));
    unknown.map(|payload| payload.kind)
}

impl IkeSa {
    /// A datagram that came between these sockets. A peer may move to 4500 after IKE_SA_INIT, also
    /// where no address is translated, and is answered there from its first proven request on (RFC
    /// 7296, sections 2.11 and 2.23).
    pub(crate) fn receive_between(&mut self, now: Instant, ends: Ends, datagram: &[u8]) {
        self.arrival = Some(ends);
        self.receive(now, datagram);
        self.arrival = None;
    }

    /// Takes the sockets of a proven datagram that is no repetition for its own. Before it is
    /// authenticated the peer may move to 4500. Later it moves where a translator before it has
    /// another mapping; an end that is behind one itself follows no peer (RFC 7296, section 2.23).
    fn follow_peer(&mut self) {
        let Some(ends) = self.arriving_at_nat_port() else {
            return;
        };
        if !self.is_established() {
            if !self.is_initiator() && Port::of(self.ends) == Port::Ike {
                self.ends = ends;
            }
        } else if self.peer.translated == Some((false, true)) && ends.remote != self.ends.to(Port::Nat) {
            self.ends = ends;
            self.events.push_back(Event::Moved(ends));
        }
    }

    /// The sockets of the datagram that is being read, where it came to port 4500 between the
    /// addresses of this IKE_SA. Addresses are the configuration's: no peer moves to another.
    fn arriving_at_nat_port(&self) -> Option<Ends> {
        let same = |one: SocketAddr, other: SocketAddr| one.ip() == other.ip();
        self.arrival
            .filter(|ends| same(ends.local, self.ends.local) && same(ends.remote, self.ends.remote))
            .filter(|ends| Port::of(*ends) == Port::Nat)
    }

    /// Sockets of the next datagrams. A request that came again is answered where it came from,
    /// and proves no move.
    pub(crate) fn ends_of_answer(&mut self) -> Ends {
        self.answer_to.take().unwrap_or(self.ends)
    }

    /// Takes a datagram of the peer, or of an attacker that claims to be the peer.
    pub fn receive(&mut self, now: Instant, datagram: &[u8]) {
        let Ok(header) = Header::read(datagram) else {
            return;
        };
        let fits = header.major == 2
            && header.length as usize == datagram.len()
            && header.initiator_spi == self.spis[0]
            && header.flags.is_from_initiator() != self.is_initiator();
        if self.is_closed() || !fits {
            return;
        }
        if header.flags.is_response() {
            self.receive_response(now, &header, datagram);
        } else {
            self.receive_request(now, &header, datagram);
        }
    }

    fn receive_response(&mut self, now: Instant, header: &Header, datagram: &[u8]) {
        let expected = |outgoing: &Outgoing| (outgoing.message_id, outgoing.exchange);
        if self.outgoing.as_ref().map(expected) != Some((header.message_id, header.exchange)) {
            return;
        }
        if matches!(self.state, State::Starting(_)) {
            self.init_response(now, header, datagram);
            return;
        }
        let Some(content) = self.whole(header, datagram) else {
            return;
        };
        self.heard = now;
        self.outgoing = None;
        match self.response(now, &content) {
            Ok(()) => self.advance(now),
            Err(failure) => self.fail(failure),
        }
    }

    fn receive_request(&mut self, now: Instant, header: &Header, datagram: &[u8]) {
        let is_again = |answered: &&Answered| {
            header.message_id.checked_add(1) == Some(self.expected) && answered.request == fingerprint(datagram)
        };
        if let Some(answered) = self.answered.as_ref().filter(is_again) {
            let port = self.port(answered.exchange);
            let again = answered.datagrams.iter().map(|datagram| Transmit {
                port,
                datagram: datagram.clone(),
            });
            self.transmits.extend(again);
            self.answer_to = self.arriving_at_nat_port();
            return;
        }
        if header.message_id != self.expected || header.exchange == ExchangeType::IKE_SA_INIT {
            return;
        }
        let Some(content) = self.whole(header, datagram) else {
            return;
        };
        self.heard = now;
        let message = match Message::read(content.first, &content.bytes) {
            Ok(message) => message,
            Err(malformed) => {
                self.refuse(header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
                self.fail(malformed.into());
                return;
            }
        };
        if let Some(unknown) = unknown_critical(&message) {
            self.refuse(
                header,
                &[notify(NotifyType::UNSUPPORTED_CRITICAL_PAYLOAD, &[unknown.0])],
            );
            return;
        }
        match self.request(now, &content, &message) {
            Ok(()) => self.advance(now),
            Err(failure) => self.fail(failure),
        }
    }

    /// Proves a datagram and puts it together with others of its message; none until that is whole.
    fn whole(&mut self, header: &Header, datagram: &[u8]) -> Option<Content> {
        let known = header.responder_spi == self.spis[1];
        let security = self.security.as_ref().filter(|_| known)?;
        let part = security.protection.open(header.next, datagram)?;
        self.taken += 1;
        self.follow_peer();
        let is_response = header.flags.is_response();
        if !is_response && part.fragment.0 == 1 {
            self.arriving = fingerprint(datagram);
        }
        let assembly = &mut self.assemblies[usize::from(is_response)];
        let (first, bytes) = assembly.take(header.message_id, part)?;
        Some(Content {
            header: *header,
            first,
            bytes,
        })
    }

    pub(super) fn header(&self, exchange: ExchangeType, kind: u8, message_id: u32) -> Header {
        let own = if self.is_initiator() { Flags::INITIATOR } else { 0 };
        Header {
            initiator_spi: self.spis[0],
            responder_spi: self.spis[1],
            next: PayloadType::NONE,
            major: 2,
            minor: 0,
            exchange,
            flags: Flags(own | kind & Flags::RESPONSE),
            message_id,
            length: 0,
        }
    }

    /// Header, first payload and content as they are sealed, and the datagrams.
    pub(super) fn seal(
        &mut self,
        header: Header,
        payloads: Vec<Payload<'_>>,
    ) -> Result<(Content, Vec<Vec<u8>>), Failure> {
        let (first, bytes) = Message { payloads }.encode().ok_or(Failure::Cryptography)?;
        let limit = self.peer.fragments.then(|| self.longest(header.exchange));
        let security = self.security.as_mut().ok_or(Failure::Cryptography)?;
        let datagrams = security.protection.seal(header, first, &bytes, limit)?;
        Ok((Content { header, first, bytes }, datagrams))
    }

    /// The longest datagram of this exchange: behind a non-ESP marker there is room for less.
    fn longest(&self, exchange: ExchangeType) -> usize {
        match self.port(exchange) {
            Port::Ike => self.config.longest,
            Port::Nat => self
                .config
                .longest
                .saturating_sub(usize::from(Layer::NON_ESP_MARKER.bytes)),
        }
    }

    /// Sends a request; what was sealed is given back.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        exchange: ExchangeType,
        payloads: Vec<Payload<'_>>,
    ) -> Result<Content, Failure> {
        let message_id = self.next_request;
        let (content, datagrams) = self.seal(self.header(exchange, 0, message_id), payloads)?;
        // After 2^32 requests there is nothing but a new IKE_SA (RFC 7296, section 2.2).
        self.next_request = message_id.checked_add(1).ok_or(Failure::Closed)?;
        self.send_request(now, exchange, message_id, datagrams);
        Ok(content)
    }

    pub(super) fn send_request(
        &mut self,
        now: Instant,
        exchange: ExchangeType,
        message_id: u32,
        datagrams: Vec<Vec<u8>>,
    ) {
        let port = self.port(exchange);
        let copies = datagrams.iter().cloned().map(|datagram| Transmit { port, datagram });
        self.transmits.extend(copies);
        let wait = self.config.timing.retransmit;
        self.outgoing = Some(Outgoing {
            exchange,
            message_id,
            datagrams,
            sent_again: 0,
            due: now + wait,
            wait,
        });
    }

    /// Answers a request; what was sealed is given back.
    pub(super) fn answer(&mut self, request: &Header, payloads: Vec<Payload<'_>>) -> Result<Content, Failure> {
        let header = self.header(request.exchange, Flags::RESPONSE, request.message_id);
        let (content, datagrams) = self.seal(header, payloads)?;
        self.send_response(request.exchange, request.message_id, datagrams);
        Ok(content)
    }

    /// Answers with what is wrong.
    pub(super) fn refuse(&mut self, request: &Header, payloads: &[Payload<'_>]) {
        let _ = self.answer(request, payloads.to_vec());
    }

    pub(super) fn send_response(&mut self, exchange: ExchangeType, message_id: u32, datagrams: Vec<Vec<u8>>) {
        let port = self.port(exchange);
        let copies = datagrams.iter().cloned().map(|datagram| Transmit { port, datagram });
        self.transmits.extend(copies);
        self.expected = message_id.saturating_add(1);
        self.answered = Some(Answered {
            exchange,
            request: std::mem::take(&mut self.arriving),
            datagrams,
        });
    }
}
