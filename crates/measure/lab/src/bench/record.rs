//! One line per trial: the product of a run.

use serde::Serialize;

use crate::bench::{Environment, Mode, Placement, Proxy, What};

/// Name and version of the shape of a record.
pub const SCHEMA: &str = "bartizan-bench-trial/1";

/// One trial.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// When it began: microseconds since 1970-01-01T00:00:00Z.
    pub at_us: u64,
    /// Decides the order of trials; the same seed gives the same order.
    pub seed: u64,
    /// Whether the run was a quick one, which says little.
    pub quick: bool,
    /// What was measured.
    pub what: What,
    /// Which proxy was on the way; absent on the direct route.
    pub proxy: Option<Proxy>,
    /// By which algorithms; absent on the direct route.
    pub mode: Option<Mode>,
    /// Where everything ran.
    pub placement: Placement,
    /// On which processors.
    pub cores: Vec<usize>,
    /// The repetition, from 0. Trials of one repetition follow each other, in random order.
    pub repetition: usize,
    /// Its place in that order, from 0.
    pub position: usize,
    /// Load average over a minute when it began, our own part included.
    pub load: Option<f64>,
    /// The machine.
    pub environment: Environment,
    /// What came out.
    #[serde(flatten)]
    pub measured: Measured,
}

/// What a trial gave.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Measured {
    /// Of `latency` and `new-connection`.
    Latencies {
        /// Of each request, in nanoseconds, in order; without those that warmed up.
        latencies_ns: Vec<u64>,
        /// Processor time of the proxies while they ran, warm-up included; absent on the direct route.
        cpu: Option<Cpu>,
        /// Requests within that time.
        requests: u64,
    },
    /// Of `throughput`.
    Load {
        /// Requests under way at once.
        streams: usize,
        /// Requests answered.
        requests: u64,
        /// In how long.
        elapsed_ns: u64,
        /// Processor time of the proxies meanwhile; absent on the direct route.
        cpu: Option<Cpu>,
    },
    /// Of `handshakes`.
    Handshakes {
        /// Whether the two halves met in memory or over TCP.
        over: Over,
        /// How many.
        handshakes: u64,
        /// Processor time of the server's side for all of them.
        server_cpu_ns: u64,
    },
    /// Of `memory`: bytes resident after load, all processes of an end together.
    Memory {
        /// Requests of the load.
        requests: u64,
        /// The consumer's proxy.
        consumer_bytes: u64,
        /// The producer's proxy.
        producer_bytes: u64,
    },
    /// Of `new-connection`, once at its end: what the producer's ledger says.
    Ledger {
        /// Connections made by the client.
        connections: u64,
        /// Full handshakes that were accepted.
        full_handshakes: u64,
        /// Handshakes that were resumed or refused.
        others: u64,
    },
    /// It could not be measured.
    Failed {
        /// Why.
        error: String,
    },
}

/// Where two halves of a handshake meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// In one thread, by buffers, between ends that have met before.
    Memory,
    /// The same between ends that have not: whatever is remembered of a peer's chain is missing.
    MemoryFirstContact,
    /// Over loopback, the server a process as shipped.
    Tcp,
}

/// Processor time of the two proxies of a route, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Of the consumer's.
    pub consumer_ns: u64,
    /// Of the producer's.
    pub producer_ns: u64,
}
