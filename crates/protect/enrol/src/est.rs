//! Enrolment over Secure Transport (EST, RFC 7030): what is asked for comes through TLS, which has
//! proved who asks, and HTTP, which names the operation. Here is what is left: requests and
//! answers, and who gets what.

use std::time::SystemTime;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use bartizan_pki::{
    Authority, Certificate, Error as Refused, Issued, Profile, PublicKey, Role, Serial, SigningRequest, State,
};
use data_encoding::{BASE64, BASE64_MIME_PERMISSIVE};
use der::Tag;
use der::asn1::ObjectIdentifier;

use crate::encoding;
use crate::{Error, Event, Failure, responder};

/// Longest request that is read: PKCS#10 with ML-DSA-87 is 7.5 kB, and in Base64 a third more.
pub const LARGEST_REQUEST: usize = 64 * 1024;

/// id-signedData and id-data (RFC 5652, sections 4 and 5.1).
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");

/// The client, as TLS and HTTP identify it.
#[derive(Debug, Clone, Copy)]
pub enum Client<'a> {
    /// Reference and secret of an invitation, by HTTP's Basic authentication.
    Secret {
        /// The user.
        reference: &'a str,
        /// The password.
        secret: &'a str,
    },
    /// The certificate, DER, whose key TLS has proved the client to have. Nothing else of it was verified.
    Certificate(&'a [u8]),
}

/// Result of an operation: the body of the answer, or the reason why there is none; and the event
/// for the audit log.
#[derive(Debug)]
pub struct Outcome {
    /// Base64 of certificates (application/pkcs7-mime), or the failure with a sentence for the requester.
    pub body: Result<String, (Failure, String)>,
    /// For the audit log.
    pub event: Event,
}

/// The certificates of the authority for a client that does not know them yet (`/cacerts`), in Base64.
pub fn authority_certificates(own: &[Certificate]) -> Result<String, Error> {
    certificates_only(&own.iter().map(Certificate::der).collect::<Vec<_>>())
}

/// `/simpleenroll` by a secret and `/simplereenroll` by the certificate that is replaced.
pub fn enrol(authority: &mut Authority, client: Client<'_>, again: bool, body: &[u8], now: SystemTime) -> Outcome {
    let mut event = Event {
        request: if again { "simplereenroll" } else { "simpleenroll" },
        ..Event::default()
    };
    let given = identified(authority, client, again, now).and_then(|holder| {
        event.sender = Some(holder.to_string());
        let key = requested_key(body)?;
        issue(authority, holder, &key, now)
    });
    let body = given.and_then(|issued| {
        event.name = Some(issued.name.to_owned());
        event.serial = Some(issued.serial);
        let all: Vec<&[u8]> = std::iter::once(&issued.certificate)
            .chain(&issued.between)
            .map(Certificate::der)
            .collect();
        certificates_only(&all).map_err(|error| (Failure::Internal, error.to_string()))
    });
    event.refused = body.as_ref().err().cloned();
    Outcome { body, event }
}

/// A client that has proved to be entitled to a certificate.
enum Holder {
    Invited(bartizan_pki::Invitation),
    Certified(Certificate, Serial),
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invited(invitation) => f.write_str(invitation.reference()),
            Self::Certified(_, serial) => write!(f, "{serial}"),
        }
    }
}

type Refusal = (Failure, String);

fn identified(authority: &Authority, client: Client<'_>, again: bool, now: SystemTime) -> Result<Holder, Refusal> {
    match client {
        Client::Secret { reference, secret } => {
            if again {
                return Err((
                    Failure::NotAuthorized,
                    "simplereenroll is authenticated by the certificate that is replaced".to_owned(),
                ));
            }
            let refuse = || {
                (
                    Failure::BadMessageCheck,
                    "no open invitation has this reference and secret".to_owned(),
                )
            };
            let invitation = authority.invitation(reference, now).map_err(ours)?.ok_or_else(refuse)?;
            let expected = invitation.secret().ok_or_else(refuse)?;
            verify_slices_are_equal(expected.as_bytes(), secret.as_bytes()).map_err(|_| refuse())?;
            Ok(Holder::Invited(invitation))
        }
        Client::Certificate(der) => {
            let refuse = |text: &str| (Failure::SignerNotTrusted, text.to_owned());
            let foreign = || refuse("the client's certificate is not one of this authority");
            let certificate = Certificate::from_der(der, "client").map_err(|_| foreign())?;
            let serial = certificate.serial().ok_or_else(foreign)?;
            let entry = authority.show(&serial.to_string()).map_err(|_| foreign())?;
            // The responder's own certificate is not one of these: it is issued when the server
            // starts, and renewed by the server alone.
            if entry.certificate.der() != der
                || entry.role != Role::NetworkFunction
                || certificate.profile() == Profile::Responder
            {
                return Err(foreign());
            }
            if entry.state != State::Issued {
                return Err((Failure::CertificateRevoked, format!("certificate {serial} is revoked")));
            }
            if !entry.is_valid_at(now) {
                return Err(refuse(
                    "the client's certificate has ended: enrol again by an invitation",
                ));
            }
            Ok(Holder::Certified(certificate, serial))
        }
    }
}

/// The key in a request of PKCS#10: Base64, with line breaks or without (RFC 8951, section 3), or
/// PEM or DER of clients that know no better.
fn requested_key(body: &[u8]) -> Result<PublicKey, Refusal> {
    let refuse = |text: String| (Failure::BadDataFormat, text);
    if body.len() > LARGEST_REQUEST {
        return Err(refuse(format!("{} octets are too many", body.len())));
    }
    let decoded;
    let request = match body.first() {
        Some(b'-' | 0x30) => body,
        _ => {
            decoded = BASE64_MIME_PERMISSIVE
                .decode(body.trim_ascii())
                .map_err(|error| refuse(format!("the request is no Base64: {error}")))?;
            &decoded
        }
    };
    let request = SigningRequest::read(request).map_err(|error| match error {
        Refused::RequestKey(_) => (Failure::BadAlgorithm, error.to_string()),
        other => (Failure::BadProof, other.to_string()),
    })?;
    Ok(request.public_key().clone())
}

fn issue(authority: &mut Authority, holder: Holder, key: &PublicKey, now: SystemTime) -> Result<Issued, Refusal> {
    let issued = match &holder {
        Holder::Invited(invitation) => authority.enrol(invitation, key, now),
        Holder::Certified(old, _) if old.public_key() == key => {
            return Err((
                Failure::BadTemplate,
                "a renewal is for a new key, and this one is certified already".to_owned(),
            ));
        }
        Holder::Certified(_, serial) => authority.update(*serial, key, now),
    };
    issued.map_err(|error| {
        let responder::Refusal(failure, text) = error.into();
        (failure, text)
    })
}

fn ours(error: Refused) -> Refusal {
    (Failure::Internal, error.to_string())
}

/// SignedData without a signature, DER, which carries certificates alone (RFC 5652, section 5.1;
/// RFC 7030, section 4.1.3), in Base64.
fn certificates_only(certificates: &[&[u8]]) -> Result<String, Error> {
    use der::Encode;
    // SET OF (X.690, 11.6): in the order of the encodings.
    let mut certificates = certificates.to_vec();
    certificates.sort_unstable();
    let content = encoding::sequence(&[&DATA.to_der()?])?;
    let signed = encoding::sequence(&[
        &encoding::number(1)?,
        &encoding::element(Tag::Set, &[])?,
        &content,
        &encoding::element(encoding::context(0, true), &certificates.concat())?,
        &encoding::element(Tag::Set, &[])?,
    ])?;
    let all = encoding::sequence(&[&SIGNED_DATA.to_der()?, &encoding::explicit(0, &signed)?])?;
    // In lines of 76 (RFC 2045, section 6.8): OpenSSL's decoder reads nothing of a line that is
    // longer, unless it is asked to. They end as a file's do, since GNU's base64 takes no carriage
    // return.
    Ok(all.chunks(57).map(|line| BASE64.encode(line) + "\n").collect())
}
