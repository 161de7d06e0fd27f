//! Metrics in the text format of Prometheus.

use std::fmt;

use bartizan_inspect::follow::metric::{Kind, Metric, Number, Point};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Writes what it holds, as it was when it was made.
#[derive(Debug)]
pub(super) struct Exposition(pub(super) Vec<Metric>);

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for metric in self.0.iter().filter(|metric| !metric.points.is_empty()) {
            let kind = match metric.kind {
                Kind::Sum => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let help = format!("{}.", metric.help);
            let mut encoder = encoder.encode_descriptor(metric.name, &help, None, kind)?;
            for point in &metric.points {
                // An empty set of labels would be written as a pair of braces.
                if point.labels.is_empty() {
                    value(&mut encoder, metric.kind, point)?;
                } else {
                    value(&mut encoder.encode_family(&point.labels)?, metric.kind, point)?;
                }
            }
        }
        Ok(())
    }
}

fn value(encoder: &mut MetricEncoder<'_>, kind: Kind, point: &Point) -> fmt::Result {
    match (kind, point.number) {
        (Kind::Sum, Number::Whole(count)) => encoder.encode_counter::<NoLabelSet, _, u64>(&count, None),
        (Kind::Sum, Number::Real(real)) => encoder.encode_counter::<NoLabelSet, _, u64>(&real, None),
        (Kind::Gauge, Number::Whole(count)) => encoder.encode_gauge(&count),
        (Kind::Gauge, Number::Real(real)) => encoder.encode_gauge(&real),
    }
}
