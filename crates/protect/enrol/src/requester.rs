//! The other end: a function's or a base station's, which asks, checks what it gets, and confirms it.

use std::time::SystemTime;

use bartizan_pki::{Certificate, PrivateKey};
use zeroize::Zeroizing;

use crate::body::{self, CertificateAnswer, Confirmation, kind};
use crate::header::{self, Header};
use crate::message::{Draft, Message};
use crate::protection::{self, Identity, PasswordMac, Trust};
use crate::{Error, request};

/// Credential by which the requester proves who it is, and knows the authority.
#[derive(Debug)]
pub enum Credential {
    /// Reference and secret of an invitation; by the same secret the authority proves itself, and gives its root.
    Secret {
        /// Names the invitation.
        reference: String,
        /// The secret, which only both ends know.
        secret: Zeroizing<String>,
    },
    /// The certificate that is to be replaced, and the roots under one of which it is.
    Certificate {
        /// Its key, and the certificates above it.
        identity: Identity,
        /// The authorities whose answers are believed.
        trust: Trust,
    },
}

/// A certificate that was asked for, with all that a peer wants to see.
#[derive(Debug)]
pub struct Enrolled {
    /// The certificate, and those above it but for the root.
    pub chain: Vec<Certificate>,
    /// The trust anchors.
    pub roots: Vec<Certificate>,
    /// Roots that the authority gave with a renewal, and that no root held before vouches for: they
    /// are not trusted.
    pub unproven: Vec<Certificate>,
}

/// The next action.
#[derive(Debug)]
pub enum Next {
    /// Store the certificate, and then send the confirmation, which says that it is stored: from
    /// then on the secret opens nothing more.
    Store {
        /// The certificate that came.
        enrolled: Enrolled,
        /// To be sent; what comes back is given to [`Requester::receive`].
        confirmation: Vec<u8>,
    },
    /// The confirmation has arrived.
    Done,
}

/// One exchange: a request, an answer, a confirmation, its acknowledgement.
#[derive(Debug)]
pub struct Requester {
    credential: Credential,
    key: PrivateKey,
    transaction: Vec<u8>,
    nonce: Vec<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    Asked,
    Confirming,
    Over,
}

impl Requester {
    /// Begins: the request for a certificate for `key`, by the name `subject`, which the authority need not take.
    pub fn begin(
        credential: Credential,
        key: PrivateKey,
        subject: &str,
        now: SystemTime,
    ) -> Result<(Self, Vec<u8>), Error> {
        let requester = Self {
            transaction: protection::nonce()?,
            nonce: protection::nonce()?,
            state: State::Asked,
            credential,
            key,
        };
        let (kind, body) = match &requester.credential {
            Credential::Secret { .. } => (kind::INITIALISATION, request::write(subject, &requester.key, None)?),
            Credential::Certificate { identity, .. } => {
                let (issuer, serial) = body::issuer_and_serial(identity.certificate().der())?;
                (
                    kind::UPDATE,
                    request::write(subject, &requester.key, Some((&issuer, &serial)))?,
                )
            }
        };
        let message = requester.message(kind, body, 2, None, now)?;
        Ok((requester, message))
    }

    /// Takes an answer. After an error the exchange is over; the same key can be asked for again.
    pub fn receive(&mut self, answer: &[u8], now: SystemTime) -> Result<Next, Error> {
        let state = std::mem::replace(&mut self.state, State::Over);
        let message = Message::read(answer)?;
        if message.header.transaction.as_deref() != Some(&self.transaction)
            || message.header.recipient_nonce.as_deref() != Some(&self.nonce)
        {
            // A responder that could not read our message answers so, by a transaction of its own.
            if message.kind == kind::ERROR {
                return Err(body::read_error(message.content()?)?.refusal());
            }
            return Err(Error::Untrusted("it is of another exchange".to_owned()));
        }
        self.verify(&message, now)?;
        if message.kind == kind::ERROR {
            return Err(body::read_error(message.content()?)?.refusal());
        }
        match state {
            State::Asked => self.granted(&message, now),
            State::Confirming if message.kind == kind::ACKNOWLEDGED => Ok(Next::Done),
            State::Confirming => Err(Error::Untrusted("it does not acknowledge the confirmation".to_owned())),
            State::Over => Err(Error::Untrusted("the exchange is over".to_owned())),
        }
    }

    /// The key that the certificate is for.
    pub fn into_key(self) -> PrivateKey {
        self.key
    }

    fn granted(&mut self, message: &Message, now: SystemTime) -> Result<Next, Error> {
        let expected = match &self.credential {
            Credential::Secret { .. } => kind::INITIALISED,
            Credential::Certificate { .. } => kind::UPDATED,
        };
        if message.kind != expected {
            return Err(Error::Untrusted("it answers another kind of request".to_owned()));
        }
        let answer = CertificateAnswer::read(message.content()?)?;
        answer.status.require_granted()?;
        let (Some(der), 0) = (answer.certificate, answer.id) else {
            return Err(Error::Untrusted("it has no certificate for the request".to_owned()));
        };
        let certificate = Certificate::from_der(&der, "the certificate that came")?;
        if certificate.public_key() != self.key.public_key() {
            return Err(Error::Untrusted("the certificate is for another key".to_owned()));
        }
        let enrolled = self.enrolled(certificate, &answer.roots, message, now)?;
        let (body, version) = Confirmation::accepting(0, &der)?;
        self.nonce = protection::nonce()?;
        let confirmation = self.message(
            kind::CONFIRMATION,
            body,
            version,
            message.header.sender_nonce.clone(),
            now,
        )?;
        self.state = State::Confirming;
        Ok(Next::Store { enrolled, confirmation })
    }

    /// The way from the certificate to a root that is believed.
    fn enrolled(
        &self,
        certificate: Certificate,
        roots: &[Vec<u8>],
        message: &Message,
        now: SystemTime,
    ) -> Result<Enrolled, Error> {
        let at_hand = &message.certificates;
        let given = roots
            .iter()
            .map(|der| Ok(Certificate::from_der(der, "caPubs")?))
            .collect::<Result<Vec<_>, Error>>()?;
        let (trust, unproven) = match &self.credential {
            Credential::Secret { .. } if given.is_empty() => {
                return Err(Error::Untrusted(
                    "it has no root (caPubs) for the certificate".to_owned(),
                ));
            }
            Credential::Secret { .. } => (Trust::new(given), Vec::new()),
            // A root that does not vouch for the new certificate is of before.
            Credential::Certificate { trust, .. } if given.is_empty() => {
                let mut vouching = trust.roots.to_vec();
                vouching.retain(|root| {
                    let alone = trust.with_roots(vec![root.clone()]);
                    alone.chain(certificate.clone(), at_hand, now).is_ok()
                });
                match vouching.is_empty() {
                    true => (trust.clone(), Vec::new()),
                    false => (trust.with_roots(vouching), Vec::new()),
                }
            }
            // The key of an intermediate or of a responder below it makes no root: one that takes
            // another's place is signed by that. A root that issues by itself signs no authority,
            // and a responder directly below it speaks for it.
            Credential::Certificate { trust, .. } => {
                let speaks_for_root = trust.verify(message, now)?.len() == 1;
                let is_proven = |root: &Certificate| speaks_for_root || trust.vouches_for(root, at_hand, now);
                let (proven, unproven): (Vec<_>, Vec<_>) = given.into_iter().partition(is_proven);
                match proven.is_empty() {
                    true => (trust.clone(), unproven),
                    false => (trust.with_roots(proven), unproven),
                }
            }
        };
        Ok(Enrolled {
            chain: trust.chain(certificate, at_hand, now)?,
            roots: trust.roots.to_vec(),
            unproven,
        })
    }

    fn verify(&self, message: &Message, now: SystemTime) -> Result<(), Error> {
        match &self.credential {
            Credential::Certificate { trust, .. } => trust.verify(message, now).map(drop),
            Credential::Secret { secret, .. } => {
                let refuse = |reason: String| Err(Error::Untrusted(reason));
                let (Some((algorithm, parameters)), Some(value)) = (message.header.protection()?, &message.protection)
                else {
                    return refuse("it is not protected".to_owned());
                };
                if let Some(mac) = PasswordMac::read(algorithm, parameters)? {
                    return match mac.verify(secret, &message.protected, value) {
                        Ok(()) => Ok(()),
                        Err(mismatch) => refuse(format!("its MAC is not by the secret ({mismatch:?})")),
                    };
                }
                // A refusal by a responder that does not know the secret can only be signed, and
                // its signer is not known here.
                if !grants(message)? {
                    return Ok(());
                }
                refuse("it is not protected by the secret".to_owned())
            }
        }
    }

    fn message(
        &self,
        kind: u32,
        body: Vec<u8>,
        version: i64,
        answering: Option<Vec<u8>>,
        now: SystemTime,
    ) -> Result<Vec<u8>, Error> {
        let sender = match &self.credential {
            Credential::Secret { .. } => header::nobody()?,
            Credential::Certificate { identity, .. } => {
                header::directory_name(&body::subject(identity.certificate().der())?)?
            }
        };
        let draft = Draft {
            header: Header {
                version,
                sender,
                recipient: header::nobody()?,
                time: Some(now),
                transaction: Some(self.transaction.clone()),
                sender_nonce: Some(self.nonce.clone()),
                recipient_nonce: answering,
                ..Header::default()
            },
            kind,
            body,
            certificates: Vec::new(),
        };
        match &self.credential {
            Credential::Secret { reference, secret } => {
                protection::authenticate(draft, &PasswordMac::fresh()?, reference, secret)
            }
            Credential::Certificate { identity, .. } => identity.sign(draft),
        }
    }
}

/// Returns true if a message gives anything: only a refusal is accepted from a sender that is not
/// known.
fn grants(message: &Message) -> Result<bool, Error> {
    Ok(match message.kind {
        kind::ERROR => false,
        kind::INITIALISED | kind::CERTIFIED | kind::UPDATED => {
            CertificateAnswer::read(message.content()?)?.status.is_granted()
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use bartizan_pki::Algorithm;

    use super::*;

    #[test]
    fn an_answer_of_another_exchange_is_not_taken() {
        let credential = || Credential::Secret {
            reference: "reference".to_owned(),
            secret: Zeroizing::new("secret".to_owned()),
        };
        let key = || PrivateKey::generate(Algorithm::Ed25519).unwrap();
        let now = SystemTime::UNIX_EPOCH;
        let (mut one, _) = Requester::begin(credential(), key(), "gnb", now).unwrap();
        let (_, other) = Requester::begin(credential(), key(), "gnb", now).unwrap();
        assert!(matches!(one.receive(&other, now), Err(Error::Untrusted(_))));
    }
}
