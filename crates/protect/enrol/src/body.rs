//! Bodies of messages (RFC 9810, section 5.1.2 and 5.3): which there are, and those of answers written and read.

use aws_lc_rs::digest::{self, digest};
use der::Tag;
use der::asn1::AnyRef;

use crate::Error;
use crate::encoding::{self, Fields};
use crate::status::Status;

/// Tags of bodies.
pub(crate) mod kind {
    /// Initialisation: the first certificate.
    pub(crate) const INITIALISATION: u32 = 0;
    pub(crate) const INITIALISED: u32 = 1;
    /// A further certificate.
    pub(crate) const CERTIFICATION: u32 = 2;
    pub(crate) const CERTIFIED: u32 = 3;
    /// A request of PKCS#10.
    pub(crate) const PKCS10: u32 = 4;
    /// An update to a new key.
    pub(crate) const UPDATE: u32 = 7;
    pub(crate) const UPDATED: u32 = 8;
    pub(crate) const REVOCATION: u32 = 11;
    pub(crate) const REVOKED: u32 = 12;
    /// Acknowledgement of a confirmation.
    pub(crate) const ACKNOWLEDGED: u32 = 19;
    /// A general message and its answer.
    pub(crate) const GENERAL: u32 = 21;
    pub(crate) const GENERAL_ANSWER: u32 = 22;
    pub(crate) const ERROR: u32 = 23;
    pub(crate) const CONFIRMATION: u32 = 24;

    /// The name of RFC 9810.
    pub(crate) fn name(kind: u32) -> &'static str {
        match kind {
            INITIALISATION => "ir",
            CERTIFICATION => "cr",
            PKCS10 => "p10cr",
            UPDATE => "kur",
            REVOCATION => "rr",
            GENERAL => "genm",
            CONFIRMATION => "certConf",
            ERROR => "error",
            _ => "unknown",
        }
    }
}

/// CertRepMessage with one answer: the certificate, or why there is none; the roots where these are
/// to be trusted from now on.
pub(crate) fn certificate_answer(
    id: i64,
    status: &Status,
    certificate: Option<&[u8]>,
    roots: &[&[u8]],
) -> Result<Vec<u8>, Error> {
    let roots = match roots {
        [] => Vec::new(),
        roots => encoding::explicit(1, &encoding::sequence(roots)?)?,
    };
    let pair = match certificate {
        Some(certificate) => encoding::sequence(&[&encoding::explicit(0, certificate)?])?,
        None => Vec::new(),
    };
    let answer = encoding::sequence(&[&encoding::number(id)?, &status.encode()?, &pair])?;
    encoding::sequence(&[&roots, &encoding::sequence(&[&answer])?])
}

/// Contents of an answer to a request for a certificate, DER.
#[derive(Debug)]
pub(crate) struct CertificateAnswer {
    pub(crate) id: i64,
    pub(crate) status: Status,
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) roots: Vec<Vec<u8>>,
}

impl CertificateAnswer {
    pub(crate) fn read(content: AnyRef<'_>) -> Result<Self, Error> {
        let place = "answer";
        let mut fields = Fields::within(place, content)?;
        let mut roots = Vec::new();
        if let Some(certificates) = fields.explicit(1)? {
            for certificate in Fields::within("caPubs", certificates)?.rest()? {
                roots.push(encoding::whole(certificate)?);
            }
        }
        let answers = Fields::within(place, fields.next("its answers")?)?.rest()?;
        let [answer] = answers.as_slice() else {
            return Err(Error::malformed(
                place,
                format!("{} answers to one request", answers.len()),
            ));
        };
        let mut answer = Fields::within(place, *answer)?;
        let id = encoding::integer(place, answer.next("its number")?)?;
        let status = Status::read(answer.next("its status")?)?;
        let mut certificate = None;
        if let Some(pair) = answer.next_if(Tag::Sequence)? {
            let mut pair = Fields::within("certified key", pair)?;
            certificate = pair.explicit(0)?.map(encoding::whole).transpose()?;
            if certificate.is_none() {
                return Err(Error::malformed(
                    "certified key",
                    "the certificate is encrypted, which a key that signs has no use for",
                ));
            }
        }
        Ok(Self {
            id,
            status,
            certificate,
            roots,
        })
    }
}

/// Acceptance of a certificate by its requester (CertConfirmContent).
#[derive(Debug)]
pub(crate) struct Confirmation {
    pub(crate) hash: Vec<u8>,
    pub(crate) id: i64,
    pub(crate) status: Status,
}

impl Confirmation {
    /// None where it is empty, by which all certificates are refused (RFC 9810, section 5.3.18).
    pub(crate) fn read(content: AnyRef<'_>) -> Result<Option<Self>, Error> {
        let place = "confirmation";
        let statuses = Fields::within(place, content)?.rest()?;
        let status = match statuses.as_slice() {
            [] => return Ok(None),
            [status] => *status,
            several => return Err(Error::malformed(place, format!("{} certificates", several.len()))),
        };
        let mut fields = Fields::within(place, status)?;
        let hash = encoding::octets(place, fields.next("hash")?)?.to_vec();
        let id = encoding::integer(place, fields.next("number")?)?;
        let status = match fields.next_if(Tag::Sequence)? {
            Some(status) => Status::read(status)?,
            None => Status::accepted(),
        };
        Ok(Some(Self { hash, id, status }))
    }

    /// Returns true if it is of this certificate. The hash is known by its length: an algorithm
    /// that brings no hash of its own, as ML-DSA, has it named in the message, and the name says
    /// nothing more.
    pub(crate) fn is_of(&self, certificate: &[u8]) -> bool {
        let hash = match self.hash.len() {
            32 => &digest::SHA256,
            48 => &digest::SHA384,
            64 => &digest::SHA512,
            _ => return false,
        };
        digest(hash, certificate).as_ref() == self.hash
    }

    /// The content that accepts a certificate, and the version of the protocol that it takes: the
    /// hash is that of the certificate's signature, and where that has none it is named, which
    /// version 3 brought (RFC 9810, section 5.3.18).
    pub(crate) fn accepting(id: i64, certificate: &[u8]) -> Result<(Vec<u8>, i64), Error> {
        let (hash, named) = match signature_algorithm(certificate)? {
            crate::oid::ECDSA_SHA256 | crate::oid::RSA_SHA256 => (&digest::SHA256, None),
            crate::oid::ECDSA_SHA384 | crate::oid::RSA_SHA384 => (&digest::SHA384, None),
            _ => (&digest::SHA256, Some(crate::oid::SHA256)),
        };
        let hash = digest(hash, certificate);
        let (named, version) = match named {
            Some(oid) => (encoding::explicit(0, &encoding::algorithm_identifier(oid, None)?)?, 3),
            None => (Vec::new(), 2),
        };
        let status = encoding::sequence(&[
            &encoding::octet_string(hash.as_ref())?,
            &encoding::number(id)?,
            &Status::accepted().encode()?,
            &named,
        ])?;
        Ok((encoding::sequence(&[&status])?, version))
    }
}

/// Signature algorithm of a certificate, DER.
fn signature_algorithm(certificate: &[u8]) -> Result<der::asn1::ObjectIdentifier, Error> {
    let mut fields = Fields::of("certificate", certificate)?;
    fields.next("what is signed")?;
    Ok(encoding::algorithm("certificate", fields.next("how it is signed")?)?.0)
}

/// Issuer (a Name, DER) and serial number (contents of the INTEGER) of a certificate.
pub(crate) fn issuer_and_serial(certificate: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let place = "certificate";
    let signed = Fields::of(place, certificate)?.next("what is signed")?;
    let mut fields = Fields::within(place, signed)?;
    fields.explicit(0)?;
    let serial = fields.next("serial number")?.value().to_vec();
    fields.next("how it is signed")?;
    Ok((encoding::whole(fields.next("issuer")?)?, serial))
}

/// Subject of a certificate: a Name, DER.
pub(crate) fn subject(certificate: &[u8]) -> Result<Vec<u8>, Error> {
    let place = "certificate";
    let signed = Fields::of(place, certificate)?.next("what is signed")?;
    let mut fields = Fields::within(place, signed)?;
    fields.explicit(0)?;
    for field in ["serial number", "how it is signed", "issuer", "validity"] {
        fields.next(field)?;
    }
    encoding::whole(fields.next("subject")?)
}

/// ErrorMsgContent.
pub(crate) fn error(status: &Status) -> Result<Vec<u8>, Error> {
    encoding::sequence(&[&status.encode()?])
}

/// The status in an ErrorMsgContent.
pub(crate) fn read_error(content: AnyRef<'_>) -> Result<Status, Error> {
    Status::read(Fields::within("error", content)?.next("its status")?)
}

/// RevRepContent of one certificate.
pub(crate) fn revocation_answer(status: &Status) -> Result<Vec<u8>, Error> {
    encoding::sequence(&[&encoding::sequence(&[&status.encode()?])?])
}

#[cfg(test)]
mod tests {
    use der::Decode;

    use super::*;
    use crate::Failure;

    #[test]
    fn an_answer_is_read_back() {
        let certificate = encoding::common_name("stands for a certificate").unwrap();
        let der = certificate_answer(0, &Status::accepted(), Some(&certificate), &[&certificate]).unwrap();
        let read = CertificateAnswer::read(AnyRef::from_der(&der).unwrap()).unwrap();
        assert_eq!(read.certificate, Some(certificate.clone()));
        assert_eq!(read.roots, [certificate]);
        assert!(read.status.is_granted());
        let refused = Status::rejected(Failure::NotAuthorized, "nobody was invited".to_owned());
        let der = certificate_answer(-1, &refused, None, &[]).unwrap();
        let read = CertificateAnswer::read(AnyRef::from_der(&der).unwrap()).unwrap();
        assert_eq!((read.id, read.status), (-1, refused));
    }

    /// A certificate in outline: something, the algorithm of its signature, a signature.
    fn outline(algorithm: der::asn1::ObjectIdentifier) -> Vec<u8> {
        let algorithm = encoding::algorithm_identifier(algorithm, None).unwrap();
        encoding::sequence(&[
            &encoding::null().unwrap(),
            &algorithm,
            &encoding::bit_string(&[1]).unwrap(),
        ])
        .unwrap()
    }

    #[test]
    fn a_confirmation_is_of_one_certificate_and_names_a_hash_where_the_signature_has_none() {
        for (algorithm, version) in [
            (crate::oid::ECDSA_SHA256, 2),
            (crate::oid::ECDSA_SHA384, 2),
            (crate::oid::SHA512, 3),
        ] {
            let certificate = outline(algorithm);
            let (der, takes) = Confirmation::accepting(0, &certificate).unwrap();
            assert_eq!(takes, version);
            let read = Confirmation::read(AnyRef::from_der(&der).unwrap()).unwrap().unwrap();
            assert!(read.is_of(&certificate));
            assert!(!read.is_of(b"another"));
            assert!(read.status.is_granted());
        }
    }
}
