//! Spans as OTLP 1.x in its JSON encoding: bodies of `POST /v1/traces`.
//!
//! Names of attributes are those of OpenTelemetry's semantic conventions where these have one, and begin with `bartizan.` else. A path is not
//! among them: those of the SBI name subscribers (`imsi-...`).

use std::fmt::{self, Display, Write as _};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::Span;
use super::hop::OTHER;
use crate::metrics::{Outcome, Side};

/// Name of the instrumentation scope.
const SCOPE: &str = "bartizan.sidecar";
/// `SpanKind` of OTLP: who was asked, and who asks.
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
/// A span is longer than most are.
const SPAN: usize = 1_400;
/// The span is sampled, and whether what it is below of was elsewhere is known; with the next, it was.
const FLAGS: u32 = 0x101;
const REMOTE: u32 = 0x200;

/// Resource of the sender: the sidecar of this node on this host. A JSON object.
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
///
/// It is written at once and not made of values first: a trace of every request has thousands of spans a second.
pub fn body(resource: &str, spans: &[Span]) -> String {
    let mut text = String::with_capacity(256 + resource.len() + SPAN * spans.len());
    let _ = write!(
        text,
        r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{{"name":"{SCOPE}"}},"spans":["#
    );
    for (at, span) in spans.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        span.write(&mut text);
    }
    text.push_str("]}]}]}");
    text
}

/// Attributes of a span, as they are written.
struct Attributes<'a> {
    text: &'a mut String,
    none: bool,
}

impl Attributes<'_> {
    fn value(&mut self, key: &str, kind: &str, value: impl Display) {
        let comma = if self.none { "" } else { "," };
        self.none = false;
        let _ = write!(self.text, r#"{comma}{{"key":"{key}","value":{{"{kind}":{value}}}}}"#);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.value(key, "stringValue", Quoted(value));
    }

    /// A 64-bit integer is a string.
    fn integer(&mut self, key: &str, value: u64) {
        self.value(key, "intValue", format_args!("\"{value}\""));
    }

    fn seconds(&mut self, key: &str, value: Duration) {
        self.value(key, "doubleValue", value.as_secs_f64());
    }
}

/// A text as JSON has it.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if self.0.bytes().all(plain) {
            return write!(f, "\"{}\"", self.0);
        }
        // Rare: what a peer put into its tracestate.
        f.write_str(&Value::from(self.0).to_string())
    }
}

impl Span {
    fn write(&self, text: &mut String) {
        let (hop, labels) = (&self.hop, &self.labels);
        let (kind, least) = match labels.side {
            Side::Inbound => (SERVER, 500),
            Side::Outbound => (CLIENT, 400),
        };
        let began = hop.began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // The conventions have this word in a span's name.
        let method = if hop.method == OTHER { "HTTP" } else { hop.method };
        let (trace, span) = (HEXLOWER.encode(hop.trace()), HEXLOWER.encode(hop.span()));
        let _ = write!(
            text,
            r#"{{"traceId":"{trace}","spanId":"{span}","name":{},"kind":{kind},"startTimeUnixNano":"{}","endTimeUnixNano":"{}""#,
            Quoted(&format!("{method} {}", labels.service)),
            nanoseconds(began),
            nanoseconds(began + self.total),
        );
        let _ = match hop.parent() {
            Some(parent) => write!(
                text,
                r#","parentSpanId":"{}","flags":{}"#,
                HEXLOWER.encode(parent),
                FLAGS | REMOTE
            ),
            None => write!(text, r#","flags":{FLAGS}"#),
        };
        if let Some(state) = hop.state.as_deref() {
            let _ = write!(text, r#","traceState":{}"#, Quoted(state));
        }
        text.push_str(r#","attributes":["#);
        let mut attributes = Attributes { text, none: true };
        attributes.text("http.request.method", hop.method);
        attributes.text("network.protocol.name", "http");
        attributes.text("bartizan.side", labels.side.as_str());
        attributes.text("bartizan.peer", labels.peer());
        attributes.text("bartizan.service", &labels.service);
        attributes.seconds("bartizan.own.request", self.own[0]);
        attributes.seconds("bartizan.own.response", self.own[1]);
        let error = match self.outcome {
            Outcome::Status(status) => {
                attributes.integer("http.response.status_code", u64::from(status));
                (status >= least).then(|| status.to_string())
            }
            other => Some(other.label()),
        };
        if let Some(problem) = hop.problem {
            attributes.text("bartizan.problem", problem);
        }
        if let Some(error) = &error {
            attributes.text("error.type", error);
        }
        if hop.sent_again() > 0 {
            attributes.integer("http.request.resend_count", u64::from(hop.sent_again()));
        }
        if let Some((interface, negotiated)) = hop.negotiated.as_ref() {
            attributes.text("bartizan.interface", interface.name());
            attributes.text("tls.protocol.name", "tls");
            attributes.text("tls.protocol.version", negotiated.version.trim_start_matches("TLS "));
            attributes.text("tls.cipher", &negotiated.cipher.name);
            attributes.text("tls.curve", &negotiated.group.name);
            attributes.value("tls.resumed", "boolValue", negotiated.resumed);
            if let Some(signature) = &negotiated.peer_signature {
                attributes.text("bartizan.peer.signature", &signature.name);
            }
        }
        text.push_str(if error.is_some() {
            r#"],"status":{"code":2}}"#
        } else {
            r#"],"status":{}}"#
        });
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// As `fixed64` is written.
fn nanoseconds(at: Duration) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}
