//! Additional key exchanges in IKE_INTERMEDIATE (RFC 9242, RFC 9370).

use std::time::Instant;

use bartizan_wire::ike::{Body, ExchangeType, KeyExchangeMethod, Message, PayloadType};

use super::init::{begin, payload};
use super::messages::Content;
use super::{IkeSa, State};
use crate::error::Failure;
use crate::key_exchange::key_exchange;
use crate::protection::{Protection, intermediate};

impl IkeSa {
    /// An initiator's next step behind the key exchanges before this place.
    pub(super) fn go_on(&mut self, now: Instant, index: usize) -> Result<(), Failure> {
        let Some(method) = self.additional(index) else {
            return self.send_auth(now);
        };
        let (data, pending) = begin(method)?;
        let data = &data[..];
        let exchange = payload(PayloadType::KE, Body::KeyExchange { method, data });
        let sent = self.ask(now, ExchangeType::IKE_INTERMEDIATE, vec![exchange])?;
        self.authenticate_intermediate(0, &sent);
        self.state = State::Exchanging { index, pending };
        Ok(())
    }

    fn additional(&self, index: usize) -> Option<KeyExchangeMethod> {
        self.security.as_ref()?.agreed.additional.get(index).copied()
    }

    pub(super) fn intermediate_response(&mut self, now: Instant, content: &Content) -> Result<(), Failure> {
        let State::Exchanging { index, pending } = std::mem::replace(&mut self.state, State::Authenticating) else {
            return Ok(());
        };
        let message = Message::read(content.first, &content.bytes)?;
        super::open::refusal(&message)?;
        let method = self.additional(index).ok_or(Failure::Cryptography)?;
        let data = data_of(&message, method)?;
        let secret = pending.finish(data).map_err(|_| Failure::KeyExchange(method))?;
        self.authenticate_intermediate(1, content);
        self.secure_again(&secret)?;
        self.go_on(now, index + 1)
    }

    pub(super) fn intermediate_request(&mut self, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let State::Awaiting { index } = self.state else {
            return Ok(());
        };
        let method = self
            .additional(index)
            .ok_or(Failure::Incomplete("an IKE_INTERMEDIATE too many"))?;
        let exchange = key_exchange(method).ok_or(Failure::KeyExchange(method))?;
        let answered = data_of(message, method).and_then(|data| {
            let answer = exchange.answer(data);
            answer.map_err(|_| Failure::KeyExchange(method))
        });
        let (answer, secret) = match answered {
            Ok(answered) => answered,
            Err(failure) => {
                let syntax = super::init::notify(bartizan_wire::ike::NotifyType::INVALID_SYNTAX, &[]);
                self.refuse(&content.header, &[syntax]);
                return Err(failure);
            }
        };
        self.authenticate_intermediate(0, content);
        let data = &answer[..];
        let exchange = payload(PayloadType::KE, Body::KeyExchange { method, data });
        let sent = self.answer(&content.header, vec![exchange])?;
        self.authenticate_intermediate(1, &sent);
        self.secure_again(&secret)?;
        self.state = State::Awaiting { index: index + 1 };
        Ok(())
    }

    /// Adds a message of initiator (0) or responder (1) to what IKE_AUTH proves, with the keys that the message was sealed with.
    fn authenticate_intermediate(&mut self, by: usize, content: &Content) {
        let Some(security) = &self.security else {
            return;
        };
        let message = intermediate(content.header, content.first, &content.bytes);
        let before = &self.transcript.intermediate[by];
        let keys = &security.keys;
        let proof = keys.prf.prf(&keys.prove[by], &[before, &message]);
        self.transcript.intermediate[by] = proof.to_vec();
    }

    fn secure_again(&mut self, secret: &[u8]) -> Result<(), Failure> {
        let is_initiator = self.is_initiator();
        let security = self.security.as_mut().ok_or(Failure::Cryptography)?;
        let suite = security.agreed.suite;
        let (keys, cipher) = security.keys.next(suite, secret, &security.nonces);
        security.protection = Protection::new(suite, &cipher, is_initiator)?;
        security.keys = keys;
        Ok(())
    }
}

/// The data of the one key exchange that a message has.
fn data_of<'a>(message: &Message<'a>, wanted: KeyExchangeMethod) -> Result<&'a [u8], Failure> {
    let mut exchanges = message.payloads.iter().filter_map(|payload| match payload.body {
        Body::KeyExchange { method, data } => Some((method, data)),
        _ => None,
    });
    match (exchanges.next(), exchanges.next()) {
        (Some((method, data)), None) if method == wanted => Ok(data),
        _ => Err(Failure::Incomplete(
            "IKE_INTERMEDIATE without the key exchange that comes next",
        )),
    }
}
