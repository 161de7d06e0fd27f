//! Effect of an authenticated message, by the state of the IKE_SA (RFC 7296, sections 1.4 and
//! 2.21).

use std::time::Instant;

use bartizan_wire::ike::{Body, ExchangeType, Message, NotifyType, Payload, PayloadType};

use super::init::{notify, payload};
use super::messages::{Content, unknown_critical};
use super::preshared::By;
use super::{IkeSa, State};
use crate::error::Failure;
use crate::proposal::{ESP, IKE};

/// Deletions of CHILD_SAs that are not here: what this end asks for is one.
const DELETED_EARLY: usize = 8;

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
        // Any response to the deletion completes it.
        if let State::Closing(failure) = &self.state {
            return Err(failure.clone());
        }
        let message = Message::read(content.first, &content.bytes)?;
        if let Some(unknown) = unknown_critical(&message) {
            return Err(Failure::Critical(unknown.0));
        }
        match &self.state {
            State::Exchanging { .. } => self.intermediate_response(now, content, &message),
            State::Authenticating => self.auth_response(now, &message),
            _ if self.initiating.is_some() => self.create_response(now, &message),
            _ => {
                // Any response completes the request; a deletion has removed the CHILD_SA.
                if let Some(inbound) = self.deleting.take() {
                    self.child_deleted(inbound);
                }
                Ok(())
            }
        }
    }

    pub(super) fn request(&mut self, now: Instant, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let header = &content.header;
        let last = self
            .security
            .as_ref()
            .map_or(0, |security| security.agreed.additional.len());
        // The pre-shared key comes along with the last key exchange, or in an exchange of its own behind it.
        let is_ppk_to_come = self.ppk_by() == Some(By::Intermediate) && !self.transcript.named;
        match (&self.state, header.exchange) {
            (State::Awaiting { index }, ExchangeType::IKE_INTERMEDIATE) if *index < last || is_ppk_to_come => {
                self.intermediate_request(content, message)
            }
            (State::Awaiting { index }, ExchangeType::IKE_AUTH) if *index >= last => {
                self.auth_request(now, content, message)
            }
            (State::Awaiting { .. }, _) => {
                self.refuse(header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
                Err(Failure::Incomplete("an exchange out of its order"))
            }
            (State::Established | State::Replaced | State::Closing(_), ExchangeType::INFORMATIONAL) => {
                self.informational(now, content, message)
            }
            (State::Established, ExchangeType::CREATE_CHILD_SA) => self.create_request(now, content, message),
            (State::Established, ExchangeType::IKE_FOLLOWUP_KE) => self.followup_request(now, content, message),
            // It is about to go (RFC 7296, section 2.25.2).
            (State::Replaced | State::Closing(_), ExchangeType::CREATE_CHILD_SA | ExchangeType::IKE_FOLLOWUP_KE) => {
                self.refuse(header, &[notify(NotifyType::TEMPORARY_FAILURE, &[])]);
                Ok(())
            }
            (State::Established, _) => {
                self.refuse(header, &[notify(NotifyType::INVALID_SYNTAX, &[])]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The peer deletes a CHILD_SA that is not here. It may be one that this end has asked for,
    /// whose answer is on its way.
    fn delete_early(&mut self, outbound: u32) {
        if self.initiating.is_some() && self.deleted_early.len() < DELETED_EARLY {
            self.deleted_early.push(outbound);
        }
    }

    fn informational(&mut self, now: Instant, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let mut ended = None;
        let (mut gone, mut spis) = (Vec::new(), Vec::new());
        for payload in &message.payloads {
            match payload.body {
                Body::Delete { protocol: IKE, .. } => ended = Some(Failure::Deleted),
                Body::Delete {
                    protocol: ESP,
                    spis: named,
                    ..
                } => {
                    // It names those by which it receives; the answer names those by which this end
                    // does, but for what this end is deleting itself (RFC 7296, section 1.4.1).
                    let named = named.as_chunks::<4>().0;
                    for outbound in named.iter().map(|spi| u32::from_be_bytes(*spi)) {
                        let Some(child) = self.children.iter().find(|child| child.outbound == outbound) else {
                            self.delete_early(outbound);
                            continue;
                        };
                        gone.push(child.inbound);
                        if self.deleting != Some(child.inbound) {
                            spis.extend(child.inbound.to_be_bytes());
                        }
                    }
                }
                Body::Notify { kind, .. } if kind == NotifyType::AUTHENTICATION_FAILED => {
                    ended = Some(Failure::Refused(kind));
                }
                _ => {}
            }
        }
        self.follow_lifetime(now, message);
        let deletions = (!spis.is_empty()).then(|| deletion(ESP, &spis));
        self.answer(&content.header, deletions.into_iter().collect())?;
        for inbound in gone {
            self.child_deleted(inbound);
        }
        let Some(failure) = ended else {
            return Ok(());
        };
        self.inherit(now)?;
        match &self.state {
            // Both have deleted it at once.
            State::Closing(failure) => Err(failure.clone()),
            State::Replaced => Err(Failure::Replaced),
            _ => Err(failure),
        }
    }
}

/// Delete payload for the ESP SAs with these SPIs, or for the IKE_SA itself.
pub(super) fn deletion(protocol: u8, spis: &[u8]) -> Payload<'_> {
    const SPI: usize = size_of::<u32>();
    let body = Body::Delete {
        protocol,
        spi_size: if spis.is_empty() { 0 } else { SPI as u8 },
        // As many as there are CHILD_SAs at most.
        count: (spis.len() / SPI) as u16,
        spis,
    };
    payload(PayloadType::DELETE, body)
}
