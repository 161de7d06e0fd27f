//! Events as log records.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{SCOPE, integer, nanoseconds, string};
use crate::follow::Event;
use crate::remedy::Severity;

/// `SeverityNumber` of OTLP, and the word that is written with it.
const INFORMATION: (u8, &str) = (9, "information");
const WARNING: (u8, &str) = (13, "warning");
const MEDIUM: u8 = 13;
const HIGH: u8 = 17;
const CRITICAL: u8 = 18;

/// An event as a log record, a JSON object: reported `at` since 1970, as the `sequence`-th, and as
/// `line` of schema `bartizan-events/1`, which is the body. `id` is the same however often it is
/// sent.
pub fn log_record(event: &Event, line: &str, id: &str, sequence: u64, at: Duration) -> String {
    let (number, text) = severity(event);
    let occurred = event.packet_ns.map_or(at, Duration::from_nanos);
    let mut attributes = vec![
        string("log.record.uid", id),
        string("bartizan.event", event.name),
        integer("bartizan.sequence", sequence),
    ];
    let mut add = |key: &str, value: Option<&str>| attributes.extend(value.map(|value| string(key, value)));
    add("bartizan.source", event.source.as_deref());
    if let Some(link) = &event.link {
        let [one, other] = &link.ends;
        add("bartizan.interface", link.interface);
        add("bartizan.link.one", Some(one));
        add("bartizan.link.other", Some(other));
        add("bartizan.link.path", link.path.as_deref());
    }
    for name in ["confidentiality", "authenticity"] {
        add(&format!("bartizan.{name}"), verdict(&event.fields, name));
    }
    let concern = field(&event.fields, "concern");
    if let Some(concern) = concern {
        add("bartizan.finding.id", Some(&finding(event, concern)));
        add("bartizan.finding.concern", Some(concern));
        add("bartizan.finding.state", field(&event.fields, "state"));
        add("bartizan.finding.severity", field(&event.fields, "severity"));
    }
    json!({
        "timeUnixNano": nanoseconds(occurred),
        "observedTimeUnixNano": nanoseconds(at),
        "severityNumber": number,
        "severityText": text,
        "eventName": format!("bartizan.inspect.{}", event.name),
        "body": { "stringValue": line },
        "attributes": attributes,
    })
    .to_string()
}

/// The body of a request with these log records, all of one resource.
pub fn logs<R: AsRef<str>>(resource: &str, records: &[R]) -> String {
    let records: Vec<&str> = records.iter().map(AsRef::as_ref).collect();
    format!(
        r#"{{"resourceLogs":[{{"resource":{resource},"scopeLogs":[{{"scope":{{"name":"{SCOPE}"}},"logRecords":[{}]}}]}}]}}"#,
        records.join(",")
    )
}

/// By the kind of event; of a finding by what it is worth while it stands.
fn severity(event: &Event) -> (u8, &str) {
    match (event.name, field(&event.fields, "severity")) {
        (_, Some(severity)) if field(&event.fields, "state") == Some("new") => {
            let number = match severity {
                word if word == Severity::Critical.name() => CRITICAL,
                word if word == Severity::High.name() => HIGH,
                _ => MEDIUM,
            };
            (number, severity)
        }
        ("loss" | "ceiling" | "interface-down" | "source-failed", _) => WARNING,
        _ => INFORMATION,
    }
}

/// Identity of a finding from `new` to `cleared`: one stands at a time for a source, link and
/// concern.
fn finding(event: &Event, concern: &str) -> String {
    let source = event.source.as_deref().unwrap_or("-");
    match &event.link {
        Some(name) => {
            let [one, other] = &name.ends;
            let (interface, path) = (name.named(), name.path.as_deref().unwrap_or("-"));
            format!("{concern}|{source}|{interface}|{one}|{other}|{path}")
        }
        None => format!("{concern}|{source}"),
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

fn verdict<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let value = fields.get(name)?;
    value.get("verdict").unwrap_or(value).as_str()
}
