//! Two hosts with a cable between them, the functions on them, and their sidecars.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bartizan_host::{Namespace, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_registry::SCTP_APPLICATIONS;
use bartizan_testing::{Capture, Direction, Port, connect};
use bartizan_workbench::stand_in::n2::function::Waiting;
use bartizan_workbench::stand_in::n2::{Changed, End, Exchange, Function, play};
use signal_hook::consts::SIGKILL;

use crate::Failure;
use crate::commands::demo::failed;

const NODES: [&str; 2] = ["gnb", "amf"];
const GNB: Ipv4Addr = Ipv4Addr::new(10, 203, 0, 1);
const AMF: Ipv4Addr = Ipv4Addr::new(10, 203, 0, 2);
/// Port at which the AMF's sidecar listens for the gNB's.
const SIDECAR_PORT: u16 = 38_413;
/// The interface at both ends of the cable.
const CABLE: &str = "n2";
/// Ethernet's.
const MTU: u16 = 1500;
/// Time limit for a sidecar to be ready, and for an exchange of twenty messages.
const READY: Duration = Duration::from_secs(60);
/// Time limit for a sidecar to drain and write its ledger.
const DRAIN: Duration = Duration::from_secs(60);

/// The gNB's and the AMF's.
pub(super) struct Hosts {
    gnb: Namespace,
    amf: Namespace,
}

/// Both sidecars; they end with it.
pub(super) struct Sidecars {
    gnb: Process,
    /// None once it was killed.
    amf: Option<Process>,
    ledgers: Vec<PathBuf>,
}

/// NGAP's (TS 38.412, clause 7).
fn ngap() -> u16 {
    let known = SCTP_APPLICATIONS.iter().find(|known| known.interface == "N2");
    known.and_then(|known| known.port).unwrap_or_default()
}

impl Hosts {
    pub(super) fn connect() -> Result<Self, Failure> {
        let hosts = Self {
            gnb: Namespace::create("gnb").map_err(failed)?,
            amf: Namespace::create("amf").map_err(failed)?,
        };
        let port = |host, address| Port::new(host, CABLE).address(&format!("{address}/24")).map_err(failed);
        connect(&port(&hosts.gnb, GNB)?, &port(&hosts.amf, AMF)?, MTU).map_err(failed)?;
        Ok(hosts)
    }

    /// Records the cable.
    pub(super) fn capture(&self, file: &Path) -> Result<Capture, Failure> {
        Capture::start(Some(&self.gnb), CABLE, file, Direction::Both).map_err(failed)
    }

    /// Starts both sidecars by a deployment file of their own, the AMF's first.
    pub(super) fn sidecars(&self, folder: &Path, carrier: &str) -> Result<Sidecars, Failure> {
        let now = SystemTime::now();
        let options = InitOptions::new(Algorithm::MlDsa65);
        let mut authority = Authority::init(&folder.join("ca"), options, now).map_err(failed)?;
        for node in NODES {
            let leaf = Leaf::new(node)
                .and_then(|leaf| leaf.dns(&format!("{node}.ran")))
                .map_err(failed)?;
            let issued = authority.issue(&leaf, now).map_err(failed)?;
            issued.write_to(folder, Overwrite::Replace).map_err(failed)?;
        }
        let file = folder.join("deployment.yaml");
        fs::write(&file, text(carrier)).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        let start = |node: &str, host| {
            let own = crate::commands::product()?;
            let program = Program::new(own)
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", node]);
            let program = program.log(folder.join(format!("{node}.log"))).inside(host);
            let mut process = program.start().map_err(failed)?;
            process.wait_for_line("ready", READY).map_err(failed)?;
            Ok::<_, Failure>(process)
        };
        let amf = start(NODES[1], &self.amf)?;
        Ok(Sidecars {
            gnb: start(NODES[0], &self.gnb)?,
            amf: Some(amf),
            ledgers: NODES.map(|node| folder.join(format!("{node}.ledger.jsonl"))).into(),
        })
    }

    /// From where the gNB dials, and where.
    fn dialled(protected: bool) -> (SocketAddr, SocketAddr) {
        let (local, peer) = if protected {
            (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST)
        } else {
            (GNB, AMF)
        };
        (SocketAddr::from((local, 0)), SocketAddr::from((peer, ngap())))
    }

    /// Has both functions say the recording on an association; how long each procedure took, and what arrived changed.
    pub(super) fn play(&self, exchange: &Exchange, protected: bool) -> Result<(Vec<Duration>, Changed), Failure> {
        let deadline = Instant::now() + READY;
        let (local, peer) = Self::dialled(protected);
        let listens = if protected { Ipv4Addr::LOCALHOST } else { AMF };
        let waiting = Waiting::at(&self.amf, SocketAddr::from((listens, ngap()))).map_err(failed)?;
        let (gnb, amf) = thread::scope(|scope| {
            let amf = scope.spawn(move || {
                let mut association = waiting.accept(deadline)?;
                let seen = play(exchange, End::Amf, &mut association, deadline)?;
                association.receive(deadline).map(|_| seen)
            });
            let gnb = Function::open(&self.gnb, local, peer).and_then(|mut association| {
                let seen = play(exchange, End::Gnb, &mut association, deadline)?;
                association.close(deadline).map(|()| seen)
            });
            let amf = amf.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (gnb, amf)
        });
        let (gnb, amf) = (gnb.map_err(failed)?, amf.map_err(failed)?);
        let mut changed = gnb.changed;
        changed.add(amf.changed);
        let took = exchange.procedures().iter().map(|(_, range)| {
            let last = range.end - 1;
            gnb.at[last]
                .max(amf.at[last])
                .saturating_duration_since(gnb.at[range.start])
        });
        Ok((took.collect(), changed))
    }

    /// Result for a gNB that opens an association at its sidecar and sends a message: an answer, or
    /// the reason why there is none.
    pub(super) fn first_answer(&self) -> Result<Result<String, String>, Failure> {
        let exchange = Exchange::free5gc();
        let (_, request) = exchange
            .messages()
            .first()
            .ok_or_else(|| Failure::new("the recording has no message"))?;
        let deadline = Instant::now() + READY;
        let (local, peer) = Self::dialled(true);
        let answered = Function::open(&self.gnb, local, peer).and_then(|mut association| {
            association.send(request, deadline)?;
            association.receive(deadline)
        });
        Ok(match answered {
            Ok(Some(message)) => Ok(format!("{} octets", message.octets.len())),
            Ok(None) => Err("its association was ended".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }
}

impl Sidecars {
    /// Ends the AMF's as a crash does.
    pub(super) fn kill_amf(&mut self) -> Result<(), Failure> {
        let Some(mut amf) = self.amf.take() else { return Ok(()) };
        amf.send(SIGKILL);
        amf.finish(READY).map(drop).map_err(failed)
    }

    /// Ends those that run in order; where their ledgers are, which are whole then.
    pub(super) fn stop(self) -> Result<Vec<PathBuf>, Failure> {
        self.gnb.terminate(DRAIN).map_err(failed)?;
        if let Some(amf) = self.amf {
            amf.terminate(DRAIN).map_err(failed)?;
        }
        Ok(self.ledgers)
    }
}

/// The deployment file.
fn text(carrier: &str) -> String {
    let port = ngap();
    let node = |node: &str, function: &str, address: Ipv4Addr, listeners: String| {
        format!(
            "  {node}:\n    function: {function}\n    address: {address}\n    names: {{ dns: [{node}.ran] }}\n    \
             certificate: {node}.crt.pem\n    key: {node}.key.pem\n    sidecar:\n      ledger: {node}.ledger.jsonl\n      {listeners}\n"
        )
    };
    format!(
        "policy: hybrid\ntrust: {{ roots: ca.crt.pem }}\nnodes:\n{}{}interfaces:\n  - {{ kind: N2, between: [gnb, amf], with: gateway, carrier: {carrier} }}\n",
        node(
            "gnb",
            "gNB",
            GNB,
            format!("outbound: [{{ listen: \"127.0.0.1:{port}\", to: amf, path: sctp }}]")
        ),
        node(
            "amf",
            "AMF",
            AMF,
            format!("inbound: [{{ listen: \"{AMF}:{SIDECAR_PORT}\", forward: \"127.0.0.1:{port}\", path: sctp }}]")
        )
    )
}

#[cfg(test)]
mod tests {
    use bartizan_deployment::Deployment;

    use super::*;

    #[test]
    fn the_deployment_files_are_accepted() {
        for carrier in ["tls", "quic"] {
            let text = text(carrier);
            let deployment =
                Deployment::parse(&text, "demo", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(deployment.nodes().count(), 2);
        }
    }
}
