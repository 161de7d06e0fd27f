//! Status and failures (RFC 9810, section 5.2.3).

use std::fmt;

use der::asn1::{AnyRef, BitStringRef};
use der::{Encode, Tag};

use crate::Error;
use crate::encoding::{self, Fields};

/// Reason why a request is refused: a bit of PKIFailureInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// An algorithm that is not known or not accepted.
    BadAlgorithm,
    /// MAC or signature do not verify.
    BadMessageCheck,
    /// A request that is not allowed or not known.
    BadRequest,
    /// No certificate matches the one that is named.
    BadCertificateId,
    /// A message that cannot be read.
    BadDataFormat,
    /// The proof that the requester has its key fails.
    BadProof,
    /// The certificate was revoked before.
    CertificateRevoked,
    /// The certificate was confirmed before.
    CertificateConfirmed,
    /// A template that lacks what is needed.
    BadTemplate,
    /// The signer is not trusted.
    SignerNotTrusted,
    /// The transaction's identifier is in use for another one.
    TransactionInUse,
    /// A version of the protocol that is not known.
    UnsupportedVersion,
    /// The sender is not authorized.
    NotAuthorized,
    /// Too much to do.
    Unavailable,
    /// Something failed here.
    Internal,
    /// A bit without a meaning here.
    Other(u8),
}

impl Failure {
    const KNOWN: [(Self, u8, &'static str); 15] = [
        (Self::BadAlgorithm, 0, "badAlg"),
        (Self::BadMessageCheck, 1, "badMessageCheck"),
        (Self::BadRequest, 2, "badRequest"),
        (Self::BadCertificateId, 4, "badCertId"),
        (Self::BadDataFormat, 5, "badDataFormat"),
        (Self::BadProof, 9, "badPOP"),
        (Self::CertificateRevoked, 10, "certRevoked"),
        (Self::CertificateConfirmed, 11, "certConfirmed"),
        (Self::BadTemplate, 19, "badCertTemplate"),
        (Self::SignerNotTrusted, 20, "signerNotTrusted"),
        (Self::TransactionInUse, 21, "transactionIdInUse"),
        (Self::UnsupportedVersion, 22, "unsupportedVersion"),
        (Self::NotAuthorized, 23, "notAuthorized"),
        (Self::Unavailable, 24, "systemUnavail"),
        (Self::Internal, 25, "systemFailure"),
    ];

    fn bit(self) -> u8 {
        match self {
            Self::Other(bit) => bit,
            known => Self::KNOWN
                .iter()
                .find(|(failure, _, _)| *failure == known)
                .map_or(u8::MAX, |(_, bit, _)| *bit),
        }
    }

    fn of_bit(bit: u8) -> Self {
        Self::KNOWN
            .iter()
            .find(|(_, known, _)| *known == bit)
            .map_or(Self::Other(bit), |(failure, _, _)| *failure)
    }

    /// Named bits: what follows the last one that is set is left out.
    fn encode(self) -> Result<Vec<u8>, Error> {
        let bit = self.bit();
        let mut octets = vec![0; usize::from(bit / 8) + 1];
        if let Some(last) = octets.last_mut() {
            *last = 0x80 >> (bit % 8);
        }
        Ok(BitStringRef::new(7 - bit % 8, &octets)?.to_der()?)
    }
}

/// The name of RFC 9810, which other implementations print too.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::KNOWN.iter().find(|(failure, _, _)| failure == self) {
            Some((_, _, name)) => f.write_str(name),
            None => write!(f, "failure {}", self.bit()),
        }
    }
}

bartizan_registry::made! {
    /// A PKIStatusInfo.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Status, pub(crate) accepted() {
        /// PKIStatus: 0 accepted, 1 granted with modifications, 2 rejected.
        value: i64 = 0,
        text: Vec<String> = Vec::new(),
        failure: Option<Failure> = None,
    }
}

impl Status {
    pub(crate) fn rejected(failure: Failure, text: String) -> Self {
        Self {
            value: 2,
            text: vec![text],
            failure: Some(failure),
        }
    }

    /// Checks that the request was granted, as it was or changed.
    pub(crate) fn require_granted(self) -> Result<(), Error> {
        match self.value {
            0 | 1 => Ok(()),
            3 => Err(Error::Refused {
                failure: None,
                text: vec!["the answer has to be asked for later (waiting), which is not supported here".to_owned()],
            }),
            _ => Err(self.refusal()),
        }
    }

    pub(crate) fn refusal(self) -> Error {
        Error::Refused {
            failure: self.failure,
            text: self.text,
        }
    }

    /// Its text, in a line.
    pub(crate) fn said(&self) -> String {
        let failure = self.failure.map(|failure| format!(" ({failure})"));
        let text = self.text.first().map_or("no reason is given", String::as_str);
        format!("{text}{}", failure.unwrap_or_default())
    }

    pub(crate) fn is_granted(&self) -> bool {
        matches!(self.value, 0 | 1)
    }

    pub(crate) fn read(element: AnyRef<'_>) -> Result<Self, Error> {
        let mut fields = Fields::within("status", element)?;
        let value = encoding::integer("status", fields.next("its value")?)?;
        let mut text = Vec::new();
        if let Some(texts) = fields.next_if(Tag::Sequence)? {
            for line in Fields::within("status text", texts)?.rest()? {
                // Shown to a person: what is no text of a line is not shown.
                let line = String::from_utf8_lossy(line.value());
                text.push(line.chars().filter(|c| !c.is_control()).take(400).collect());
            }
        }
        let failure = match fields.next_if(Tag::BitString)? {
            Some(bits) => {
                let bits: BitStringRef<'_> = bits.decode_as()?;
                let first = bits.bits().position(|set| set);
                first.and_then(|bit| u8::try_from(bit).ok()).map(Failure::of_bit)
            }
            None => None,
        };
        Ok(Self { value, text, failure })
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        let lines = self
            .text
            .iter()
            .map(|line| encoding::text(line))
            .collect::<Result<Vec<_>, _>>()?;
        let text = if lines.is_empty() {
            Vec::new()
        } else {
            encoding::element(Tag::Sequence, &lines.concat())?
        };
        let failure = self.failure.map(Failure::encode).transpose()?.unwrap_or_default();
        encoding::sequence(&[&encoding::number(self.value)?, &text, &failure])
    }
}

#[cfg(test)]
mod tests {
    use der::Decode;

    use super::*;

    #[test]
    fn every_failure_is_read_back() {
        for (failure, bit, name) in Failure::KNOWN {
            let status = Status::rejected(failure, "no".to_owned());
            let der = status.encode().unwrap();
            assert_eq!(Status::read(AnyRef::from_der(&der).unwrap()).unwrap(), status);
            assert_eq!(failure.to_string(), name);
            assert_eq!(failure.bit(), bit);
        }
    }

    #[test]
    fn a_failure_is_encoded_as_openssl_does() {
        // badMessageCheck, bit 1: BIT STRING of two bits.
        assert_eq!(Failure::BadMessageCheck.encode().unwrap(), [3, 2, 6, 0x40]);
        // notAuthorized, bit 23: three octets, none unused.
        assert_eq!(Failure::NotAuthorized.encode().unwrap(), [3, 4, 0, 0, 0, 1]);
    }
}
