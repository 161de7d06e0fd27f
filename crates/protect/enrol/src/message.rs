//! A whole message: header, body, protection, certificates (RFC 9810, section 5.1).

use der::asn1::AnyRef;
use der::{Tag, Tagged};

use crate::Error;
use crate::encoding::{self, Fields};
use crate::header::Header;

/// Octets of the largest message that is read: a chain of three certificates with ML-DSA-87, its
/// signature and a key are 40 kB.
pub const LARGEST: usize = 128 * 1024;

/// Most certificates that are read from a message.
const MOST_CERTIFICATES: usize = 16;

/// A message as it was received.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) header: Header,
    /// Tag of the body.
    pub(crate) kind: u32,
    /// Contents of the body, DER.
    pub(crate) body: Vec<u8>,
    /// Bytes that MAC or signature cover, DER.
    pub(crate) protected: Vec<u8>,
    pub(crate) protection: Option<Vec<u8>>,
    /// Certificates, DER.
    pub(crate) certificates: Vec<Vec<u8>>,
}

impl Message {
    pub(crate) fn read(der: &[u8]) -> Result<Self, Error> {
        let place = "message";
        if der.len() > LARGEST {
            return Err(Error::malformed(place, format!("{} octets are too many", der.len())));
        }
        let mut fields = Fields::of(place, der)?;
        let header = fields.next("header")?;
        let body = fields.next("body")?;
        let kind = match body.tag() {
            Tag::ContextSpecific {
                constructed: true,
                number,
            } => number.0,
            other => return Err(Error::malformed("body", format!("{other} is no body"))),
        };
        let protection = match fields.explicit(0)? {
            Some(bits) => Some(encoding::bits("protection", bits)?.to_vec()),
            None => None,
        };
        let mut certificates = Vec::new();
        if let Some(extra) = fields.explicit(1)? {
            let extra = Fields::within("extraCerts", extra)?.rest()?;
            if extra.len() > MOST_CERTIFICATES {
                return Err(Error::malformed("extraCerts", format!("{} certificates", extra.len())));
            }
            for certificate in extra {
                certificates.push(encoding::whole(certificate)?);
            }
        }
        if !fields.is_done() {
            return Err(Error::malformed(place, "something follows its certificates"));
        }
        Ok(Self {
            header: Header::read(header)?,
            kind,
            body: body.value().to_vec(),
            protected: encoding::sequence(&[&encoding::whole(header)?, &encoding::whole(body)?])?,
            protection,
            certificates,
        })
    }

    /// The element in the body.
    pub(crate) fn content(&self) -> Result<AnyRef<'_>, Error> {
        use der::Decode;
        AnyRef::from_der(&self.body).map_err(|error| Error::malformed("body", error.to_string()))
    }
}

/// A message to be sent, before it is protected.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) header: Header,
    pub(crate) kind: u32,
    /// DER.
    pub(crate) body: Vec<u8>,
    /// DER, the one that protects the message first.
    pub(crate) certificates: Vec<Vec<u8>>,
}

impl Draft {
    /// The message with its protection, which `protect` gives for what it covers.
    pub(crate) fn protect(&self, protect: impl FnOnce(&[u8]) -> Result<Vec<u8>, Error>) -> Result<Vec<u8>, Error> {
        let header = self.header.encode()?;
        let body = encoding::explicit(self.kind, &self.body)?;
        let protection = protect(&encoding::sequence(&[&header, &body])?)?;
        let protection = encoding::explicit(0, &encoding::bit_string(&protection)?)?;
        let certificates = if self.certificates.is_empty() {
            Vec::new()
        } else {
            encoding::explicit(1, &encoding::element(Tag::Sequence, &self.certificates.concat())?)?
        };
        encoding::sequence(&[&header, &body, &protection, &certificates])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Message::read(&octets);
        }
    }
}
