//! CREATE_CHILD_SA and IKE_FOLLOWUP_KE that the peer begins (RFC 7296, sections 1.3 and 2.25; RFC 9370, section 2.2.4).

use std::time::Instant;

use bartizan_wire::ike::{Body, KeyExchangeMethod, Message, NotifyType, PayloadType, Proposal, Transform};

use super::IkeSa;
use super::agreement::{Agreement, Said, Subject, Target, key_exchange_payload};
use super::child::{Made, Offered, Stage};
use super::init::{notify, payload};
use super::initiating::about_esp;
use super::messages::Content;
use super::replacing::Contest;
use crate::error::Failure;
use crate::event::Requester;
use crate::key_exchange::{Secret, key_exchange};
use crate::proposal::{self, Agreed, IKE};
use crate::random::{self, Random as _};

/// CHILD_SAs at a time that have been replaced and that the peer has not deleted yet.
const REPLACED: usize = 7;

/// A request of the peer, as long as additional key exchanges of it are to come.
pub(super) struct Responding {
    pub(super) agreement: Agreement,
    /// Link that its IKE_FOLLOWUP_KE must carry.
    link: [u8; 8],
    /// Time at which it is forgotten.
    pub(super) deadline: Instant,
}

/// Reason for which a request is refused, and the data of the notification.
struct Refusal(NotifyType, Vec<u8>);

impl From<NotifyType> for Refusal {
    fn from(kind: NotifyType) -> Self {
        Self(kind, Vec::new())
    }
}

impl IkeSa {
    /// Returns true if the peer has requested that, and goes on with it.
    pub(super) fn is_responding(&self, subject: Subject) -> bool {
        let mut responding = self.responding.iter();
        responding.any(|responding| responding.agreement.subject == subject)
    }

    pub(super) fn create_request(
        &mut self,
        now: Instant,
        content: &Content,
        message: &Message<'_>,
    ) -> Result<(), Failure> {
        // It has begun another: what it did not complete it will not.
        self.forget_responding(now)?;
        if !self.asked.take(now) {
            self.refuse(&content.header, &[notify(NotifyType::TEMPORARY_FAILURE, &[])]);
            return Ok(());
        }
        match self.agree(message) {
            Ok((agreement, answer)) => self.answer_create(now, content, agreement, &answer),
            Err(Refusal(NotifyType::CHILD_SA_NOT_FOUND, spi)) => {
                self.refuse(&content.header, &[about_esp(NotifyType::CHILD_SA_NOT_FOUND, &spi)]);
                Ok(())
            }
            Err(Refusal(kind, data)) => {
                self.refuse(&content.header, &[notify(kind, &data)]);
                Ok(())
            }
        }
    }

    /// Subject of a request, or the reason for its refusal (RFC 7296, section 2.25).
    fn subject(&self, offered: &Offered<'_>, said: &Said<'_>) -> Result<Subject, Refusal> {
        const LATER: NotifyType = NotifyType::TEMPORARY_FAILURE;
        let mut proposals = offered.proposals.into_iter().flatten();
        let is_ike = proposals.any(|proposal| proposal.protocol == IKE);
        let is_ending = self.closing.is_some() || !self.is_established();
        let is_full = !is_ike && self.children.len() >= self.config.children().count() + REPLACED;
        if is_ending || is_full || !is_ike && self.is_replacing_ike() {
            return Err(LATER.into());
        }
        let subject = if is_ike {
            Subject::Ike
        } else if let Some(outbound) = said.replaces {
            let replaced = self.children.iter().find(|child| child.outbound == outbound);
            match replaced.map(|child| (child.inbound, child.stage)) {
                Some((inbound, Stage::Live)) => Subject::Child(inbound),
                Some(_) => return Err(LATER.into()),
                // It may be what this end has asked for, whose answer is on its way.
                None if self.initiating.is_some() => return Err(LATER.into()),
                None => {
                    let spi = outbound.to_be_bytes().to_vec();
                    return Err(Refusal(NotifyType::CHILD_SA_NOT_FOUND, spi));
                }
            }
        } else {
            Subject::New(self.place_of(offered).ok_or(NotifyType::TS_UNACCEPTABLE)?)
        };
        let mut children = self.children.iter();
        let is_busy = match subject {
            Subject::Ike => {
                let makes_child = self
                    .initiating
                    .as_ref()
                    .is_some_and(|initiating| initiating.subject != Subject::Ike);
                makes_child || children.any(|child| child.stage == Stage::Closing)
            }
            // A second CHILD_SA for the same traffic is refused.
            Subject::New(place) if self.has_child(place) => {
                return Err(NotifyType::NO_ADDITIONAL_SAS.into());
            }
            // Both make it at once.
            Subject::New(_) => self.is_initiating(subject),
            Subject::Child(_) => false,
        };
        // One contest at a time, and one attempt of each end in it.
        let is_other = |contest: &Contest| contest.subject != subject || contest.peers.is_some();
        if is_busy || self.contest.as_ref().is_some_and(is_other) {
            return Err(LATER.into());
        }
        Ok(subject)
    }

    fn agree(&mut self, message: &Message<'_>) -> Result<(Agreement, Vec<u8>), Refusal> {
        const NONE: NotifyType = NotifyType::NO_PROPOSAL_CHOSEN;
        let (offered, said) = (Offered::of(message), Said::of(message));
        let subject = self.subject(&offered, &said)?;
        let theirs = said.nonce.ok_or(NotifyType::INVALID_SYNTAX)?.to_vec();
        let config = self.config.clone();
        let target = if subject == Subject::Ike {
            self.choose_ike(&offered, &config.proposals)?
        } else {
            let mut children = self.children.iter();
            let place = match subject {
                Subject::New(place) => place,
                Subject::Child(replaced) => children
                    .find(|child| child.inbound == replaced)
                    .map_or(0, |child| child.place),
                Subject::Ike => 0,
            };
            let made = self.choose_child(&offered, place, &config.child_of(place).proposals)?;
            let own = self.new_spi();
            Target::Child { made, own }
        };
        if !self.is_long_enough(&theirs, &target) {
            return Err(NotifyType::INVALID_SYNTAX.into());
        }
        let (first, additional) = proposal::exchanges(target.chosen()).ok_or(NONE)?;
        let (mut secrets, mut answer) = (Vec::new(), Vec::new());
        if let Some(method) = first {
            let data = said.key_exchange.filter(|(of, _)| *of == method);
            let Some((_, data)) = data else {
                let method = method.0.to_be_bytes().to_vec();
                return Err(Refusal(NotifyType::INVALID_KE_PAYLOAD, method));
            };
            let (data, secret) = answered(method, data).ok_or(NotifyType::INVALID_SYNTAX)?;
            secrets.push(secret);
            answer = data;
        }
        let agreement = Agreement {
            subject,
            target,
            requester: Requester::Peer,
            nonces: [theirs, random::nonce(&mut self.chance)],
            secrets,
            additional,
        };
        Ok((agreement, answer))
    }

    fn choose_ike(&mut self, offered: &Offered<'_>, lists: &[Vec<Transform>]) -> Result<Target, Refusal> {
        const NONE: NotifyType = NotifyType::NO_PROPOSAL_CHOSEN;
        let proposals = offered.proposals.ok_or(NotifyType::INVALID_SYNTAX)?;
        let chosen = proposal::choose(proposals, lists, IKE).ok_or(NONE)?;
        let agreed = Agreed::of(&chosen).ok_or(NONE)?;
        let theirs = <[u8; 8]>::try_from(&chosen.spi[..]).map_or(0, u64::from_be_bytes);
        if theirs == 0 {
            return Err(NotifyType::INVALID_SYNTAX.into());
        }
        let spis = [theirs, random::spi(&mut self.chance)];
        let spi = spis[1].to_be_bytes().to_vec();
        let chosen = Proposal { spi, ..chosen };
        Ok(Target::Ike { agreed, spis, chosen })
    }

    fn answer_create(
        &mut self,
        now: Instant,
        content: &Content,
        agreement: Agreement,
        answer: &[u8],
    ) -> Result<(), Failure> {
        let mut link = [0; 8];
        self.chance.fill(&mut link);
        let selectors = match &agreement.target {
            Target::Child { made, .. } => Some(Made::selectors(made)),
            Target::Ike { .. } => None,
        };
        let mut payloads = match (&agreement.target, &selectors) {
            (Target::Child { made, own }, Some(selectors)) => self.chosen_child(made, *own, selectors),
            (Target::Ike { chosen, .. }, _) => vec![payload(PayloadType::SA, Body::Proposals(vec![chosen.clone()]))],
            (Target::Child { .. }, None) => Vec::new(),
        };
        payloads.push(payload(PayloadType::NONCE, Body::Nonce(&agreement.nonces[1])));
        let first = proposal::exchanges(agreement.target.chosen()).and_then(|(first, _)| first);
        payloads.extend(first.map(|method| key_exchange_payload(method, answer)));
        if agreement.next().is_some() {
            payloads.push(notify(NotifyType::ADDITIONAL_KEY_EXCHANGE, &link));
        }
        self.answer(&content.header, payloads)?;
        self.await_followup(now, agreement, link)
    }

    /// Waits for the next additional key exchange, or makes what was agreed on.
    fn await_followup(&mut self, now: Instant, agreement: Agreement, link: [u8; 8]) -> Result<(), Failure> {
        if agreement.next().is_none() {
            return self.complete(now, agreement);
        }
        let deadline = now + self.config.timing.half_open;
        self.responding = Some(Responding {
            agreement,
            link,
            deadline,
        });
        Ok(())
    }

    pub(super) fn followup_request(
        &mut self,
        now: Instant,
        content: &Content,
        message: &Message<'_>,
    ) -> Result<(), Failure> {
        let said = Said::of(message);
        let of = |responding: &mut Responding| said.link == Some(&responding.link[..]);
        let Some(Responding {
            mut agreement, link, ..
        }) = self.responding.take_if(of)
        else {
            self.refuse(&content.header, &[notify(NotifyType::STATE_NOT_FOUND, &[])]);
            return Ok(());
        };
        let method = agreement.next().ok_or(Failure::Cryptography)?;
        let data = said.key_exchange.filter(|(of, _)| *of == method);
        let Some((answer, secret)) = data.and_then(|(_, data)| answered(method, data)) else {
            self.refuse(&content.header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
            return self.settle(now);
        };
        agreement.secrets.push(secret);
        let mut payloads = vec![key_exchange_payload(method, &answer)];
        if agreement.next().is_some() {
            payloads.push(notify(NotifyType::ADDITIONAL_KEY_EXCHANGE, &link));
        }
        self.answer(&content.header, payloads)?;
        self.await_followup(now, agreement, link)
    }

    /// Forgets what the peer did not complete.
    pub(super) fn forget_responding(&mut self, now: Instant) -> Result<(), Failure> {
        match self.responding.take() {
            Some(_) => self.settle(now),
            None => Ok(()),
        }
    }
}

fn answered(method: KeyExchangeMethod, data: &[u8]) -> Option<(Vec<u8>, Secret)> {
    key_exchange(method)?.answer(data).ok()
}
