//! Answers from a kilobyte to a megabyte through a pair of sidecars.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_host::Process;
use bartizan_testing::Listening as _;
use bytes::Bytes;
use tokio::net::TcpStream;

use super::peers;
use super::stage::{self, CONSUMER, PRODUCER, Papers, Places, Terms};
use super::{lacks_openssl_root, metric};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

const PATH: FactorKind = FactorKind {
    name: "path",
    about: "the pair of sidecars between client and server, or nothing",
    levels: &["direct", "splice", "http2"],
};

const BYTES: FactorKind = FactorKind {
    name: "bytes",
    about: "of the body of each answer",
    levels: &[],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "body",
    about: "Requests for bodies of a size through a pair of sidecars, one at a time and several at once; nghttpd answers.",
    factors: &[PATH, BYTES],
    parameters: &[
        ParameterKind {
            name: "requests",
            about: "requests one after the other in a trial",
            default: Some(Default::Number(50.0)),
        },
        ParameterKind {
            name: "streams",
            about: "requests at a time where bytes per second are measured",
            default: Some(Default::Number(8.0)),
        },
    ],
    metrics: &[
        metric(
            "latency",
            "ms",
            "from sending a request until its whole body is there, one at a time on a kept connection",
            Better::Lower,
        ),
        metric(
            "throughput",
            "MB/s",
            "bytes of bodies per second with several requests at a time on one connection",
            Better::Higher,
        ),
        metric(
            "cpu",
            "ms",
            "processor time of both sidecars per request",
            Better::Lower,
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_openssl_root,
    start,
};

/// Windows of our client: larger than what is in flight, so that they are not what is measured.
const WINDOW: u32 = 16 << 20;
const LONGEST: usize = 64 << 20;

struct Body {
    requests: usize,
    streams: usize,
    server: SocketAddr,
    pairs: Vec<(String, Places, [Process; 2])>,
    _server: Process,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let documents = setting.folder.join("documents");
    fs::create_dir_all(&documents).map_err(Error::file(&documents))?;
    for levels in setting.combinations {
        let bytes = size(levels)?;
        let file = documents.join(bytes.to_string());
        fs::write(&file, vec![b'x'; bytes]).map_err(Error::file(&file))?;
    }
    let server = Places::choose()?.server;
    let root = setting.tools.root.as_ref();
    let root = root.ok_or_else(|| Error::Configuration("no lab root".to_owned()))?;
    let mut process = root
        .command("nghttpd")?
        .arguments(["--no-tls", "--address=127.0.0.1", "--htdocs"])
        .argument(&documents)
        .argument(server.port().to_string())
        .start()?;
    process.wait_for_port(server, Duration::from_secs(20))?;
    let papers = Papers::make(setting.folder)?;
    let mut pairs = Vec::new();
    for path in ["splice", "http2"] {
        if !setting.combinations.iter().any(|levels| PATH.of(levels) == path) {
            continue;
        }
        let places = Places {
            server,
            ..Places::choose()?
        };
        let terms = Terms {
            path,
            resumption: false,
        };
        let binary: &PathBuf = &setting.tools.sidecar;
        let producer = papers.sidecar(binary, PRODUCER, &places, terms)?;
        let consumer = papers.sidecar(binary, CONSUMER, &places, terms)?;
        pairs.push((path.to_owned(), places, [consumer, producer]));
    }
    Ok(Box::new(Body {
        requests: setting.parameters.count("requests")?.max(1),
        streams: setting.parameters.count("streams")?.clamp(1, 64),
        server,
        pairs,
        _server: process,
    }))
}

fn size(levels: &crate::workload::Levels) -> Result<usize, Error> {
    let bytes = levels.level(BYTES.name).unwrap_or("1024").parse();
    let bytes = bytes.ok().filter(|bytes| (1..=LONGEST).contains(bytes));
    bytes.ok_or_else(|| Error::Configuration(format!("`bytes` is a whole number up to {LONGEST}")))
}

impl Workload for Body {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let path = PATH.of(trial.levels);
        let bytes = size(trial.levels)?;
        let pair = self.pairs.iter().find(|(name, ..)| name == path);
        let entry = pair.map_or(self.server, |(_, places, _)| places.entry);
        let spent = || {
            let processes = pair.iter().flat_map(|(_, _, processes)| processes);
            processes
                .map(|process| Ok(stage::usage(process)?.cpu))
                .sum::<Result<Duration, Error>>()
        };
        let runtime = peers::runtime()?;
        let mut observation = Observation::default();
        let before = spent()?;
        let (latencies, elapsed, served) = runtime.block_on(self.ask(entry, bytes, trial.deadline))?;
        let cpu = spent()?.saturating_sub(before).as_secs_f64() * 1e3;
        let requests = (latencies.len() + served) as f64;
        observation.values.insert("latency", latencies);
        observation.values.insert(
            "throughput",
            vec![(served * bytes) as f64 / 1e6 / elapsed.as_secs_f64()],
        );
        if pair.is_some() {
            observation.values.insert("cpu", vec![cpu / requests]);
        }
        Ok(observation)
    }
}

impl Body {
    /// Latencies in milliseconds of single requests; then how long how many took several at a time.
    async fn ask(
        &self,
        entry: SocketAddr,
        bytes: usize,
        deadline: Instant,
    ) -> Result<(Vec<f64>, Duration, usize), Error> {
        let failed = |source| Error::Connection { address: entry, source };
        let stream = TcpStream::connect(entry).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let (sender, connection): (h2::client::SendRequest<Bytes>, _) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await
            .map_err(|error| Error::Protocol(error.to_string()))?;
        let driver = tokio::spawn(connection);
        let path = format!("/{bytes}");
        let once = |mut sender: h2::client::SendRequest<Bytes>| {
            let path = &path;
            async move {
                let began = Instant::now();
                let received = peers::exchange(&mut sender, path).await?;
                if received != bytes {
                    return Err(Error::Protocol(format!(
                        "a body of {received} bytes instead of {bytes}"
                    )));
                }
                Ok(began.elapsed())
            }
        };
        for _ in 0..5 {
            once(sender.clone()).await?;
        }
        let mut latencies = Vec::with_capacity(self.requests);
        for _ in 0..self.requests {
            if Instant::now() > deadline {
                return Err(Error::Configuration(
                    "the bound is too short for these bodies".to_owned(),
                ));
            }
            latencies.push(once(sender.clone()).await?.as_secs_f64() * 1e3);
        }
        let rounds = self.requests.div_ceil(self.streams);
        let began = Instant::now();
        for _ in 0..rounds {
            let some = (0..self.streams).map(|_| once(sender.clone()));
            futures_util::future::try_join_all(some).await?;
        }
        let elapsed = began.elapsed();
        driver.abort();
        Ok((latencies, elapsed, rounds * self.streams))
    }
}
