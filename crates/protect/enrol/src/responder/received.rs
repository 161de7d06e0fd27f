//! A request before the authority is needed for it.

use bartizan_pki::Invitation;
use zeroize::Zeroizing;

use super::digest_of;
use crate::Error;
use crate::message::Message;
use crate::protection::{KeyedMac, Mismatch, PasswordMac};

bartizan_registry::made! {
    /// A request as it was received. Keys of MACs are derived here, by up to 50,000 rounds, so that no
    /// other request waits for that.
    #[derive(Debug)]
    pub struct Received,
    /// Reads a request.
    pub read(request: &[u8]) {
        pub(super) message: Result<Message, Error> = Message::read(request),
        pub(super) digest: [u8; 32] = digest_of(request),
        proof: Option<Proof> = None,
    }
}

/// The outcome for the secret of one invitation.
#[derive(Debug)]
struct Proof {
    secret: Zeroizing<String>,
    verified: Result<(), Mismatch>,
    answering: Result<KeyedMac, Mismatch>,
}

impl Received {
    /// Reference of the invitation by whose secret the request is protected, if it is by one.
    pub fn reference(&self) -> Option<&str> {
        let message = self.message.as_ref().ok()?;
        mac_of(message)?;
        std::str::from_utf8(message.header.sender_key.as_deref()?).ok()
    }

    /// Verifies the MAC by the secret of this invitation, and derives the key of the answer.
    pub fn verify(&mut self, invitation: &Invitation) {
        let Ok(message) = &self.message else { return };
        let (Some(mac), Some(value), Some(secret)) = (mac_of(message), &message.protection, invitation.secret()) else {
            return;
        };
        let verified = mac.verify(secret, &message.protected, value);
        let answering = match verified {
            Ok(()) => mac.answering().map_err(|error| Mismatch::Algorithm(error.to_string())),
            Err(_) => Err(Mismatch::Value),
        };
        self.proof = Some(Proof {
            secret: Zeroizing::new(secret.to_owned()),
            verified,
            answering: answering.and_then(|mac| mac.keyed(secret)),
        });
    }

    /// The key of the answer to who knows this secret.
    pub(super) fn proves(&self, secret: &str) -> Result<&KeyedMac, Mismatch> {
        // Records may have changed since: another secret proves nothing.
        let proof = self.proof.as_ref().filter(|proof| *proof.secret == secret);
        let proof = proof.ok_or(Mismatch::Value)?;
        proof.verified.clone()?;
        proof.answering.as_ref().map_err(Clone::clone)
    }
}

fn mac_of(message: &Message) -> Option<PasswordMac> {
    let (algorithm, parameters) = message.header.protection().ok()??;
    PasswordMac::read(algorithm, parameters).ok()?
}
