//! Connections that are held and say nothing: what they cost in memory, processor time and the latency of others.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpStream;

use super::peers::{self, Peer};
use super::stage::{self, CONSUMER, PRODUCER, Papers, Places, Terms};
use super::{PATH, metric};
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

const HELD: FactorKind = FactorKind {
    name: "held",
    about: "mTLS connections that peers hold open at the producer's sidecar while one request at a time passes on another",
    levels: &[],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "hold",
    about: "Peers hold mTLS connections open at a sidecar; what they cost it, and the requests that pass meanwhile.",
    factors: &[PATH, HELD],
    parameters: &[
        ParameterKind {
            name: "requests",
            about: "requests one after the other through the pair of sidecars while the connections are held",
            default: Some(Default::Number(200.0)),
        },
        ParameterKind {
            name: "idle",
            about: "how long the sidecar is watched while nothing happens, in milliseconds",
            default: Some(Default::Number(1000.0)),
        },
    ],
    metrics: &[
        metric(
            "memory",
            "MB",
            "resident in the producer's sidecar with its connections",
            Better::Lower,
        ),
        metric(
            "memory-per-connection",
            "kB",
            "what it grew by since it was started, over the connections held",
            Better::Lower,
        ),
        metric(
            "latency",
            "ms",
            "a request through both sidecars on a kept connection, from sending it until its answer is whole",
            Better::Lower,
        ),
        metric(
            "idle-cpu",
            "ms/s",
            "processor time of the producer's sidecar per second in which nothing happens",
            Better::Lower,
        ),
        metric(
            "handshakes",
            "1/s",
            "full handshakes per second while the connections were made, peers and sidecar on the same machine",
            Better::Higher,
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

/// Handshakes under way at a time.
const AT_ONCE: usize = 32;

struct Hold {
    papers: Papers,
    places: Places,
    sidecar: std::path::PathBuf,
    requests: usize,
    idle: Duration,
    _server: bartizan_host::Process,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let held = setting.combinations.iter().map(held).collect::<Result<Vec<_>, _>>()?;
    let most = held.into_iter().max().unwrap_or(0);
    stage::room_for(most)?;
    let places = Places::choose()?;
    Ok(Box::new(Hold {
        papers: Papers::make(setting.folder)?,
        places,
        sidecar: setting.tools.sidecar.clone(),
        requests: setting.parameters.count("requests")?,
        idle: Duration::from_secs_f64(setting.parameters.number("idle")?.clamp(100.0, 60_000.0) / 1e3),
        _server: stage::server(&setting.tools.own, places.server)?,
    }))
}

fn held(levels: &Levels) -> Result<usize, Error> {
    let held = levels.level(HELD.name).unwrap_or("1");
    held.parse()
        .map_err(|_| Error::Configuration(format!("`held` is a whole number, not {held}")))
}

impl Workload for Hold {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let terms = Terms {
            path: PATH.of(trial.levels),
            resumption: false,
        };
        let wanted = held(trial.levels)?;
        let producer = self.papers.sidecar(&self.sidecar, PRODUCER, &self.places, terms)?;
        let consumer = self.papers.sidecar(&self.sidecar, CONSUMER, &self.places, terms)?;
        let before = stage::usage(&producer)?;
        let peer_terms = self.papers.peer(&self.places, terms)?;
        let endpoint = peer_terms.endpoint()?;
        // One endpoint is enough: nothing is resumed.
        let peers: Vec<_> = (0..wanted).map(|number| Peer::new(number, endpoint.clone())).collect();
        let runtime = peers::runtime()?;
        let mut observation = runtime.block_on(async {
            let began = Instant::now();
            let mut connections = Vec::with_capacity(wanted);
            for some in peers.chunks(AT_ONCE) {
                if Instant::now() > trial.deadline {
                    return Err(Error::Configuration(format!(
                        "the bound is too short: {} of {wanted} connections are there",
                        connections.len()
                    )));
                }
                connections.extend(peers::all(some, |peer| peer.connect(self.places.middle)).await?);
            }
            let elapsed = began.elapsed();
            let mut observation = Observation::default();
            observation.values.insert("latency", self.requests().await?);
            let still = stage::usage(&producer)?;
            tokio::time::sleep(self.idle).await;
            let after = stage::usage(&producer)?;
            let lost = connections.iter().filter(|held| !held.is_open()).count();
            if lost > 0 {
                return Err(Error::Handshake(format!("{lost} of {wanted} connections did not stay")));
            }
            let grown = after.resident.saturating_sub(before.resident) as f64;
            let spent = after.cpu.saturating_sub(still.cpu).as_secs_f64();
            observation.values.extend([
                ("memory", vec![after.resident as f64 / 1e6]),
                ("memory-per-connection", vec![grown / 1e3 / wanted.max(1) as f64]),
                ("idle-cpu", vec![spent * 1e3 / self.idle.as_secs_f64()]),
                ("handshakes", vec![wanted as f64 / elapsed.as_secs_f64()]),
            ]);
            observation
                .facts
                .insert("before_bytes".to_owned(), Value::from(before.resident));
            Ok(observation)
        })?;
        drop(runtime);
        observation.facts.insert("held".to_owned(), Value::from(wanted));
        stage::stop(consumer)?;
        stage::stop(producer)?;
        Ok(observation)
    }
}

impl Hold {
    /// The latency of each request, in milliseconds, after a tenth that warms up.
    async fn requests(&self) -> Result<Vec<f64>, Error> {
        let address = self.places.entry;
        let failed = |source| Error::Connection { address, source };
        let stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let handshake = h2::client::handshake(stream).await;
        let (mut sender, connection): (h2::client::SendRequest<Bytes>, _) =
            handshake.map_err(|error| Error::Protocol(error.to_string()))?;
        let driver = tokio::spawn(connection);
        let warm_up = self.requests / 10 + 1;
        let mut latencies = Vec::with_capacity(self.requests);
        for index in 0..warm_up + self.requests {
            let began = Instant::now();
            peers::exchange(&mut sender, "/").await?;
            if index >= warm_up {
                latencies.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        driver.abort();
        Ok(latencies)
    }
}
