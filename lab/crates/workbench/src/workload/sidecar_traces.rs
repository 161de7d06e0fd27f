//! Cost of spans for requests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::stand_in::proxies::{Mode, Papers, Proxy, Server, Tools, Traced};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

const TRACES: FactorKind = FactorKind {
    name: "traces",
    about: "off; passed: off, with traceparent in each request; begun for one in a hundred requests; for all",
    levels: &["off", "passed", "hundredth", "all"],
};

pub(super) static KIND: Kind = Kind {
    name: "sidecar-traces",
    about: "Requests through two sidecars by the http2 path that send a span each for none, some or all of them to a collector on the same machine, which \
            takes and counts them.",
    factors: &[TRACES],
    parameters: &[
        ParameterKind {
            name: "requests",
            about: "requests in a trial with 16 under way at once",
            default: Some(Default::Number(5000.0)),
        },
        ParameterKind {
            name: "one-by-one",
            about: "requests one after the other in a trial, after twenty that warm up",
            default: Some(Default::Number(500.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "latency",
            unit: "us",
            about: "of a request, one after the other on a connection that is kept",
            better: Better::Lower,
        },
        MetricKind {
            name: "throughput",
            unit: "requests/s",
            about: "requests answered in a second, with 16 under way on one connection",
            better: Better::Higher,
        },
        MetricKind {
            name: "cpu",
            unit: "us",
            about: "processor time of both sidecars together for a request, the threads that send spans included",
            better: Better::Lower,
        },
        MetricKind {
            name: "spans",
            unit: "",
            about: "spans that the collector got, for each request; two sidecars send two where none is lost",
            better: Better::Higher,
        },
    ],
    targets: Targets::Own,
    lacks: |_, _| None,
    start,
};

/// One pair for each level; all are warm.
struct Pairs {
    // Dropped before the server, which they lead to.
    pairs: BTreeMap<String, Traced>,
    _server: Server,
    processors: Vec<usize>,
    requests: u64,
    one_by_one: usize,
    programs: Vec<String>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    bartizan_machine::pin_this_thread(setting.processors)?;
    let tools: &Tools = setting.tools;
    let server = Server::start(tools)?;
    let papers = Papers::make(setting.folder, Mode::PostQuantum)?;
    let mut pairs = BTreeMap::new();
    for levels in setting.combinations {
        let level = TRACES.of(levels);
        let asked = match level {
            "hundredth" => (Some("0.01"), false),
            "all" => (Some("1"), false),
            other => (None, other == "passed"),
        };
        if let Entry::Vacant(free) = pairs.entry(level.to_owned()) {
            let folder = setting.folder.join(level);
            free.insert(Traced::start(tools, &papers, server.address, asked, &folder)?);
        }
    }
    Ok(Box::new(Pairs {
        pairs,
        _server: server,
        processors: setting.processors.to_vec(),
        requests: setting.parameters.count("requests")? as u64,
        one_by_one: setting.parameters.count("one-by-one")?,
        programs: tools.version(Proxy::Http2).into_iter().collect(),
    }))
}

impl Workload for Pairs {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        bartizan_machine::pin_this_thread(&self.processors)?;
        let pair = self.pairs.get(TRACES.of(trial.levels));
        let pair = pair.ok_or_else(|| Error::Configuration("no such pair".to_owned()))?;
        let latencies = pair.latencies(self.one_by_one)?;
        let took = pair.requests(self.requests)?;
        let mut observation = Observation::default();
        let mut put = |metric, samples| {
            observation.values.insert(metric, samples);
        };
        put(
            "latency",
            latencies.iter().map(|took| took.as_nanos() as f64 / 1e3).collect(),
        );
        put("throughput", vec![took.per_second]);
        put("cpu", vec![took.cpu.as_secs_f64() * 1e6]);
        put("spans", vec![took.spans]);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}
