//! CREATE_CHILD_SA and IKE_FOLLOWUP_KE that this end begins (RFC 7296, section 1.3; RFC 9370, section 2.2.4).

use std::time::Instant;

use bartizan_wire::ike::{
    Body, ExchangeType, KeyExchangeMethod, Message, NotifyType, Payload, PayloadType, Proposal, Transform,
};

use super::IkeSa;
use super::agreement::{Agreement, Said, Subject, Target, key_exchange_payload};
use super::child::{Offered, Selectors, Stage};
use super::init::{SHORT_NONCE, begin, notify, payload, wanted};
use super::life::Task;
use crate::config::Mode;
use crate::error::Failure;
use crate::event::{Event, Requester};
use crate::key_exchange::Pending;
use crate::proposal::{self, Agreed, ESP, IKE};
use crate::random;

/// A request of this end for an SA, and its progress.
pub(super) struct Initiating {
    pub(super) subject: Subject,
    /// The place of the CHILD_SA in the configuration; of an IKE_SA it has no meaning.
    place: usize,
    step: Step,
}

enum Step {
    /// CREATE_CHILD_SA is on its way.
    Asked(Box<Asked>),
    /// IKE_FOLLOWUP_KE is on its way.
    Following {
        agreement: Box<Agreement>,
        method: KeyExchangeMethod,
        pending: Box<dyn Pending>,
    },
}

struct Asked {
    /// The SPI by which this end is to receive: four bytes of ESP, eight of an IKE_SA.
    spi: Vec<u8>,
    nonce: Vec<u8>,
    exchange: Option<(KeyExchangeMethod, Box<dyn Pending>)>,
    /// True if the peer has asked for another method before.
    again: bool,
}

impl IkeSa {
    /// Returns true if this end has requested that, or goes on with it.
    pub(super) fn is_initiating(&self, subject: Subject) -> bool {
        self.initiating
            .as_ref()
            .is_some_and(|initiating| initiating.subject == subject)
    }

    fn lists(&self, subject: Subject, place: usize) -> &[Vec<Transform>] {
        match subject {
            Subject::Ike => &self.config.proposals,
            Subject::New(_) | Subject::Child(_) => &self.config.child_of(place).proposals,
        }
    }

    /// Sends CREATE_CHILD_SA, by the method that the peer wants where it has said so; a CHILD_SA is that of this place.
    pub(super) fn request_new(
        &mut self,
        now: Instant,
        (subject, place): (Subject, usize),
        method: Option<KeyExchangeMethod>,
    ) -> Result<(), Failure> {
        let again = method.is_some();
        self.deleted_early.clear();
        let agreed = self.security.as_ref().map(|security| security.agreed.first);
        let agreed = agreed.filter(|_| subject == Subject::Ike);
        let method = method
            .or(agreed)
            .or_else(|| proposal::preferred(self.lists(subject, place)));
        let (data, exchange) = match method {
            Some(method) => {
                let (data, pending) = begin(method)?;
                (Some((method, data)), Some((method, pending)))
            }
            None => (None, None),
        };
        let nonce = random::nonce(&mut self.chance);
        let spi = match subject {
            Subject::Ike => random::spi(&mut self.chance).to_be_bytes().to_vec(),
            Subject::New(_) | Subject::Child(_) => self.new_spi().to_be_bytes().to_vec(),
        };
        let config = self.config.clone();
        let child = config.child_of(place);
        let selectors = Selectors::new([&child.local, &child.remote]);
        let replaced = match subject {
            Subject::Child(inbound) => Some(inbound.to_be_bytes()),
            Subject::New(_) | Subject::Ike => None,
        };
        let mut payloads: Vec<Payload<'_>> = Vec::new();
        payloads.extend(replaced.as_ref().map(|spi| about_esp(NotifyType::REKEY_SA, spi)));
        let is_child = subject != Subject::Ike;
        if is_child && child.mode == Mode::Transport {
            payloads.push(notify(NotifyType::USE_TRANSPORT_MODE, &[]));
        }
        let protocol = if is_child { ESP } else { IKE };
        let proposals = proposal::offer(self.lists(subject, place), protocol, &spi);
        payloads.push(payload(PayloadType::SA, Body::Proposals(proposals)));
        payloads.push(payload(PayloadType::NONCE, Body::Nonce(&nonce)));
        payloads.extend(data.as_ref().map(|(method, data)| key_exchange_payload(*method, data)));
        if is_child {
            payloads.extend(selectors.payloads());
        }
        self.ask(now, ExchangeType::CREATE_CHILD_SA, payloads)?;
        let step = Step::Asked(Box::new(Asked {
            spi,
            nonce,
            exchange,
            again,
        }));
        self.initiating = Some(Initiating { subject, place, step });
        Ok(())
    }

    /// Takes the peer's response to either exchange.
    pub(super) fn create_response(&mut self, now: Instant, message: &Message<'_>) -> Result<(), Failure> {
        let Some(Initiating { subject, place, step }) = self.initiating.take() else {
            return Ok(());
        };
        let said = Said::of(message);
        if let Some((kind, data)) = said.error {
            let again = match &step {
                Step::Asked(asked) if kind == NotifyType::INVALID_KE_PAYLOAD && !asked.again => {
                    wanted(data, self.lists(subject, place))
                }
                _ => None,
            };
            return match again {
                Some(method) => self.request_new(now, (subject, place), Some(method)),
                None => self.refused_by_peer(now, subject, kind),
            };
        }
        let agreement = match step {
            Step::Asked(asked) => self.accept((subject, place), *asked, message, &said),
            Step::Following {
                mut agreement,
                method,
                pending,
            } => {
                let data = said.key_exchange.filter(|(of, _)| *of == method);
                let secret = data.and_then(|(_, data)| pending.finish(data).ok());
                secret.ok_or(Failure::KeyExchange(method)).map(|secret| {
                    agreement.secrets.push(secret);
                    *agreement
                })
            }
        };
        match agreement {
            Ok(agreement) => self.follow(now, place, agreement, said.link),
            Err(failure) => {
                // The peer believes that the SA is made: it answers what was not asked, and is left.
                self.delete(now, failure);
                Ok(())
            }
        }
    }

    /// Accepts the peer's agreement, if it matches the request.
    fn accept(
        &self,
        (subject, place): (Subject, usize),
        asked: Asked,
        message: &Message<'_>,
        said: &Said<'_>,
    ) -> Result<Agreement, Failure> {
        let nonce = said
            .nonce
            .ok_or(Failure::Incomplete("CREATE_CHILD_SA without a nonce"))?;
        let offered = Offered::of(message);
        let Some([chosen]) = offered.proposals else {
            return Err(Failure::NoProposal);
        };
        let (first, additional) = proposal::exchanges(chosen).ok_or(Failure::NoProposal)?;
        let target = self.target((subject, place), &asked.spi, chosen, &offered)?;
        if !self.is_long_enough(nonce, &target) {
            return Err(Failure::Incomplete(SHORT_NONCE));
        }
        let mut secrets = Vec::new();
        match (asked.exchange, first) {
            (Some((method, pending)), Some(first)) if method == first => {
                let data = said.key_exchange.filter(|(of, _)| *of == method);
                let secret = data.and_then(|(_, data)| pending.finish(data).ok());
                secrets.push(secret.ok_or(Failure::KeyExchange(method))?);
            }
            // It was offered to do without.
            (_, None) => {}
            (_, Some(_)) => return Err(Failure::NoProposal),
        }
        Ok(Agreement {
            subject,
            target,
            requester: Requester::ThisEnd,
            nonces: [asked.nonce, nonce.to_vec()],
            secrets,
            additional,
        })
    }

    fn target(
        &self,
        (subject, place): (Subject, usize),
        spi: &[u8],
        chosen: &Proposal,
        offered: &Offered<'_>,
    ) -> Result<Target, Failure> {
        const NONE: Failure = Failure::NoProposal;
        let lists = self.lists(subject, place);
        if subject == Subject::Ike {
            let is_offered = proposal::is_of(chosen, &proposal::offer(lists, IKE, &[]));
            let agreed = Agreed::of(chosen).filter(|_| is_offered).ok_or(NONE)?;
            let spis = [spi, &chosen.spi].map(|spi| spi.try_into().map_or(0, u64::from_be_bytes));
            return if spis.contains(&0) {
                Err(NONE)
            } else {
                let chosen = chosen.clone();
                Ok(Target::Ike { agreed, spis, chosen })
            };
        }
        let own = u32::from_be_bytes(spi.try_into().map_err(|_| NONE)?);
        let made = self.accept_child(offered, place, lists).ok_or(NONE)?;
        Ok(Target::Child { made, own })
    }

    /// The next additional key exchange, or the end of all.
    fn follow(&mut self, now: Instant, place: usize, agreement: Agreement, link: Option<&[u8]>) -> Result<(), Failure> {
        let Some(method) = agreement.next() else {
            return self.complete(now, agreement);
        };
        let Some(link) = link else {
            self.delete(
                now,
                Failure::Incomplete("no ADDITIONAL_KEY_EXCHANGE though a key exchange is to follow"),
            );
            return Ok(());
        };
        let (data, pending) = begin(method)?;
        let payloads = vec![
            key_exchange_payload(method, &data),
            notify(NotifyType::ADDITIONAL_KEY_EXCHANGE, link),
        ];
        self.ask(now, ExchangeType::IKE_FOLLOWUP_KE, payloads)?;
        let subject = agreement.subject;
        let agreement = Box::new(agreement);
        let step = Step::Following {
            agreement,
            method,
            pending,
        };
        self.initiating = Some(Initiating { subject, place, step });
        Ok(())
    }

    /// The peer refuses.
    fn refused_by_peer(&mut self, now: Instant, subject: Subject, kind: NotifyType) -> Result<(), Failure> {
        let peers = self.is_replaced_by_peer(subject);
        self.settle(now)?;
        let again = now + self.config.timing.again + self.chance.within(self.config.timing.again);
        match (subject, kind) {
            // The peer has replaced it meanwhile, and does not know that this end wanted to (RFC
            // 7296, sections 2.8.1 and 2.8.2).
            _ if peers => {}
            (Subject::New(place), _) => self.refused_child(place, Requester::ThisEnd, kind),
            (Subject::Child(inbound), _) => {
                let Some(child) = self.child(inbound).filter(|child| child.stage == Stage::Live) else {
                    return Ok(());
                };
                if kind == NotifyType::CHILD_SA_NOT_FOUND {
                    let place = child.place;
                    self.child_deleted(inbound);
                    self.plan_later(Task::Make(Subject::New(place)));
                    return Ok(());
                }
                child.rekey = (kind != NotifyType::NO_ADDITIONAL_SAS).then_some(again);
                self.not_replaced(Some(inbound), kind);
            }
            (Subject::Ike, _) if self.is_established() => {
                self.rekey = Some(again);
                self.not_replaced(None, kind);
            }
            (Subject::Ike, _) => {}
        }
        Ok(())
    }

    fn not_replaced(&mut self, inbound: Option<u32>, kind: NotifyType) {
        // A busy peer has not refused.
        if kind != NotifyType::TEMPORARY_FAILURE && kind != NotifyType::STATE_NOT_FOUND {
            self.events.push_back(Event::NotReplaced { inbound, kind });
        }
    }
}

/// A notification about an SA of ESP.
pub(super) fn about_esp(kind: NotifyType, spi: &[u8]) -> Payload<'_> {
    let body = Body::Notify {
        protocol: ESP,
        spi,
        kind,
        data: &[],
    };
    payload(PayloadType::NOTIFY, body)
}
