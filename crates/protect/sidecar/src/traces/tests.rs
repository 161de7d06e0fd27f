use bartizan_http2::Indexing;
use serde_json::Value;

use super::*;
use crate::metrics::{Metrics, Outcome, Requests};

const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn head(fields: &[(&str, &str)]) -> Fields {
    let mut head = Fields::new();
    head.push(b":method", b"POST", Indexing::Kept);
    for (name, value) in fields {
        head.push(name.as_bytes(), value.as_bytes(), Indexing::Plain);
    }
    head
}

fn parent(head: &Fields) -> String {
    let all: Vec<_> = head.iter().filter(|(name, _, _)| *name == PARENT).collect();
    assert_eq!(all.len(), 1, "{head:?}");
    String::from_utf8(all[0].1.to_vec()).unwrap()
}

fn requests(tracer: &Tracer, side: Side) -> Requests {
    let mut registry = Registry::default();
    tracer.register(&mut registry);
    Requests::new(&Metrics::new(&mut registry, "0", "none"), side, "amf", "nrf")
}

fn spans(spans: &mut Spans) -> Vec<Value> {
    let mut taken = Vec::new();
    while let Ok(span) = spans.ended.try_recv() {
        taken.push(span);
    }
    let body = body(&resource("1", "host", "amf"), &taken);
    let body: Value = serde_json::from_str(&body).unwrap();
    let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().unwrap().clone()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object().unwrap().values().next()
}

#[test]
fn a_request_of_a_sampled_trace_has_a_span_below_its_callers() {
    for side in [Side::Inbound, Side::Outbound] {
        let (tracer, mut out) = tracer(0.0);
        let mut head = head(&[
            ("traceparent", SAMPLED),
            ("tracestate", "vendor=\"1\\"),
            ("accept", "*/*"),
        ]);
        let hop = tracer.begin(&mut head, side).unwrap();
        let forwarded = parent(&head);
        assert_eq!((&forwarded[..36], &forwarded[52..]), (&SAMPLED[..36], "-01"));
        assert_ne!(forwarded, SAMPLED);
        assert_eq!(head.value(STATE), Some(b"vendor=\"1\\".as_slice()));
        let mut account = requests(&tracer, side).begin("/nnrf-disc/v1/nf-instances?supi=imsi-001010000000001");
        account.traced(hop, None);
        account.handed(None);
        account.handed(None);
        account.ended(Outcome::Status(404));
        drop(account);
        let spans = spans(&mut out);
        assert_eq!(spans.len(), 1);
        let span = &spans[0];
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
        assert_eq!(span["spanId"], forwarded[36..52]);
        assert_eq!(
            (&span["flags"], &span["traceState"]),
            (&0x301.into(), &"vendor=\"1\\".into())
        );
        assert_eq!(span["name"], "POST nnrf-disc");
        assert_eq!(attribute(span, "http.request.resend_count"), Some(&"1".into()));
        assert_eq!(attribute(span, "http.response.status_code"), Some(&"404".into()));
        // For who asks, an answer of 404 is an error; for who is asked it is an answer.
        let (kind, peer, is_error) = match side {
            Side::Inbound => (2, "amf", false),
            Side::Outbound => (3, "nrf", true),
        };
        assert_eq!(span["kind"], kind);
        assert_eq!(attribute(span, "bartizan.peer"), Some(&peer.into()));
        assert_eq!(attribute(span, "error.type").is_some(), is_error);
        assert_eq!(span["status"].get("code").is_some(), is_error);
        assert!(!span.to_string().contains("imsi"), "{span}");
    }
}

#[test]
fn a_method_that_is_not_known_is_named_as_the_conventions_have_it() {
    let (tracer, mut out) = tracer(0.0);
    let mut request = Fields::new();
    request.push(b":method", b"BREW", Indexing::Kept);
    request.push(PARENT, SAMPLED.as_bytes(), Indexing::Plain);
    let hop = tracer.begin(&mut request, Side::Inbound).unwrap();
    let mut account = requests(&tracer, Side::Inbound).begin("/nudm-ueau/v1/a");
    account.traced(hop, None);
    account.ended(Outcome::Status(200));
    drop(account);
    let span = spans(&mut out).remove(0);
    assert_eq!(
        (&span["name"], attribute(&span, "http.request.method")),
        (&"HTTP nudm-ueau".into(), Some(&"_OTHER".into()))
    );
}

#[test]
fn what_is_not_sampled_passes_untouched() {
    let (tracer, _out) = tracer(1.0);
    let unsampled = SAMPLED.replace("-01", "-00");
    for side in [Side::Inbound, Side::Outbound] {
        let mut request = head(&[("traceparent", &unsampled), ("tracestate", "a=b")]);
        let before = request.clone();
        assert!(tracer.begin(&mut request, side).is_none());
        assert_eq!(request, before);
    }
    // Among requests without a trace only those of the own function begin one.
    let mut request = head(&[]);
    assert!(tracer.begin(&mut request, Side::Inbound).is_none());
    assert_eq!(request, head(&[]));
}

#[test]
fn a_share_of_the_functions_own_requests_begins_a_trace() {
    let (all, mut out) = tracer(1.0);
    let mut request = head(&[("traceparent", "rubbish"), ("tracestate", "of=nothing")]);
    let hop = all.begin(&mut request, Side::Outbound).unwrap();
    assert_eq!(request.value(STATE), None);
    let forwarded = parent(&request);
    let mut account = requests(&all, Side::Outbound).begin("/a");
    account.traced(hop, None);
    account.answered_in_place(504, "request-timed-out");
    drop(account);
    let span = spans(&mut out).remove(0);
    assert_eq!(
        forwarded,
        format!(
            "00-{}-{}-01",
            span["traceId"].as_str().unwrap(),
            span["spanId"].as_str().unwrap()
        )
    );
    assert_eq!((span.get("parentSpanId"), &span["flags"]), (None, &0x101.into()));
    assert_eq!(attribute(&span, "bartizan.problem"), Some(&"request-timed-out".into()));
    let (none, _out) = tracer(0.0);
    assert!(none.begin(&mut head(&[]), Side::Outbound).is_none());
    let (some, _out) = tracer(0.1);
    let begun = (0..5_000).filter(|_| some.begin(&mut head(&[]), Side::Outbound).is_some());
    let begun = begun.count();
    assert!((350..650).contains(&begun), "{begun}");
}

#[test]
fn a_queue_that_is_full_loses_spans_and_counts_them() {
    let (tracer, out) = tracer(1.0);
    let requests = requests(&tracer, Side::Outbound);
    for _ in 0..WAITING + 3 {
        let mut account = requests.begin("/a");
        account.traced(tracer.begin(&mut head(&[]), Side::Outbound).unwrap(), None);
    }
    let counted = |outcome| tracer.counts.0.get_or_create(&OutcomeLabels { outcome }).get();
    assert_eq!((counted("dropped"), out.ended.len()), (3, WAITING));
}

#[tokio::test]
async fn spans_come_out_in_batches_until_the_sidecar_is_gone() {
    let (tracer, mut out) = tracer(1.0);
    let requests = requests(&tracer, Side::Outbound);
    for _ in 0..5 {
        let mut account = requests.begin("/a");
        account.traced(tracer.begin(&mut head(&[]), Side::Outbound).unwrap(), None);
    }
    assert_eq!(out.next(3).await.map(|spans| spans.len()), Some(3));
    assert_eq!(out.next(3).await.map(|spans| spans.len()), Some(2));
    drop((tracer, requests));
    assert_eq!(out.next(3).await.map(|spans| spans.len()), None);
}
