//! A pair of proxies between a client and a server, ours compared with others: the trials of
//! `bartizan bench` and of others.
//!
//! Every pair is started before the first trial and stays warm; a trial puts client, pair and
//! server onto the processors of its placement. A pair that fails is started anew for its next
//! trial.

mod kinds;
mod levels;
mod sites;

use serde_json::Value;

use crate::stand_in::proxies::{Cpu, Level, Measured, Route, Tools};
use crate::workload::Levels;
use crate::workload::{Lack, Observation};

pub(super) use kinds::{HANDSHAKES, LATENCY, MEMORY, NEW_CONNECTION, THROUGHPUT};

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let Ok(Route::Through(proxy, _)) = Route::of(levels) else {
        return None;
    };
    let missing = tools.missing(proxy)?;
    Some(Lack {
        what: proxy.name().to_owned(),
        reason: missing.reason,
        hint: missing.hint,
        feature: None,
    })
}

/// A trial of the bench, in the units of the metrics.
fn observation(measured: Measured, route: Route) -> Observation {
    let mut observation = Observation::default();
    let mut put = |metric, samples| {
        observation.values.insert(metric, samples);
    };
    match measured {
        Measured::Latencies {
            latencies_ns,
            cpu,
            requests,
        } => {
            put(
                "latency",
                latencies_ns.iter().map(|&nanos| nanos as f64 / 1e3).collect(),
            );
            put("cpu", cpu.map(|cpu| per_thousand(cpu, requests)).into_iter().collect());
        }
        Measured::Load {
            requests,
            elapsed_ns,
            cpu,
            ..
        } => {
            put("throughput", vec![requests as f64 * 1e9 / elapsed_ns.max(1) as f64]);
            put("cpu", cpu.map(|cpu| per_thousand(cpu, requests)).into_iter().collect());
        }
        Measured::Handshakes {
            handshakes,
            server_cpu_ns,
            ..
        } => put(
            "handshakes",
            vec![handshakes as f64 * 1e9 / server_cpu_ns.max(1) as f64],
        ),
        Measured::Memory {
            consumer_bytes,
            producer_bytes,
            ..
        } => {
            let megabytes = |bytes: u64| vec![bytes as f64 / 1e6];
            put("memory", megabytes(consumer_bytes.max(producer_bytes)));
            put("memory-consumer", megabytes(consumer_bytes));
            put("memory-producer", megabytes(producer_bytes));
        }
    }
    if let Route::Through(proxy, _) = route {
        let level = match proxy.level() {
            Level::Bytes => "bytes",
            Level::Requests => "requests",
        };
        observation.facts.insert("level".to_owned(), Value::from(level));
    }
    observation
}

/// Seconds of processor time of both proxies together, for a thousand requests.
fn per_thousand(cpu: Cpu, requests: u64) -> f64 {
    (cpu.consumer_ns + cpu.producer_ns) as f64 / 1e9 / requests.max(1) as f64 * 1e3
}

#[cfg(test)]
mod tests {
    use super::levels::PROXY;
    use super::*;
    use crate::stand_in::proxies::Proxy;

    #[test]
    fn processor_time_is_per_thousand_requests_of_both_proxies() {
        let cpu = Cpu {
            consumer_ns: 3_000_000,
            producer_ns: 5_000_000,
        };
        assert!((per_thousand(cpu, 100) - 0.08).abs() < 1e-12);
    }

    #[test]
    fn every_proxy_is_a_level_of_every_kind() {
        for kind in [&LATENCY, &THROUGHPUT, &NEW_CONNECTION, &HANDSHAKES, &MEMORY] {
            let factor = kind.factor(PROXY).unwrap();
            for proxy in Proxy::ALL {
                assert!(factor.knows(proxy.name()), "{} {}", kind.name, proxy.name());
            }
        }
    }
}
