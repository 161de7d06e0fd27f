use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::follow::metric::Metric;
use crate::follow::{Event, LinkName, event};

const AT: Duration = Duration::from_nanos(1_800_000_000_123_456_789);

fn link() -> LinkName {
    LinkName {
        ends: ["amf".to_owned(), "nrf".to_owned()],
        interface: Some("SBI"),
        service: None,
        path: Some("VLAN 7".to_owned()),
    }
}

/// As a collector reads it, by way of the request that it is in.
fn sent(event: &Event) -> Value {
    let line = serde_json::to_string(&event::json(event, 7, AT)).unwrap();
    let record = log_record(event, &line, "run-7", 7, AT);
    let request: Value = serde_json::from_str(&logs(&resource("1.2.3", "tap1", &["eth0"]), &[record])).unwrap();
    request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0].clone()
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let all = of["attributes"].as_array().unwrap();
    let found: Vec<_> = all.iter().filter(|attribute| attribute["key"] == key).collect();
    assert!(found.len() < 2, "{key} twice in {of}");
    found.first().map_or(&Value::Null, |attribute| &attribute["value"])
}

#[test]
fn an_event_is_a_log_record_with_the_line_as_its_body() {
    let mut event = Event::of("eth0", "finding", "new: readable now")
        .with("state", "new")
        .with("severity", "critical")
        .with("concern", "readable now")
        .with(
            "confidentiality",
            json!({ "verdict": "plaintext", "because": "HTTP", "sources": [] }),
        )
        .with("authenticity", "vulnerable");
    event.link = Some(link());
    event.packet_ns = Some(1_799_999_999_000_000_001);
    let record = sent(&event);
    // 64-bit integers are strings, enumerations numbers.
    assert_eq!(record["timeUnixNano"], "1799999999000000001");
    assert_eq!(record["observedTimeUnixNano"], "1800000000123456789");
    assert_eq!(
        (&record["severityNumber"], &record["severityText"]),
        (&json!(18), &json!("critical"))
    );
    assert_eq!(record["eventName"], "bartizan.inspect.finding");
    let body: Value = serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&body["schema"], &body["sequence"]),
        (&json!("bartizan-events/1"), &json!(7))
    );
    assert_eq!(attribute(&record, "bartizan.sequence"), &json!({ "intValue": "7" }));
    for (key, value) in [
        ("log.record.uid", "run-7"),
        ("bartizan.event", "finding"),
        ("bartizan.source", "eth0"),
        ("bartizan.interface", "SBI"),
        ("bartizan.link.one", "amf"),
        ("bartizan.link.other", "nrf"),
        ("bartizan.link.path", "VLAN 7"),
        ("bartizan.confidentiality", "plaintext"),
        ("bartizan.authenticity", "vulnerable"),
        ("bartizan.finding.id", "readable now|eth0|SBI|amf|nrf|VLAN 7"),
        ("bartizan.finding.concern", "readable now"),
        ("bartizan.finding.state", "new"),
        ("bartizan.finding.severity", "critical"),
    ] {
        assert_eq!(attribute(&record, key), &json!({ "stringValue": value }), "{key}");
    }
}

#[test]
fn what_an_event_has_not_is_left_out_and_the_time_is_then_that_of_the_report() {
    let record = sent(&Event::new("begin", "following eth0"));
    assert_eq!(record["timeUnixNano"], record["observedTimeUnixNano"]);
    let keys: Vec<_> = record["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["key"])
        .collect();
    assert_eq!(keys, ["log.record.uid", "bartizan.event", "bartizan.sequence"]);
}

#[test]
fn severity_follows_the_kind_of_event_and_what_a_new_finding_is_worth() {
    let finding = |severity: &str, state: &str| {
        Event::new("finding", "")
            .with("severity", severity)
            .with("state", state)
            .with("concern", "policy")
    };
    for (event, number, text) in [
        (Event::new("link-seen", ""), 9, "information"),
        (Event::new("loss", ""), 13, "warning"),
        (Event::new("ceiling", ""), 13, "warning"),
        (Event::new("interface-down", ""), 13, "warning"),
        (Event::new("source-failed", ""), 13, "warning"),
        (finding("medium", "new"), 13, "medium"),
        (finding("high", "new"), 17, "high"),
        (finding("critical", "new"), 18, "critical"),
        (finding("critical", "cleared"), 9, "information"),
    ] {
        let record = sent(&event);
        let said = (&record["severityNumber"], &record["severityText"]);
        assert_eq!(said, (&json!(number), &json!(text)), "{event:?}");
    }
}

#[test]
fn a_finding_has_one_id_from_new_to_cleared() {
    let id = |event: Event| attribute(&sent(&event), "bartizan.finding.id")["stringValue"].clone();
    let concern = bartizan_posture::Concern::Unseen;
    let new = crate::follow::found(concern, "in the file");
    let cleared = crate::follow::cleared(concern, "seen at last");
    assert_eq!(id(new.clone()), id(cleared));
    let mut other = new.clone();
    other.link = Some(link());
    assert_ne!(id(new), id(other));
}

#[test]
fn the_resource_names_program_version_host_and_taps() {
    let resource: Value = serde_json::from_str(&resource("1.2.3", "tap1", &["eth0", "eth1"])).unwrap();
    for (key, value) in [
        ("service.name", "bartizan"),
        ("service.version", "1.2.3"),
        ("service.instance.id", "tap1:eth0,eth1"),
        ("host.name", "tap1"),
    ] {
        assert_eq!(attribute(&resource, key), &json!({ "stringValue": value }), "{key}");
    }
    let taps = attribute(&resource, "bartizan.taps");
    assert_eq!(taps["arrayValue"]["values"][1], json!({ "stringValue": "eth1" }));
}

#[test]
fn sums_are_monotonic_and_cumulative_since_the_beginning_and_gauges_are_of_now() {
    let mut packets = Metric::sum("packets", "Packets read");
    packets.count(&[("source", "eth0"), ("direction", "in")], u64::MAX);
    let mut view = Metric::gauge("view_seconds", "How long it took");
    view.real(&[], 0.25);
    let none = Metric::gauge("live", "Connections");
    let since = Duration::from_secs(1_700_000_000);
    let request = metrics(&resource("1", "h", &[]), &[packets, view, none], since, AT);
    let request: Value = serde_json::from_str(&request).unwrap();
    let written = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        .as_array()
        .unwrap();
    assert_eq!(written.len(), 2, "a metric without values is left out");
    assert_eq!(
        written[0],
        json!({ "name": "bartizan_inspect_packets", "description": "Packets read", "sum": {
            "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [{
                "attributes": [
                    { "key": "source", "value": { "stringValue": "eth0" } },
                    { "key": "direction", "value": { "stringValue": "in" } },
                ],
                "startTimeUnixNano": "1700000000000000000", "timeUnixNano": "1800000000123456789",
                "asInt": "9223372036854775807",
            }],
        } })
    );
    assert_eq!(
        written[1]["gauge"]["dataPoints"][0],
        json!({ "attributes": [], "timeUnixNano": "1800000000123456789", "asDouble": 0.25 })
    );
}

#[test]
fn no_sum_begins_after_its_time_where_the_clock_was_set_back() {
    let mut packets = Metric::sum("packets", "Packets read");
    packets.count(&[], 1);
    let request = metrics(&resource("1", "h", &[]), &[packets], AT + Duration::from_secs(3600), AT);
    let request: Value = serde_json::from_str(&request).unwrap();
    let point = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"][0];
    assert_eq!(point["startTimeUnixNano"], point["timeUnixNano"]);
}

proptest! {
    #[test]
    fn whatever_names_a_link_has_the_request_is_json_with_the_line_unchanged(source in ".*", one in ".*", words in ".*") {
        let mut event = Event::of(&source, "link-seen", words.clone()).with("because", words);
        event.link = Some(LinkName { ends: [one.clone(), source.clone()], interface: None, service: None, path: None });
        let line = serde_json::to_string(&event::json(&event, 7, AT)).unwrap();
        let record = sent(&event);
        prop_assert_eq!(record["body"]["stringValue"].as_str().unwrap(), line);
        prop_assert_eq!(attribute(&record, "bartizan.link.one")["stringValue"].as_str().unwrap(), one);
    }
}
