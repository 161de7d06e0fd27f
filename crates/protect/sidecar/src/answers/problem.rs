//! ProblemDetails (TS 29.571, clause 5.2.4.1; RFC 9457): how an error reaches a network function.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, SERVER};
use http::{Response, StatusCode};
use serde::Serialize;

use crate::answers::failure::Failure;

/// The media type of ProblemDetails.
const MEDIA_TYPE: &str = "application/problem+json";

/// The body of an error answer.
///
/// `cause` is the application error of TS 29.500 that consumers act on. `peer` and `reason` are extension members (RFC 9457,
/// section 3.2) with the node and the word that metrics and ledger use; `detail` is the same in a sentence.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, PartialEq))]
pub(crate) struct Problem {
    pub(crate) status: u16,
    title: String,
    detail: String,
    cause: String,
    peer: String,
    reason: String,
}

impl Problem {
    pub(crate) fn of(failure: &Failure) -> Self {
        let (status, cause) = failure.why.problem();
        let reason = failure.why.as_str();
        Self {
            status,
            title: format!("{}: {reason}", failure.peer),
            detail: format!("{}: {reason}: {}", failure.peer, failure.detail),
            cause: cause.to_owned(),
            peer: failure.peer.clone(),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn body(&self) -> Bytes {
        // Numbers and text always serialise.
        serde_json::to_vec(self).map_or_else(|_| Bytes::new(), Bytes::from)
    }

    /// The head of an HTTP/2 response with `length` bytes of body. `node` is who answers in the place of the producer.
    pub(crate) fn head(&self, node: &str, length: usize) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::GATEWAY_TIMEOUT);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        if let Ok(server) = HeaderValue::from_str(&server(node)) {
            headers.insert(SERVER, server);
        }
        response
    }

    /// The whole HTTP/1.1 response.
    pub(crate) fn http1(&self, node: &str) -> Vec<u8> {
        let body = self.body();
        let phrase = StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Error");
        let head = format!(
            "HTTP/1.1 {} {phrase}\r\nserver: {}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.status,
            server(node),
            body.len(),
        );
        [head.as_bytes(), &body].concat()
    }
}

/// The Server header: the answer is the sidecar's, not the producer's (compare TS 29.500, clause 5.2.2.2, on SCP and SEPP).
fn server(node: &str) -> String {
    format!("bartizan ({node})")
}

#[cfg(test)]
mod tests {
    use bartizan_tls::Reason;
    use proptest::prelude::*;

    use super::*;
    use crate::answers::failure::Why;

    proptest! {
        #[test]
        fn any_failure_becomes_json_that_reads_back(peer in ".{0,80}", detail in ".{0,200}") {
            let failure = Failure { peer, why: Why::Peer(Reason::UnknownCa), detail, hint: String::new() };
            let problem = Problem::of(&failure);
            let back: Problem = serde_json::from_slice(&problem.body()).unwrap();
            prop_assert_eq!(&back, &problem);
            prop_assert_eq!(back.peer, failure.peer);
            prop_assert_eq!(back.reason, "unknown-ca");
        }

        #[test]
        fn an_http1_answer_has_one_head_whatever_the_detail_says(detail in "(?s).{0,200}") {
            let failure = Failure { peer: "nrf".into(), why: Why::Connect, detail, hint: String::new() };
            let answer = Problem::of(&failure).http1("amf");
            let text = String::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            prop_assert!(head.starts_with("HTTP/1.1 501 Not Implemented\r\n"));
            let length = format!("content-length: {}", body.len());
            prop_assert!(head.contains(&length));
        }
    }

    #[test]
    fn the_head_names_the_node_that_answers() {
        let failure = Failure {
            peer: "nrf".into(),
            why: Why::Peer(Reason::Unreachable),
            detail: "connection refused".into(),
            hint: String::new(),
        };
        let problem = Problem::of(&failure);
        let head = problem.head("amf", 7);
        assert_eq!(head.status(), 504);
        assert_eq!(head.headers()["server"], "bartizan (amf)");
        assert_eq!(head.headers()["content-type"], "application/problem+json");
        assert_eq!(problem.title, "nrf: unreachable");
        assert_eq!(problem.cause, "TARGET_NF_NOT_REACHABLE");
    }
}
