//! Requests through sidecars that hostile others share.

use crate::stand_in::proxies::{Arena, Hostility, Proxy, Tools};
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

const PROXY: &str = "proxy";
const HOSTILITY: &str = "hostility";

pub(super) static KIND: Kind = Kind {
    name: "proxies-hostile",
    about: "Requests of a consumer to a producer, one after the other, while a program that shares a sidecar with them is hostile.",
    factors: &[
        FactorKind {
            name: PROXY,
            about: "the path of the sidecars",
            levels: &["splice", "http2"],
        },
        FactorKind {
            name: HOSTILITY,
            about: "what is hostile: nothing, another consumer of the producer, another producer of the consumer, connections that never \
                    authenticate, a peer of another interface",
            levels: &["quiet", "consumer", "producer", "unauthenticated", "neighbour"],
        },
    ],
    parameters: &[ParameterKind {
        name: "requests",
        about: "requests of a trial, after twenty that warm up",
        default: Some(Default::Number(500.0)),
    }],
    metrics: &[
        MetricKind {
            name: "latency",
            unit: "us",
            about: "of a request, on a connection that is kept",
            better: Better::Lower,
        },
        MetricKind {
            name: "p99",
            unit: "us",
            about: "99th percentile of the requests of a trial, by nearest rank",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

struct Hostile {
    arena: Arena,
    requests: usize,
    programs: Vec<String>,
}

fn path(levels: &Levels) -> Result<Proxy, Error> {
    let name = levels.level(PROXY).unwrap_or("splice");
    Proxy::named(name).ok_or_else(|| Error::Configuration(format!("no path {name}")))
}

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let path = path(levels).ok()?;
    let missing = tools.missing(path)?;
    Some(Lack {
        what: path.name().to_owned(),
        reason: missing.reason,
        hint: missing.hint,
        feature: None,
    })
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let paths = setting.combinations.iter().map(path);
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.sort_unstable();
    paths.dedup();
    Ok(Box::new(Hostile {
        arena: Arena::start(setting.tools, &paths, setting.folder, setting.processors)?,
        requests: setting.parameters.count("requests")?,
        programs: setting.tools.version(Proxy::Http2).into_iter().collect(),
    }))
}

impl Workload for Hostile {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let name = trial.levels.level(HOSTILITY).unwrap_or("quiet");
        let hostility = Hostility::named(name).ok_or_else(|| Error::Configuration(format!("no hostility {name}")))?;
        let taken = self.arena.trial(path(trial.levels)?, hostility, self.requests)?;
        let latencies: Vec<f64> = taken.iter().map(|took| took.as_nanos() as f64 / 1e3).collect();
        let mut observation = Observation::default();
        observation
            .values
            .insert("p99", percentile(&latencies, 99).into_iter().collect());
        observation.values.insert("latency", latencies);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

/// By nearest rank.
fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
    sorted.get(rank).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_99th_percentile_is_the_least_value_that_99_of_100_do_not_exceed() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&values, 99), Some(198.0));
        assert_eq!(percentile(&[3.0], 99), Some(3.0));
        assert_eq!(percentile(&[], 99), None);
    }
}
