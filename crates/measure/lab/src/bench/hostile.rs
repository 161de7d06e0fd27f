//! What one who shares a sidecar can do to the requests of others: latency beside a hostile consumer, producer, unauthenticated client and
//! peer of another interface, in one interleaved run.
//!
//! ```text
//! client -- h2c --> sidecar of the consumer == TLS ==> sidecar of the producer -- h2c --> server
//!                     |                                  ^     ^         ^
//!                     +== TLS ==> sidecar of the third ==+ SBI | O1      | TCP, and never a certificate
//!                                   hostile producer behind it |         |
//!                                   hostile consumer beside it -         anybody
//! ```
//!
//! What is hostile has a fixed rate and another processor where there is one, so that a figure says what sidecars share (windows,
//! connections, turns, memory) and not what processors do.

mod attack;
mod figure;
mod hello;
mod stage;

use std::path::PathBuf;
use std::time::Duration;

use bartizan_stats::Random;
use serde::Serialize;

use crate::bench::client::Client;
use crate::bench::environment::{self, Environment};
use crate::bench::pair::Server;
use crate::bench::papers::Papers;
use crate::bench::{Error, Mode, Proxy, Tools};

pub use attack::attack;
pub use figure::{HostileFigure, hostile_figures};
use stage::Stage;

/// Name and version of the shape of a trial's record.
pub const HOSTILE_SCHEMA: &str = "bartizan-bench-hostile-trial/1";
/// Requests before those that count.
const WARM_UP: usize = 20;
/// How long something hostile is at it before latency is taken.
const HEAD_START: Duration = Duration::from_millis(150);

/// Who is hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hostility {
    /// Nobody: what the others are compared with.
    Quiet,
    /// A consumer of the same producer: takes no bodies, resets requests, sends frames that carry nothing.
    Consumer,
    /// Another producer of the same consumer: takes no bodies, answers with interim responses alone.
    Producer,
    /// Whoever reaches the producer's port: half-open and broken handshakes, and hellos that it has to answer.
    Unauthenticated,
    /// A peer of another interface of the producer, doing what the hostile consumer does.
    Neighbour,
}

impl Hostility {
    /// Every one, the quiet first.
    pub const ALL: [Self; 5] = [
        Self::Quiet,
        Self::Consumer,
        Self::Producer,
        Self::Unauthenticated,
        Self::Neighbour,
    ];

    /// The name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Consumer => "consumer",
            Self::Producer => "producer",
            Self::Unauthenticated => "unauthenticated",
            Self::Neighbour => "neighbour",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// What shall be measured.
#[derive(Debug)]
pub struct HostileOptions {
    /// Paths of the sidecar.
    pub paths: Vec<Proxy>,
    /// Repetitions, each of which takes every path and hostility once, in random order.
    pub repetitions: usize,
    /// Requests of one trial, one after the other.
    pub requests: usize,
    /// Decides every order.
    pub seed: u64,
    /// The programs.
    pub tools: Tools,
    /// A folder for keys, configurations and logs.
    pub folder: PathBuf,
}

/// One trial.
#[derive(Debug, Clone, Serialize)]
pub struct HostileTrial {
    /// [`HOSTILE_SCHEMA`].
    pub schema: &'static str,
    /// When it began: microseconds since 1970-01-01T00:00:00Z.
    pub at_us: u64,
    /// Decides the order of trials.
    pub seed: u64,
    /// The path of the sidecars.
    pub path: Proxy,
    /// Who was hostile meanwhile.
    pub hostility: Hostility,
    /// The repetition, from 0.
    pub repetition: usize,
    /// Its place in the order of the repetition, from 0.
    pub position: usize,
    /// Load average over a minute when it began.
    pub load: Option<f64>,
    /// The machine.
    pub environment: Environment,
    /// Of each request, in nanoseconds, in order; empty where the trial failed.
    pub latencies_ns: Vec<u64>,
    /// Why it could not be measured, where it could not.
    pub error: Option<String>,
}

/// Measures, and hands over each trial as it is taken; `each` says whether to go on.
///
/// # Errors
/// Where programs cannot be started. A trial that fails is a record.
pub fn run_hostile(
    options: &HostileOptions,
    each: &mut dyn FnMut(HostileTrial) -> Result<bool, Error>,
) -> Result<(), Error> {
    let version = options.tools.version(Proxy::Http2).into_iter().collect();
    let (environment, _priority) = Environment::enter(version)?;
    let processors = environment.processors.clone();
    // The last processor is that of those who are measured; what is hostile has the others.
    let (hostile, own) = processors.split_at(processors.len().saturating_sub(1));
    let hostile = if hostile.is_empty() { own } else { hostile };
    bartizan_host::pin_this_thread(own)?;
    let server = Server::start(&options.tools)?;
    server.pin(own)?;
    let papers = Papers::make(&options.folder, Mode::PostQuantum)?;
    let mut random = Random::seeded(options.seed);
    let mut stages = Vec::new();
    for &path in &options.paths {
        let folder = options.folder.join(format!("hostile-{}", path.name()));
        let stage = Stage::start(&options.tools, path, &papers, server.address, &folder)?;
        stage.pin(own, hostile)?;
        stages.push((path, stage));
    }
    let kinds = stages.iter().enumerate();
    let mut order: Vec<(usize, Hostility)> = kinds
        .flat_map(|(index, _)| Hostility::ALL.map(|hostility| (index, hostility)))
        .collect();
    for repetition in 0..options.repetitions {
        random.shuffle(&mut order);
        for (position, &(index, hostility)) in order.iter().enumerate() {
            let (path, stage) = &stages[index];
            let at_us = environment::now_us();
            let measured = trial(options, stage, hostility, hostile);
            let (latencies_ns, error) = match measured {
                Ok(latencies) => (latencies, None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            let go_on = each(HostileTrial {
                schema: HOSTILE_SCHEMA,
                at_us,
                seed: options.seed,
                path: *path,
                hostility,
                repetition,
                position,
                load: environment::load_average(),
                environment: environment.clone(),
                latencies_ns,
                error,
            })?;
            if !go_on {
                return Err(Error::Interrupted);
            }
        }
    }
    Ok(())
}

/// Requests one after the other while something is hostile. What is hostile ends with the trial, and so do its connections.
fn trial(options: &HostileOptions, stage: &Stage, hostility: Hostility, cores: &[usize]) -> Result<Vec<u64>, Error> {
    let attacker = stage.attacker(&options.tools, hostility)?;
    if let Some(attacker) = &attacker {
        attacker.pin(cores)?;
    }
    std::thread::sleep(HEAD_START);
    let mut client = Client::connect(stage.entry)?;
    for _ in 0..WARM_UP {
        client.exchange()?;
    }
    let taken = (0..options.requests).map(|_| client.exchange());
    let taken: Result<Vec<_>, _> = taken.collect();
    drop(attacker);
    Ok(taken?
        .into_iter()
        .map(|took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
        .collect())
}
