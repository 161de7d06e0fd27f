//! What the HTTP servers of several commands answer with, and the body of a request, bounded.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;

pub(in crate::commands) type Answer = Response<Full<Bytes>>;

/// A body of at most `most` octets, or the answer that refuses it.
pub(in crate::commands) async fn body(request: Request<Incoming>, most: usize) -> Result<Bytes, Box<Answer>> {
    match Limited::new(request.into_body(), most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Box::new(plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a request has at most {most} bytes\n"),
        ))),
        Err(_) => Err(Box::new(plain(StatusCode::BAD_REQUEST, "the body broke off\n"))),
    }
}

pub(in crate::commands) fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, format!("only {methods}\n"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

pub(in crate::commands) fn plain(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

pub(in crate::commands) fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}
