//! A producer's sidecar with a server behind it, and a consumer's before it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_host::{Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_testing::Listening as _;
use bartizan_testing::{Usage, loopback_addresses};
use bartizan_tls::{Credentials, Endpoint, peers};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::workload::Error;

pub(super) const CONSUMER: &str = "consumer";
pub(super) const PRODUCER: &str = "producer";

/// Time limits for a program to listen, and to end by itself.
const READY: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(15);
/// Connections a listener takes: the default of 4096 would end experiments with more.
const CONNECTIONS: usize = 16_384;

/// The files of both nodes.
pub(super) struct Papers(PathBuf);

impl Papers {
    /// An authority of ML-DSA-65 and its two certificates, without an intermediate.
    pub(super) fn make(folder: &Path) -> Result<Self, Error> {
        let now = SystemTime::now();
        let mut authority = Authority::init(&folder.join("ca"), InitOptions::new(Algorithm::MlDsa65), now)?;
        for node in [CONSUMER, PRODUCER] {
            let leaf = Leaf::new(node)?.dns(node)?;
            authority.issue(&leaf, now)?.write_to(folder, Overwrite::Replace)?;
        }
        let list = folder.join("ca.crl.pem");
        fs::write(&list, authority.crl()?).map_err(Error::file(list))?;
        Ok(Self(folder.to_owned()))
    }
}

/// Settings of a deployment other than its defaults.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) path: &'a str,
    pub(super) resumption: bool,
}

/// Addresses of all parts; the same ports for every trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// Listening address of the consumer's sidecar, in plaintext.
    pub(super) entry: SocketAddr,
    /// TLS listening address of the producer's sidecar.
    pub(super) middle: SocketAddr,
    pub(super) server: SocketAddr,
}

impl Places {
    pub(super) fn choose() -> Result<Self, Error> {
        let [entry, middle, server] = loopback_addresses()?;
        Ok(Self { entry, middle, server })
    }
}

impl Papers {
    fn deployment(&self, places: &Places, terms: Terms<'_>) -> String {
        let Places { entry, middle, server } = places;
        let resumption = if terms.resumption { "1h" } else { "off" };
        let folder = self.0.display();
        let files = |node: &str| format!("certificate: \"{folder}/{node}.crt.pem\", key: \"{folder}/{node}.key.pem\"");
        format!(
            "policy: {{ profile: hybrid, revocation: require, resumption: {resumption} }}\n\
             trust: {{ roots: \"{folder}/ca.crt.pem\", crl: \"{folder}/ca.crl.pem\" }}\n\
             nodes:\n\
             \x20 {CONSUMER}:\n\
             \x20   {{ function: AMF, address: 127.78.0.1, {consumer},\n\
             \x20     sidecar: {{ outbound: [{{ listen: \"{entry}\", to: {PRODUCER}, path: {path} }}] }} }}\n\
             \x20 {PRODUCER}:\n\
             \x20   {{ function: UDM, address: 127.78.0.2, {producer},\n\
             \x20     sidecar: {{ ledger: {PRODUCER}.ledger.jsonl, limits: {{ connections: {CONNECTIONS} }},\n\
             \x20       inbound: [{{ listen: \"{middle}\", forward: \"{server}\", path: {path} }}] }} }}\n\
             interfaces: [{{ kind: SBI, between: [{CONSUMER}, {PRODUCER}], with: sidecar }}]\n",
            path = terms.path,
            consumer = files(CONSUMER),
            producer = files(PRODUCER),
        )
    }

    /// Starts the sidecar of a node and waits for its listener.
    pub(super) fn sidecar(
        &self,
        binary: &Path,
        node: &str,
        places: &Places,
        terms: Terms<'_>,
    ) -> Result<Process, Error> {
        let file = self.0.join(format!("deployment-{node}.yaml"));
        fs::write(&file, self.deployment(places, terms)).map_err(Error::file(&file))?;
        let listener = if node == CONSUMER { places.entry } else { places.middle };
        let mut process = Program::new(binary)
            .argument("sidecar")
            .argument(&file)
            .arguments(["--node", node, "--log", "error"])
            .log(self.0.join(format!("{node}.log")))
            .start()?;
        process.wait_for_port(listener, READY)?;
        Ok(process)
    }

    /// Credentials for peers of the producer: clients with the consumer's certificate and their own
    /// sessions.
    pub(super) fn peer(&self, places: &Places, terms: Terms<'_>) -> Result<PeerTerms, Error> {
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let text = self.deployment(places, terms);
        let deployment = Deployment::parse(&text, "scale", &self.0).map_err(|error| ours(&error))?;
        let read = |name: &str| {
            let path = self.0.join(name);
            fs::read(&path).map_err(Error::file(path))
        };
        Ok(PeerTerms {
            certificate: read(&format!("{CONSUMER}.crt.pem"))?,
            key: read(&format!("{CONSUMER}.key.pem"))?,
            roots: read("ca.crt.pem")?,
            revocations: read("ca.crl.pem")?,
            deployment,
        })
    }
}

/// Material for the endpoints of peers: the deployment, and PEM for the rest.
pub(super) struct PeerTerms {
    deployment: Deployment,
    certificate: Vec<u8>,
    key: Vec<u8>,
    roots: Vec<u8>,
    revocations: Vec<u8>,
}

impl PeerTerms {
    /// Another peer, with no session yet.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Error> {
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let credentials = Credentials::from_pem(&self.certificate, &self.key, &self.roots, Some(&self.revocations))
            .map_err(|error| ours(&error))?;
        Endpoint::new(credentials, peers(&self.deployment, CONSUMER)).map_err(|error| ours(&error))
    }
}

/// The bench's server, a process of this same binary.
pub(super) fn server(own: &Path, address: SocketAddr) -> Result<Process, Error> {
    let mut process = Program::new(own)
        .arguments(["bench", "server", "--listen"])
        .argument(address.to_string())
        .start()?;
    process.wait_for_port(address, READY)?;
    Ok(process)
}

/// Ends a process in order.
pub(super) fn stop(process: Process) -> Result<(), Error> {
    process.terminate(END)?;
    Ok(())
}

pub(super) fn usage(process: &Process) -> Result<Usage, Error> {
    Ok(Usage::of_group(process.id())?)
}

/// Makes room for this many connections in this process and in those it starts: a connection
/// through a sidecar takes two descriptors.
pub(in crate::workload) fn room_for(connections: usize) -> Result<(), Error> {
    let needed = connections as u64 * 2 + 1024;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|errno| Error::Broken(errno.into()))?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed && !nix::unistd::geteuid().is_root() {
        return Err(Error::Configuration(format!(
            "{connections} connections need {needed} file descriptors and {hard} are allowed (ulimit -Hn)"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).map_err(|errno| Error::Broken(errno.into()))
}
