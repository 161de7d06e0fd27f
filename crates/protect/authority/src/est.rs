//! Operations of EST (RFC 7030) as HTTP carries them.

use std::sync::Arc;
use std::time::SystemTime;

use bartizan_enrol::Failure;
use bartizan_enrol::est::{Client, LARGEST_REQUEST};
use data_encoding::BASE64;
use http::header::{AUTHORIZATION, HeaderName, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use zeroize::Zeroizing;

use crate::http::{Caller, Limits, apart, failed, is_of_type};
use crate::service::Service;
use bartizan_server::{Answer, not_allowed, plain, typed};

/// Certificates in SignedData (RFC 7030, sections 4.1.3 and 4.2.3).
const CERTIFICATES: &str = "application/pkcs7-mime; smime-type=certs-only";
/// A request (RFC 7030, section 4.2.1).
const PKCS10: &str = "application/pkcs10";
const TRANSFER_ENCODING: HeaderName = HeaderName::from_static("content-transfer-encoding");

pub(crate) async fn answer(
    request: Request<Incoming>,
    caller: Caller,
    certificate: Option<Arc<[u8]>>,
    service: Arc<Service>,
    limits: &Limits,
) -> Answer {
    let path = request.uri().path();
    // With a label of the authority's in between or not.
    let operation = path
        .strip_prefix("/.well-known/est/")
        .map(|rest| match rest.split_once('/') {
            Some((_, operation)) => operation.to_owned(),
            None => rest.to_owned(),
        });
    match (request.method(), operation.as_deref()) {
        (&Method::GET, Some("cacerts")) => match apart(move || service.est_certificates()).await {
            Ok(certificates) => given(certificates),
            Err(error) => failed(&error),
        },
        (_, Some("cacerts")) => not_allowed("GET"),
        (&Method::POST, Some(operation @ ("simpleenroll" | "simplereenroll"))) => {
            let again = operation == "simplereenroll";
            enrol(request, &caller, certificate, again, service, limits).await
        }
        (_, Some("simpleenroll" | "simplereenroll")) => not_allowed("POST"),
        // Nothing is asked of a request: RFC 7030, section 4.5.2.
        (&Method::GET, Some("csrattrs")) => plain(StatusCode::NO_CONTENT, ""),
        _ => plain(
            StatusCode::NOT_FOUND,
            "/.well-known/est/cacerts, simpleenroll, simplereenroll, csrattrs\n",
        ),
    }
}

async fn enrol(
    request: Request<Incoming>,
    caller: &Caller,
    certificate: Option<Arc<[u8]>>,
    again: bool,
    service: Arc<Service>,
    limits: &Limits,
) -> Answer {
    if !is_of_type(&request, PKCS10) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type: application/pkcs10\n");
    }
    let credentials = basic(&request);
    if credentials.is_none() && certificate.is_none() {
        return unauthenticated();
    }
    let from = caller.from;
    let work = move |body: Vec<u8>| {
        // Credentials in HTTP go first: the client's certificate may be of another authority.
        let client = match (&credentials, &certificate) {
            (Some((reference, secret)), _) => Client::Secret { reference, secret },
            (None, Some(certificate)) => Client::Certificate(certificate),
            (None, None) => return Err("no credentials".to_owned()),
        };
        service.est(from, client, again, &body, SystemTime::now())
    };
    match caller.work(request, LARGEST_REQUEST, limits, work).await {
        Ok(Ok(certificates)) => given(certificates),
        Ok(Err((failure, reason))) => refused(failure, &reason),
        Err(answer) => *answer,
    }
}

fn given(certificates: String) -> Answer {
    let mut answer = typed(StatusCode::OK, CERTIFICATES, certificates);
    answer
        .headers_mut()
        .insert(TRANSFER_ENCODING, HeaderValue::from_static("base64"));
    answer
}

fn refused(failure: Failure, reason: &str) -> Answer {
    let reason = format!("{reason} ({failure})\n");
    match failure {
        Failure::BadMessageCheck => unauthenticated(),
        Failure::NotAuthorized | Failure::SignerNotTrusted | Failure::CertificateRevoked => {
            plain(StatusCode::FORBIDDEN, reason)
        }
        Failure::Internal => failed(&reason),
        Failure::Unavailable => plain(StatusCode::SERVICE_UNAVAILABLE, reason),
        _ => plain(StatusCode::BAD_REQUEST, reason),
    }
}

/// A challenge without a body: Bouncy Castle's client sends no credentials after a 401 that has
/// one. The audit log has the reason.
fn unauthenticated() -> Answer {
    let mut answer = plain(StatusCode::UNAUTHORIZED, "");
    answer.headers_mut().insert(
        WWW_AUTHENTICATE,
        HeaderValue::from_static("Basic realm=\"reference and secret of an invitation\""),
    );
    answer
}

/// User and password of HTTP's Basic authentication (RFC 7617).
fn basic(request: &Request<Incoming>) -> Option<(String, Zeroizing<String>)> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Zeroizing::new(BASE64.decode(encoded.trim().as_bytes()).ok()?);
    let text = std::str::from_utf8(&decoded).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), Zeroizing::new(password.to_owned())))
}
