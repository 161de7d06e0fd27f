//! IKE_SA_INIT (RFC 7296, section 1.2), by both ends.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use aws_lc_rs::digest;
use bartizan_wire::ike::{
    Body, ExchangeType, Flags, Header, KeyExchangeMethod, Message, NotifyType, Party, Payload, PayloadType, Proposal,
    Transform,
};

use super::preshared::By;
use super::{Abilities, Ends, IkeSa, Security, State, fingerprint, unknown_critical};
use crate::config::Config;
use crate::credential::hashes;
use crate::error::Failure;
use crate::key_exchange::{Pending, Secret, key_exchange};
use crate::proposal::{self, Agreed, IKE};
use crate::protection::Protection;
use crate::random::{self, Chance, Random};
use crate::schedule::{Keys, Nonces};

/// Cookies that an initiator returns before it fails: a responder needs one, and another where its secret has changed.
const COOKIES: u8 = 3;

/// Reason to refuse a nonce that the wire allows (RFC 7296, section 2.10).
pub(super) const SHORT_NONCE: &str = "its nonce is shorter than half of the key of the pseudorandom function";

bartizan_registry::made! {
    /// An initiator before it has keys.
    pub(super) struct Starting, pub(super) new(config: &Config, random: &mut dyn Random) -> Result<Self, Failure> {
        let method = proposal::preferred(&config.proposals).ok_or(Failure::NoProposal)?;
        let (data, pending) = begin(method)?;
        nonce: Vec<u8> = random::nonce(random),
        method: KeyExchangeMethod,
        data: Vec<u8>,
        pending: Box<dyn Pending>,
        cookie: Vec<u8> = Vec::new(),
        cookies: u8 = 0,
        /// True if the responder has asked for another method before.
        asked: bool = false,
    }
}

pub(super) fn begin(method: KeyExchangeMethod) -> Result<(Vec<u8>, Box<dyn Pending>), Failure> {
    let exchange = key_exchange(method).ok_or(Failure::KeyExchange(method))?;
    exchange.begin().map_err(|_| Failure::Cryptography)
}

/// The method that INVALID_KE_PAYLOAD asks for, where these proposals offer it.
pub(super) fn wanted(data: &[u8], lists: &[Vec<Transform>]) -> Option<KeyExchangeMethod> {
    let method = u16::from_be_bytes(data.try_into().ok()?);
    let offers = |transform: &Transform| transform.kind == Transform::KE && transform.id == method;
    let is_offered = method != KeyExchangeMethod::NONE.0 && lists.iter().flatten().any(offers);
    is_offered.then_some(KeyExchangeMethod(method))
}

/// A message that is not encrypted, or what an Encrypted payload is to hold.
pub(crate) fn encode(mut header: Header, payloads: Vec<Payload<'_>>) -> Result<Vec<u8>, Failure> {
    let (first, bytes) = Message { payloads }.encode().ok_or(Failure::Cryptography)?;
    header.next = first;
    header.length = u32::try_from(Header::LENGTH + bytes.len()).map_err(|_| Failure::Cryptography)?;
    Ok([&header.encode()[..], &bytes].concat())
}

pub(super) fn payload(kind: PayloadType, body: Body<'_>) -> Payload<'_> {
    Payload {
        kind,
        critical: false,
        body,
    }
}

/// A notification about no SA.
pub(super) fn notify(kind: NotifyType, data: &[u8]) -> Payload<'_> {
    let body = Body::Notify {
        protocol: 0,
        spi: &[],
        kind,
        data,
    };
    payload(PayloadType::NOTIFY, body)
}

/// Agreement of both ends by IKE_SA_INIT.
struct Usable {
    agreed: Agreed,
    secret: Secret,
    /// Nonces of initiator and responder.
    nonces: [Vec<u8>; 2],
    peer: Abilities,
}

/// Payloads of IKE_SA_INIT.
pub(crate) struct Init<'a> {
    pub(crate) proposals: &'a [Proposal],
    pub(crate) key_exchange: (KeyExchangeMethod, &'a [u8]),
    pub(crate) nonce: &'a [u8],
    notified: Vec<(NotifyType, &'a [u8])>,
}

impl<'a> Init<'a> {
    /// Reads a message; it must have each required payload.
    pub(crate) fn of(message: &'a Message<'a>) -> Result<Self, Failure> {
        let (mut proposals, mut key_exchange, mut nonce, mut notified) = (None, None, None, Vec::new());
        for payload in &message.payloads {
            match &payload.body {
                Body::Proposals(all) if proposals.is_none() => proposals = Some(&all[..]),
                Body::KeyExchange { method, data } if key_exchange.is_none() => key_exchange = Some((*method, *data)),
                Body::Nonce(bytes) if nonce.is_none() => nonce = Some(*bytes),
                Body::Proposals(_) | Body::KeyExchange { .. } | Body::Nonce(_) => {
                    return Err(Failure::Incomplete("a payload of IKE_SA_INIT comes twice"));
                }
                Body::Notify { kind, data, .. } => notified.push((*kind, *data)),
                _ => {}
            }
        }
        // RFC 7296, section 3.9.
        let nonce = nonce.filter(|nonce| (16..=256).contains(&nonce.len()));
        Ok(Self {
            proposals: proposals.ok_or(Failure::Incomplete("IKE_SA_INIT without proposals"))?,
            key_exchange: key_exchange.ok_or(Failure::Incomplete("IKE_SA_INIT without a key exchange"))?,
            nonce: nonce.ok_or(Failure::Incomplete("IKE_SA_INIT without a nonce of 16 to 256 bytes"))?,
            notified,
        })
    }

    fn has(&self, wanted: NotifyType) -> bool {
        self.notified.iter().any(|(kind, _)| *kind == wanted)
    }

    fn abilities(&self, ends: Ends, spis: [u64; 2]) -> Abilities {
        let of = |wanted: NotifyType| self.notified.iter().filter(move |(kind, _)| *kind == wanted);
        let differs = |kind, address| {
            let digest = nat_digest(spis, address);
            let mut seen = of(kind).peekable();
            seen.peek().is_some().then(|| !seen.any(|(_, data)| *data == digest))
        };
        // The peer's source is this end's remote, and the other way round.
        let remote = differs(NotifyType::NAT_DETECTION_SOURCE_IP, ends.remote);
        let local = differs(NotifyType::NAT_DETECTION_DESTINATION_IP, ends.local);
        let hashes = of(NotifyType::SIGNATURE_HASH_ALGORITHMS).flat_map(|(_, data)| data.as_chunks::<2>().0);
        Abilities {
            fragments: self.has(NotifyType::IKEV2_FRAGMENTATION_SUPPORTED),
            intermediate: self.has(NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED),
            ppk: self.has(NotifyType::USE_PPK),
            early_ppk: self.has(NotifyType::USE_PPK_INT),
            full_transcript: self.has(NotifyType::IKE_SA_INIT_FULL_TRANSCRIPT_AUTH),
            childless: self.has(NotifyType::CHILDLESS_IKEV2_SUPPORTED),
            hashes: hashes.map(|bytes| u16::from_be_bytes(*bytes)).collect(),
            translated: local.zip(remote),
        }
    }
}

/// SHA-1 of SPIs, address and port (RFC 7296, section 2.23).
fn nat_digest(spis: [u64; 2], address: SocketAddr) -> Vec<u8> {
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    spis.iter().for_each(|spi| context.update(&spi.to_be_bytes()));
    match address.ip() {
        IpAddr::V4(ip) => context.update(&ip.octets()),
        IpAddr::V6(ip) => context.update(&ip.octets()),
    }
    context.update(&address.port().to_be_bytes());
    context.finish().as_ref().to_vec()
}

bartizan_registry::made! {
    /// Announcements of an end: NAT detection and hash algorithms.
    struct Said, new(spis: [u64; 2], ends: Ends, always_in_udp: bool) {
        // The peer finds that this is not where the message comes from.
        let source = match always_in_udp {
            true => SocketAddr::new(ends.local.ip(), 0),
            false => ends.local,
        };
        source: Vec<u8> = nat_digest(spis, source),
        destination: Vec<u8> = nat_digest(spis, ends.remote),
        hashes: Vec<u8> = hashes().into_iter().flat_map(u16::to_be_bytes).collect(),
    }
}

impl Said {
    fn payloads(&self, more: &[NotifyType]) -> Vec<Payload<'_>> {
        let mut payloads = vec![
            notify(NotifyType::NAT_DETECTION_SOURCE_IP, &self.source),
            notify(NotifyType::NAT_DETECTION_DESTINATION_IP, &self.destination),
            notify(NotifyType::IKEV2_FRAGMENTATION_SUPPORTED, &[]),
            notify(NotifyType::SIGNATURE_HASH_ALGORITHMS, &self.hashes),
            // Said whatever the peer says: who takes it away changes what both sign.
            notify(NotifyType::IKE_SA_INIT_FULL_TRANSCRIPT_AUTH, &[]),
        ];
        payloads.extend(more.iter().map(|kind| notify(*kind, &[])));
        payloads
    }
}

impl IkeSa {
    /// Sends IKE_SA_INIT, or sends it again with what the responder asked for.
    pub(super) fn send_init(&mut self, now: Instant) -> Result<(), Failure> {
        let State::Starting(starting) = &self.state else {
            return Ok(());
        };
        let proposals = proposal::offer(&self.config.proposals, IKE, &[]);
        let said = Said::new(self.spis, self.ends, self.config.always_in_udp);
        let mut payloads = Vec::new();
        if !starting.cookie.is_empty() {
            payloads.push(notify(NotifyType::COOKIE, &starting.cookie));
        }
        let hybrid = self
            .config
            .proposals
            .iter()
            .flatten()
            .any(|transform| transform.is_additional());
        let (method, data) = (starting.method, &starting.data[..]);
        payloads.extend([
            payload(PayloadType::SA, Body::Proposals(proposals)),
            payload(PayloadType::KE, Body::KeyExchange { method, data }),
            payload(PayloadType::NONCE, Body::Nonce(&starting.nonce)),
        ]);
        let ppk = self.config.ppk.as_ref();
        let early = ppk.is_some_and(|ppk| ppk.early);
        let mut more = Vec::new();
        more.extend((hybrid || early).then_some(NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED));
        more.extend(ppk.map(|_| NotifyType::USE_PPK));
        more.extend(early.then_some(NotifyType::USE_PPK_INT));
        payloads.extend(said.payloads(&more));
        let message = encode(self.header(ExchangeType::IKE_SA_INIT, Flags::INITIATOR, 0), payloads)?;
        self.transcript.init[0].clone_from(&message);
        self.send_request(now, ExchangeType::IKE_SA_INIT, 0, vec![message]);
        self.next_request = 1;
        Ok(())
    }

    /// Takes an unauthenticated response. Any sender on the path can write one, so one that cannot
    /// be used is left alone, and the peer's own is still taken (RFC 7296, section 2.21.1).
    pub(super) fn init_response(&mut self, now: Instant, header: &Header, datagram: &[u8]) {
        let Ok(message) = Message::read(header.next, &datagram[Header::LENGTH..]) else {
            return;
        };
        if unknown_critical(&message).is_some() {
            return;
        }
        if let Some((kind, data)) = error_or_cookie(&message) {
            self.asked_or_refused(now, kind, data);
            return;
        }
        if header.responder_spi == 0 {
            return;
        }
        let spis = [self.spis[0], header.responder_spi];
        let usable = Init::of(&message).and_then(|init| self.usable(spis, &init));
        match usable {
            Ok(usable) => {
                self.spis = spis;
                self.transcript.init[1] = datagram.to_vec();
                self.heard = now;
                self.taken += 1;
                self.outgoing = None;
                if let Err(failure) = self.take_init(now, usable) {
                    self.fail(failure);
                }
            }
            Err(failure) => self.unusable = Some(failure),
        }
    }

    /// A cookie, another key exchange, or a refusal.
    fn asked_or_refused(&mut self, now: Instant, kind: NotifyType, data: &[u8]) {
        let wanted = wanted(data, &self.config.proposals);
        let State::Starting(starting) = &mut self.state else {
            return;
        };
        let again = match (kind, wanted) {
            // The path has doubled what it is an answer to, or it: this cookie is returned already.
            (NotifyType::COOKIE, _) if !data.is_empty() && starting.cookie == data => return,
            (NotifyType::COOKIE, _) if (1..=64).contains(&data.len()) && starting.cookies < COOKIES => {
                starting.cookies += 1;
                starting.cookie = data.to_vec();
                true
            }
            (NotifyType::INVALID_KE_PAYLOAD, Some(method)) if !starting.asked && method != starting.method => {
                starting.asked = true;
                match begin(method) {
                    Ok((data, pending)) => {
                        (starting.method, starting.data, starting.pending) = (method, data, pending);
                        true
                    }
                    Err(_) => false,
                }
            }
            _ => false,
        };
        self.taken += u64::from(again);
        if !again {
            self.unusable = Some(Failure::Refused(kind));
        } else if let Err(failure) = self.send_init(now) {
            self.fail(failure);
        }
    }

    /// A response by which this initiator can go on.
    fn usable(&self, spis: [u64; 2], init: &Init<'_>) -> Result<Usable, Failure> {
        let State::Starting(starting) = &self.state else {
            return Err(Failure::Closed);
        };
        let offered = proposal::offer(&self.config.proposals, IKE, &[]);
        let [chosen] = init.proposals else {
            return Err(Failure::NoProposal);
        };
        if !proposal::is_of(chosen, &offered) {
            return Err(Failure::NoProposal);
        }
        let agreed = Agreed::of(chosen).ok_or(Failure::NoProposal)?;
        if init.nonce.len() < agreed.prf.shortest_nonce() {
            return Err(Failure::Incomplete(SHORT_NONCE));
        }
        let (method, data) = init.key_exchange;
        if agreed.first != starting.method || method != starting.method {
            return Err(Failure::NoProposal);
        }
        let secret = starting.pending.finish(data);
        let secret = secret.map_err(|_| Failure::KeyExchange(method))?;
        let peer = init.abilities(self.ends, spis);
        if !agreed.additional.is_empty() && !peer.intermediate {
            return Err(Failure::Unsupported("IKE_INTERMEDIATE"));
        }
        if self.requires_ppk() && self.ppk_with(&peer).is_none() {
            return Err(Failure::Unsupported("a post-quantum pre-shared key"));
        }
        Ok(Usable {
            agreed,
            secret,
            nonces: [starting.nonce.clone(), init.nonce.to_vec()],
            peer,
        })
    }

    fn take_init(&mut self, now: Instant, usable: Usable) -> Result<(), Failure> {
        self.state = State::Authenticating;
        self.peer = usable.peer;
        let [own, peers] = &usable.nonces;
        self.secure(usable.agreed, &usable.secret, [own, peers])?;
        self.go_on(now, 0)
    }

    fn secure(&mut self, mut agreed: Agreed, secret: &[u8], nonces: [&[u8]; 2]) -> Result<(), Failure> {
        let nonces = Nonces::new(nonces, self.spis);
        agreed.full_transcript = self.peer.full_transcript;
        let (keys, cipher) = Keys::first(agreed.prf, agreed.suite, secret, &nonces);
        self.security = Some(Security {
            protection: Protection::new(agreed.suite, &cipher, self.is_initiator())?,
            agreed,
            keys,
            unmixed: None,
            nonces,
        });
        Ok(())
    }

    /// A responder, from the first request that it admits; its answer waits to be sent.
    pub(crate) fn respond(
        config: Arc<Config>,
        ends: Ends,
        random: &mut dyn Random,
        now: Instant,
        (header, datagram): (&Header, &[u8]),
        (init, chosen): (&Init<'_>, &Proposal),
    ) -> Result<Self, Failure> {
        let agreed = Agreed::of(chosen).ok_or(Failure::NoProposal)?;
        if init.nonce.len() < agreed.prf.shortest_nonce() {
            return Err(Failure::Incomplete(SHORT_NONCE));
        }
        let hybrid = !agreed.additional.is_empty();
        if hybrid && !init.has(NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED) {
            return Err(Failure::Unsupported("IKE_INTERMEDIATE"));
        }
        let (method, data) = init.key_exchange;
        let exchange = key_exchange(method).ok_or(Failure::KeyExchange(method))?;
        let (answer, secret) = exchange.answer(data).map_err(|_| Failure::KeyExchange(method))?;
        let spis = [header.initiator_spi, random::spi(random)];
        let esp_spi = random::esp_spi(random);
        let nonce = random::nonce(random);
        let half_open = config.timing.half_open;
        let state = State::Awaiting { index: 0 };
        let chance = Chance::new(random);
        let mut sa = Self::new(config, Party::Responder, ends, (spis, esp_spi), (state, chance), now);
        sa.deadline = Some(now + half_open);
        // The initiator has computed its digests before there was a second SPI.
        sa.peer = init.abilities(ends, [spis[0], 0]);
        let said = Said::new(spis, ends, sa.config.always_in_udp);
        let data = &answer[..];
        let mut payloads = vec![
            payload(PayloadType::SA, Body::Proposals(vec![chosen.clone()])),
            payload(PayloadType::KE, Body::KeyExchange { method, data }),
            payload(PayloadType::NONCE, Body::Nonce(&nonce)),
        ];
        let by = sa.ppk_by();
        let mut more = vec![NotifyType::CHILDLESS_IKEV2_SUPPORTED];
        more.extend((hybrid || by == Some(By::Intermediate)).then_some(NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED));
        more.extend(by.map(By::announced));
        payloads.extend(said.payloads(&more));
        let message = encode(sa.header(ExchangeType::IKE_SA_INIT, Flags::RESPONSE, 0), payloads)?;
        sa.transcript.init = [datagram.to_vec(), message.clone()];
        sa.secure(agreed, &secret, [init.nonce, &nonce])?;
        sa.arriving = fingerprint(datagram);
        sa.send_response(ExchangeType::IKE_SA_INIT, 0, vec![message]);
        Ok(sa)
    }
}

/// The first notification that says that this is no answer to build on.
fn error_or_cookie<'a>(message: &Message<'a>) -> Option<(NotifyType, &'a [u8])> {
    message.payloads.iter().find_map(|payload| match payload.body {
        Body::Notify { kind, data, .. } if kind.is_error() || kind == NotifyType::COOKIE => Some((kind, data)),
        _ => None,
    })
}
