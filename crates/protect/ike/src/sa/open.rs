//! What a proven message does, by where the IKE_SA stands (RFC 7296, sections 1.4 and 2.21).

use std::time::Instant;

use bartizan_wire::ike::{Body, ExchangeType, Message, NotifyType, Payload, PayloadType};

use super::init::{notify, payload};
use super::messages::Content;
use super::{IkeSa, State};
use crate::error::Failure;
use crate::event::Event;
use crate::proposal::{ESP, IKE};

/// The error that a message carries.
pub(super) fn refusal(message: &Message<'_>) -> Result<(), Failure> {
    let error = message.payloads.iter().find_map(|payload| match payload.body {
        Body::Notify { kind, .. } if kind.is_error() => Some(kind),
        _ => None,
    });
    error.map_or(Ok(()), |kind| Err(Failure::Refused(kind)))
}

impl IkeSa {
    pub(super) fn response(&mut self, now: Instant, content: &Content) -> Result<(), Failure> {
        match &self.state {
            State::Exchanging { .. } => self.intermediate_response(now, content),
            State::Authenticating => self.auth_response(now, content),
            State::Closing(failure) => Err(failure.clone()),
            State::Established if self.closing => {
                self.delete(now, Failure::Closed);
                Ok(())
            }
            // That it answered is what was asked.
            _ => Ok(()),
        }
    }

    pub(super) fn request(&mut self, now: Instant, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let header = &content.header;
        let last = self.security.as_ref().map(|security| security.agreed.additional.len());
        match (&self.state, header.exchange) {
            (State::Awaiting { index }, ExchangeType::IKE_INTERMEDIATE) if Some(*index) < last => {
                self.intermediate_request(content, message)
            }
            (State::Awaiting { index }, ExchangeType::IKE_AUTH) if Some(*index) == last => {
                self.auth_request(content, message)
            }
            (State::Awaiting { .. }, _) => {
                self.refuse(header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
                Err(Failure::Incomplete("an exchange out of its order"))
            }
            (State::Established | State::Closing(_), ExchangeType::INFORMATIONAL) => {
                self.informational(now, content, message)
            }
            (State::Established, ExchangeType::CREATE_CHILD_SA) => {
                self.refuse(header, &[notify(NotifyType::NO_ADDITIONAL_SAS, &[])]);
                Ok(())
            }
            (State::Established, _) => {
                self.refuse(header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn informational(&mut self, _now: Instant, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let mut ended = None;
        let mut deleted = None;
        for payload in &message.payloads {
            match payload.body {
                Body::Delete { protocol: IKE, .. } => ended = Some(Failure::Deleted),
                Body::Delete {
                    protocol: ESP, spis, ..
                } => {
                    // It names those by which it receives; the answer names those by which this end does.
                    let gone = |(_, outbound): &(u32, u32)| spis.as_chunks::<4>().0.contains(&outbound.to_be_bytes());
                    if let Some((inbound, _)) = self.child.take_if(|child| gone(child)) {
                        deleted = Some(inbound);
                    }
                }
                Body::Notify { kind, .. } if kind == NotifyType::AUTHENTICATION_FAILED => {
                    ended = Some(Failure::Refused(kind));
                }
                _ => {}
            }
        }
        let spis = deleted.map(u32::to_be_bytes);
        let payloads: Vec<Payload<'_>> = spis.iter().map(|spi| deletion(ESP, spi)).collect();
        self.answer(&content.header, payloads)?;
        if let Some(inbound) = deleted {
            self.events.push_back(Event::ChildDeleted { inbound });
        }
        match (ended, &self.state) {
            // Both have deleted it at once.
            (Some(_), State::Closing(failure)) => Err(failure.clone()),
            (Some(failure), _) => Err(failure),
            (None, _) => Ok(()),
        }
    }

    /// Sends the peer a deletion; the reason is for this end's owner alone.
    pub(super) fn delete(&mut self, now: Instant, why: Failure) {
        self.state = State::Closing(why);
        if let Err(failure) = self.ask(now, ExchangeType::INFORMATIONAL, vec![deletion(IKE, &[])]) {
            self.fail(failure);
        }
    }
}

/// Of SAs of ESP by these SPIs, or of the IKE_SA itself.
fn deletion(protocol: u8, spis: &[u8]) -> Payload<'_> {
    let spi_size = if spis.is_empty() { 0 } else { 4 };
    let body = Body::Delete {
        protocol,
        spi_size,
        count: u16::from(!spis.is_empty()),
        spis,
    };
    payload(PayloadType::DELETE, body)
}
