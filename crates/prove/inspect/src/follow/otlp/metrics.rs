//! Metrics as sums and gauges.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SCOPE, nanoseconds, signed, string};
use crate::follow::metric::{Kind, Metric, Number, PREFIX, Point};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// The body of a request with these metrics as they are `at` this time since 1970. Sums count from
/// `since`. Metrics without values are left out.
pub fn metrics(resource: &str, metrics: &[Metric], since: Duration, at: Duration) -> String {
    // A clock that was set back: no point may begin after its own time.
    let since = since.min(at);
    let written = metrics.iter().filter(|metric| !metric.points.is_empty());
    let written: Vec<Value> = written.map(|metric| one(metric, since, at)).collect();
    format!(
        r#"{{"resourceMetrics":[{{"resource":{resource},"scopeMetrics":[{{"scope":{{"name":"{SCOPE}"}},"metrics":{}}}]}}]}}"#,
        Value::Array(written)
    )
}

fn one(metric: &Metric, since: Duration, at: Duration) -> Value {
    let points: Vec<Value> = metric
        .points
        .iter()
        .map(|point| data_point(metric.kind, point, since, at))
        .collect();
    let (name, help) = (format!("{PREFIX}_{}", metric.name), metric.help);
    match metric.kind {
        Kind::Sum => json!({ "name": name, "description": help, "sum": {
            "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points,
        } }),
        Kind::Gauge => json!({ "name": name, "description": help, "gauge": { "dataPoints": points } }),
    }
}

fn data_point(kind: Kind, point: &Point, since: Duration, at: Duration) -> Value {
    let attributes: Vec<Value> = point.labels.iter().map(|(name, value)| string(name, value)).collect();
    let mut written = json!({ "attributes": attributes, "timeUnixNano": nanoseconds(at) });
    if kind == Kind::Sum {
        written["startTimeUnixNano"] = nanoseconds(since).into();
    }
    match point.number {
        Number::Whole(whole) => written["asInt"] = signed(whole).to_string().into(),
        Number::Real(real) => written["asDouble"] = real.into(),
    }
    written
}
