//! Additional key exchanges, and pre-shared keys, in IKE_INTERMEDIATE (RFC 9242, RFC 9370, RFC 9867).

use std::time::Instant;

use bartizan_wire::ike::{Body, ExchangeType, KeyExchangeMethod, Message, NotifyType, PayloadType};

use super::init::{begin, notify, payload};
use super::messages::Content;
use super::{IkeSa, Security, State};
use crate::error::Failure;
use crate::key_exchange::{Secret, key_exchange};
use crate::protection::{Protection, intermediate};
use crate::schedule::{CipherKeys, Keys};

impl IkeSa {
    /// An initiator's next step behind the key exchanges before this place.
    pub(super) fn go_on(&mut self, now: Instant, index: usize) -> Result<(), Failure> {
        if index >= self.exchanges() {
            return self.send_auth(now);
        }
        let begun = match self.additional(index) {
            Some(method) => Some((method, begin(method)?)),
            None => None,
        };
        let named = self.names_ppk(index).then(|| self.named_ppk()).flatten();
        let mut payloads = Vec::new();
        if let Some((method, (data, _))) = &begun {
            let body = Body::KeyExchange { method: *method, data };
            payloads.push(payload(PayloadType::KE, body));
        }
        payloads.extend(named.as_ref().map(|named| notify(NotifyType::PPK_IDENTITY_KEY, named)));
        let sent = self.ask(now, ExchangeType::IKE_INTERMEDIATE, payloads)?;
        let pending = begun.map(|(_, (_, pending))| pending);
        self.authenticate_intermediate(0, &sent);
        self.state = State::Exchanging { index, pending };
        Ok(())
    }

    pub(super) fn additional(&self, index: usize) -> Option<KeyExchangeMethod> {
        self.security.as_ref()?.agreed.additional.get(index).copied()
    }

    pub(super) fn intermediate_response(
        &mut self,
        now: Instant,
        content: &Content,
        message: &Message<'_>,
    ) -> Result<(), Failure> {
        let State::Exchanging { index, pending } = std::mem::replace(&mut self.state, State::Authenticating) else {
            return Ok(());
        };
        super::open::refusal(message)?;
        let secret = match (self.additional(index), pending) {
            (Some(method), Some(pending)) => {
                let data = data_of(message, method)?;
                Some(pending.finish(data).map_err(|_| Failure::KeyExchange(method))?)
            }
            _ => None,
        };
        self.authenticate_intermediate(1, content);
        if let Some(secret) = secret {
            self.secure_again(&secret)?;
        }
        if self.names_ppk(index) {
            self.ppk_answered(message)?;
        }
        self.go_on(now, index + 1)
    }

    pub(super) fn intermediate_request(&mut self, content: &Content, message: &Message<'_>) -> Result<(), Failure> {
        let State::Awaiting { index } = self.state else {
            return Ok(());
        };
        let exchanged = match self.additional(index) {
            None => Ok(None),
            Some(method) => answered(method, message).map(Some),
        };
        let named = exchanged.and_then(|exchanged| Ok((exchanged, self.ppk_named(index, message)?)));
        let (exchanged, ppk) = match named {
            Ok(both) => both,
            Err(failure) => {
                let kind = match failure {
                    Failure::Authentication(_) => NotifyType::AUTHENTICATION_FAILED,
                    _ => NotifyType::INVALID_SYNTAX,
                };
                self.refuse(&content.header, &[notify(kind, &[])]);
                return Err(failure);
            }
        };
        self.authenticate_intermediate(0, content);
        let mut payloads = Vec::new();
        if let Some((method, data, _)) = &exchanged {
            let body = Body::KeyExchange { method: *method, data };
            payloads.push(payload(PayloadType::KE, body));
        }
        payloads.extend(ppk.as_ref().map(|named| notify(NotifyType::PPK_IDENTITY, named)));
        let sent = self.answer(&content.header, payloads)?;
        self.authenticate_intermediate(1, &sent);
        if let Some((_, _, secret)) = &exchanged {
            self.secure_again(secret)?;
        }
        if ppk.is_some() {
            self.mix_early()?;
        }
        self.state = State::Awaiting { index: index + 1 };
        Ok(())
    }

    /// Adds a message of initiator (0) or responder (1) to what IKE_AUTH proves, with the keys that
    /// the message was sealed with.
    fn authenticate_intermediate(&mut self, by: usize, content: &Content) {
        let Some(security) = &self.security else {
            return;
        };
        let message = intermediate(content.header, content.first, &content.bytes);
        let before = &self.transcript.intermediate[by];
        let keys = &security.keys;
        let proof = keys.prf.prf(&keys.prove[by], &[before, &message]);
        self.transcript.intermediate[by] = proof.to_vec();
        self.transcript.exchanges += by as u32;
    }

    fn secure_again(&mut self, secret: &[u8]) -> Result<(), Failure> {
        self.secure_by(|security| security.keys.next(security.agreed.suite, secret, &security.nonces))
    }

    /// Goes on with these keys.
    pub(super) fn secure_by(&mut self, keys: impl FnOnce(&Security) -> (Keys, CipherKeys)) -> Result<(), Failure> {
        let is_initiator = self.is_initiator();
        let security = self.security.as_mut().ok_or(Failure::Cryptography)?;
        let (keys, cipher) = keys(security);
        security.protection = Protection::new(security.agreed.suite, &cipher, is_initiator)?;
        security.keys = keys;
        Ok(())
    }
}

/// The responder's data of the key exchange that a message has, and the secret.
fn answered(method: KeyExchangeMethod, message: &Message<'_>) -> Result<(KeyExchangeMethod, Vec<u8>, Secret), Failure> {
    let exchange = key_exchange(method).ok_or(Failure::KeyExchange(method))?;
    let answer = exchange.answer(data_of(message, method)?);
    let (data, secret) = answer.map_err(|_| Failure::KeyExchange(method))?;
    Ok((method, data, secret))
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
