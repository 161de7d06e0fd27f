//! Events and metrics as OTLP 1.x in its JSON encoding: bodies of `POST /v1/logs` and `POST /v1/metrics`.
//!
//! The encoding is that of proto3 with the exceptions of the OTLP specification: names in
//! lowerCamelCase, 64-bit integers as strings, enumerations as numbers. Names of attributes are
//! those of OpenTelemetry's semantic conventions where these have one, and begin with `bartizan.`
//! else.

mod logs;
mod metrics;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};

pub use logs::{log_record, logs};
pub use metrics::metrics;

/// Name of the instrumentation scope.
const SCOPE: &str = "bartizan.inspect.follow";

/// The sender: program, version, host, and what it listens at (`taps`, interfaces or files). A JSON
/// object. The instance is host and taps, so that it stays the same over restarts.
pub fn resource(version: &str, host: &str, taps: &[&str]) -> String {
    let taps_value: Vec<Value> = taps.iter().map(|tap| json!({ "stringValue": tap })).collect();
    json!({ "attributes": [
        string("service.name", "bartizan"),
        string("service.version", version),
        string("service.instance.id", &format!("{host}:{}", taps.join(","))),
        string("host.name", host),
        { "key": "bartizan.taps", "value": { "arrayValue": { "values": taps_value } } },
    ] })
    .to_string()
}

fn string(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// A 64-bit integer.
fn integer(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": signed(value).to_string() } })
}

/// OTLP's integers have a sign.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970, as `fixed64` is written.
fn nanoseconds(at: Duration) -> String {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX).to_string()
}
