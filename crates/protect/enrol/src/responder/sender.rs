//! The sender of a message, as its protection proves.

use std::fmt;
use std::time::SystemTime;

use bartizan_pki::{Authority, Certificate, Entry, ForeignCertificate, Invitation, Profile, Role, State};

use super::{Received, Refusal};
use crate::Failure;
use crate::message::Message;
use crate::oid;
use crate::protection::{KeyedMac, Mismatch, PasswordMac};

/// Most certificates of authorities that are read of those sent with a message.
const MOST_AUTHORITIES: usize = 32;

/// A sender that has proved who it is.
#[derive(Debug)]
pub(super) enum Sender<'a> {
    /// It knows the secret of an invitation.
    Invited { invitation: Invitation, mac: &'a KeyedMac },
    /// It has the key of a vendor's certificate that an invitation is for.
    Vendor(Invitation),
    /// It has the key of a certificate of this authority, which is valid.
    Holder(Entry),
}

/// The sender's name in the audit log.
impl fmt::Display for Sender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invited { invitation, .. } | Self::Vendor(invitation) => f.write_str(invitation.reference()),
            Self::Holder(entry) => write!(f, "{}", entry.serial),
        }
    }
}

impl<'a> Sender<'a> {
    /// Verifies a message's protection. A wrong reference and a wrong secret are refused with the
    /// same words.
    pub(super) fn of(
        authority: &Authority,
        message: &Message,
        received: &'a Received,
        now: SystemTime,
    ) -> Result<Self, Refusal> {
        let header = &message.header;
        if !(2..=3).contains(&header.version) {
            return Err(Refusal(
                Failure::UnsupportedVersion,
                format!("version {} of the protocol; 2 and 3 are known", header.version),
            ));
        }
        if header.transaction.is_none() || header.sender_nonce.is_none() {
            return Err(Refusal::new(
                Failure::BadDataFormat,
                "transactionID or senderNonce is missing",
            ));
        }
        let protection = header.protection().map_err(Refusal::unreadable)?;
        let (Some((algorithm, parameters)), Some(value)) = (protection, &message.protection) else {
            return Err(Refusal::new(Failure::BadMessageCheck, "the message is not protected"));
        };
        let mac = PasswordMac::read(algorithm, parameters).map_err(Refusal::unreadable)?;
        if mac.is_some() {
            return Self::invited(authority, received, now);
        }
        if oid::OTHER_MACS.contains(&algorithm) {
            return Err(Refusal(
                Failure::BadAlgorithm,
                format!(
                    "protection by {algorithm}; of MACs PasswordBasedMac ({}) and PBMAC1 ({}) are accepted",
                    oid::PASSWORD_BASED_MAC,
                    oid::PBMAC1
                ),
            ));
        }
        let Some(entry) = signer(authority, message)? else {
            return Self::vendor(authority, message, value, now);
        };
        if !entry
            .certificate
            .public_key()
            .has_signed(algorithm, &message.protected, value)
        {
            return Err(Refusal::new(
                Failure::BadMessageCheck,
                "the signature does not verify by the certificate sent with it",
            ));
        }
        if entry.state == State::Revoked || entry.state == State::Abandoned {
            return Err(Refusal(
                Failure::CertificateRevoked,
                format!("certificate {} is revoked", entry.serial),
            ));
        }
        if !entry.is_valid_at(now) {
            return Err(Refusal(
                Failure::SignerNotTrusted,
                format!("certificate {} has ended: enrol again by an invitation", entry.serial),
            ));
        }
        Ok(Self::Holder(entry))
    }

    fn invited(authority: &Authority, received: &'a Received, now: SystemTime) -> Result<Self, Refusal> {
        let refuse = || {
            Refusal::new(
                Failure::BadMessageCheck,
                "no open invitation has this reference and secret",
            )
        };
        let reference = received.reference().ok_or_else(refuse)?;
        let found = authority.invitation(reference, now)?;
        let Some(invitation) = found else {
            return Err(refuse());
        };
        let secret = invitation.secret().ok_or_else(refuse)?;
        match received.proves(secret) {
            Ok(mac) => Ok(Self::Invited { invitation, mac }),
            Err(Mismatch::Value) => Err(refuse()),
            Err(Mismatch::Algorithm(what)) => Err(Refusal(Failure::BadAlgorithm, what)),
        }
    }

    /// A sender that shows no certificate of ours, but one that an invitation is for.
    fn vendor(authority: &Authority, message: &Message, value: &[u8], now: SystemTime) -> Result<Self, Refusal> {
        let refuse = || {
            Refusal::new(
                Failure::SignerNotTrusted,
                "who signed has a certificate of another authority, and no open invitation is for it",
            )
        };
        // Before others of them are read: a message that nothing signs costs one verification.
        let shown = message.certificates.first();
        let shown = shown
            .and_then(|der| ForeignCertificate::from_der(der).ok())
            .ok_or_else(refuse)?;
        let algorithm = message.header.protection.as_deref().unwrap_or_default();
        if !shown.has_signed(algorithm, &message.protected, value) {
            return Err(Refusal::new(
                Failure::BadMessageCheck,
                "the signature does not verify by the certificate sent with it, or its kind is not accepted",
            ));
        }
        let others = message.certificates.iter().skip(1).take(MOST_AUTHORITIES);
        let at_hand: Vec<_> = others
            .filter_map(|der| ForeignCertificate::from_der(der).ok())
            .collect();
        let invitation = authority
            .invitation_of_vendor(&shown, &at_hand, now)?
            .ok_or_else(refuse)?;
        Ok(Self::Vendor(invitation))
    }

    /// The invitation by which it comes, if it does by one.
    pub(super) fn invitation(&self) -> Option<&Invitation> {
        match self {
            Self::Invited { invitation, .. } | Self::Vendor(invitation) => Some(invitation),
            Self::Holder(_) => None,
        }
    }

    /// The MAC that protects answers to it with its reference, if a MAC does.
    pub(super) fn mac(&self) -> Option<(&KeyedMac, &str)> {
        match self {
            Self::Invited { invitation, mac } => Some((mac, invitation.reference())),
            Self::Vendor(_) | Self::Holder(_) => None,
        }
    }
}

/// The record of the certificate that a message is signed by, the first of those sent with it; none
/// where it is not one of this authority's.
fn signer(authority: &Authority, message: &Message) -> Result<Option<Entry>, Refusal> {
    let refuse = |text: &str| Refusal(Failure::SignerNotTrusted, text.to_owned());
    let first = message
        .certificates
        .first()
        .ok_or_else(|| refuse("no certificate of who signed is sent with the message"))?;
    let Ok(certificate) = Certificate::from_der(first, "extraCerts") else {
        return Ok(None);
    };
    let Some(serial) = certificate.serial() else {
        return Ok(None);
    };
    let Ok(entry) = authority.show(&serial.to_string()) else {
        return Ok(None);
    };
    // A client can choose the serial number, but not the whole certificate.
    if entry.certificate.der() != certificate.der() {
        return Ok(None);
    }
    if entry.role != Role::NetworkFunction || entry.certificate.profile() == Profile::Responder {
        return Err(refuse("the authority does not ask itself"));
    }
    Ok(Some(entry))
}
