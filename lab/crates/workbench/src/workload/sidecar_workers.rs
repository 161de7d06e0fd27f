//! Capacity of a sidecar with one worker and with two, each with a fixed share of a processor.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use nix::unistd::geteuid;
use serde_json::Value;

use crate::stand_in::proxies::{Crowd, Mode, Papers, Proxy, Server, Tools};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, Levels, MetricKind, Observation, ParameterKind, Setting, Targets,
    Trial, Workload,
};

const PATH: FactorKind = FactorKind {
    name: "path",
    about: "the path of both sidecars",
    levels: &["splice", "http2"],
};
const WORKERS: FactorKind = FactorKind {
    name: "workers",
    about: "of the producer's sidecar, which is measured",
    levels: &["1", "2", "4"],
};

pub(super) static KIND: Kind = Kind {
    name: "sidecar-workers",
    about: "Requests of eight connections and full handshakes of eight peers through a producer's sidecar whose workers, and whose threads of \
            handshakes, have a fixed share of a processor each; and requests one after the other, without that bound.",
    factors: &[PATH, WORKERS],
    parameters: &[
        ParameterKind {
            name: "requests",
            about: "requests of each of the eight connections in a trial",
            default: Some(Default::Number(1500.0)),
        },
        ParameterKind {
            name: "handshakes",
            about: "handshakes of each of the eight peers in a trial",
            default: Some(Default::Number(40.0)),
        },
        ParameterKind {
            name: "one-by-one",
            about: "requests one after the other in a trial, after twenty that warm up",
            default: Some(Default::Number(200.0)),
        },
        ParameterKind {
            name: "share",
            about: "of a processor that each worker, and each thread of handshakes, may use, in percent",
            default: Some(Default::Number(10.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "throughput",
            unit: "requests/s",
            about: "requests answered in a second, with 16 under way on each of eight connections",
            better: Better::Higher,
        },
        MetricKind {
            name: "cpu",
            unit: "s per 1000 requests",
            about: "processor time of the measured sidecar, all its threads together",
            better: Better::Lower,
        },
        MetricKind {
            name: "busiest",
            unit: "",
            about: "time on a processor of the worker that had most of it while requests passed, over the mean of all workers",
            better: Better::Lower,
        },
        MetricKind {
            name: "handshakes",
            unit: "handshakes/s",
            about: "full handshakes in a second, of eight peers at once",
            better: Better::Higher,
        },
        MetricKind {
            name: "latency",
            unit: "us",
            about: "of a request, one after the other on a connection that is kept, without a bound",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(_: &Levels, _: &Tools) -> Option<Lack> {
    (!geteuid().is_root()).then(|| Lack {
        what: "a bound for threads".to_owned(),
        reason: "control groups belong to root".to_owned(),
        hint: "run it as root".to_owned(),
        feature: None,
    })
}

/// One pair for each path and number of workers; all are warm.
struct Crowds {
    // Dropped before the server, which they lead to.
    crowds: BTreeMap<(Proxy, usize), Crowd>,
    _server: Server,
    processors: Vec<usize>,
    requests: u64,
    handshakes: u64,
    one_by_one: usize,
    share: f64,
    programs: Vec<String>,
}

fn combination(levels: &Levels) -> Result<(Proxy, usize), Error> {
    let (path, workers) = (PATH.of(levels), WORKERS.of(levels));
    let found = Proxy::named(path).zip(workers.parse().ok());
    found.ok_or_else(|| Error::Configuration(format!("no path {path} with {workers} workers")))
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let share = setting.parameters.number("share")?;
    if !(1.0..=50.0).contains(&share) {
        return Err(Error::Configuration(format!(
            "share is {share}: it is from 1 to 50 percent"
        )));
    }
    bartizan_machine::pin_this_thread(setting.processors)?;
    let server = Server::start(setting.tools)?;
    let papers = Papers::make(setting.folder, Mode::PostQuantum)?;
    let mut crowds = BTreeMap::new();
    for levels in setting.combinations {
        let (path, workers) = combination(levels)?;
        if let Entry::Vacant(free) = crowds.entry((path, workers)) {
            let folder = setting.folder.join(format!("{}-{workers}", path.name()));
            free.insert(Crowd::start(
                setting.tools,
                (path, workers),
                &papers,
                server.address,
                &folder,
            )?);
        }
    }
    Ok(Box::new(Crowds {
        crowds,
        _server: server,
        processors: setting.processors.to_vec(),
        requests: setting.parameters.count("requests")? as u64,
        handshakes: setting.parameters.count("handshakes")? as u64,
        one_by_one: setting.parameters.count("one-by-one")?,
        share: share / 100.0,
        programs: setting.tools.version(Proxy::Http2).into_iter().collect(),
    }))
}

impl Workload for Crowds {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        bartizan_machine::pin_this_thread(&self.processors)?;
        let combination = combination(trial.levels)?;
        let crowd = self.crowds.get(&combination);
        let crowd = crowd.ok_or_else(|| Error::Configuration("no such pair".to_owned()))?;
        let latencies = crowd.latencies(self.one_by_one)?;
        let requests = crowd.requests(self.requests, self.share)?;
        let handshakes = crowd.handshakes(self.handshakes, self.share)?;
        let mut observation = Observation::default();
        let mut put = |metric, samples| {
            observation.values.insert(metric, samples);
        };
        put(
            "latency",
            latencies.iter().map(|took| took.as_nanos() as f64 / 1e3).collect(),
        );
        put("throughput", vec![requests.per_second]);
        put("cpu", vec![requests.cpu.as_secs_f64() * 1e3]);
        put("busiest", vec![busiest(&requests.of_threads)]);
        put("handshakes", vec![handshakes.per_second]);
        for (name, times) in [
            ("workers", requests.of_threads),
            ("threads of handshakes", handshakes.of_threads),
        ] {
            let milliseconds: Vec<_> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
            let fact = format!("ms on a processor of the {name}");
            observation.facts.insert(fact, Value::from(milliseconds));
        }
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

/// The most over the mean.
fn busiest(times: &[Duration]) -> f64 {
    let most = times.iter().max().copied().unwrap_or_default();
    let mean = times.iter().sum::<Duration>().as_secs_f64() / times.len().max(1) as f64;
    most.as_secs_f64() / mean.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_of_workers_that_do_the_same_has_the_mean() {
        let times = |milliseconds: &[u64]| {
            milliseconds
                .iter()
                .copied()
                .map(Duration::from_millis)
                .collect::<Vec<_>>()
        };
        assert!((busiest(&times(&[30, 30])) - 1.0).abs() < 1e-9);
        assert!((busiest(&times(&[60, 0])) - 2.0).abs() < 1e-9);
        assert!((busiest(&times(&[7])) - 1.0).abs() < 1e-9);
    }
}
