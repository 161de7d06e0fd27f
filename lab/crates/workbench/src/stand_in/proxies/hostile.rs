//! Influence of one client or peer of a sidecar on the requests of others: latency next to a
//! hostile consumer, producer, unauthenticated client and peer of another interface, in one
//! interleaved run.
//!
//! ```text
//! client -- h2c --> sidecar of the consumer == TLS ==> sidecar of the producer -- h2c --> server
//!                     |                                  ^     ^         ^
//!                     +== TLS ==> sidecar of the third ==+ SBI | O1      | TCP, and never a certificate
//!                                   hostile producer behind it |         |
//!                                   hostile consumer next to it -     any client
//! ```
//!
//! The attacker has a fixed rate, and another processor if there is one. So a figure shows the
//! effect of shared sidecars (windows, connections, turns, memory) and not of shared processors.

mod attack;
mod hello;
mod stage;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::Error;
use crate::stand_in::proxies::client::Client;
use crate::stand_in::proxies::pair::Server;
use crate::stand_in::proxies::papers::Papers;
use crate::stand_in::proxies::{Mode, Proxy, Tools};

pub use attack::attack;
use stage::Stage;

/// Requests before those that count.
const WARM_UP: usize = 20;
/// Time for which the attacker runs before latency is measured.
const HEAD_START: Duration = Duration::from_millis(150);

/// The hostile party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hostility {
    /// No attacker: the baseline.
    Quiet,
    /// A consumer of the same producer: takes no bodies, resets requests, sends frames that carry nothing.
    Consumer,
    /// Another producer of the same consumer: takes no bodies, answers with interim responses alone.
    Producer,
    /// Any client that reaches the producer's port: half-open and broken handshakes, and hellos
    /// that the sidecar has to answer.
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

/// The sidecars of each path and the server behind them.
pub(crate) struct Arena {
    // Dropped before the server, which they lead to.
    stages: Vec<(Proxy, Stage)>,
    _server: Server,
    tools: Tools,
    own: Vec<usize>,
    hostile: Vec<usize>,
}

impl Arena {
    /// Starts sidecars of these paths. The measured processes have the last processor, the attacker
    /// the others.
    pub(crate) fn start(tools: &Tools, paths: &[Proxy], folder: &Path, processors: &[usize]) -> Result<Self, Error> {
        let (hostile, own) = processors.split_at(processors.len().saturating_sub(1));
        let hostile = if hostile.is_empty() { own } else { hostile };
        bartizan_machine::pin_this_thread(own)?;
        let server = Server::start(tools)?;
        server.pin(own)?;
        let papers = Papers::make(folder, Mode::PostQuantum)?;
        let mut stages = Vec::new();
        for &path in paths {
            let folder = folder.join(format!("hostile-{}", path.name()));
            let stage = Stage::start(tools, path, &papers, server.address, &folder)?;
            stage.pin(own, hostile)?;
            stages.push((path, stage));
        }
        Ok(Self {
            stages,
            _server: server,
            tools: tools.clone(),
            own: own.to_vec(),
            hostile: hostile.to_vec(),
        })
    }

    /// Latencies of this many sequential requests during an attack. The attacker and its
    /// connections end with the trial.
    pub(crate) fn trial(&self, path: Proxy, hostility: Hostility, requests: usize) -> Result<Vec<Duration>, Error> {
        let stage = self.stages.iter().find(|(of, _)| *of == path);
        let (_, stage) = stage.ok_or_else(|| Error::Configuration(format!("no sidecars of path {}", path.name())))?;
        // Calibrating has put this thread elsewhere.
        bartizan_machine::pin_this_thread(&self.own)?;
        let attacker = stage.attacker(&self.tools, hostility)?;
        if let Some(attacker) = &attacker {
            bartizan_machine::pin(attacker, &self.hostile)?;
        }
        std::thread::sleep(HEAD_START);
        let mut client = Client::connect(stage.entry)?;
        for _ in 0..WARM_UP {
            client.exchange()?;
        }
        let taken = (0..requests).map(|_| client.exchange()).collect();
        drop(attacker);
        taken
    }
}
