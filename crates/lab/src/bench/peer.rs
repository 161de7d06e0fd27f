//! How each proxy is configured to do the same: one worker, TLS 1.3, AES-256-GCM, both ends authenticated, nothing resumed.

mod bartizan;
mod envoy;
mod haproxy;
mod nghttpx;
mod nginx;
mod stunnel;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{LabRoot, Program};

use crate::bench::papers::Papers;
use crate::bench::{Error, Proxy};

/// The cipher suite of every link (RFC 9846, appendix B.4), by OpenSSL's name.
const CIPHER_SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// How long a program may take to say its version.
const ANSWER: Duration = Duration::from_secs(20);

/// Where the programs of a run are.
#[derive(Debug)]
pub struct Tools {
    /// This binary: the server behind every way.
    pub own: PathBuf,
    /// The binary whose sidecar is measured: this one, or another build of it.
    pub sidecar: PathBuf,
    /// Programs of a newer Debian; absent when it was never built.
    pub root: Option<LabRoot>,
    /// Envoy; absent when it is not there.
    pub envoy: Option<PathBuf>,
}

/// A proxy that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub proxy: Proxy,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

/// Whether the proxies keep the connections between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// As they are run in earnest.
    Kept,
    /// A new one, by a full handshake, for each of the client.
    Fresh,
}

/// What a pair of proxies needs to know.
#[derive(Debug)]
pub(super) struct Link<'a> {
    pub(super) papers: &'a Papers,
    pub(super) reuse: Reuse,
    /// Where the client connects to.
    pub(super) entry: SocketAddr,
    /// Where the producer's proxy listens by TLS.
    pub(super) middle: SocketAddr,
    pub(super) server: SocketAddr,
    /// A folder of its own.
    pub(super) folder: &'a Path,
}

impl Link<'_> {
    /// Writes a file of the pair.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Error::file(&path))?;
        Ok(path)
    }
}

/// The programs of the two ends.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) consumer: Program,
    pub(super) producer: Program,
    /// Where the producer's proxy writes down handshakes, if it does.
    pub(super) ledger: Option<PathBuf>,
}

impl Tools {
    /// Why this proxy cannot be run; `None` when it can.
    #[must_use]
    pub fn missing(&self, proxy: Proxy) -> Option<Missing> {
        let missing = |reason: &str, hint: &str| {
            Some(Missing {
                proxy,
                reason: reason.to_owned(),
                hint: hint.to_owned(),
            })
        };
        match (proxy, &self.root, &self.envoy) {
            (Proxy::Splice | Proxy::Http2, ..) if !self.sidecar.is_file() => missing(
                &format!("there is no file {}", self.sidecar.display()),
                "--binary takes a bartizan, for example target/release/bartizan",
            ),
            (Proxy::Splice | Proxy::Http2, ..) | (Proxy::Envoy, _, Some(_)) => None,
            (Proxy::Envoy, _, None) => missing(
                "there is no envoy",
                "put its binary at ~/.cache/bartizan/envoy/envoy (docs/bench.md says how)",
            ),
            (_, None, _) => missing(
                "there is no lab root with OpenSSL 3.5",
                "build it as root: cargo run -p bartizan-host --example lab-root",
            ),
            (_, Some(root), _) => {
                let error = program(root, name_of(proxy)).err()?;
                missing(
                    &error.to_string(),
                    "build the lab root again: remove it, then cargo run -p bartizan-host --example lab-root",
                )
            }
        }
    }

    /// Name and version of the program of a proxy.
    pub(super) fn version(&self, proxy: Proxy) -> Option<String> {
        match (proxy, &self.root, &self.envoy) {
            (Proxy::Splice | Proxy::Http2, ..) => {
                let said = Program::new(&self.sidecar).argument("--version").run(ANSWER).ok()?;
                Some(said.text().trim().to_owned())
            }
            (Proxy::NginxStream | Proxy::NginxGrpc, Some(root), _) => package(root, "nginx"),
            (Proxy::Haproxy, Some(root), _) => package(root, "haproxy"),
            (Proxy::Stunnel, Some(root), _) => package(root, "stunnel4"),
            (Proxy::Nghttpx, Some(root), _) => package(root, "nghttp2-proxy"),
            (Proxy::Envoy, _, Some(path)) => {
                let finished = Program::new(path).argument("--version").run(ANSWER).ok()?;
                // A line such as `/usr/bin/envoy  version: 9e55.../1.40.0/Clean/RELEASE/BoringSSL`.
                let text = finished.text();
                let version = text.lines().find_map(|line| line.split_once("version: "))?.1;
                Some(format!("envoy {}", version.trim()))
            }
            _ => None,
        }
    }

    /// Writes the configuration of both ends and says how to start them.
    pub(super) fn ends(&self, proxy: Proxy, link: &Link<'_>) -> Result<Ends, Error> {
        match proxy {
            Proxy::Splice => bartizan::ends(&self.sidecar, link, "splice"),
            Proxy::Http2 => bartizan::ends(&self.sidecar, link, "http2"),
            Proxy::NginxStream => nginx::stream(self.root()?, link),
            Proxy::NginxGrpc => nginx::grpc(self.root()?, link),
            Proxy::Haproxy => haproxy::ends(self.root()?, link),
            Proxy::Stunnel => stunnel::ends(self.root()?, link),
            Proxy::Nghttpx => nghttpx::ends(self.root()?, link),
            Proxy::Envoy => {
                let envoy = self.envoy.as_deref();
                envoy::ends(envoy.ok_or_else(|| Error::Configuration("no envoy".to_owned()))?, link)
            }
        }
    }

    fn root(&self) -> Result<&LabRoot, Error> {
        self.root
            .as_ref()
            .ok_or_else(|| Error::Configuration("no lab root".to_owned()))
    }
}

fn name_of(proxy: Proxy) -> &'static str {
    match proxy {
        Proxy::Splice | Proxy::Http2 => "bartizan",
        Proxy::NginxStream | Proxy::NginxGrpc => "nginx",
        Proxy::Haproxy => "haproxy",
        Proxy::Stunnel => "stunnel4",
        Proxy::Nghttpx => "nghttpx",
        Proxy::Envoy => "envoy",
    }
}

/// OpenSSL of the root with its default configuration: no proxy depends on what a machine has in /etc.
fn program(root: &LabRoot, name: &str) -> Result<Program, Error> {
    Ok(root.command(name)?)
}

fn package(root: &LabRoot, name: &str) -> Option<String> {
    let (_, version) = root.packages().find(|(package, _)| *package == name)?;
    Some(format!("{name} {version}"))
}
