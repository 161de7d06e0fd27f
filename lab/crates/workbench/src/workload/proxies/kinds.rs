//! The kinds: what is varied, given and measured.

use super::lacks;
use super::levels::{CLEAR, DIRECT, MODE, PLACEMENT, PROXY, STREAMS};
use super::sites::start;
use crate::stand_in::proxies::What;
use crate::workload::{Better, Default, FactorKind, Kind, MetricKind, ParameterKind, Targets};

const PROXY_FACTOR: FactorKind = FactorKind {
    name: PROXY,
    about: "what is on both ends of the link; direct is nothing",
    levels: &[
        DIRECT,
        "splice",
        "http2",
        "nginx-stream",
        "nginx-grpc",
        "nginx-http2",
        "haproxy",
        "stunnel",
        "nghttpx",
        "envoy",
        "ghostunnel",
        "splice-other",
        "http2-other",
    ],
};
const MODE_FACTOR: FactorKind = FactorKind {
    name: MODE,
    about: "the algorithms on the link: X25519 with ECDSA P-256, or X25519MLKEM768 with ML-DSA-65; clear without proxies",
    levels: &[CLEAR, "classical", "post-quantum"],
};
const PLACEMENT_FACTOR: FactorKind = FactorKind {
    name: PLACEMENT,
    about: "client, proxies and server on one processor, or wherever the scheduler puts them",
    levels: &["one-core", "unpinned"],
};
const STREAMS_FACTOR: FactorKind = FactorKind {
    name: STREAMS,
    about: "requests under way at once on one connection",
    levels: &[],
};

const CPU: MetricKind = MetricKind {
    name: "cpu",
    unit: "s per 1000 requests",
    about: "processor time of both proxies together",
    better: Better::Lower,
};
const LOAD: ParameterKind = ParameterKind {
    name: "requests",
    about: "requests of a trial",
    default: Some(Default::Number(4000.0)),
};

/// Requests on a connection that is kept.
pub(in crate::workload) static LATENCY: Kind = Kind {
    name: "proxies-latency",
    about: "Requests one after the other on a connection that is kept, through a pair of proxies.",
    factors: &[PROXY_FACTOR, MODE_FACTOR, PLACEMENT_FACTOR],
    parameters: &[ParameterKind {
        name: "requests",
        about: "requests of a trial, after ten that warm up",
        default: Some(Default::Number(100.0)),
    }],
    metrics: &[
        MetricKind {
            name: "latency",
            unit: "us",
            about: "of a request, on a connection that is kept",
            better: Better::Lower,
        },
        CPU,
    ],
    targets: Targets::Own,
    lacks,
    start: |setting| start(setting, What::Latency),
};

/// As many requests at once as there are streams.
pub(in crate::workload) static THROUGHPUT: Kind = Kind {
    name: "proxies-throughput",
    about: "As many requests at once as there are streams, on one connection through a pair of proxies.",
    factors: &[PROXY_FACTOR, MODE_FACTOR, PLACEMENT_FACTOR, STREAMS_FACTOR],
    parameters: &[LOAD],
    metrics: &[
        MetricKind {
            name: "throughput",
            unit: "requests/s",
            about: "requests answered in a second",
            better: Better::Higher,
        },
        CPU,
    ],
    targets: Targets::Own,
    lacks,
    start: |setting| start(setting, What::Throughput),
};

/// Requests each on a connection of its own.
pub(in crate::workload) static NEW_CONNECTION: Kind = Kind {
    name: "proxies-new-connection",
    about: "Requests each on a connection of its own, with a full handshake between the proxies.",
    factors: &[PROXY_FACTOR, MODE_FACTOR, PLACEMENT_FACTOR],
    parameters: &[ParameterKind {
        name: "connections",
        about: "connections of a trial, after one that warms up",
        default: Some(Default::Number(20.0)),
    }],
    metrics: &[
        MetricKind {
            name: "latency",
            unit: "us",
            about: "of a request, from before its connection is opened",
            better: Better::Lower,
        },
        CPU,
    ],
    targets: Targets::Own,
    lacks,
    start: |setting| start(setting, What::NewConnection),
};

/// Handshakes with the producer's proxy.
pub(in crate::workload) static HANDSHAKES: Kind = Kind {
    name: "proxies-handshakes",
    about: "Full handshakes over TCP with the producer's proxy, by its processor time.",
    factors: &[PROXY_FACTOR, MODE_FACTOR, PLACEMENT_FACTOR],
    parameters: &[ParameterKind {
        name: "handshakes",
        about: "handshakes of a trial, after one that warms up",
        default: Some(Default::Number(40.0)),
    }],
    metrics: &[MetricKind {
        name: "handshakes",
        unit: "handshakes/s",
        about: "full handshakes per second of the proxy's processor time",
        better: Better::Higher,
    }],
    targets: Targets::Own,
    lacks,
    start: |setting| start(setting, What::Handshakes),
};

/// Memory of the proxies after load.
pub(in crate::workload) static MEMORY: Kind = Kind {
    name: "proxies-memory",
    about: "What a pair of proxies, started for the trial, holds after load on 64 streams.",
    factors: &[PROXY_FACTOR, MODE_FACTOR, PLACEMENT_FACTOR],
    parameters: &[LOAD],
    metrics: &[
        MetricKind {
            name: "memory",
            unit: "MB",
            about: "resident, of the larger of the two proxies",
            better: Better::Lower,
        },
        MetricKind {
            name: "memory-consumer",
            unit: "MB",
            about: "resident, of the consumer's proxy",
            better: Better::Lower,
        },
        MetricKind {
            name: "memory-producer",
            unit: "MB",
            about: "resident, of the producer's proxy",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start: |setting| start(setting, What::Memory),
};
