//! IKE_AUTH: who both ends are, and the first CHILD_SA (RFC 7296, sections 1.2 and 2.15; RFC 7427).

use std::time::Instant;

use bartizan_wire::ike::{Body, ExchangeType, Message, NotifyType, Payload, PayloadType};

use super::child::{Made, Offered, Selectors};
use super::init::{notify, payload};
use super::messages::Content;
use super::{IkeSa, State};
use crate::config::Mode;
use crate::credential::Identity;
use crate::error::Failure;
use crate::event::{Event, Requester};
use crate::proposal::{self, ESP};
use crate::trust::{Claim, WRONG_SIGNATURE};

/// X.509 Certificate - Signature (RFC 7296, section 3.6).
const X509: u8 = 4;
/// Digital Signature (RFC 7427, section 3).
const DIGITAL_SIGNATURE: u8 = 14;
/// In front of what is signed of both messages of IKE_SA_INIT: no message begins like that, its SPI is not zero
/// (draft-ietf-ipsecme-ikev2-downgrade-prevention).
const NO_MESSAGE: [u8; 8] = [0; 8];
/// Certificates of one chain that are looked at.
const CHAIN: usize = 8;

/// Identity and proof in an IKE_AUTH message.
#[derive(Default)]
struct Auth<'a> {
    identity: Option<(u8, &'a [u8])>,
    certificates: Vec<Vec<u8>>,
    proof: Option<(u8, &'a [u8])>,
    /// Its identifier of a post-quantum pre-shared key.
    ppk: Option<&'a [u8]>,
    /// The same as `proof`'s data, without that key.
    without_ppk: Option<&'a [u8]>,
    /// True for INITIAL_CONTACT: this is its only IKE_SA with this end.
    is_initial: bool,
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
                (_, Body::Notify { kind, data, .. }) if *kind == NotifyType::PPK_IDENTITY => read.ppk = Some(data),
                (_, Body::Notify { kind, data, .. }) if *kind == NotifyType::NO_PPK_AUTH => {
                    read.without_ppk = Some(data);
                }
                (_, Body::Notify { kind, .. }) if *kind == NotifyType::INITIAL_CONTACT => read.is_initial = true,
                _ => {}
            }
        }
        read
    }
}

impl IkeSa {
    /// An initiator's IKE_AUTH.
    pub(super) fn send_auth(&mut self, now: Instant) -> Result<(), Failure> {
        let config = self.config.clone();
        let (kind, data) = config.identity.encode();
        let ppk = self.ppk_of_auth();
        let mut without = None;
        if ppk.is_some() {
            if !self.requires_ppk() {
                without = Some(self.prove(kind, &data)?);
            }
            self.mix();
        }
        let proof = self.prove(kind, &data)?;
        let authorities = config.trust.authorities().concat();
        let (peer, peer_data) = config.peer.encode();
        let spi = self.esp_spi.to_be_bytes();
        // A peer that cannot do without is asked for the first one.
        let place = self.first.or((!self.peer.childless).then_some(0));
        self.first = place;
        let child = place.map(|place| config.child_of(place));
        let selectors = child.map(|child| Selectors::new([&child.local, &child.remote]));
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
        payloads.extend(ppk.as_ref().map(|named| notify(NotifyType::PPK_IDENTITY, named)));
        payloads.extend(without.as_ref().map(|proof| notify(NotifyType::NO_PPK_AUTH, proof)));
        payloads.extend(self.is_initial.then(|| notify(NotifyType::INITIAL_CONTACT, &[])));
        if let (Some(child), Some(selectors)) = (child, &selectors) {
            if child.mode == Mode::Transport {
                payloads.push(notify(NotifyType::USE_TRANSPORT_MODE, &[]));
            }
            let proposals = proposal::without_key_exchanges(&child.proposals);
            let proposals = proposal::offer(&proposals, ESP, &spi);
            payloads.push(payload(PayloadType::SA, Body::Proposals(proposals)));
            payloads.extend(selectors.payloads());
        }
        self.ask(now, ExchangeType::IKE_AUTH, payloads)?;
        self.state = State::Authenticating;
        Ok(())
    }

    /// A responder's answer.
    pub(super) fn auth_request(
        &mut self,
        now: Instant,
        content: &Content,
        message: &Message<'_>,
    ) -> Result<(), Failure> {
        let config = self.config.clone();
        let auth = Auth::of(message, PayloadType::ID_INITIATOR);
        let mixes = self.mixes(auth.ppk);
        let verified = mixes.and_then(|mixes| {
            if mixes {
                self.mix();
            }
            let proof = match auth.ppk {
                // It has mixed in another one, and says who it is without that too where it can do without.
                Some(_) if !mixes => auth.without_ppk.map(|proof| (DIGITAL_SIGNATURE, proof)),
                _ => auth.proof,
            };
            Ok((mixes, self.verify(&auth, proof)?))
        });
        let (mixes, algorithm) = match verified {
            Ok(verified) => verified,
            Err(failure) => {
                self.refuse(&content.header, &[notify(NotifyType::AUTHENTICATION_FAILED, &[])]);
                return Err(failure);
            }
        };
        let (kind, data) = config.identity.encode();
        let proof = self.prove(kind, &data)?;
        let offered = Offered::of(message);
        let place = self.place_of(&offered).unwrap_or(0);
        let ours = proposal::without_key_exchanges(&config.child_of(place).proposals);
        // None where the initiator asks for none (RFC 6023).
        let made = (!offered.is_none()).then(|| self.choose_child(&offered, place, &ours));
        let data = &data[..];
        let mut payloads = vec![payload(PayloadType::ID_RESPONDER, Body::Identification { kind, data })];
        payloads.extend(certificates(&config.certificates));
        let (method, data) = (DIGITAL_SIGNATURE, &proof[..]);
        payloads.push(payload(PayloadType::AUTH, Body::Authentication { method, data }));
        payloads.extend(mixes.then(|| notify(NotifyType::PPK_IDENTITY, &[])));
        let lifetime = self.authentication_lifetime();
        payloads.extend(
            lifetime
                .as_ref()
                .map(|seconds| notify(NotifyType::AUTH_LIFETIME, seconds)),
        );
        let selectors = made.as_ref().and_then(|made| made.as_ref().ok()).map(Made::selectors);
        match (&made, &selectors) {
            (Some(Ok(made)), Some(selectors)) => payloads.extend(self.chosen_child(made, self.esp_spi, selectors)),
            (Some(Err(kind)), _) => payloads.push(notify(*kind, &[])),
            (Some(Ok(_)), None) | (None, _) => {}
        }
        self.answer(&content.header, payloads)?;
        self.established(now, &auth, algorithm);
        match made {
            None => Ok(()),
            Some(Ok(made)) => self.first_child(now, made),
            Some(Err(kind)) => {
                self.refused_child(place, Requester::Peer, kind);
                Ok(())
            }
        }
    }

    pub(super) fn auth_response(&mut self, now: Instant, message: &Message<'_>) -> Result<(), Failure> {
        let auth = Auth::of(message, PayloadType::ID_RESPONDER);
        // A refusal next to a proof is one of the CHILD_SA alone (RFC 7296, section 1.2).
        if auth.proof.is_none() {
            super::open::refusal(message)?;
        }
        let mixed = match self.ppk_of_auth() {
            Some(_) => self.mixed_or_not(auth.ppk == Some(&[])),
            None => Ok(()),
        };
        let algorithm = match mixed.and_then(|()| self.verify(&auth, auth.proof)) {
            Ok(algorithm) => algorithm,
            Err(failure) => {
                // The peer believes that all is well (RFC 7296, section 2.21.2).
                self.state = State::Closing(failure);
                let failed = notify(NotifyType::AUTHENTICATION_FAILED, &[]);
                return self.ask(now, ExchangeType::INFORMATIONAL, vec![failed]).map(drop);
            }
        };
        self.established(now, &auth, algorithm);
        self.follow_lifetime(now, message);
        let Some(place) = self.first else {
            return Ok(());
        };
        let offered = Offered::of(message);
        if offered.proposals.is_none() {
            let kind = super::open::refusal(message).err();
            let kind = match kind {
                Some(Failure::Refused(kind)) => kind,
                _ => NotifyType::NO_PROPOSAL_CHOSEN,
            };
            self.refused_child(place, Requester::ThisEnd, kind);
            return Ok(());
        }
        let ours = proposal::without_key_exchanges(&self.config.child_of(place).proposals);
        match self.accept_child(&offered, place, &ours) {
            Some(made) => self.first_child(now, made),
            None => {
                // It chose what was not offered: nothing is sent by such an SA, and the peer learns that it is gone.
                let kind = NotifyType::NO_PROPOSAL_CHOSEN;
                self.refused_child(place, Requester::ThisEnd, kind);
                self.delete(now, Failure::NoProposal);
                Ok(())
            }
        }
    }

    /// Both ends are authenticated, the peer by a signature of this algorithm.
    fn established(&mut self, now: Instant, auth: &Auth<'_>, algorithm: &[u8]) {
        self.deadline = None;
        self.proofs[1] = algorithm.to_vec();
        self.proofs[0] = self.config.key.identifier().unwrap_or_default();
        if auth.is_initial {
            self.events.push_back(Event::InitialContact);
        }
        // The signed data is not needed again; with ML-DSA and a KEM it is most of an SA's memory.
        self.transcript = super::Transcript::default();
        self.prove_now(now);
        self.begin(now, auth.certificates.clone());
    }

    /// The CHILD_SA of IKE_AUTH, which the initiator of the IKE_SA asks for and whose nonces are those of IKE_SA_INIT.
    fn first_child(&mut self, now: Instant, made: Made) -> Result<(), Failure> {
        let security = self.security.as_ref().ok_or(Failure::Cryptography)?;
        let nonces = [&security.nonces.initiator[..], &security.nonces.responder];
        let keys = security.keys.child(made.suite, nonces, &[]);
        let requester = if self.is_initiator() {
            Requester::ThisEnd
        } else {
            Requester::Peer
        };
        self.keep_child(now, made, self.esp_spi, keys, (requester, None));
        Ok(())
    }

    /// Signed octets of an end: its IKE_SA_INIT, behind the other's if both ends support that, the
    /// other's nonce, its identity, and the exchanges in between (RFC 7296, section 2.15; RFC 9242,
    /// section 3.3.2).
    fn octets(&self, by: usize, kind: u8, data: &[u8]) -> Option<Vec<u8>> {
        self.octets_in([0, 1], by, kind, data)
    }

    /// The same, with the exchanges in between in the given order of ends.
    fn octets_in(&self, order: [usize; 2], by: usize, kind: u8, data: &[u8]) -> Option<Vec<u8>> {
        let security = self.security.as_ref()?;
        let (keys, nonces) = (&security.keys, &security.nonces);
        let mut octets = Vec::new();
        if security.agreed.full_transcript {
            octets.extend(NO_MESSAGE);
            octets.extend(&self.transcript.init[1 - by]);
        }
        octets.extend(&self.transcript.init[by]);
        octets.extend(if by == 0 { &nonces.responder } else { &nonces.initiator });
        octets.extend(&keys.prf.prf(&keys.prove[by], &[&[kind, 0, 0, 0], data])[..]);
        let [one, other] = order.map(|end| &self.transcript.intermediate[end]);
        if !one.is_empty() {
            octets.extend(one);
            octets.extend(other);
            // IKE_AUTH comes behind IKE_SA_INIT and these.
            let message_id = self.transcript.exchanges + 1;
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

    /// Verifies a proof; the algorithm of its signature.
    fn verify<'a>(&self, auth: &Auth<'_>, proof: Option<(u8, &'a [u8])>) -> Result<&'a [u8], Failure> {
        let (kind, data) = auth
            .identity
            .ok_or(Failure::Incomplete("IKE_AUTH without an identity"))?;
        let identity = Identity::read(kind, data);
        if identity != self.config.peer {
            return Err(Failure::Authentication("it is somebody else than who was expected"));
        }
        let (method, proof) = proof.ok_or(Failure::Incomplete("IKE_AUTH without a proof"))?;
        if method != DIGITAL_SIGNATURE {
            return Err(Failure::Authentication("it does not use digital signatures (RFC 7427)"));
        }
        const SHORT: Failure = Failure::Authentication("its signature is cut off");
        let (algorithm, signature) = parts(proof).ok_or(SHORT)?;
        let by = usize::from(self.is_initiator());
        let octets = self.octets(by, kind, data).ok_or(Failure::Cryptography)?;
        let claim = Claim {
            identity: &identity,
            certificates: &auth.certificates,
            algorithm,
            octets: &octets,
            signature,
        };
        let verified = self.config.trust.verify(claim);
        // Found out for the log alone: a proof in this order is refused all the same.
        let octets = match verified {
            Err(WRONG_SIGNATURE) if self.transcript.exchanges > 0 => self.octets_in([1, 0], by, kind, data),
            _ => None,
        };
        let is_swapped = octets.is_some_and(|octets| {
            let octets = &octets;
            self.config.trust.verify(Claim { octets, ..claim }).is_ok()
        });
        let verified = verified.map(|()| algorithm);
        verified.map_err(|why| Failure::Authentication(if is_swapped { SWAPPED } else { why }))
    }
}

/// The responder's IntAuth before the initiator's.
const SWAPPED: &str = "its signature has the IKE_INTERMEDIATE exchanges in the wrong order (RFC 9242, section 3.3.2), \
                       as that of Libreswan 5.4";

/// AlgorithmIdentifier and signature (RFC 7427, section 3).
fn parts(proof: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = proof.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

fn certificates(all: &[Vec<u8>]) -> impl Iterator<Item = Payload<'_>> {
    let body = |data| Body::Certificate { encoding: X509, data };
    all.iter()
        .map(move |certificate| payload(PayloadType::CERT, body(certificate)))
}
