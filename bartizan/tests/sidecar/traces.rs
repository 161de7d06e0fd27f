//! Spans of requests, as a collector gets them, and the header by which they are one trace.

use std::path::Path;

use bartizan_host::Process;
use serde_json::Value;

use crate::collector::{Answer, Collector, by_https};
use crate::stage::{By, PATIENCE, Pair, Running, Stage, ask, finish, sidecar, until};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Both sidecars, each with these arguments.
fn run(stage: &mut Stage, pair: &Pair, amf: &[&str], nrf: &[&str]) -> Running {
    let papers = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", pair, &papers.0, &papers.1);
    Running {
        nrf: stage.start_with(&file, "nrf", pair.ports.nrf_admin, nrf),
        amf: stage.start_with(&file, "amf", pair.ports.amf_admin, amf),
        ports: pair.ports,
    }
}

/// A request for `/hello` with these headers, which has to be answered by this status.
fn request(pair: &Pair, headers: &[String], status: u16) {
    let url = format!("http://{}/hello", pair.ports.outbound);
    let mut arguments = vec!["--http2-prior-knowledge"];
    headers
        .iter()
        .for_each(|header| arguments.extend(["--header", header.as_str()]));
    arguments.push(&url);
    assert_eq!(ask(&arguments).0, status);
}

/// The value of the last header of this name that the function got, once it has said so.
fn received(function: &Process, name: &str) -> String {
    let mut found = None;
    until(name, || {
        let text = function.stdout();
        let line = text
            .rsplit_once(&format!(") {name}: "))
            .and_then(|(_, rest)| rest.split_once('\n'));
        found = line.map(|(value, _)| value.trim_end().to_owned());
        found.is_some()
    });
    found.expect("it is there")
}

/// All spans that were sent, each with the attributes of its resource.
fn spans(collector: &Collector) -> Vec<(Value, Value)> {
    let mut all = Vec::new();
    for request in collector.requests("traces") {
        let of_resource = &request.body["resourceSpans"][0];
        let spans = of_resource["scopeSpans"][0]["spans"].as_array().unwrap();
        all.extend(spans.iter().map(|span| (span.clone(), of_resource["resource"].clone())));
    }
    all
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let all = of["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no {key} in {of}"));
    found["value"].as_object().unwrap().values().next().unwrap()
}

fn verbose(stage: &Stage, pair: &Pair) -> Process {
    stage.write("hello", "served");
    stage.nghttpd(pair.ports.function, &["--verbose"])
}

#[test]
fn a_sampled_request_has_a_span_at_each_sidecar_and_the_function_is_below_both() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let function = verbose(&stage, &pair);
    let collector = Collector::new();
    // A name, so that it is looked up by a sidecar that is confined.
    let url = format!("http://localhost:{}", collector.address().port());
    let running = run(&mut stage, &pair, &["--traces", &url], &["--traces", &url]);
    let headers = [
        format!("traceparent: 00-{TRACE}-{CALLER}-01"),
        "tracestate: vendor=x".to_owned(),
    ];
    request(&pair, &headers, 200);
    until("both spans", || spans(&collector).len() == 2);
    let spans = spans(&collector);
    let of = |node: &str| {
        let found = spans
            .iter()
            .find(|(_, resource)| attribute(resource, "bartizan.node") == node);
        found.unwrap()
    };
    let ((amf, amf_resource), (nrf, _)) = (of("amf"), of("nrf"));
    assert_eq!(attribute(amf_resource, "service.name"), "amf-sidecar");
    // Confined as they are by now, they could not read it.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(attribute(amf_resource, "host.name"), host.trim());
    assert_eq!(
        attribute(amf_resource, "service.instance.id"),
        &format!("{}:amf", host.trim())
    );
    assert_eq!((&amf["traceId"], &amf["parentSpanId"]), (&TRACE.into(), &CALLER.into()));
    assert_eq!((&nrf["traceId"], &nrf["parentSpanId"]), (&TRACE.into(), &amf["spanId"]));
    let at_function = received(&function, "traceparent");
    assert_eq!(
        at_function,
        format!("00-{TRACE}-{}-01", nrf["spanId"].as_str().unwrap())
    );
    assert_eq!(received(&function, "tracestate"), "vendor=x");
    for (span, side, peer) in [(amf, "outbound", "nrf"), (nrf, "inbound", "amf")] {
        assert_eq!(attribute(span, "bartizan.side"), side);
        assert_eq!(attribute(span, "bartizan.peer"), peer);
        assert_eq!(attribute(span, "http.response.status_code"), "200");
        assert_eq!(attribute(span, "tls.curve"), "X25519MLKEM768");
        assert_eq!(attribute(span, "bartizan.peer.signature"), "mldsa65");
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") < time("endTimeUnixNano"));
    }
    // A span that contains another takes longer.
    let took = |span: &Value| {
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        time("endTimeUnixNano") - time("startTimeUnixNano")
    };
    assert!(took(amf) > took(nrf), "{amf} {nrf}");
    until("the count", || {
        running
            .amf
            .metric("bartizan_sidecar_spans_total", &["outcome=\"sent\""])
            == Some(1.0)
    });
}

#[test]
fn without_the_option_or_unsampled_the_header_passes_as_it_is() {
    for with_option in [false, true] {
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let function = verbose(&stage, &pair);
        let collector = Collector::new();
        let url = collector.url();
        let arguments: &[&str] = if with_option {
            &["--traces", &url, "--traces-share", "1"]
        } else {
            &[]
        };
        let running = run(&mut stage, &pair, arguments, arguments);
        let sampled = if with_option { "00" } else { "01" };
        let header = format!("00-{TRACE}-{CALLER}-{sampled}");
        request(&pair, &[format!("traceparent: {header}")], 200);
        assert_eq!(received(&function, "traceparent"), header);
        let counted = running.amf.metric("bartizan_sidecar_spans_total", &[]);
        assert_eq!(counted.is_some(), with_option);
        assert_eq!(spans(&collector).len(), 0);
    }
}

#[test]
fn a_share_begins_traces_and_what_the_sidecar_answers_itself_is_an_error_in_them() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let collector = Collector::new();
    let url = collector.url();
    // The function is not there; the peer's sidecar is, and begins no trace itself.
    let arguments = ["--traces", &url, "--traces-share", "1"];
    let running = run(&mut stage, &pair, &arguments, &arguments);
    request(&pair, &[], 504);
    until("both spans", || spans(&collector).len() == 2);
    let both = spans(&collector);
    let roots: Vec<_> = both
        .iter()
        .filter(|(span, _)| span.get("parentSpanId").is_none())
        .collect();
    assert_eq!(roots.len(), 1, "{both:?}");
    assert_eq!(attribute(&roots[0].0, "bartizan.side"), "outbound");
    for (span, _) in &both {
        assert_eq!(
            (&span["traceId"], &span["status"]["code"]),
            (&roots[0].0["traceId"], &2.into())
        );
        assert_eq!(attribute(span, "error.type"), "504");
    }
    let (inbound, _) = both
        .iter()
        .find(|(span, _)| span.get("parentSpanId").is_some())
        .unwrap();
    assert_eq!(attribute(inbound, "bartizan.problem"), "function-unreachable");
    // A span that ends just before the sidecar does is sent before its exit.
    request(&pair, &[], 504);
    running.amf.process.terminate(PATIENCE).expect("it ends");
    until("those of the second request", || spans(&collector).len() == 4);
}

#[test]
fn a_collector_that_is_gone_or_refuses_costs_spans_and_no_request() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = verbose(&stage, &pair);
    let refusing = Collector::listen("127.0.0.1:0".parse().unwrap(), &[Answer::Status(400, "X-Test: no")]);
    let url = refusing.url();
    let gone = Collector::new().url();
    let running = run(
        &mut stage,
        &pair,
        &["--traces", &url, "--traces-share", "1"],
        &["--traces", &gone],
    );
    for _ in 0..3 {
        request(&pair, &[], 200);
    }
    until("the refusals", || {
        running
            .amf
            .metric("bartizan_sidecar_spans_total", &["outcome=\"refused\""])
            == Some(3.0)
    });
    until("what is given up", || {
        running
            .nrf
            .metric("bartizan_sidecar_spans_total", &["outcome=\"dropped\""])
            == Some(3.0)
    });
    for node in [&running.amf, &running.nrf] {
        let said = node.process.stderr();
        assert_eq!(said.matches("spans are not taken").count(), 1, "{said}");
    }
}

/// Before, a collector that took requests and refused what was in them was in no line of the log.
#[test]
fn a_collector_that_takes_requests_and_refuses_their_spans_is_named_with_its_reason() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = verbose(&stage, &pair);
    let refuses = Answer::Taken(r#"{"partialSuccess":{"rejectedSpans":"1000","errorMessage":"no\u001b tenant"}}"#);
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &[refuses]);
    let url = collector.url();
    let running = run(&mut stage, &pair, &["--traces", &url, "--traces-share", "1"], &[]);
    for number in 1..=3 {
        request(&pair, &[], 200);
        until("the refusal", || {
            let refused = running
                .amf
                .metric("bartizan_sidecar_spans_total", &["outcome=\"refused\""]);
            refused == Some(f64::from(number))
        });
    }
    until("the log's line", || {
        running.amf.process.stderr().contains("spans are not taken")
    });
    let said = running.amf.process.stderr();
    assert_eq!(said.matches("spans are not taken").count(), 1, "{said}");
    assert!(said.contains("it refuses 1 of 1: no tenant"), "{said}");
}

#[test]
fn a_collector_by_https_is_judged_and_reached_by_a_quantum_safe_key_exchange() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = verbose(&stage, &pair);
    let (config, root) = by_https();
    let roots = stage.write("collector-root.pem", root);
    let other = stage.write("other-root.pem", by_https().1);
    let collector = Collector::by_tls(config);
    let url = format!("https://localhost:{}", collector.address().port());
    let of = |roots: &Path| {
        [
            "--traces".to_owned(),
            url.clone(),
            "--traces-ca".to_owned(),
            roots.display().to_string(),
        ]
    };
    let (good, wrong) = (of(&roots), of(&other));
    let [good, wrong] = [&good, &wrong].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    let running = run(&mut stage, &pair, &good, &wrong);
    request(&pair, &[format!("traceparent: 00-{TRACE}-{CALLER}-01")], 200);
    until("what is given up", || {
        running
            .nrf
            .metric("bartizan_sidecar_spans_total", &["outcome=\"dropped\""])
            == Some(1.0)
    });
    until("the other's span", || !spans(&collector).is_empty());
    assert_eq!(spans(&collector).len(), 1);
    assert_eq!(collector.groups(), ["X25519MLKEM768"]);
}

#[test]
fn what_the_options_cannot_mean_is_refused_with_a_hint() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let plaintext = "hint: say --traces-allow-plaintext where the network itself is protected";
    for (arguments, said) in [
        (vec!["--traces", "http://192.0.2.1:4318"], plaintext),
        (vec!["--traces", "https://192.0.2.1:4318"], "--traces-ca"),
        (vec!["--traces", "http://127.0.0.1:4318/v1/traces"], "is added to it"),
        (
            vec!["--traces", "http://127.0.0.1:4318", "--traces-share", "2"],
            "from 0 to 1",
        ),
        (vec!["--traces-share", "0.5"], "--traces <URL>"),
    ] {
        let refused = finish(sidecar(&file, "amf").arguments(&arguments));
        assert_eq!(refused.status.code(), Some(64), "{arguments:?}");
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
