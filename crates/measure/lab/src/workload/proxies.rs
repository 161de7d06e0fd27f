//! A pair of proxies between a client and a server, ours beside others: the trials of `bartizan bench` as workloads.
//!
//! Every pair is started before the first trial and stays warm; a trial puts client, pair and server onto the processors of its
//! placement. A pair that fails is started anew for its next trial.

mod kinds;
mod sites;

use serde_json::Value;

use crate::bench::{Cpu, Level, Measured, Mode, Placement, Proxy, Route, Tools};
use crate::runner::experiment::Levels;
use crate::workload::{Error, Lack, Observation};

pub(super) use kinds::{HANDSHAKES, LATENCY, MEMORY, NEW_CONNECTION, THROUGHPUT};

/// The factors of every kind, as an experiment's file has them.
const PROXY: &str = "proxy";
const MODE: &str = "mode";
const PLACEMENT: &str = "placement";
const STREAMS: &str = "streams";
/// The route without proxies, and the mode that it has.
const DIRECT: &str = "direct";
const CLEAR: &str = "clear";

/// What lies between client and server in a combination.
fn route(levels: &Levels) -> Result<Route, Error> {
    let named = |factor: &str| levels.level(factor).unwrap_or_default();
    let unfit = |what: &str| Error::Configuration(format!("{what} of {levels}"));
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == named(MODE));
    match (named(PROXY), mode) {
        // The first levels, where a factor is not varied.
        (DIRECT | "", None) if matches!(named(MODE), CLEAR | "") => Ok(Route::Direct),
        (DIRECT | "", _) => Err(unfit("the direct route has only the mode clear, not that")),
        (proxy, Some(mode)) => {
            let proxy = Proxy::ALL.into_iter().find(|known| known.name() == proxy);
            Ok(Route::Through(proxy.ok_or_else(|| unfit("no such proxy, that"))?, mode))
        }
        (_, None) => Err(unfit("a pair of proxies needs a mode, not that")),
    }
}

fn placement(levels: &Levels) -> Placement {
    let named = Placement::ALL
        .into_iter()
        .find(|placement| Some(placement.name()) == levels.level(PLACEMENT));
    named.unwrap_or(Placement::OneCore)
}

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let Ok(Route::Through(proxy, _)) = route(levels) else {
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
fn observation(measured: Measured, route: Route) -> Result<Observation, Error> {
    let mut observation = Observation::default();
    let mut put = |metric, samples| {
        observation.values.insert(metric, samples);
    };
    match measured {
        Measured::Failed { error } => return Err(Error::Protocol(error)),
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
        Measured::Ledger { .. } => {}
    }
    if let Route::Through(proxy, _) = route {
        let level = match proxy.level() {
            Level::Bytes => "bytes",
            Level::Requests => "requests",
        };
        observation.facts.insert("level".to_owned(), Value::from(level));
    }
    Ok(observation)
}

/// Seconds of processor time of both proxies together, for a thousand requests.
fn per_thousand(cpu: Cpu, requests: u64) -> f64 {
    (cpu.consumer_ns + cpu.producer_ns) as f64 / 1e9 / requests.max(1) as f64 * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combination_is_a_way_or_is_refused() {
        let levels = |proxy: &str, mode: &str| Levels::default().with(PROXY, proxy).with(MODE, mode);
        assert_eq!(route(&levels(DIRECT, CLEAR)).unwrap(), Route::Direct);
        let pair = route(&levels("splice", "post-quantum")).unwrap();
        assert_eq!(pair, Route::Through(Proxy::Splice, Mode::PostQuantum));
        for (proxy, mode) in [(DIRECT, "classical"), ("splice", CLEAR), ("other", "classical")] {
            assert!(route(&levels(proxy, mode)).is_err(), "{proxy} {mode}");
        }
    }

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
