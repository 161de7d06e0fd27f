//! IKE_AUTH: who both ends are, and the first CHILD_SA (RFC 7296, sections 1.2 and 2.15; RFC 7427).

use std::time::Instant;

use bartizan_esp::Suite;
use bartizan_wire::ike::{Body, ExchangeType, Message, NotifyType, Payload, PayloadType, Proposal, TrafficSelector};

use super::init::{notify, payload};
use super::messages::Content;
use super::{IkeSa, State};
use crate::config::Mode;
use crate::credential::Identity;
use crate::error::Failure;
use crate::event::{Child, Event};
use crate::proposal::{self, ESP};
use crate::selector::{Selector, narrow};
use crate::trust::Claim;

/// X.509 Certificate - Signature (RFC 7296, section 3.6).
const X509: u8 = 4;
/// Digital Signature (RFC 7427, section 3).
const DIGITAL_SIGNATURE: u8 = 14;
/// Certificates of one chain that are looked at.
const CHAIN: usize = 8;

/// What an IKE_AUTH message holds of who its sender is, and of the CHILD_SA.
#[derive(Default)]
struct Auth<'a> {
    identity: Option<(u8, &'a [u8])>,
    certificates: Vec<Vec<u8>>,
    proof: Option<(u8, &'a [u8])>,
    proposals: Option<&'a [Proposal]>,
    selectors: [Option<&'a [TrafficSelector<'a>]>; 2],
    transport: bool,
}

impl<'a> Auth<'a> {
    fn of(message: &'a Message<'a>, sender: PayloadType) -> Self {
        let mut read = Self::default();
        for payload in &message.payloads {
            match (payload.kind, &payload.body) {
                (kind, Body::Identification { kind: of, data }) if kind == sender => read.identity = Some((*of, data)),
                (PayloadType::CERT, Body::Certificate { encoding: X509, data }) if read.certificates.len() < CHAIN => {
                    read.certificates.push(data.to_vec());
                }
                (_, Body::Authentication { method, data }) => read.proof = Some((*method, data)),
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

/// A CHILD_SA as both ends see it.
struct Made {
    chosen: Proposal,
    suite: Suite,
    /// Of the initiator, and of the responder.
    selectors: [Vec<Selector>; 2],
}

impl IkeSa {
    /// An initiator's IKE_AUTH.
    pub(super) fn send_auth(&mut self, now: Instant) -> Result<(), Failure> {
        let config = self.config.clone();
        let (kind, data) = config.identity.encode();
        let proof = self.prove(kind, &data)?;
        let authorities = config.trust.authorities().concat();
        let (peer, peer_data) = config.peer.encode();
        let spi = self.esp_spi.to_be_bytes();
        let selectors = [&config.child.local, &config.child.remote].map(|all| encoded(all));
        let identification = |kind, data| Body::Identification { kind, data };
        let mut payloads = vec![payload(PayloadType::ID_INITIATOR, identification(kind, &data))];
        payloads.extend(certificates(&config.certificates));
        let data = &authorities[..];
        payloads.push(payload(
            PayloadType::CERTREQ,
            Body::Certificate { encoding: X509, data },
        ));
        payloads.push(payload(PayloadType::ID_RESPONDER, identification(peer, &peer_data)));
        let (method, data) = (DIGITAL_SIGNATURE, &proof[..]);
        payloads.push(payload(PayloadType::AUTH, Body::Authentication { method, data }));
        if config.child.mode == Mode::Transport {
            payloads.push(notify(NotifyType::USE_TRANSPORT_MODE, &[]));
        }
        let proposals = proposal::offer(&config.child.proposals, ESP, &spi);
        payloads.push(payload(PayloadType::SA, Body::Proposals(proposals)));
        payloads.extend(traffic(&selectors));
        self.ask(now, ExchangeType::IKE_AUTH, payloads)?;
        self.state = State::Authenticating;
        Ok(())
    }

    /// A responder's answer.
    pub(super) fn auth_request(&mut self, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let config = self.config.clone();
        let auth = Auth::of(message, PayloadType::ID_INITIATOR);
        if let Err(failure) = self.verify(&auth) {
            self.refuse(&content.header, &[notify(NotifyType::AUTHENTICATION_FAILED, &[])]);
            return Err(failure);
        }
        let (kind, data) = config.identity.encode();
        let proof = self.prove(kind, &data)?;
        let made = self.choose_child(&auth);
        let data = &data[..];
        let mut payloads = vec![payload(PayloadType::ID_RESPONDER, Body::Identification { kind, data })];
        payloads.extend(certificates(&config.certificates));
        let (method, data) = (DIGITAL_SIGNATURE, &proof[..]);
        payloads.push(payload(PayloadType::AUTH, Body::Authentication { method, data }));
        let selectors = match &made {
            Ok((made, _)) => [&made.selectors[0], &made.selectors[1]].map(|all| encoded(all)),
            Err(_) => [Vec::new(), Vec::new()],
        };
        match &made {
            Ok((made, _)) => {
                if config.child.mode == Mode::Transport {
                    payloads.push(notify(NotifyType::USE_TRANSPORT_MODE, &[]));
                }
                let mut chosen = made.chosen.clone();
                chosen.spi = self.esp_spi.to_be_bytes().to_vec();
                payloads.push(payload(PayloadType::SA, Body::Proposals(vec![chosen])));
                payloads.extend(traffic(&selectors));
            }
            Err(kind) => payloads.push(notify(*kind, &[])),
        }
        self.answer(&content.header, payloads)?;
        self.established();
        match made {
            Ok((made, theirs)) => self.made(made, theirs),
            Err(kind) => {
                self.events.push_back(Event::ChildRefused(kind));
                Ok(())
            }
        }
    }

    pub(super) fn auth_response(&mut self, now: Instant, content: &Content) -> Result<(), Failure> {
        let message = Message::read(content.first, &content.bytes)?;
        let auth = Auth::of(&message, PayloadType::ID_RESPONDER);
        // A refusal next to a proof is one of the CHILD_SA alone (RFC 7296, section 1.2).
        if auth.proof.is_none() {
            super::open::refusal(&message)?;
        }
        if let Err(failure) = self.verify(&auth) {
            // The peer believes that all is well (RFC 7296, section 2.21.2).
            self.state = State::Closing(failure);
            let failed = notify(NotifyType::AUTHENTICATION_FAILED, &[]);
            return self.ask(now, ExchangeType::INFORMATIONAL, vec![failed]).map(drop);
        }
        self.established();
        let Some(proposals) = auth.proposals else {
            let kind = super::open::refusal(&message).err();
            let kind = match kind {
                Some(Failure::Refused(kind)) => kind,
                _ => NotifyType::NO_PROPOSAL_CHOSEN,
            };
            self.events.push_back(Event::ChildRefused(kind));
            return Ok(());
        };
        match self.accept_child(&auth, proposals) {
            Some((made, theirs)) => self.made(made, theirs),
            None => {
                // It chose what was not offered: nothing is sent by such an SA, and the peer learns that it is gone.
                self.events
                    .push_back(Event::ChildRefused(NotifyType::NO_PROPOSAL_CHOSEN));
                self.delete(now, Failure::NoProposal);
                Ok(())
            }
        }
    }

    fn established(&mut self) {
        self.state = State::Established;
        self.deadline = None;
        // What was signed is not needed again; of ML-DSA and a KEM it is most of what an SA holds.
        self.transcript = super::Transcript::default();
        if let Some(security) = &self.security {
            self.events.push_back(Event::Established {
                peer: self.config.peer.clone(),
                agreed: security.agreed.clone(),
            });
        }
    }

    /// What an end signs: its IKE_SA_INIT, the other's nonce, its identity, and what was exchanged in between (RFC 7296, section 2.15; RFC
    /// 9242, section 3.3.2).
    fn octets(&self, by: usize, kind: u8, data: &[u8]) -> Option<Vec<u8>> {
        let security = self.security.as_ref()?;
        let (keys, nonces) = (&security.keys, &security.nonces);
        let mut octets = self.transcript.init[by].clone();
        octets.extend(if by == 0 { &nonces.responder } else { &nonces.initiator });
        octets.extend(&keys.prf.prf(&keys.prove[by], &[&[kind, 0, 0, 0], data])[..]);
        let [initiator, responder] = &self.transcript.intermediate;
        if !initiator.is_empty() {
            octets.extend(initiator);
            octets.extend(responder);
            // IKE_AUTH comes behind IKE_SA_INIT and one IKE_INTERMEDIATE for each additional key exchange.
            let message_id = security.agreed.additional.len() as u32 + 1;
            octets.extend(message_id.to_be_bytes());
        }
        Some(octets)
    }

    fn prove(&self, kind: u8, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let by = usize::from(!self.is_initiator());
        let octets = self.octets(by, kind, data).ok_or(Failure::Cryptography)?;
        let key = &self.config.key;
        if !key.hash().is_some_and(|hash| self.peer.hashes.contains(&hash)) {
            return Err(Failure::Unsupported("the hash algorithm of this end's signature"));
        }
        key.authenticate(&octets).ok_or(Failure::Cryptography)
    }

    fn verify(&self, auth: &Auth<'_>) -> Result<(), Failure> {
        let (kind, data) = auth
            .identity
            .ok_or(Failure::Incomplete("IKE_AUTH without an identity"))?;
        let identity = Identity::read(kind, data);
        if identity != self.config.peer {
            return Err(Failure::Authentication("it is somebody else than who was expected"));
        }
        let (method, proof) = auth.proof.ok_or(Failure::Incomplete("IKE_AUTH without a proof"))?;
        if method != DIGITAL_SIGNATURE {
            return Err(Failure::Authentication("it does not use digital signatures (RFC 7427)"));
        }
        const SHORT: Failure = Failure::Authentication("its signature is cut off");
        let (length, rest) = proof.split_first().ok_or(SHORT)?;
        let (algorithm, signature) = rest.split_at_checked(usize::from(*length)).ok_or(SHORT)?;
        let by = usize::from(self.is_initiator());
        let octets = self.octets(by, kind, data).ok_or(Failure::Cryptography)?;
        let claim = Claim {
            identity: &identity,
            certificates: &auth.certificates,
            algorithm,
            octets: &octets,
            signature,
        };
        self.config.trust.verify(claim).map_err(Failure::Authentication)
    }

    /// A responder's choice, and the SPI of the initiator.
    fn choose_child(&self, auth: &Auth<'_>) -> Result<(Made, u32), NotifyType> {
        const NONE: NotifyType = NotifyType::NO_PROPOSAL_CHOSEN;
        let ours = &self.config.child;
        let offered = auth.proposals.ok_or(NONE)?;
        let chosen = proposal::choose(offered, &ours.proposals, ESP).ok_or(NONE)?;
        let suite = proposal::suite(&chosen).ok_or(NONE)?;
        let theirs = spi_of(&chosen).ok_or(NONE)?;
        // Of a tunnel that is offered as transport nothing is said back: it is one then (RFC 7296, section 1.3.1).
        if ours.mode == Mode::Transport && !auth.transport {
            return Err(NONE);
        }
        let [Some(initiator), Some(responder)] = auth.selectors else {
            return Err(NotifyType::TS_UNACCEPTABLE);
        };
        let selectors = [narrow(initiator, &ours.remote), narrow(responder, &ours.local)];
        if selectors
            .iter()
            .any(|all| all.is_empty() || all.len() > usize::from(u8::MAX))
        {
            return Err(NotifyType::TS_UNACCEPTABLE);
        }
        let made = Made {
            chosen,
            suite,
            selectors,
        };
        Ok((made, theirs))
    }

    /// What a responder has chosen, where that was offered.
    fn accept_child(&self, auth: &Auth<'_>, proposals: &[Proposal]) -> Option<(Made, u32)> {
        let ours = &self.config.child;
        let offered = proposal::offer(&ours.proposals, ESP, &[]);
        let [chosen] = proposals else {
            return None;
        };
        let mode = if auth.transport { Mode::Transport } else { Mode::Tunnel };
        let (suite, theirs) = (proposal::suite(chosen)?, spi_of(chosen)?);
        let read = |selectors: Option<&[TrafficSelector<'_>]>, allowed: &[Selector]| {
            let read = selectors?.iter().map(Selector::read);
            let read: Vec<Selector> = read.collect::<Option<_>>()?;
            let within = |one: &Selector| allowed.iter().any(|allowed| allowed.contains(one));
            (!read.is_empty() && read.iter().all(within)).then_some(read)
        };
        let selectors = [
            read(auth.selectors[0], &ours.local)?,
            read(auth.selectors[1], &ours.remote)?,
        ];
        let made = Made {
            chosen: chosen.clone(),
            suite,
            selectors,
        };
        (proposal::is_of(chosen, &offered) && mode == ours.mode).then_some((made, theirs))
    }

    fn made(&mut self, made: Made, theirs: u32) -> Result<(), Failure> {
        let security = self.security.as_ref().ok_or(Failure::Cryptography)?;
        let [initiator, responder] = security.keys.child(made.suite, &security.nonces);
        let [of_initiator, of_responder] = made.selectors;
        let (sending, receiving, local, remote) = if self.is_initiator() {
            (initiator, responder, of_initiator, of_responder)
        } else {
            (responder, initiator, of_responder, of_initiator)
        };
        self.child = Some((self.esp_spi, theirs));
        self.events.push_back(Event::Child(Box::new(Child {
            suite: made.suite,
            numbers: proposal::numbers(&made.chosen),
            mode: self.config.child.mode,
            inbound: (self.esp_spi, receiving),
            outbound: (theirs, sending),
            local,
            remote,
            in_udp: self.peer.translated.is_some_and(|(local, remote)| local || remote),
        })));
        Ok(())
    }
}

fn spi_of(proposal: &Proposal) -> Option<u32> {
    let spi = <[u8; 4]>::try_from(&proposal.spi[..]).ok()?;
    Some(u32::from_be_bytes(spi)).filter(|spi| *spi > 255)
}

fn certificates(all: &[Vec<u8>]) -> impl Iterator<Item = Payload<'_>> {
    let body = |data| Body::Certificate { encoding: X509, data };
    all.iter()
        .map(move |certificate| payload(PayloadType::CERT, body(certificate)))
}

/// Type, protocol and range of each.
fn encoded(all: &[Selector]) -> Vec<(u8, u8, Vec<u8>)> {
    let encode = |selector: &Selector| {
        let (kind, range) = selector.encode();
        (kind, selector.protocol, range)
    };
    all.iter().map(encode).collect()
}

fn traffic(selectors: &[Vec<(u8, u8, Vec<u8>)>; 2]) -> [Payload<'_>; 2] {
    let body = |place: usize| {
        let all = selectors[place].iter().map(|(kind, protocol, range)| TrafficSelector {
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
