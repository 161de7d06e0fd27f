//! A question to the authority by who has its certificate: which certificates it has of its own.

use std::time::SystemTime;

use bartizan_pki::Certificate;
use der::Encode;

use crate::body::{self, kind};
use crate::encoding::{self, Fields};
use crate::header::{self, Header};
use crate::message::{Draft, Message};
use crate::protection::{self, Identity, Trust};
use crate::{Error, oid};

/// Most certificates that are read of an answer.
const MOST: usize = 64;

/// One general message (caCerts, RFC 9483, section 4.3.1) and its answer.
#[derive(Debug)]
pub struct Inquiry {
    trust: Trust,
    transaction: Vec<u8>,
    nonce: Vec<u8>,
}

impl Inquiry {
    /// Begins: the message to be sent.
    pub fn begin(identity: &Identity, trust: Trust, now: SystemTime) -> Result<(Self, Vec<u8>), Error> {
        let inquiry = Self {
            trust,
            transaction: protection::nonce()?,
            nonce: protection::nonce()?,
        };
        let draft = Draft {
            header: Header {
                version: 2,
                sender: header::directory_name(&body::subject(identity.certificate().der())?)?,
                recipient: header::nobody()?,
                time: Some(now),
                transaction: Some(inquiry.transaction.clone()),
                sender_nonce: Some(inquiry.nonce.clone()),
                ..Header::default()
            },
            kind: kind::GENERAL,
            body: encoding::sequence(&[&encoding::sequence(&[&oid::CA_CERTIFICATES.to_der()?])?])?,
            certificates: Vec::new(),
        };
        let message = identity.sign(draft)?;
        Ok((inquiry, message))
    }

    /// The certificates in the answer, whose signature is that of an authority below a root that is
    /// believed. Those that cannot be read are left out.
    pub fn receive(self, answer: &[u8], now: SystemTime) -> Result<Vec<Certificate>, Error> {
        let message = Message::read(answer)?;
        self.trust.verify(&message, now)?;
        if message.kind == kind::ERROR {
            return Err(body::read_error(message.content()?)?.refusal());
        }
        let is_ours = message.header.transaction.as_deref() == Some(&self.transaction)
            && message.header.recipient_nonce.as_deref() == Some(&self.nonce);
        if !is_ours || message.kind != kind::GENERAL_ANSWER {
            return Err(Error::Untrusted("it is of another exchange".to_owned()));
        }
        let place = "general answer";
        let mut found = Vec::new();
        for given in Fields::within(place, message.content()?)?.rest()? {
            let mut given = Fields::within(place, given)?;
            if encoding::identifier(place, given.next("its type")?)? != oid::CA_CERTIFICATES || given.is_done() {
                continue;
            }
            let certificates = Fields::within("caCerts", given.next("its value")?)?.rest()?;
            for certificate in certificates.into_iter().take(MOST) {
                found.extend(Certificate::from_der(&encoding::whole(certificate)?, "caCerts"));
            }
        }
        Ok(found)
    }
}
