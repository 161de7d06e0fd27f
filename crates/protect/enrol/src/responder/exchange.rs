//! Answers to each kind of request.

use std::time::SystemTime;

use bartizan_pki::{Authority, Certificate, Error as Refused, Invitation, Issued, PublicKey};

use super::{Event, Outcome, Refusal, Responder, Sender, Unconfirmed, general};
use crate::body::{self, Confirmation, kind};
use crate::encoding;
use crate::message::Message;
use crate::request::{self, Flaw, Request, RevocationRequest};
use crate::status::Status;
use crate::{Error, Failure};

use super::MOST;

impl Refusal {
    pub(super) fn new(failure: Failure, text: &str) -> Self {
        Self(failure, text.to_owned())
    }

    pub(super) fn unreadable(error: Error) -> Self {
        Self(Failure::BadDataFormat, error.to_string())
    }

    /// A failure of this end. Its details go to the event, which is logged; the requester gets [`OURS`].
    pub(super) fn ours(error: &Refused) -> Self {
        Self(Failure::Internal, error.to_string())
    }

    fn of(error: &Refused) -> Self {
        let failure = match error {
            Refused::NotInvited(_) | Refused::InvitationUsed(_) => Failure::NotAuthorized,
            Refused::ClassicalKey(_) | Refused::RequestKey(_) | Refused::NotForIpsec { .. } => Failure::BadAlgorithm,
            Refused::UnknownCertificate(_) | Refused::Unsuitable { .. } => Failure::BadCertificateId,
            Refused::AlreadyRevoked(_) | Refused::RevokedKey(_) => Failure::CertificateRevoked,
            Refused::KeyOfAnother(_) => Failure::NotAuthorized,
            Refused::Busy(_) | Refused::TooManyUpdates { .. } => Failure::Unavailable,
            _ => return Self::ours(error),
        };
        Self(failure, error.to_string())
    }
}

impl From<Flaw> for Refusal {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Malformed(error) => Self::unreadable(error),
            Flaw::Template(text) => Self(Failure::BadTemplate, text),
            Flaw::Proof(text) => Self(Failure::BadProof, text),
            Flaw::Key(text) => Self(Failure::BadAlgorithm, text),
        }
    }
}

impl From<Refused> for Refusal {
    fn from(error: Refused) -> Self {
        Self::of(&error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::unreadable(error)
    }
}

impl Responder {
    /// `known` is the place of the transaction among those that are remembered.
    pub(super) fn outcome(
        &self,
        authority: &mut Authority,
        message: &Message,
        sender: &Sender<'_>,
        known: Option<usize>,
        event: &Event,
        now: SystemTime,
    ) -> Result<Outcome, Refusal> {
        match message.kind {
            kind::CONFIRMATION => return self.confirmed(authority, message, sender, known, event, now),
            kind::ERROR => return self.given_up(message, sender, known, event),
            _ => {}
        }
        if known.is_some() {
            return Err(Refusal::new(
                Failure::TransactionInUse,
                "another request was made in this transaction",
            ));
        }
        if self.transactions.len() >= MOST {
            return Err(Refusal::new(
                Failure::Unavailable,
                "too many transactions are under way; try again in five minutes",
            ));
        }
        match message.kind {
            kind::INITIALISATION => certified(authority, message, sender, kind::INITIALISED, event, now),
            kind::CERTIFICATION | kind::PKCS10 => certified(authority, message, sender, kind::CERTIFIED, event, now),
            kind::UPDATE => certified(authority, message, sender, kind::UPDATED, event, now),
            kind::REVOCATION => revoked(authority, message, sender, event, now),
            kind::GENERAL => general::answered(authority, message, event),
            _ => Err(Refusal::new(
                Failure::BadRequest,
                "ir, cr, p10cr, kur, rr, certConf and genm are answered here",
            )),
        }
    }

    /// An error of the requester ends its transaction, and is acknowledged (RFC 9810, section
    /// 5.3.21). A certificate that was issued in it stays, as without a confirmation.
    fn given_up(
        &self,
        message: &Message,
        sender: &Sender<'_>,
        known: Option<usize>,
        event: &Event,
    ) -> Result<Outcome, Refusal> {
        let status = body::read_error(message.content()?)?;
        let transaction = known.and_then(|at| self.transactions.get(at));
        if transaction.is_some_and(|transaction| transaction.event.sender != event.sender) {
            return Err(Refusal(
                Failure::NotAuthorized,
                format!("the transaction is of somebody else than {sender}"),
            ));
        }
        let reason = format!("the requester ends the transaction: {}", status.said());
        let event = Event {
            name: transaction.and_then(|transaction| transaction.event.name.clone()),
            serial: transaction.and_then(|transaction| transaction.event.serial),
            refused: Some((Failure::BadRequest, reason)),
            ..event.clone()
        };
        Ok(Outcome::new(kind::ACKNOWLEDGED, encoding::null()?, event))
    }

    fn confirmed(
        &self,
        authority: &mut Authority,
        message: &Message,
        sender: &Sender<'_>,
        known: Option<usize>,
        event: &Event,
        now: SystemTime,
    ) -> Result<Outcome, Refusal> {
        let transaction = known.and_then(|at| self.transactions.get(at)).ok_or_else(|| {
            Refusal::new(
                Failure::BadRequest,
                "nothing waits for a confirmation in this transaction",
            )
        })?;
        let waiting = transaction.unconfirmed.clone().ok_or_else(|| {
            Refusal::new(
                Failure::CertificateConfirmed,
                "the certificate of this transaction was confirmed before",
            )
        })?;
        if waiting.sender != sender.to_string() {
            return Err(Refusal::new(
                Failure::NotAuthorized,
                "who asked for the certificate confirms it",
            ));
        }
        if message.header.recipient_nonce.as_deref() != Some(&transaction.nonce) {
            return Err(Refusal::new(
                Failure::BadRequest,
                "recipNonce is not the nonce of the answer",
            ));
        }
        let confirmation = Confirmation::read(message.content()?)?;
        if let Some(confirmation) = &confirmation
            && (confirmation.id != waiting.id || !confirmation.is_of(&waiting.certificate))
        {
            return Err(Refusal::new(
                Failure::BadCertificateId,
                "the hash or the number in it is not that of the certificate that was sent",
            ));
        }
        let accepted = confirmation.is_some_and(|confirmation| confirmation.status.is_granted());
        if let Some(invitation) = sender.invitation() {
            authority.close_invitation(invitation.reference(), now)?;
        }
        let mut event = Event {
            name: Some(waiting.name.clone()),
            serial: Some(waiting.serial),
            ..event.clone()
        };
        if !accepted {
            authority.revoke_refused(waiting.serial, now)?;
            event.refused = Some((
                Failure::BadRequest,
                "its receiver does not accept the certificate, which is revoked".to_owned(),
            ));
        }
        Ok(Outcome::new(kind::ACKNOWLEDGED, encoding::null()?, event))
    }
}

/// A certificate for the key in the request: by the invitation, or in place of the certificate that signs the request.
fn certified(
    authority: &mut Authority,
    message: &Message,
    sender: &Sender<'_>,
    answer: u32,
    event: &Event,
    now: SystemTime,
) -> Result<Outcome, Refusal> {
    let content = message.content()?;
    let request = match message.kind {
        kind::PKCS10 => Request::read_pkcs10(content)?,
        _ => Request::read(content)?,
    };
    let issued = issue(authority, message, sender, &request, now)?;
    let initial = sender.invitation().is_some();
    let certificate = issued.certificate.der().to_vec();
    let mut above: Vec<_> = issued.between.iter().map(|above| above.der().to_vec()).collect();
    // A requester that enrols first knows no root; one that has a root learns of one that takes its
    // place.
    let roots = if initial || authority.has_succession() {
        authority.roots()
    } else {
        Vec::new()
    };
    let roots: Vec<&[u8]> = roots.iter().map(Certificate::der).collect();
    if !initial {
        // By these it verifies a root that it does not hold.
        let across = authority.cross_certificates().map_err(|error| Refusal::ours(&error))?;
        above.extend(across.iter().map(|across| across.der().to_vec()));
    }
    Ok(Outcome {
        kind: answer,
        body: body::certificate_answer(request.id, &Status::accepted(), Some(&certificate), &roots)?,
        certificates: above,
        event: Event {
            name: Some(issued.name.to_owned()),
            serial: Some(issued.serial),
            ..event.clone()
        },
        unconfirmed: (!message.header.implicit_confirm).then(|| Unconfirmed {
            id: request.id,
            serial: issued.serial,
            name: issued.name.to_owned(),
            certificate,
            sender: sender.to_string(),
        }),
    })
}

fn issue(
    authority: &mut Authority,
    message: &Message,
    sender: &Sender<'_>,
    request: &Request,
    now: SystemTime,
) -> Result<Issued, Refusal> {
    match sender {
        Sender::Invited { .. } | Sender::Vendor(_) if message.kind == kind::UPDATE => Err(Refusal::new(
            Failure::NotAuthorized,
            "an update is signed by the certificate that it replaces",
        )),
        // Before the invitation is used: its first key is its only one.
        Sender::Invited { invitation, .. } if !is_invited(request, invitation) => Err(Refusal(
            Failure::BadTemplate,
            format!(
                "the invitation is for the name {}, and the request asks for {}; it stays open",
                invitation.name(),
                request.common_name.as_deref().unwrap_or_default()
            ),
        )),
        Sender::Invited { invitation, .. } | Sender::Vendor(invitation) => {
            authority.enrol(invitation, &request.key, now).map_err(Refusal::from)
        }
        Sender::Holder(_) if message.kind == kind::INITIALISATION => Err(Refusal::new(
            Failure::NotAuthorized,
            "who has a certificate asks for an update (kur); ir is for invitations",
        )),
        Sender::Holder(entry) => {
            if let Some(old) = &request.old
                && request::serial(old) != Some(entry.serial)
            {
                return Err(Refusal::new(
                    Failure::BadCertificateId,
                    "oldCertID is not the certificate that signs the request",
                ));
            }
            require_another_key(&entry.certificate, &request.key)?;
            Ok(authority.update(entry.serial, &request.key, now)?)
        }
    }
}

/// True where the request asks for the invited name, or for none.
fn is_invited(request: &Request, invitation: &Invitation) -> bool {
    let asked = request.common_name.as_deref();
    asked.is_none_or(|asked| asked == invitation.name() || invitation.names().any(|name| name == asked))
}

/// An update is there to change the key.
fn require_another_key(old: &Certificate, key: &PublicKey) -> Result<(), Refusal> {
    if old.public_key() == key {
        return Err(Refusal::new(
            Failure::BadTemplate,
            "an update is for a new key, and this one is certified already",
        ));
    }
    Ok(())
}

/// The holder of a certificate has it revoked.
fn revoked(
    authority: &mut Authority,
    message: &Message,
    sender: &Sender<'_>,
    event: &Event,
    now: SystemTime,
) -> Result<Outcome, Refusal> {
    let Sender::Holder(entry) = sender else {
        return Err(Refusal::new(
            Failure::NotAuthorized,
            "a revocation is signed by the certificate that is revoked",
        ));
    };
    let asked = RevocationRequest::read(message.content()?)?;
    if request::serial(&asked.serial) != Some(entry.serial) {
        return Err(Refusal::new(
            Failure::BadCertificateId,
            "only the certificate that signs the request is revoked by it",
        ));
    }
    authority.revoke_on_request(entry.serial, asked.reason, now)?;
    let event = Event {
        name: Some(entry.name.to_owned()),
        serial: Some(entry.serial),
        ..event.clone()
    };
    let answer = body::revocation_answer(&Status::accepted())?;
    Ok(Outcome::new(kind::REVOKED, answer, event))
}
