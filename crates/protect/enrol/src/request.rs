//! Requests for certificates (CRMF, RFC 4211): read and believed where they prove something, and written.

use bartizan_pki::{PrivateKey, PublicKey, Serial, SigningRequest};
use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Decode, Encode, Tag, Tagged};

use crate::Error;
use crate::encoding::{self, Fields};
use crate::oid;

/// A request for a certificate for a key that its sender has shown to have. Names are not taken
/// from it: a common name other than the invited one is a mistake of the requester's.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: i64,
    pub(crate) key: PublicKey,
    /// Common name of the template's subject.
    pub(crate) common_name: Option<String>,
    /// The certificate that shall be replaced, where the request names one.
    pub(crate) old: Option<Vec<u8>>,
}

/// Reason why a request cannot be granted.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// It cannot be read.
    Malformed(Error),
    /// It lacks what is needed.
    Template(String),
    /// It does not prove that its sender has the key.
    Proof(String),
    /// A key that is not certified here.
    Key(String),
}

impl From<Error> for Flaw {
    fn from(error: Error) -> Self {
        Self::Malformed(error)
    }
}

impl From<der::Error> for Flaw {
    fn from(error: der::Error) -> Self {
        Self::Malformed(error.into())
    }
}

impl Request {
    /// Reads CertReqMessages with one request, and verifies its proof of possession.
    pub(crate) fn read(messages: AnyRef<'_>) -> Result<Self, Flaw> {
        let messages = Fields::within("certificate requests", messages)?.rest()?;
        let [message] = messages.as_slice() else {
            return Err(Flaw::Template(format!(
                "{} requests in a message; one is answered",
                messages.len()
            )));
        };
        let place = "certificate request";
        let mut message = Fields::within(place, *message)?;
        let request = message.next("the request")?;
        let mut fields = Fields::within(place, request)?;
        let id = encoding::integer(place, fields.next("its number")?)?;
        let template = Template::read(fields.next("its template")?)?;
        let spki = template
            .key
            .ok_or_else(|| Flaw::Template("no key to be certified; keys are made where they are used".to_owned()))?;
        let key = PublicKey::from_spki(&spki).map_err(|error| Flaw::Key(error.to_string()))?;
        let mut old = None;
        if let Some(controls) = fields.next_if(Tag::Sequence)? {
            old = old_certificate(controls)?;
        }
        if message.is_done() {
            return Err(Flaw::Proof("no proof that the key is the requester's".to_owned()));
        }
        prove(message.next("its proof")?, &encoding::whole(request)?, &key)?;
        Ok(Self {
            id,
            key,
            common_name: template.common_name,
            old,
        })
    }

    /// Reads a request of PKCS#10, which is signed by the key it asks to be certified.
    pub(crate) fn read_pkcs10(request: AnyRef<'_>) -> Result<Self, Flaw> {
        use bartizan_pki::Error as Refused;
        let request = SigningRequest::read(&encoding::whole(request)?).map_err(|error| match error {
            Refused::RequestKey(_) => Flaw::Key(error.to_string()),
            other => Flaw::Proof(other.to_string()),
        })?;
        Ok(Self {
            // RFC 9483, section 4.1.4: a request of PKCS#10 has no number.
            id: -1,
            key: request.public_key().clone(),
            // Devices send requests with names that they were made with.
            common_name: None,
            old: None,
        })
    }
}

/// The proof: a signature over the request. Others (a challenge, a key that was encrypted for) are
/// for keys that do not sign.
fn prove(proof: AnyRef<'_>, request: &[u8], key: &PublicKey) -> Result<(), Flaw> {
    if encoding::context_number(proof) != Some(1) {
        return Err(Flaw::Proof("the proof is no signature".to_owned()));
    }
    let mut fields = Fields::contents("proof of possession", proof.value())?;
    if fields.next_if(encoding::context(0, true))?.is_some() {
        return Err(Flaw::Proof(
            "the signature is not over the request itself, which holds all that it needs".to_owned(),
        ));
    }
    let (algorithm, _) = encoding::algorithm("proof of possession", fields.next("its algorithm")?)?;
    let signature = encoding::bits("proof of possession", fields.next("its signature")?)?;
    if key.has_signed(algorithm, request, signature) {
        Ok(())
    } else {
        Err(Flaw::Proof(
            "the signature over the request does not verify under its own key".to_owned(),
        ))
    }
}

/// Serial number in a CertId among the controls of a request.
fn old_certificate(controls: AnyRef<'_>) -> Result<Option<Vec<u8>>, Error> {
    for control in Fields::within("controls", controls)?.rest()? {
        let mut control = Fields::within("controls", control)?;
        if encoding::identifier("controls", control.next("a type")?)? == oid::OLD_CERTIFICATE {
            let mut certificate = Fields::within("oldCertID", control.next("a value")?)?;
            certificate.next("issuer")?;
            return Ok(Some(certificate.next("serial number")?.value().to_vec()));
        }
    }
    Ok(None)
}

/// Fields of a CertTemplate that are used.
pub(crate) struct Template {
    /// SubjectPublicKeyInfo, DER.
    pub(crate) key: Option<Vec<u8>>,
    /// Common name of the subject.
    pub(crate) common_name: Option<String>,
    /// Contents of the INTEGER.
    pub(crate) serial: Option<Vec<u8>>,
}

impl Template {
    pub(crate) fn read(element: AnyRef<'_>) -> Result<Self, Error> {
        let mut template = Self {
            key: None,
            common_name: None,
            serial: None,
        };
        for field in Fields::within("certificate template", element)?.rest()? {
            match encoding::context_number(field) {
                Some(1) => template.serial = Some(field.value().to_vec()),
                Some(5) => {
                    let subject = AnyRef::from_der(field.value()).ok();
                    template.common_name = subject.and_then(encoding::common_name_of).map(str::to_owned);
                }
                Some(6) => template.key = Some(encoding::element(Tag::Sequence, field.value())?),
                _ => {}
            }
        }
        Ok(template)
    }
}

/// A revocation that is asked for (RevReqContent with one certificate): serial number and reason.
pub(crate) struct RevocationRequest {
    /// Contents of the INTEGER.
    pub(crate) serial: Vec<u8>,
    pub(crate) reason: bartizan_pki::Reason,
}

/// reasonCode of an entry of a revocation list (RFC 5280, section 5.3.1).
const REASON_CODE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.21");

impl RevocationRequest {
    pub(crate) fn read(content: AnyRef<'_>) -> Result<Self, Flaw> {
        let place = "revocation request";
        let details = Fields::within(place, content)?.rest()?;
        let [details] = details.as_slice() else {
            return Err(Flaw::Template(format!(
                "{} certificates to be revoked in a message; one is answered",
                details.len()
            )));
        };
        let mut fields = Fields::within(place, *details)?;
        let serial = Template::read(fields.next("the certificate")?)?
            .serial
            .ok_or_else(|| Flaw::Template("no serial number of the certificate to be revoked".to_owned()))?;
        let mut reason = bartizan_pki::Reason::Unspecified;
        if let Some(extensions) = fields.next_if(Tag::Sequence)? {
            for extension in Fields::within(place, extensions)?.rest()? {
                let mut extension = Fields::within(place, extension)?;
                let oid = encoding::identifier(place, extension.next("a type")?)?;
                extension.next_if(Tag::Boolean)?;
                if oid == REASON_CODE {
                    let value = AnyRef::from_der(encoding::octets(place, extension.next("a value")?)?)?;
                    reason = reason_of(value)
                        .ok_or_else(|| Flaw::Template("a reason that is none of RFC 5280's for good".to_owned()))?;
                }
            }
        }
        Ok(Self { serial, reason })
    }
}

fn reason_of(value: AnyRef<'_>) -> Option<bartizan_pki::Reason> {
    use bartizan_pki::Reason;
    if value.tag() != Tag::Enumerated {
        return None;
    }
    Some(match value.value() {
        [0] => Reason::Unspecified,
        [1] => Reason::KeyCompromise,
        [2] => Reason::CaCompromise,
        [3] => Reason::AffiliationChanged,
        [4] => Reason::Superseded,
        [5] => Reason::CessationOfOperation,
        [9] => Reason::PrivilegeWithdrawn,
        // A hold, and its end: a revocation is final here.
        _ => return None,
    })
}

/// CertReqMessages for a key, with the proof, and the certificate it replaces: issuer (a Name) and serial number.
pub(crate) fn write(subject: &str, key: &PrivateKey, replaces: Option<(&[u8], &[u8])>) -> Result<Vec<u8>, Error> {
    let spki = key.public_key().to_spki();
    let inner = AnyRef::from_der(&spki)?;
    let template = encoding::sequence(&[
        &encoding::explicit(5, &encoding::common_name(subject)?)?,
        // The tag of the SEQUENCE is replaced, not put around it.
        &encoding::element(encoding::context(6, true), inner.value())?,
    ])?;
    let controls = match replaces {
        Some((issuer, serial)) => {
            let certificate = encoding::sequence(&[
                &crate::header::directory_name(issuer)?,
                &encoding::element(Tag::Integer, serial)?,
            ])?;
            encoding::sequence(&[&encoding::sequence(&[&oid::OLD_CERTIFICATE.to_der()?, &certificate])?])?
        }
        None => Vec::new(),
    };
    let request = encoding::sequence(&[&encoding::number(0)?, &template, &controls])?;
    let signature = key.sign(&request)?;
    let proof = encoding::element(
        encoding::context(1, true),
        &[
            encoding::algorithm_identifier(key.algorithm().signature_oid(), None)?,
            encoding::bit_string(&signature)?,
        ]
        .concat(),
    )?;
    encoding::sequence(&[&encoding::sequence(&[&request, &proof])?])
}

/// The serial number of the authority's that an INTEGER holds.
pub(crate) fn serial(contents: &[u8]) -> Option<Serial> {
    let digits: String = contents.iter().map(|octet| format!("{octet:02x}")).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use bartizan_pki::Algorithm;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_proves_its_key() {
        for algorithm in Algorithm::ALL {
            let key = PrivateKey::generate(algorithm).unwrap();
            let der = write("gnb", &key, None).unwrap();
            let read = Request::read(AnyRef::from_der(&der).unwrap()).unwrap();
            assert_eq!((read.id, &read.key), (0, key.public_key()));
            assert_eq!(read.common_name.as_deref(), Some("gnb"));
            assert_eq!(read.old, None);
        }
    }

    #[test]
    fn the_certificate_that_is_replaced_is_named() {
        let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
        let issuer = encoding::common_name("authority").unwrap();
        let der = write("gnb", &key, Some((&issuer, &[0x42; 16]))).unwrap();
        let read = Request::read(AnyRef::from_der(&der).unwrap()).unwrap();
        assert_eq!(read.old, Some(vec![0x42; 16]));
    }

    #[test]
    fn a_request_that_another_key_has_signed_proves_nothing() {
        let (key, other) = (
            PrivateKey::generate(Algorithm::Ed25519).unwrap(),
            PrivateKey::generate(Algorithm::Ed25519).unwrap(),
        );
        let der = write("gnb", &key, None).unwrap();
        let at = der
            .windows(32)
            .position(|octets| octets == key.public_key().as_bytes())
            .unwrap();
        let mut forged = der.clone();
        forged[at..at + 32].copy_from_slice(other.public_key().as_bytes());
        assert!(matches!(
            Request::read(AnyRef::from_der(&forged).unwrap()),
            Err(Flaw::Proof(_))
        ));
    }

    proptest! {
        #[test]
        fn no_damage_panics(at in 0_usize..400, octet: u8) {
            let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
            let mut der = write("gnb", &key, None).unwrap();
            let at = at % der.len();
            der[at] = octet;
            if let Ok(element) = AnyRef::from_der(&der) {
                let _ = Request::read(element);
            }
        }
    }
}
