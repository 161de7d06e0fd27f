//! Peers that come back all at once, after the sidecar was started again or after all connections were cut.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

use super::peers::{self, Peer, Served};
use super::stage::{self, PRODUCER, Papers, Places, Terms};
use super::{PATH, metric};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

const RESUMPTION: FactorKind = FactorKind {
    name: "resumption",
    about: "whether sessions may be resumed for an hour; peers then were connected before and offer theirs",
    levels: &["off", "on"],
};

const AFTER: FactorKind = FactorKind {
    name: "after",
    about: "what came before the storm: the sidecar was started again, or every connection was cut and the sidecar goes on",
    levels: &["restart", "cut"],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "storm",
    about: "Peers connect to a sidecar all at once and ask one thing each, and again after 200 ms where that fails.",
    factors: &[PATH, RESUMPTION, AFTER],
    parameters: &[ParameterKind {
        name: "peers",
        about: "peers, each with a source address of its own",
        default: Some(Default::Number(2000.0)),
    }],
    metrics: &[
        metric(
            "served-after",
            "ms",
            "from the beginning of the storm until a peer's request was answered, of each peer",
            Better::Lower,
        ),
        metric("all-served", "s", "until the last one was", Better::Lower),
        metric(
            "handshakes",
            "1/s",
            "peers over that time, theirs and the sidecar's work on the same machine",
            Better::Higher,
        ),
        metric(
            "failures",
            "attempts",
            "attempts that failed and were made again",
            Better::Lower,
        ),
        metric("resumed", "%", "peers whose session was resumed", Better::Higher),
        metric(
            "memory-high-water",
            "MB",
            "the most that was resident in the sidecar",
            Better::Lower,
        ),
        metric(
            "cpu",
            "s",
            "processor time of the sidecar during the storm",
            Better::Lower,
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

struct Storm {
    papers: Papers,
    places: Places,
    sidecar: std::path::PathBuf,
    peers: usize,
    _server: bartizan_host::Process,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let peers = setting.parameters.count("peers")?.clamp(1, 60_000);
    stage::room_for(peers)?;
    let places = Places::choose()?;
    Ok(Box::new(Storm {
        papers: Papers::make(setting.folder)?,
        places,
        sidecar: setting.tools.sidecar.clone(),
        peers,
        _server: stage::server(&setting.tools.own, places.server)?,
    }))
}

impl Workload for Storm {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let terms = Terms {
            path: PATH.of(trial.levels),
            resumption: RESUMPTION.of(trial.levels) == "on",
        };
        let restart = AFTER.of(trial.levels) == "restart";
        let start = || self.papers.sidecar(&self.sidecar, PRODUCER, &self.places, terms);
        let mut producer = start()?;
        let peer_terms = self.papers.peer(&self.places, terms)?;
        // Sessions are an endpoint's: without them one serves all.
        let one = peer_terms.endpoint()?;
        let endpoint = || {
            if terms.resumption {
                peer_terms.endpoint()
            } else {
                Ok(one.clone())
            }
        };
        let peers = (0..self.peers)
            .map(|number| Ok(Peer::new(number, endpoint()?)))
            .collect::<Result<Vec<_>, Error>>()?;
        let runtime = peers::runtime()?;
        let address = self.places.middle;
        if terms.resumption {
            runtime.block_on(sessions(&peers, address, trial.deadline))?;
        }
        if restart {
            stage::stop(producer)?;
            producer = start()?;
        }
        let before = stage::usage(&producer)?;
        let began = Instant::now();
        let served = runtime.block_on(peers::all(&peers, |peer| {
            peer.come_back(address, began, trial.deadline)
        }))?;
        let after = stage::usage(&producer)?;
        let observation = observe(&served, after, before.cpu);
        // Connections are closed while the runtime is there.
        runtime.block_on(async { drop(served) });
        drop(runtime);
        stage::stop(producer)?;
        Ok(observation)
    }
}

/// Every peer connects, asks once and leaves with what it may resume.
async fn sessions(peers: &[Peer], address: std::net::SocketAddr, deadline: Instant) -> Result<(), Error> {
    /// At a time: this is before the storm.
    const AT_ONCE: usize = 64;
    let mut connections = Vec::with_capacity(peers.len());
    for some in peers.chunks(AT_ONCE) {
        let began = Instant::now();
        connections.extend(peers::all(some, |peer| peer.come_back(address, began, deadline)).await?);
    }
    drop(connections);
    // Their ends arrive at the sidecar.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    Ok(())
}

fn observe(served: &[Served], after: bartizan_testing::Usage, spent_before: std::time::Duration) -> Observation {
    let mut observation = Observation::default();
    let waits: Vec<_> = served.iter().map(|one| one.after.as_secs_f64() * 1e3).collect();
    let last = waits.iter().copied().fold(0.0, f64::max) / 1e3;
    let resumed = served.iter().filter(|one| one.resumed).count() as f64;
    let failures: usize = served.iter().map(|one| one.failures.len()).sum();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for failure in served.iter().flat_map(|one| &one.failures) {
        *reasons.entry(failure).or_default() += 1;
    }
    observation.values.extend([
        ("served-after", waits),
        ("all-served", vec![last]),
        ("handshakes", vec![served.len() as f64 / last.max(f64::MIN_POSITIVE)]),
        ("failures", vec![failures as f64]),
        ("resumed", vec![100.0 * resumed / served.len().max(1) as f64]),
        ("memory-high-water", vec![after.peak_resident as f64 / 1e6]),
        ("cpu", vec![after.cpu.saturating_sub(spent_before).as_secs_f64()]),
    ]);
    observation.facts.insert("peers".to_owned(), Value::from(served.len()));
    let reasons = reasons
        .into_iter()
        .take(8)
        .map(|(reason, count)| (reason.to_owned(), Value::from(count)));
    observation
        .facts
        .insert("failed_by".to_owned(), Value::Object(reasons.collect()));
    observation
}
