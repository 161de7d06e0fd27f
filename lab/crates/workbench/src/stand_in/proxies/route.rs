//! The routes a request can take, and what is measured on them.

use std::fmt;

use bartizan_pki::Algorithm;
use serde::Serialize;

/// A program that is put on both ends of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proxy {
    /// Our sidecar, path `splice`.
    Splice,
    /// Our sidecar, path `http2`.
    Http2,
    /// Path `splice` of another build of our sidecar.
    SpliceOther,
    /// Path `http2` of it.
    Http2Other,
    /// nginx, module stream.
    NginxStream,
    /// nginx 1.26, `grpc_pass`.
    NginxGrpc,
    /// nginx 1.30, `proxy_http_version 2`.
    NginxHttp2,
    /// HAProxy, mode http.
    Haproxy,
    /// stunnel.
    Stunnel,
    /// nghttpx.
    Nghttpx,
    /// Envoy.
    Envoy,
    /// Ghostunnel.
    Ghostunnel,
}

/// Unit that a proxy forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Bytes.
    Bytes,
    /// HTTP/2 requests.
    Requests,
}

impl Proxy {
    /// Every one but another build of ours, ours first.
    pub const ALL: [Self; 10] = [
        Self::Splice,
        Self::Http2,
        Self::NginxStream,
        Self::NginxGrpc,
        Self::NginxHttp2,
        Self::Haproxy,
        Self::Stunnel,
        Self::Ghostunnel,
        Self::Nghttpx,
        Self::Envoy,
    ];

    /// The proxy of this name, another build of ours included.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let builds = [Self::SpliceOther, Self::Http2Other];
        Self::ALL.into_iter().chain(builds).find(|proxy| proxy.name() == name)
    }

    /// The name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Splice => "splice",
            Self::Http2 => "http2",
            Self::SpliceOther => "splice-other",
            Self::Http2Other => "http2-other",
            Self::NginxStream => "nginx-stream",
            Self::NginxGrpc => "nginx-grpc",
            Self::NginxHttp2 => "nginx-http2",
            Self::Haproxy => "haproxy",
            Self::Stunnel => "stunnel",
            Self::Nghttpx => "nghttpx",
            Self::Envoy => "envoy",
            Self::Ghostunnel => "ghostunnel",
        }
    }

    /// True if it is a path of our sidecar.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Splice | Self::Http2)
    }

    /// The same path of another build.
    #[must_use]
    pub const fn other(self) -> Option<Self> {
        match self {
            Self::Splice => Some(Self::SpliceOther),
            Self::Http2 => Some(Self::Http2Other),
            _ => None,
        }
    }

    /// Unit that it forwards.
    #[must_use]
    pub const fn level(self) -> Level {
        match self {
            Self::Splice | Self::SpliceOther | Self::NginxStream | Self::Stunnel | Self::Ghostunnel => Level::Bytes,
            Self::Http2
            | Self::Http2Other
            | Self::NginxGrpc
            | Self::NginxHttp2
            | Self::Haproxy
            | Self::Nghttpx
            | Self::Envoy => Level::Requests,
        }
    }

    /// Reason why it cannot make a new connection for each client connection; `None` if it can.
    #[must_use]
    pub const fn always_pools(self) -> Option<&'static str> {
        match self {
            Self::Nghttpx => Some("has no option for a connection per request"),
            _ => None,
        }
    }
}

/// The algorithms on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// X25519 and ECDSA P-256.
    Classical,
    /// X25519MLKEM768 and ML-DSA-65.
    PostQuantum,
}

impl Mode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Classical, Self::PostQuantum];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::PostQuantum => "post-quantum",
        }
    }

    /// The policy of our deployment file. Peers' certificates are checked against a revocation
    /// list, which must be there.
    pub(super) const fn policy(self) -> &'static str {
        match self {
            Self::Classical => "{ profile: classical, lab: true, revocation: require }",
            Self::PostQuantum => "{ profile: hybrid, revocation: require }",
        }
    }

    /// The group as OpenSSL and Envoy call it.
    pub(super) const fn group(self) -> &'static str {
        match self {
            Self::Classical => "X25519",
            Self::PostQuantum => "X25519MLKEM768",
        }
    }

    pub(super) const fn algorithm(self) -> Algorithm {
        match self {
            Self::Classical => Algorithm::EcdsaP256,
            Self::PostQuantum => Algorithm::MlDsa65,
        }
    }
}

/// Path between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// Nothing.
    Direct,
    /// A pair of proxies.
    Through(Proxy, Mode),
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Through(proxy, mode) => write!(f, "{} {}", proxy.name(), mode.name()),
        }
    }
}

/// Quantity that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A request on a connection that is kept alive.
    Latency,
    /// A request on a connection of its own, with a full handshake.
    NewConnection,
    /// Requests per second, and processor time.
    Throughput,
    /// Full handshakes per second and core, by processor time of the server's side.
    Handshakes,
    /// Memory after load.
    Memory,
}

impl What {
    /// Everything, in the order it is measured.
    pub const ALL: [Self; 5] = [
        Self::Latency,
        Self::Throughput,
        Self::NewConnection,
        Self::Handshakes,
        Self::Memory,
    ];

    /// The name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::NewConnection => "new-connection",
            Self::Throughput => "throughput",
            Self::Handshakes => "handshakes",
            Self::Memory => "memory",
        }
    }
}

/// Placement of all processes on processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Client, both proxies and server on one processor: what a request costs, without waking other processors.
    OneCore,
    /// Wherever the scheduler puts them.
    Unpinned,
}

impl Placement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OneCore, Self::Unpinned];

    /// The name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one-core",
            Self::Unpinned => "unpinned",
        }
    }

    /// The processors to use, out of `all`.
    pub(crate) fn cores(self, all: &[usize]) -> &[usize] {
        match self {
            // The last one: interrupts prefer the first.
            Self::OneCore => &all[all.len().saturating_sub(1)..],
            Self::Unpinned => all,
        }
    }
}
