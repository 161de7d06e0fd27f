//! Spans as OTLP 1.x in its JSON encoding: bodies of `POST /v1/traces`.
//!
//! Names of attributes are those of OpenTelemetry's semantic conventions where these have one, and begin with `bartizan.` else. A path is not
//! among them: those of the SBI name subscribers (`imsi-...`).

use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::Span;
use crate::metrics::{Outcome, Side};

/// What the instrumentation scope is called.
const SCOPE: &str = "bartizan.sidecar";
/// `SpanKind` of OTLP: who was asked, and who asks.
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
/// `Status.code` of OTLP.
const ERROR: u8 = 2;
/// The span is sampled, and whether what it is below of was elsewhere is known; with the next, it was.
const FLAGS: u32 = 0x101;
const REMOTE: u32 = 0x200;

/// Who sends: the sidecar of this node on this host. A JSON object.
#[must_use]
pub fn resource(version: &str, host: &str, node: &str) -> String {
    json!({ "attributes": [
        text("service.name", &format!("{node}-sidecar")),
        text("service.version", version),
        text("service.instance.id", &format!("{host}:{node}")),
        text("host.name", host),
        text("bartizan.node", node),
    ] })
    .to_string()
}

/// The body of a request with these spans, all of one resource.
#[must_use]
pub fn body(resource: &str, spans: &[Box<Span>]) -> String {
    let spans: Vec<String> = spans.iter().map(|span| span.to_json().to_string()).collect();
    format!(
        r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{{"name":"{SCOPE}"}},"spans":[{}]}}]}}]}}"#,
        spans.join(",")
    )
}

impl Span {
    fn to_json(&self) -> Value {
        let (hop, labels) = (&self.hop, &self.labels);
        let (kind, least) = match labels.side {
            Side::Inbound => (SERVER, 500),
            Side::Outbound => (CLIENT, 400),
        };
        let mut attributes = vec![
            text("http.request.method", hop.method),
            text("network.protocol.name", "http"),
            text("bartizan.side", labels.side.as_str()),
            text("bartizan.peer", labels.peer()),
            text("bartizan.service", &labels.service),
            seconds("bartizan.own.request", self.own[0]),
            seconds("bartizan.own.response", self.own[1]),
        ];
        let mut error = None;
        match self.outcome {
            Outcome::Status(status) => {
                attributes.push(integer("http.response.status_code", u64::from(status)));
                error = (status >= least).then(|| status.to_string());
            }
            other => error = error.or(Some(other.label())),
        }
        if let Some(problem) = hop.problem() {
            attributes.push(text("bartizan.problem", problem));
        }
        if let Some(error) = &error {
            attributes.push(text("error.type", error));
        }
        if hop.sent_again() > 0 {
            attributes.push(integer("http.request.resend_count", u64::from(hop.sent_again())));
        }
        if let Some((interface, negotiated)) = hop.negotiated() {
            attributes.extend([
                text("bartizan.interface", interface.name()),
                text("tls.protocol.name", "tls"),
                text("tls.protocol.version", negotiated.version.trim_start_matches("TLS ")),
                text("tls.cipher", &negotiated.cipher.name),
                text("tls.curve", &negotiated.group.name),
                json!({ "key": "tls.resumed", "value": { "boolValue": negotiated.resumed } }),
            ]);
            if let Some(signature) = &negotiated.peer_signature {
                attributes.push(text("bartizan.peer.signature", &signature.name));
            }
        }
        let began = hop.began().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut span = json!({
            "traceId": HEXLOWER.encode(hop.trace()),
            "spanId": HEXLOWER.encode(hop.span()),
            "flags": FLAGS,
            "name": format!("{} {}", hop.method, labels.service),
            "kind": kind,
            "startTimeUnixNano": nanoseconds(began),
            "endTimeUnixNano": nanoseconds(began + self.total),
            "attributes": attributes,
            "status": {},
        });
        if let Some(parent) = hop.parent() {
            span["parentSpanId"] = HEXLOWER.encode(parent).into();
            span["flags"] = (FLAGS | REMOTE).into();
        }
        if let Some(state) = hop.state() {
            span["traceState"] = state.into();
        }
        if error.is_some() {
            span["status"] = json!({ "code": ERROR });
        }
        span
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn integer(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn seconds(key: &str, value: Duration) -> Value {
    json!({ "key": key, "value": { "doubleValue": value.as_secs_f64() } })
}

/// As `fixed64` is written.
fn nanoseconds(at: Duration) -> String {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX).to_string()
}
