//! A message's header (RFC 9810, section 5.1.1).

use std::time::SystemTime;

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier};
use der::{Decode, Encode};

use crate::Error;
use crate::encoding::{self, Fields};
use crate::oid;

/// Longest identifier of a transaction that is remembered, and longest nonce that is sent back: RFC 9810 has 16 octets.
const LONGEST: usize = 64;

/// Fields of a header that are read and written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) version: i64,
    /// GeneralNames, DER.
    pub(crate) sender: Vec<u8>,
    pub(crate) recipient: Vec<u8>,
    pub(crate) time: Option<SystemTime>,
    /// AlgorithmIdentifier, DER.
    pub(crate) protection: Option<Vec<u8>>,
    /// Identifies the secret or certificate that protects the message.
    pub(crate) sender_key: Option<Vec<u8>>,
    pub(crate) transaction: Option<Vec<u8>>,
    pub(crate) sender_nonce: Option<Vec<u8>>,
    pub(crate) recipient_nonce: Option<Vec<u8>>,
    /// True if a certificate need not be confirmed, asked for or granted.
    pub(crate) implicit_confirm: bool,
}

/// A GeneralName of a directory name without attributes: no party in particular.
pub(crate) fn nobody() -> Result<Vec<u8>, Error> {
    encoding::explicit(4, &encoding::sequence(&[])?)
}

/// A GeneralName of a directory name, DER.
pub(crate) fn directory_name(name: &[u8]) -> Result<Vec<u8>, Error> {
    encoding::explicit(4, name)
}

impl Header {
    pub(crate) fn read(element: AnyRef<'_>) -> Result<Self, Error> {
        let place = "header";
        let mut fields = Fields::within(place, element)?;
        let version = encoding::integer(place, fields.next("pvno")?)?;
        let sender = encoding::whole(fields.next("sender")?)?;
        let recipient = encoding::whole(fields.next("recipient")?)?;
        let time = match fields.explicit(0)? {
            Some(time) if time.value().len() < LONGEST => {
                // A fraction of a second, which DER allows, is not read here: it is as good as no
                // time.
                GeneralizedTime::from_der(&encoding::whole(time)?)
                    .ok()
                    .map(|time| time.to_system_time())
            }
            _ => None,
        };
        let protection = fields.explicit(1)?.map(encoding::whole).transpose()?;
        let mut short = |number, what| -> Result<Option<Vec<u8>>, Error> {
            let Some(element) = fields.explicit(number)? else {
                return Ok(None);
            };
            let octets = encoding::octets(what, element)?;
            if octets.is_empty() || octets.len() > LONGEST {
                return Err(Error::malformed(what, format!("{} octets", octets.len())));
            }
            Ok(Some(octets.to_vec()))
        };
        let sender_key = short(2, "senderKID")?;
        short(3, "recipKID")?;
        let transaction = short(4, "transactionID")?;
        let sender_nonce = short(5, "senderNonce")?;
        let recipient_nonce = short(6, "recipNonce")?;
        fields.explicit(7)?;
        let mut implicit_confirm = false;
        if let Some(information) = fields.explicit(8)? {
            for entry in Fields::within("generalInfo", information)?.rest()? {
                let mut entry = Fields::within("generalInfo", entry)?;
                implicit_confirm |=
                    encoding::identifier("generalInfo", entry.next("its type")?)? == oid::IMPLICIT_CONFIRM;
            }
        }
        Ok(Self {
            version,
            sender,
            recipient,
            time,
            protection,
            sender_key,
            transaction,
            sender_nonce,
            recipient_nonce,
            implicit_confirm,
        })
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        let optional = |number, element: Option<Vec<u8>>| match element {
            Some(element) => encoding::explicit(number, &element),
            None => Ok(Vec::new()),
        };
        let octets = |octets: &Option<Vec<u8>>| octets.as_deref().map(encoding::octet_string).transpose();
        let time = match self.time {
            Some(time) => {
                let seconds = time
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs());
                Some(GeneralizedTime::from_unix_duration(std::time::Duration::from_secs(seconds))?.to_der()?)
            }
            None => None,
        };
        let information = if self.implicit_confirm {
            let entry = encoding::sequence(&[&oid::IMPLICIT_CONFIRM.to_der()?, &encoding::null()?])?;
            Some(encoding::sequence(&[&entry])?)
        } else {
            None
        };
        encoding::sequence(&[
            &encoding::number(self.version)?,
            &self.sender,
            &self.recipient,
            &optional(0, time)?,
            &optional(1, self.protection.clone())?,
            &optional(2, octets(&self.sender_key)?)?,
            &optional(4, octets(&self.transaction)?)?,
            &optional(5, octets(&self.sender_nonce)?)?,
            &optional(6, octets(&self.recipient_nonce)?)?,
            &optional(8, information)?,
        ])
    }

    /// Name and parameters of the protection, where there is one.
    pub(crate) fn protection(&self) -> Result<Option<(ObjectIdentifier, Option<AnyRef<'_>>)>, Error> {
        let Some(der) = &self.protection else {
            return Ok(None);
        };
        encoding::algorithm("protectionAlg", AnyRef::from_der(der)?).map(Some)
    }
}
