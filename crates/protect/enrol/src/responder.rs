//! The authority's end: requests in, answers out.
//!
//! The contents of a certificate are decided by the invitation or by the certificate that is
//! replaced, never by the request. A request that comes again, because its answer was lost or
//! because an attacker recorded it, gets what the first one got: while the transaction is
//! remembered the same octets, and later the same certificate, which is for the same key.

mod exchange;
mod general;
mod received;
mod sender;

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{self, digest};
use bartizan_pki::{Authority, Serial};
use data_encoding::HEXLOWER;

use crate::body::{self, kind};
use crate::header::{self, Header};
use crate::message::{Draft, Message};
use crate::protection::{self, Identity};
use crate::status::Status;
use crate::{Error, Failure};

pub use received::Received;
use sender::Sender;

/// Time that a transaction is remembered: for its confirmation, and for requests that come again.
const REMEMBERED: Duration = Duration::from_secs(300);
/// Most transactions that are remembered; an answer is 20 kB at most.
const MOST: usize = 1024;
/// Most of these for certificates of one name: one requester does not take the places of all
/// others.
const OF_A_NAME: usize = 16;

bartizan_registry::made! {
    /// The authority's end of enrolment. It remembers transactions for five minutes, and nothing that
    /// is not in the authority's records too.
    #[derive(Debug)]
    pub struct Responder,
    /// One that signs as `identity`, whose certificate has the profile of a responder.
    pub new(identity: Identity) {
        identity: Identity,
        transactions: VecDeque<Transaction> = VecDeque::new(),
        /// Certificates that were not confirmed in time, and that [`Responder::forget`] has not given
        /// yet.
        unconfirmed: Vec<Serial> = Vec::new(),
    }
}

/// A message that goes back, and what happened.
#[derive(Debug)]
pub struct Answer {
    /// The message, DER.
    pub der: Vec<u8>,
    /// For the audit log.
    pub event: Event,
}

/// A request and its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// `ir`, `cr`, `p10cr`, `kur`, `rr`, `certConf`, `genm`, or what it was.
    pub request: &'static str,
    /// The transaction's identifier in hexadecimal digits, where there is one.
    pub transaction: Option<String>,
    /// Reference of an invitation, or serial number of a certificate, where the protection of the message proved it.
    pub sender: Option<String>,
    /// Name in the certificate that it is about.
    pub name: Option<String>,
    /// The certificate that was issued, confirmed or revoked.
    pub serial: Option<Serial>,
    /// The reason why it was refused.
    pub refused: Option<(Failure, String)>,
    /// The answer is one that was given before.
    pub again: bool,
}

/// One exchange with a requester.
#[derive(Debug)]
struct Transaction {
    id: Vec<u8>,
    began: SystemTime,
    /// SHA-256 of the last request, and its answer.
    request: [u8; 32],
    answer: Vec<u8>,
    event: Event,
    /// The nonce of that answer, which a confirmation sends back.
    nonce: Vec<u8>,
    /// The certificate that waits for its confirmation.
    unconfirmed: Option<Unconfirmed>,
}

/// A certificate whose receiver has not said that it has it.
#[derive(Debug, Clone)]
struct Unconfirmed {
    id: i64,
    serial: Serial,
    name: String,
    certificate: Vec<u8>,
    /// The requester that asked for it, and confirms it.
    sender: String,
}

bartizan_registry::made! {
    /// Contents of the answer to a request.
    struct Outcome,
    /// An outcome that sends no certificates and waits for no confirmation.
    new(kind: u32, body: Vec<u8>, event: Event) {
        kind: u32,
        body: Vec<u8>,
        certificates: Vec<Vec<u8>> = Vec::new(),
        event: Event,
        unconfirmed: Option<Unconfirmed> = None,
    }
}

/// Text for the requester where this end failed: paths and errors of the records are none of its business.
pub(crate) const OURS: &str = "the authority failed, and its log says why";

/// A refusal: the failure, and a sentence for the person who reads it at the other end.
pub(crate) struct Refusal(pub(crate) Failure, pub(crate) String);

impl Responder {
    /// Signer of the answers.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Signs as another one from now on.
    pub fn replace_identity(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Answers a request, whose MAC is verified by now if it has one. An error is ours: there is no
    /// answer to give then.
    pub fn answer(&mut self, authority: &mut Authority, request: &Received, now: SystemTime) -> Result<Answer, Error> {
        self.drop_over(now);
        let message = match &request.message {
            Ok(message) => message,
            Err(error) => return self.unreadable(error, now),
        };
        let known = message
            .header
            .transaction
            .as_ref()
            .and_then(|id| self.transactions.iter().position(|known| known.id == *id));
        if let Some(known) = known.and_then(|at| self.transactions.get(at))
            && known.request == request.digest
        {
            return Ok(Answer {
                der: known.answer.clone(),
                event: Event {
                    again: true,
                    ..known.event.clone()
                },
            });
        }
        let mut event = Event::of(message);
        let (sender, outcome) = match Sender::of(authority, message, request, now) {
            Ok(sender) => {
                event.sender = Some(sender.to_string());
                let outcome = self.outcome(authority, message, &sender, known, &event, now);
                (Some(sender), outcome)
            }
            Err(refusal) => (None, Err(refusal)),
        };
        let refused = outcome.is_err();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Refusal(failure, text)) => Outcome::refusal(message, event, failure, text)?,
        };
        let nonce = protection::nonce()?;
        let draft = Draft {
            header: self.header(message, &outcome, &nonce, now)?,
            kind: outcome.kind,
            body: outcome.body,
            certificates: outcome.certificates,
        };
        let der = match sender.as_ref().and_then(Sender::mac) {
            Some((mac, reference)) => mac.authenticate(draft, reference)?,
            None => self.identity.sign(draft)?,
        };
        // A refused request may be sent again in the same transaction, and so may one that changes
        // nothing; a granted one is remembered.
        let changes_nothing = matches!(message.kind, kind::GENERAL | kind::ERROR);
        if !refused
            && message.kind == kind::ERROR
            && let Some(ended) = known.and_then(|at| self.transactions.remove(at))
        {
            self.note(ended);
        }
        if !refused
            && !changes_nothing
            && let Some(id) = message.header.transaction.clone()
        {
            if let Some(at) = known {
                self.transactions.remove(at);
            }
            self.make_place(outcome.event.name.as_deref());
            self.transactions.push_back(Transaction {
                id,
                began: now,
                request: request.digest,
                answer: der.clone(),
                event: outcome.event.clone(),
                nonce,
                unconfirmed: outcome.unconfirmed,
            });
        }
        Ok(Answer {
            der,
            event: outcome.event,
        })
    }

    /// Drops transactions whose time is over; gives those certificates that were not confirmed,
    /// each once.
    pub fn forget(&mut self, now: SystemTime) -> Vec<Serial> {
        self.drop_over(now);
        std::mem::take(&mut self.unconfirmed)
    }

    /// Drops the oldest transaction of a name that has as many as it may.
    fn make_place(&mut self, name: Option<&str>) {
        let is_of = |transaction: &Transaction| transaction.event.name.as_deref() == name;
        if self.transactions.iter().filter(|one| is_of(one)).count() < OF_A_NAME {
            return;
        }
        if let Some(dropped) = self
            .transactions
            .iter()
            .position(is_of)
            .and_then(|at| self.transactions.remove(at))
        {
            self.note(dropped);
        }
    }

    /// Takes note of a certificate that was not confirmed in a transaction that is over.
    fn note(&mut self, over: Transaction) {
        let serial = over.unconfirmed.map(|waiting| waiting.serial);
        self.unconfirmed
            .extend(serial.filter(|_| self.unconfirmed.len() < MOST));
    }

    fn drop_over(&mut self, now: SystemTime) {
        // By the clock of this machine, which may be set: they need not be in order, and one that
        // began far in the future would be remembered until then.
        let is_over = |one: &Transaction| {
            let age = now.duration_since(one.began);
            age.unwrap_or_else(|ahead| ahead.duration()) > REMEMBERED
        };
        while let Some(over) = self
            .transactions
            .iter()
            .position(is_over)
            .and_then(|at| self.transactions.remove(at))
        {
            self.note(over);
        }
    }

    fn header(&self, message: &Message, outcome: &Outcome, nonce: &[u8], now: SystemTime) -> Result<Header, Error> {
        let asked = &message.header;
        Ok(Header {
            version: asked.version.clamp(2, 3),
            sender: header::directory_name(&body::subject(self.identity.certificate().der())?)?,
            recipient: asked.sender.clone(),
            time: Some(now),
            transaction: asked.transaction.clone(),
            sender_nonce: Some(nonce.to_vec()),
            recipient_nonce: asked.sender_nonce.clone(),
            implicit_confirm: asked.implicit_confirm
                && outcome.event.refused.is_none()
                && matches!(outcome.kind, kind::INITIALISED | kind::CERTIFIED | kind::UPDATED),
            ..Header::default()
        })
    }

    /// Answers a message that cannot be read all the same: its sender shall know why.
    fn unreadable(&self, error: &Error, now: SystemTime) -> Result<Answer, Error> {
        let text = error.to_string();
        let draft = Draft {
            header: Header {
                version: 2,
                sender: header::directory_name(&body::subject(self.identity.certificate().der())?)?,
                recipient: header::nobody()?,
                time: Some(now),
                transaction: Some(protection::nonce()?),
                sender_nonce: Some(protection::nonce()?),
                ..Header::default()
            },
            kind: kind::ERROR,
            body: body::error(&Status::rejected(Failure::BadDataFormat, text.clone()))?,
            certificates: Vec::new(),
        };
        Ok(Answer {
            der: self.identity.sign(draft)?,
            event: Event {
                request: "unreadable",
                refused: Some((Failure::BadDataFormat, text)),
                ..Event::default()
            },
        })
    }
}

impl Event {
    fn of(message: &Message) -> Self {
        Self {
            request: kind::name(message.kind),
            transaction: message.header.transaction.as_deref().map(|id| HEXLOWER.encode(id)),
            ..Self::default()
        }
    }
}

impl Outcome {
    /// A refusal stands in the answer that the request would have got where it has a place for it,
    /// and in an error otherwise.
    fn refusal(message: &Message, event: Event, failure: Failure, text: String) -> Result<Self, Error> {
        let said = match failure {
            Failure::Internal => OURS.to_owned(),
            _ => text.clone(),
        };
        let status = Status::rejected(failure, said);
        let (kind, body) = match message.kind {
            kind::INITIALISATION => (kind::INITIALISED, body::certificate_answer(0, &status, None, &[])?),
            kind::CERTIFICATION => (kind::CERTIFIED, body::certificate_answer(0, &status, None, &[])?),
            kind::PKCS10 => (kind::CERTIFIED, body::certificate_answer(-1, &status, None, &[])?),
            kind::UPDATE => (kind::UPDATED, body::certificate_answer(0, &status, None, &[])?),
            kind::REVOCATION => (kind::REVOKED, body::revocation_answer(&status)?),
            _ => (kind::ERROR, body::error(&status)?),
        };
        let refused = Some((failure, text));
        Ok(Self::new(kind, body, Event { refused, ..event }))
    }
}

fn digest_of(request: &[u8]) -> [u8; 32] {
    let mut octets = [0; 32];
    octets.copy_from_slice(digest(&digest::SHA256, request).as_ref());
    octets
}

#[cfg(test)]
mod tests;
